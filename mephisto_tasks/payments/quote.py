"""What a launch can cost at most, line by line, and amounts for people."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, computed_field

DOLLARS = "USD"
_SIGNS = {DOLLARS: "$", "EUR": "€", "GBP": "£"}


def sign_of(currency: str) -> str:
    """What stands before an amount: “$”, “CHF ”."""
    return _SIGNS.get(currency, f"{currency} ")


def money(amount: Decimal, currency: str = DOLLARS) -> str:
    """An amount for people: “$1,234.50”, “CHF 3.00”."""
    return f"{'-' if amount < 0 else ''}{sign_of(currency)}{abs(amount):,.2f}"


class QuoteLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    kind: Literal["reward", "screen_out", "bonus", "fee", "bonus_fee", "vat"]
    words: str
    amount: Decimal


class Quote(BaseModel):
    """What a launch can cost at most, and how that comes about. Nothing was made or offered for it."""

    model_config = ConfigDict(frozen=True)

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
