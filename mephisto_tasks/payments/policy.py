"""Amounts owed for work: in full if it is complete or we stopped it, by a policy if its worker left.

Amounts are whole cents, and a part of a cent is a cent in the worker's favour. A check on quality withholds nothing
unless somebody asks for it by the check's name: “the quality control method … is not the criteria for deciding worker
payment. A worker whose data is filtered out can still get paid” (Ji et al. 2022, App. A.2)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field, computed_field, field_validator

from parlai_humaneval._util.errors import HumanevalError

DOLLARS = "USD"
_SIGNS = {DOLLARS: "$", "EUR": "€", "GBP": "£"}


def sign_of(currency: str) -> str:
    """The sign before an amount: “$”, “CHF ”."""
    return _SIGNS.get(currency, f"{currency} ")


def money(amount: Decimal, currency: str = DOLLARS) -> str:
    """An amount for people: “$1,234.50”, “CHF 3.00”."""
    return f"{'-' if amount < 0 else ''}{sign_of(currency)}{abs(amount):,.2f}"


class QuoteLine(BaseModel, frozen=True):
    kind: Literal["reward", "screen_out", "bonus", "fee", "bonus_fee", "vat"]
    words: str
    amount: Decimal


class Quote(BaseModel, frozen=True):
    """The maximum cost of a launch, and its parts. Nothing was made or offered for it."""

    provider: str
    requester: str  # the account that pays
    endpoint: str = ""  # the address that was asked
    units: int  # units of work still to be done
    reward: Decimal  # for one of them
    fee_share: Decimal = Decimal(0)  # the site's, of a reward
    bonus_budget: Decimal = Decimal(0)  # set aside for bonuses, without their fee
    most_open: int = 0  # units offered at once, at most
    balance: Decimal | None = None  # of the account; None: nobody can say
    remark: str | None = None  # what one should know before one agrees
    currency: str = DOLLARS
    hourly: Decimal | None = None  # what the reward comes to for an hour, by the time that the study says it takes
    lines: list[QuoteLine]
    facts: list[tuple[str, str]] = []  # what else stands below the sum
    heading: str  # a clause that says whether money is spent, and where
    is_real: bool = True  # whether this money is spent; else it is what the same would cost
    shown_only: bool = False  # it is shown, though nothing is spent yet and nobody is asked to agree
    refusal: str | None = None  # why nothing is launched, such as too low a balance; None: nothing stands against it
    advice: str = ""  # what to do about the refusal

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def rewards(self) -> Decimal:
        return self._sum("reward", "screen_out")

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def fees(self) -> Decimal:
        return self._sum("fee", "vat")

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def bonus_fees(self) -> Decimal:
        return self._sum("bonus_fee")

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), Decimal(0))

    def _sum(self, *kinds: str) -> Decimal:
        return sum((line.amount for line in self.lines if line.kind in kinds), Decimal(0))

    def money(self, amount: Decimal) -> str:
        return money(amount, self.currency)

    def table(self) -> list[tuple[str, str]]:
        rows = [(line.words, self.money(line.amount)) for line in self.lines]
        rows.append(("together, at most", self.money(self.total)))
        rows += self.facts
        if self.hourly is not None:
            rows.append(("reward for an hour of work", self.money(self.hourly)))
        if self.balance is not None:
            rows.append((f"balance of {self.requester}", self.money(self.balance)))
        return rows


Policy = Literal["pro_rata", "full", "none"]
MOST = Decimal("1000.00")  # for one piece of work, in any currency; more is a slip of the pen


class PayError(HumanevalError, RuntimeError):
    """Pay that cannot be worked out or sent; the message says why, and what to do."""


class Terms(BaseModel, extra="forbid", frozen=True):
    """How work is paid; amounts are in the currency of whoever pays."""

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
        from mephisto_tasks.storage.work import cents  # it loads the records, and settings are checked before

        return cents(value)
