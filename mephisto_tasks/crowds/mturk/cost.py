"""What a launch on MTurk can cost: its fees, the sum, and whether MTurk takes such amounts, times and texts."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from mephisto_tasks.crowds.mturk.client import balance, client_for, endpoint
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.hits import hits_left
from mephisto_tasks.payments.quote import Quote, QuoteLine, money
from mephisto_tasks.storage.provider_names import MTURK, plain_name
from parlai_humaneval.statistics.core.formatting import counted

MOST_LETTERS = (("task_title", 128), ("task_description", 2000), ("task_tags", 1000))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
YEAR_S = 365 * 24 * 3600
MONTH_S = 30 * 24 * 3600
CENT = Decimal("0.01")
LEAST_FEE = CENT
"""MTurk's, of each reward and each bonus."""
FEE_SHARE = Decimal("0.20")
MASTERS_FEE = Decimal("0.05")
"""More, of the rewards of Masters: workers whom MTurk has found to be good. Their bonuses cost what others' do."""


def fee(amount: Decimal, share: Decimal = FEE_SHARE) -> Decimal:
    """What MTurk takes in addition to one reward or one bonus: a cent at least, rounded for each, half a cent up."""
    return max((amount * share).quantize(CENT, rounding=ROUND_HALF_UP), LEAST_FEE)


def fee_share(masters_only: bool) -> Decimal:
    """MTurk's fee, as a share of rewards."""
    return FEE_SHARE + (MASTERS_FEE if masters_only else 0)


def quote(
    provider: str,
    requester: str,
    *,
    units: int,
    reward: Decimal,
    share: Decimal,
    endpoint: str = "",
    bonus_budget: Decimal = Decimal(0),
    most_open: int = 0,
    balance: Decimal | None = None,
    minutes: float | None = None,
) -> Quote:
    """Dollars that a launch can cost at most; in the sandbox, what the same would cost on MTurk.

    Every unit is a HIT of its own for one worker, so that MTurk's higher fee for ten or more assignments never applies.
    """
    is_real = provider == MTURK
    lines = [
        QuoteLine(kind="reward", words=f"{counted(units, 'unit')} of work at {money(reward)}", amount=units * reward),
        QuoteLine(
            kind="fee",
            words=f"MTurk's fee ({_percent(share)}, at least $0.01 each)",
            amount=units * fee(reward, share),
        ),
    ]
    if bonus_budget:
        lines += [
            QuoteLine(kind="bonus", words="bonuses, at most", amount=bonus_budget),
            QuoteLine(
                kind="bonus_fee",
                words=f"MTurk's fee on bonuses ({_percent(FEE_SHARE)}, at least $0.01 each)",
                amount=fee(bonus_budget),  # of a budget that is not spent in bonuses of a few cents each
            ),
        ]
    lacking = sum((line.amount for line in lines), Decimal(0)) - (balance or Decimal(0))
    refusal = None
    if is_real and balance is not None and lacking > 0:
        refusal = (
            f"the MTurk account of {requester!r} has {money(balance)}, and this launch can cost "
            f"{money(lacking + balance)}: add {money(lacking)} at requester.mturk.com/account, or ask for less. "
            "Nothing was made"
        )
    return Quote(
        provider=provider,
        requester=requester,
        endpoint=endpoint,
        units=units,
        reward=reward,
        fee_share=share,
        bonus_budget=bonus_budget,
        most_open=most_open,
        balance=balance,
        hourly=None if not minutes else (reward * 60 / Decimal(str(minutes))).quantize(CENT),
        lines=lines,
        facts=[("HITs open at once, at most", str(most_open))],
        heading="This launch spends real money on MTurk"
        if is_real
        else "In MTurk's sandbox nothing is spent. On MTurk",
        is_real=is_real,
        refusal=refusal,
    )


def dollars(name: str, value: Any) -> Decimal:
    """An amount of the settings. Raises MTurkError."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise MTurkError(f"{name}={value}: an amount in dollars is expected, such as 0.50")
    return amount


def _percent(share: Decimal) -> str:
    return f"{float(100 * share):g} %"


def quote_of(config: Any, units: int, *, masters: bool, mark: str, minutes: float | None = None) -> Quote:
    """What a launch can cost. Nothing is made, here or there.

    Args:
        config: ``mephisto`` of the settings.
        units: still to be done.
        masters: only MTurk's Masters may take part, for whom it takes more.
        minutes: that a unit takes, as the study says.
        mark: of the study's HITs. What a launch that was killed left on the market holds money, which the launch sets free.

    Raises:
        MTurkError: MTurk takes no such amounts, times or texts, or cannot be asked.
    """
    provider, name = str(config.provider._provider_type), str(config.provider.requester_name)
    reward = _reward(config.task.task_reward)
    bonus_budget = dollars("bonus_budget", config.provider.get("bonus_budget") or 0)
    _check_times(config)
    _check_texts(config)
    client = client_for(name, provider)
    available = balance(client)
    open_at_once = int(config.task.get("max_num_concurrent_units") or 0)
    values: dict[str, Any] = {
        "units": units,
        "reward": reward,
        "share": fee_share(masters),
        "endpoint": endpoint(provider),
        "bonus_budget": bonus_budget,
        "most_open": min(units, open_at_once) if open_at_once else units,
        "minutes": minutes,
    }
    quoted = quote(provider, plain_name(name), balance=available, **values)
    if quoted.refusal is not None:
        return quote(provider, plain_name(name), balance=available + _put_aside(client, mark), **values)
    return quoted


def _put_aside(client: Any, mark: str) -> Decimal:
    amounts = [
        (Decimal(hit["Reward"]), int(hit["NumberOfAssignmentsAvailable"])) for hit in hits_left(client, (), mark)
    ]
    return sum((number * (reward + fee(reward)) for reward, number in amounts), Decimal(0))


def _reward(value: Any) -> Decimal:
    reward = dollars("task_reward", value)
    if reward * 100 != int(reward * 100):
        raise MTurkError(f"task_reward={value}: MTurk pays whole cents")
    return reward


def _check_times(config: Any) -> None:
    times = (
        ("assignment_duration_in_seconds", config.task.assignment_duration_in_seconds, 30, YEAR_S),
        ("task_lifetime_in_seconds", config.task.task_lifetime_in_seconds, 30, YEAR_S),
        (
            "auto_approval_delay_in_seconds",
            config.provider.get("auto_approval_delay_in_seconds", 0),
            0,
            MONTH_S,
        ),
    )
    for name, value, least, most in times:
        if value is not None and not least <= int(value) <= most:
            raise MTurkError(f"{name}={value}: MTurk takes {least} to {most} seconds")


def _check_texts(config: Any) -> None:
    """MTurk's own limits: CreateHITType refuses longer ones, and most control characters."""
    for name, most in MOST_LETTERS:
        value = config.task.get(name) or ""
        text = value if isinstance(value, str) else ",".join(map(str, value))
        if len(text) > most:
            raise MTurkError(
                f"{name} has {len(text)} characters, and MTurk takes {most}",
                try_=f"set a shorter one, mephisto.task.{name}=…",
            )
        if odd := _CONTROL.search(text):
            raise MTurkError(
                f"{name} holds the control character {odd[0]!r}, which MTurk refuses",
                try_=f"leave it out, mephisto.task.{name}=…",
            )
