"""What is looked at, asked and cleared away before a launch on MTurk makes anything there."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.requester import Requester
from mephisto.operations.registry import get_crowd_provider_from_type

from mephisto_tasks.crowds.mturk.client import balance, client_for, endpoint
from mephisto_tasks.crowds.mturk.cost import dollars, fee, fee_share, quote
from mephisto_tasks.crowds.mturk.errors import MTurkError
from mephisto_tasks.crowds.mturk.hits import expire, hits_left, open_hits, study_mark
from mephisto_tasks.payments.quote import Quote
from mephisto_tasks.storage.provider_names import PROVIDERS, SANDBOX, SANDBOX_SUFFIX, plain_name

logger = logging.getLogger(__name__)

MOST_LETTERS = (("task_title", 128), ("task_description", 2000), ("task_tags", 1000))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
YEAR_S = 365 * 24 * 3600
MONTH_S = 30 * 24 * 3600


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
    """Dollars for the HITs of a study that nobody has accepted."""
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
                f"{name} has {len(text)} characters, and MTurk takes {most}: set a shorter one, mephisto.task.{name}=…"
            )
        if odd := _CONTROL.search(text):
            raise MTurkError(
                f"{name} holds the control character {odd[0]!r}, which MTurk refuses: leave it out, mephisto.task.{name}=…"
            )


def stored_name(requester_name: str, provider: str) -> str:
    """The name under which Mephisto keeps a requester of a provider: those of its sandbox have a suffix."""
    profile = plain_name(requester_name)
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


def expire_left_over(db: Any, task_name: str, of_provider: str | None = None) -> int:
    """Take off the market what earlier launches of a task left there, a killed one's HITs; returns how many.

    Asks MTurk only where the task was launched there before; ``of_provider``: on that one alone. Raises MTurkError.
    """
    expired = 0
    for requester, provider, runs in _launches_on_mturk(db, task_name):
        if of_provider not in (None, provider):
            continue
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
