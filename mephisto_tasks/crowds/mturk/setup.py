"""What is looked at, asked and cleared away before a launch on MTurk makes anything there."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.requester import Requester
from mephisto.operations.registry import get_crowd_provider_from_type

from mephisto_tasks.crowds.mturk.client import (
    balance,
    client_for,
    endpoint,
    profile_of,
)
from mephisto_tasks.crowds.mturk.cost import LaunchTotal, fee, fee_share
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.hits import expire, hits_left, open_hits, study_mark
from mephisto_tasks.storage.provider_names import PROVIDERS, SANDBOX, SANDBOX_SUFFIX

logger = logging.getLogger(__name__)

MOST_LETTERS = (("task_title", 128), ("task_description", 2000), ("task_tags", 1000))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
YEAR_S = 365 * 24 * 3600
MONTH_S = 30 * 24 * 3600
NOT_AGREED = "place=mturk spends real money, and nobody has agreed to it: launch with `parlai-humaneval launch`"


def total_of(config: Any, units: int, *, masters: bool, mark: str) -> LaunchTotal:
    """What a launch can cost. Nothing is made, here or there.

    Args:
        config: ``mephisto`` of the settings.
        units: still to be done.
        masters: only MTurk's Masters may take part, for whom it takes more.
        mark: of the study's HITs. What a launch that was killed left on the market holds money, which the launch sets free.

    Raises:
        MTurkError: MTurk takes no such amounts, times or texts, or cannot be asked.
    """
    provider, name = str(config.provider._provider_type), str(config.provider.requester_name)
    reward = _reward(config.task.task_reward)
    bonus_budget = _dollars("bonus_budget", config.provider.get("bonus_budget") or 0)
    _check_times(config)
    _check_texts(config)
    client = client_for(name, provider)
    available = balance(client)
    open_at_once = int(config.task.get("max_num_concurrent_units") or 0)
    total = LaunchTotal(
        provider=provider,
        requester=profile_of(name),
        endpoint=endpoint(provider),
        units=units,
        reward=reward,
        fee_share=fee_share(masters),
        bonus_budget=bonus_budget,
        most_open=min(units, open_at_once) if open_at_once else units,
        balance=available,
    )
    if total.refusal is not None:
        return total.model_copy(update={"balance": available + _put_aside(client, mark)})
    return total


def _put_aside(client: Any, mark: str) -> Decimal:
    """Dollars for the HITs of a study that nobody has accepted."""
    amounts = [
        (Decimal(hit["Reward"]), int(hit["NumberOfAssignmentsAvailable"])) for hit in hits_left(client, (), mark)
    ]
    return sum((number * (reward + fee(reward)) for reward, number in amounts), Decimal(0))


def agreed(total: LaunchTotal, agree: Callable[[LaunchTotal], None] | None) -> None:
    """Let whoever launches see the total, and agree where it is real money.

    Raises:
        what ``agree`` does; MTurkError: nobody agreed, or the account has too little.
    """
    if agree is not None:
        agree(total)
    elif total.is_real:
        raise MTurkError(NOT_AGREED)
    if total.refusal is not None:
        raise MTurkError(total.refusal)


def _reward(value: Any) -> Decimal:
    reward = _dollars("task_reward", value)
    if reward * 100 != int(reward * 100):
        raise MTurkError(f"task_reward={value}: MTurk pays whole cents")
    return reward


def _dollars(name: str, value: Any) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise MTurkError(f"{name}={value}: an amount in dollars is expected, such as 0.50")
    return amount


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
                f"{name} has {len(text)} characters, and MTurk takes {most}: set a shorter one, mephisto.task.{name}=…"
            )
        if odd := _CONTROL.search(text):
            raise MTurkError(
                f"{name} holds the control character {odd[0]!r}, which MTurk refuses: leave it out, mephisto.task.{name}=…"
            )


def stored_name(requester_name: str, provider: str) -> str:
    """The name under which Mephisto keeps a requester of a provider: those of its sandbox have a suffix."""
    profile = profile_of(requester_name)
    return profile + SANDBOX_SUFFIX if provider == SANDBOX else profile


def ensure_requester(db: Any, requester_name: str, provider: str) -> str:
    """Make the requester known to Mephisto's database, where it is not; returns the name that it has there.

    So whoever has keys for one of MTurk's sites goes to the other by one word.
    """
    stored = stored_name(requester_name, provider)
    same = [each for each in db.find_requesters(requester_name=stored) if each.provider_type == provider]
    if not same:
        if db.find_requesters(requester_name=stored):
            raise MTurkError(f"a requester {stored!r} of another provider is there already: choose another name")
        get_crowd_provider_from_type(provider).RequesterClass.new(db, stored)
    return stored


def expire_left_over(db: Any, task_name: str) -> int:
    """Take off the market what earlier launches of a task left there, a killed one's HITs; returns how many.

    Asks MTurk only where the task was launched there before. Raises MTurkError.
    """
    expired = 0
    for requester, provider, runs in _launches_on_mturk(db, task_name):
        store = get_crowd_provider_from_type(provider)(db).datastore
        client = client_for(requester, provider)
        left = open_hits(client, set(store.hits_of_runs(runs)), study_mark(str(db.db_root), task_name))
        problems = expire(client, left)
        if problems:
            raise MTurkError(
                f"{len(problems)} of {len(left)} HITs of an earlier launch are still on MTurk ({problems[0]})"
            )
        expired += len(left)
    return expired


def _launches_on_mturk(db: Any, task_name: str) -> Iterable[tuple[str, str, list[str]]]:
    runs: dict[tuple[str, str], list[str]] = {}
    for task in db.find_tasks(task_name=task_name):
        for run in db.find_task_runs(task_id=task.db_id):
            if run.provider_type in PROVIDERS:
                name = Requester.get(db, run.requester_id).requester_name
                runs.setdefault((name, run.provider_type), []).append(run.db_id)
    return [(name, provider, ids) for (name, provider), ids in runs.items()]


def clear_before_launch(db: Any, task_name: str) -> str | None:
    """:func:`expire_left_over`, and a sentence on what was done where anything was."""
    expired = expire_left_over(db, task_name)
    if not expired:
        return None
    logger.warning("%d HITs of an earlier launch of %r were still on MTurk, and were taken off", expired, task_name)
    return (
        f"{expired} HIT(s) of an earlier launch, which did not end cleanly, were still on MTurk: they were taken off."
    )
