"""What a launch on MTurk can cost, as one object that terminal, JSON and checks share."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from pydantic import BaseModel, ConfigDict, computed_field

from mephisto_tasks.storage.provider_names import MTURK
from parlai_humaneval.planning.inputs import FEE
from parlai_humaneval.statistics.core.formatting import counted

CENT = Decimal("0.01")
LEAST_FEE = CENT
"""MTurk's, of each reward and each bonus."""
FEE_SHARE = Decimal(str(FEE))
MASTERS_FEE = Decimal("0.05")
"""More, of the rewards of Masters: workers whom MTurk has found to be good. Their bonuses cost what others' do."""


def fee(amount: Decimal, share: Decimal = FEE_SHARE) -> Decimal:
    """What MTurk takes beside one reward or one bonus: a cent at least, and rounded for each, half a cent up."""
    return max((amount * share).quantize(CENT, rounding=ROUND_HALF_UP), LEAST_FEE)


class LaunchTotal(BaseModel):
    """Dollars that a launch can cost at most, and how they come about.

    Every unit is a HIT of its own for one worker, so that MTurk's higher fee for ten or more assignments never applies.
    """

    model_config = ConfigDict(frozen=True)

    provider: str
    requester: str
    endpoint: str
    units: int
    """Units of work still to be done."""
    reward: Decimal
    """For one of them."""
    fee_share: Decimal
    """MTurk's, of a reward."""
    bonus_budget: Decimal = Decimal(0)
    """Set aside for bonuses, without their fee."""
    most_open: int
    """HITs open at once, at most."""
    balance: Decimal
    """Of the account."""
    remark: str | None = None
    """What one should know before one agrees."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def rewards(self) -> Decimal:
        return self.units * self.reward

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def fees(self) -> Decimal:
        """MTurk's, of rewards."""
        return self.units * fee(self.reward, self.fee_share)

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def bonus_fees(self) -> Decimal:
        """MTurk's, of a budget that is not spent in bonuses of a few cents each."""
        return fee(self.bonus_budget) if self.bonus_budget else Decimal(0)

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees + self.bonus_budget + self.bonus_fees

    @computed_field  # type: ignore[prop-decorator]  # see rewards
    @property
    def is_real(self) -> bool:
        """Whether this is real money; in the sandbox it is what the same would cost on MTurk."""
        return self.provider == MTURK

    def lines(self) -> list[tuple[str, str]]:
        """The sum in words and amounts, for people."""
        lines = [
            (f"{counted(self.units, 'unit')} of work at ${self.reward:.2f}", f"${self.rewards:.2f}"),
            (f"MTurk's fee ({_percent(self.fee_share)}, at least $0.01 each)", f"${self.fees:.2f}"),
        ]
        if self.bonus_budget:
            lines.append(("bonuses, at most", f"${self.bonus_budget:.2f}"))
            lines.append(
                (f"MTurk's fee on bonuses ({_percent(FEE_SHARE)}, at least $0.01 each)", f"${self.bonus_fees:.2f}")
            )
        return [
            *lines,
            ("together, at most", f"${self.total:.2f}"),
            ("HITs open at once, at most", str(self.most_open)),
            (f"balance of {self.requester}", f"${self.balance:.2f}"),
        ]

    @property
    def refusal(self) -> str | None:
        """Why nothing is launched: the account lacks real money; None where it has enough."""
        lacking = self.total - self.balance
        if not self.is_real or lacking <= 0:
            return None
        return (
            f"the MTurk account of {self.requester!r} has ${self.balance:.2f}, and this launch can cost ${self.total:.2f}: "
            f"add ${lacking:.2f} at requester.mturk.com/account, or ask for less. Nothing was made"
        )


def fee_share(masters_only: bool) -> Decimal:
    """MTurk's fee, as a share of rewards."""
    return FEE_SHARE + (MASTERS_FEE if masters_only else 0)


def _percent(share: Decimal) -> str:
    return f"{float(100 * share):g} %"
