"""What work costs beside what workers get."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
FEE = Decimal("0.20")
MANY_ASSIGNMENTS = 10
MANY_ASSIGNMENTS_FEE = Decimal("0.20")
"""On top, for HITs of that many assignments or more."""
MASTERS_FEE = Decimal("0.05")
SANDBOX_BALANCE = Decimal("10000.00")
"""What the sandbox always has."""


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)


def assignment_fee(reward: Decimal, max_assignments: int, masters: bool) -> Decimal:
    """What MTurk takes for an assignment beside its reward: at least a cent."""
    rate = FEE + (MANY_ASSIGNMENTS_FEE if max_assignments >= MANY_ASSIGNMENTS else 0) + (MASTERS_FEE if masters else 0)
    return max(cents(reward * rate), CENT)


def bonus_fee(amount: Decimal) -> Decimal:
    """What MTurk takes for a bonus beside it."""
    return max(cents(amount * FEE), CENT)
