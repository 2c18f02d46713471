"""What is owed for work: complete work and work that we stopped as a whole, work that its worker left by a policy.

Amounts are whole cents, and a part of a cent is a cent in the worker's favour. A check on quality withholds nothing
unless somebody asks for it by the check's name: “the quality control method … is not the criteria for deciding worker
payment. A worker whose data is filtered out can still get paid” (Ji et al. 2022, App. A.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mephisto_tasks.payments.quote import DOLLARS, money
from mephisto_tasks.storage.work import CENT, Work, cents, unit_of
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.quality import check_dialogue, check_workers, known_checks
from parlai_humaneval.schema.records import Rated

Policy = Literal["pro_rata", "full", "none"]
MOST = Decimal("1000.00")  # for one piece of work, in any currency; more is a slip of the pen


class PayError(HumanevalError, RuntimeError):
    """Pay that cannot be worked out or sent; the message says why, and what to do."""


class Terms(BaseModel):
    """How work is paid; amounts are in the currency of whoever pays."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partial: Policy = "pro_rata"
    practice: Decimal = Field(default=Decimal("0.00"), ge=0, le=MOST)
    minimum: Decimal = Field(default=Decimal("8.00"), ge=0, le=MOST)

    earlier: Mapping[str, Terms] = Field(default={}, exclude=True, repr=False)

    def of_launch(self, task_run_id: str) -> Terms:
        """Those under which raters of a launch came: a later launch takes nothing away."""
        return self.earlier.get(task_run_id, self)

    @field_validator("practice", "minimum")
    @classmethod
    def _whole_cents(cls, value: Decimal) -> Decimal:
        return cents(value)


class Due(BaseModel):
    """What is owed in all for one unit of one worker, in ``currency``; ``why`` is a phrase."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    work: Work
    amount: Decimal
    why: str
    currency: str = DOLLARS

    @property
    def key(self) -> tuple[str, str]:
        return self.work.worker_id, self.work.session


def pro_rata(reward: Decimal, done: int, whole: int) -> Decimal:
    """The share of a reward for ``done`` of ``whole`` parts, in whole cents, rounded up."""
    if whole <= 0 or done <= 0:
        return Decimal("0.00")
    of_reward = int(reward / CENT) * min(done, whole)
    return -(-of_reward // whole) * CENT


def due(work: Work, terms: Terms, withheld: Mapping[tuple[str, str], str], currency: str = DOLLARS) -> Due:
    """What is owed for a piece of work. ``withheld``: (pseudonym, unit) → the check that it failed. Raises PayError."""
    if not 0 <= work.reward <= MOST:
        reward = money(work.reward, currency)
        raise PayError(f"the reward of unit {work.unit_id} is {reward}, which is not a valid amount")
    amount, why = _owed(work, terms.of_launch(work.task_run_id), withheld.get((work.worker, work.session)))
    return Due(work=work, amount=cents(amount), why=why, currency=currency)


def _owed(work: Work, terms: Terms, failed: str | None) -> tuple[Decimal, str]:
    """An amount, and why. ``failed``: the check that withholds it."""
    nothing = Decimal("0.00")
    if work.simulated:
        return nothing, "a program"
    if failed is not None and work.outcome in ("complete", "partial"):
        return nothing, f"withheld: failed {failed}"
    match work.outcome:
        case "complete":
            return work.reward, "complete"
        case "stopped":
            return work.reward, "interrupted by us: paid in full"
        case "partial":
            part = f"{work.done} of {work.whole} {work.counted}"
            if work.resumable:
                return nothing, f"{part}: can continue while the launch runs"
            match terms.partial:
                case "pro_rata":
                    return pro_rata(work.reward, work.done, work.whole), part
                case "full":
                    return work.reward if work.done else nothing, f"{part}, paid in full"
                case "none":
                    return nothing, f"{part}, not paid"
        case "practice_only":
            return terms.practice, "practice only"
        case "continued":
            return nothing, "continued: paid with the later visit"
        case "running":
            return nothing, "still at work"


def failed_checks(records: Sequence[Rated], checks: Collection[str]) -> dict[tuple[str, str], str]:
    """(Pseudonym, unit) → the first of ``checks`` that the worker or their work in it failed. Raises CheckError."""
    if not checks:
        return {}
    names = known_checks(checks)
    failed: dict[tuple[str, str], str] = {}
    of_workers = check_workers(records, names)
    for record in records:
        verdicts = [*check_dialogue(record, names), *of_workers.get(record.worker, [])]
        for verdict in verdicts:
            if verdict.passed is False:
                failed.setdefault((record.worker, unit_of(record)), verdict.check)
    return failed
