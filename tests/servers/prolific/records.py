"""What Prolific remembers: workspaces and their money, studies, submissions, groups, bonuses, messages and hooks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

RESERVED, ACTIVE, AWAITING_REVIEW = "RESERVED", "ACTIVE", "AWAITING REVIEW"
APPROVED, PARTIALLY_APPROVED, SCREENED_OUT = "APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"
REJECTED, RETURNED, TIMED_OUT = "REJECTED", "RETURNED", "TIMED-OUT"
STATUSES = (
    RESERVED, ACTIVE, TIMED_OUT, AWAITING_REVIEW, APPROVED, PARTIALLY_APPROVED, SCREENED_OUT, REJECTED, RETURNED,
)  # fmt: skip
INSIDE = (RESERVED, ACTIVE)
UNPUBLISHED, SCHEDULED, PUBLISHING, PAUSED, COMPLETED = "UNPUBLISHED", "SCHEDULED", "PUBLISHING", "PAUSED", "COMPLETED"
DRAFTS = (UNPUBLISHED, SCHEDULED)

FEATURES = frozenset({"screen_out", "dynamic_payment", "secure_link", "test_participants"})
"""What a workspace may lack."""


class Ids:
    """Makes identifiers that look like Prolific's; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new(self) -> str:
        """24 hexadecimal digits."""
        return f"{self._random.getrandbits(96):024x}"

    def opaque(self) -> str:
        """Of bonuses and hooks."""
        return f"{self._random.getrandbits(128):032x}".upper()

    def code(self) -> str:
        return f"C{self._random.getrandbits(28):07X}"


@dataclass(frozen=True)
class Price:
    """Sub-currency: what a participant gets, what Prolific takes for it, and the tax on that."""

    amount: int
    fee: int
    vat: int

    @property
    def total(self) -> int:
        return self.amount + self.fee + self.vat

    def times(self, many: int) -> Price:
        return Price(self.amount * many, self.fee * many, self.vat * many)

    def __add__(self, other: Price) -> Price:
        return Price(self.amount + other.amount, self.fee + other.fee, self.vat + other.vat)


NOTHING = Price(0, 0, 0)


@dataclass(frozen=True)
class Charge:
    """Money that left a workspace. ``kind``: reward, partial, screen_out or bonus."""

    kind: str
    study: str
    submission: str
    participant: str
    price: Price
    at: float
    balance: int
    """Of the workspace afterwards, in sub-currency."""
    batch: str = ""
    """Of a bonus: the set-up that was paid."""


@dataclass
class Workspace:
    """Whose money it is. ``fee`` and ``vat`` are shares; the tax is on the fee."""

    id: str
    title: str
    currency: str = "GBP"
    fee: Decimal = Decimal("0.333333")
    vat: Decimal = Decimal("0.2")
    total: int = 100_00
    features: set[str] = field(default_factory=lambda: set(FEATURES))
    charges: list[Charge] = field(default_factory=list)

    def price(self, amount: int) -> Price:
        """What it costs to pay somebody this."""
        fee = _whole(amount * Decimal(self.fee))
        return Price(amount, fee, _whole(fee * Decimal(self.vat)))


def _whole(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))


@dataclass
class User:
    """A researcher, with a token for each of the names it was made under."""

    id: str
    email: str
    workspaces: list[str]
    messages: list[dict[str, Any]] = field(default_factory=list)
    """From participants, as they are answered."""


@dataclass
class Project:
    id: str
    workspace: str
    title: str
    description: str = ""


@dataclass
class Person:
    """A participant. ``answers``: by filter, the choices of a select or the number of a range, where they said any."""

    id: str
    answers: dict[str, Any] = field(default_factory=dict)
    test: bool = False
    """Made by a researcher to try things out."""
    mails: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Submission:
    id: str
    study: Study
    person: str
    reserved: float
    status: str = RESERVED
    started: float | None = None
    completed: float | None = None
    code: str | None = None
    return_requested: float | None = None
    bonuses: list[int] = field(default_factory=list)
    """What is seen of them: later than they were paid."""
    history: list[tuple[float, str]] = field(default_factory=list)

    @property
    def seconds(self) -> int | None:
        return None if self.started is None or self.completed is None else round(self.completed - self.started)


@dataclass
class Study:
    id: str
    fields: dict[str, Any]
    """As they were given, with what Prolific adds by default."""
    user: str
    created: float
    status: str = UNPUBLISHED
    published: float | None = None
    submissions: list[Submission] = field(default_factory=list)
    screened_out: int = 0
    """Slots that are used up."""
    test: bool = False
    """A copy that only test participants see."""

    @property
    def places(self) -> int:
        return int(self.fields["total_available_places"])

    @property
    def reward(self) -> int:
        return int(self.fields["reward"])

    @property
    def codes(self) -> list[dict[str, Any]]:
        return list(self.fields.get("completion_codes") or [])

    @property
    def allowed_s(self) -> float:
        return float(self.fields["maximum_allowed_time"]) * 60

    def screen_out(self) -> dict[str, Any] | None:
        """The action by which people are screened out with pay, if there is one."""
        return next(
            (a for code in self.codes for a in code.get("actions", []) if a["action"] == "FIXED_SCREEN_OUT_PAYMENT"),
            None,
        )

    def count(self, *statuses: str) -> int:
        return sum(submission.status in statuses for submission in self.submissions)


@dataclass
class Group:
    id: str
    workspace: str
    project: str | None
    name: str
    description: str
    members: dict[str, float] = field(default_factory=dict)
    """Participant → since when."""
    deleted: bool = False


@dataclass
class Batch:
    """A set-up of bonuses; every payment of it charges all of it again."""

    id: str
    study: Study
    rows: list[tuple[Submission, int]]
    price: Price
    paid: int = 0


@dataclass
class Subscription:
    """A hook. It is called once its receiver has confirmed it."""

    id: str
    workspace: str
    event_type: str
    target_url: str
    secret: str
    confirmed: bool = False
    enabled: bool = True


@dataclass
class Event:
    """Something that a hook is told."""

    id: str
    subscription: Subscription
    body: dict[str, Any]
    at: float
    due: float
    tries: int = 0
    status: str = "PENDING"


@dataclass
class Unknowns:
    """Where nobody knows what Prolific does: each can be had both ways. The default is the likelier."""

    approves_returned: bool = False
    """APPROVE of what was returned or timed out is taken."""
    rejected_frees_place: bool = False
    reopens: bool = True
    """A place given back makes a study in AWAITING REVIEW recruit again."""
    reserved_is_taken: bool = True
    """``places_taken`` counts who has not opened the link yet."""
    refuses_wrong_transition: bool = True
    """400 to a transition that the status does not allow; else the study is answered as it is."""
    retry_after: bool = False
    """429 says how long to wait."""
    pages_study_submissions: bool = False
    """``/studies/{id}/submissions/`` comes in pages, too."""
    group_takes_known: bool = False
    """One unknown id refuses a call for a group, and those known are taken all the same."""
    completes_reserved: bool = False
    completes_timed_out: bool = True
    gated_status: int = 403
    slash_redirects: bool = False
    """A path without its slash is answered with 301, not 404."""
    error_shape: str = "wrapped"
    """``wrapped``, ``bare`` or ``message``."""
    refusal_status: int = 400
    """Of refusals for want of money: 400 or 422."""
    slots_grow: bool = True
    """The slots of a published study's codes can be raised."""
    edits_published: bool = False
    """Description and link of a published study can be changed."""
    says_processing: bool = False
    """PROCESSING is said for a moment in place of PUBLISHING, and before AWAITING REVIEW."""
    no_code: str | None = None
    """What the code of somebody is who handed in without one."""
    screen_out_is_bonus: bool = True
    """The sum of a screen-out is among ``bonus_payments``."""
    holds_screen_outs: bool = True
    """Publishing sets the money of screen-outs aside, too."""
    wallet_is_shared: bool = True
    """Bonuses are refused with 429 while approvals are under way."""
    preview_ids: str = "sample"
    """The preview fills in ``sample`` ids, or leaves ``placeholders``."""
    lists_approvals: bool = True
    """There is a filter by the number of approved submissions."""
    hook_tries: int = 12
    """After so many a hook is not called any more for an event: 12 or 13."""
    shortest_time_rounds_up: bool = True
    """The smallest ``maximum_allowed_time``."""
    has_smallest_screen_out: bool = True
    """Screen-outs of less than 10 pence or 14 cents are refused."""
    test_study_costs: bool = True
    """What test participants do is paid like anything else."""


@dataclass
class Delays:
    """Seconds that things take."""

    publish_s: float = 0.3
    approve_s: float = 0.5
    pay_s: float = 0.5
    bonus_seen_s: float = 1.0
    """After it was paid."""
