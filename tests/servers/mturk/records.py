"""What MTurk remembers: HIT types, HITs, assignments, qualifications, workers, and accounts of requesters."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .money import SANDBOX_BALANCE, assignment_fee

ID_LETTERS = string.ascii_uppercase + string.digits
IN_PROGRESS, SUBMITTED, APPROVED, REJECTED = "InProgress", "Submitted", "Approved", "Rejected"
RETURNED, ABANDONED = "Returned", "Abandoned"
REVIEWED = (APPROVED, REJECTED)

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
ADULT = "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_IN_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
SYSTEM_TYPES = {
    LOCALE: "Worker_Locale",
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    ADULT: "Worker_Adult",
    MASTERS: "Masters",
    MASTERS_IN_SANDBOX: "Masters",
}


class Names:
    """Makes identifiers that look like MTurk's; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new(self) -> str:
        return "3" + "".join(self._random.choices(ID_LETTERS, k=29))


@dataclass
class QualificationType:
    """A requester's own; those of the system are in :data:`SYSTEM_TYPES`."""

    id: str
    owner: str
    created: float
    params: dict[str, Any]
    """Name, Description, QualificationTypeStatus, … as they were given."""
    granted: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Worker → value, and when it was given."""
    revoked: dict[str, tuple[int, float]] = field(default_factory=dict)


@dataclass
class Worker:
    """A person who works there."""

    id: str
    country: str = "US"
    subdivision: str = ""
    percent_approved: int = 100
    number_approved: int = 0
    adult: bool = False
    masters: bool = False
    mails: list[tuple[str, str]] = field(default_factory=list)
    """Subject and text of what requesters wrote."""


@dataclass
class HitType:
    id: str
    owner: str
    params: dict[str, Any]

    @property
    def reward(self) -> Decimal:
        return Decimal(self.params["Reward"])

    @property
    def requirements(self) -> list[dict[str, Any]]:
        return self.params.get("QualificationRequirements") or []

    @property
    def masters(self) -> bool:
        return any(r["QualificationTypeId"] in (MASTERS, MASTERS_IN_SANDBOX) for r in self.requirements)


@dataclass
class Assignment:
    """A worker's work on a HIT."""

    id: str
    hit: Hit
    worker: str
    accepted: float
    status: str = IN_PROGRESS
    answer: str = ""
    submitted: float | None = None
    reviewed: float | None = None
    feedback: str | None = None

    @property
    def deadline(self) -> float:
        return self.accepted + self.hit.type.params["AssignmentDurationInSeconds"]

    @property
    def auto_approval(self) -> float | None:
        """When it will be approved if nobody reviews it."""
        delay = self.hit.type.params.get("AutoApprovalDelayInSeconds", 30 * 24 * 3600)
        return None if self.submitted is None else self.submitted + delay


@dataclass
class Hit:
    id: str
    type: HitType
    question: str
    created: float
    expires: float
    max_assignments: int
    annotation: str = ""
    assignments: list[Assignment] = field(default_factory=list)
    """All that were ever accepted, those given back included."""
    free_ids: list[str] = field(default_factory=list)
    """Of assignments that were given back: as with the real one, who accepts next gets the same id."""
    disposed: bool = False
    reviewing: bool = False

    def count(self, *statuses: str) -> int:
        return sum(assignment.status in statuses for assignment in self.assignments)

    @property
    def available(self) -> int:
        """How many could still be accepted, were it not expired."""
        return self.max_assignments - self.count(IN_PROGRESS, SUBMITTED, APPROVED, REJECTED)

    def status(self, now: float) -> str:
        """As the requester reads it."""
        if self.disposed:
            return "Disposed"
        if self.available and now < self.expires:
            return "Assignable"
        if self.count(IN_PROGRESS):
            return "Unassignable"
        return "Reviewing" if self.reviewing else "Reviewable"

    @property
    def fee(self) -> Decimal:
        return assignment_fee(self.type.reward, self.max_assignments, self.type.masters)

    def held(self, now: float) -> Decimal:
        """Money put aside for work that is not reviewed, or may still be done."""
        open_slots = self.count(IN_PROGRESS, SUBMITTED)
        if not self.disposed and now < self.expires:
            open_slots += self.available
        return open_slots * (self.type.reward + self.fee)


@dataclass
class Bonus:
    worker: str
    assignment: str
    amount: Decimal
    reason: str
    token: str | None
    at: float


@dataclass
class Account:
    """A requester."""

    name: str
    deposited: Decimal
    sandbox: bool
    hits: dict[str, Hit] = field(default_factory=dict)
    types: dict[str, HitType] = field(default_factory=dict)
    bonuses: list[Bonus] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    """Worker → reason."""
    tokens: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    """(operation, UniqueRequestToken) → when it was used, and what it made."""
    rewards: Decimal = Decimal(0)
    bonus_total: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)

    @property
    def spent(self) -> Decimal:
        """All that left the account."""
        return self.rewards + self.bonus_total + self.fees

    def held(self, now: float) -> Decimal:
        return sum((hit.held(now) for hit in self.hits.values()), Decimal(0))

    def available(self, now: float) -> Decimal:
        """What may still be spent; in the sandbox it is always the same."""
        return SANDBOX_BALANCE if self.sandbox else self.deposited - self.spent - self.held(now)
