"""ParlAI's ``model_chat``: a person chats with one model, ticks what applies to each reply, and rates it at the end.

Source of the format: ParlAI 1.7.2, ``crowdsourcing/tasks/model_chat`` (worlds.py, analysis/compile_results.py, and the
page, which sends the ratings of several questions as one text with ``|`` between, and one before the first).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parlai_humaneval.importers.chats import (
    Chat,
    Exchange,
    body,
    dialogue_row,
    read_chat,
    time_between,
    timestamp,
    turn_row,
)
from parlai_humaneval.importers.units import Plan, Rows, Unit, UnreadableUnit, criterion_of, optional, required, shown
from parlai_humaneval.tables.schema import is_problem
from parlai_humaneval.techniques.criteria import RANGES

TECHNIQUE = "single_model"
METRIC = "annotations"
NONE, OTHER = "none_all_good", "other"
"""Buckets with a meaning of their own: nothing applies, and something that is written out."""

RATING = "final_rating"
FEWEST, MOST = RANGES["likert"]


def rows_of(unit: Unit, plan: Plan) -> Rows:
    """A row of ``turns`` for each reply, one of ``ratings`` for each rating at the end, and one of ``dialogues``.

    Ticks stand in ``ticks``, what could be ticked in ``tick_choices``; ``none_all_good`` is ``none_said``. ``seconds``
    of a turn end when the ticks arrive, which is with the worker's next message: writing it is part of them.

    Raises:
        UnreadableUnit: not of this form; the message names the field.
    """
    chat = read_chat(unit, plan)
    model = required(chat.task, "model_nickname", str, f"{unit.where}, task_description")
    metric = plan.metric or METRIC
    times = _times(chat)
    rows = Rows()
    choices = _tick_labels(chat.exchanges)
    for exchange in chat.exchanges:
        of_turn = turn_row(chat, exchange, TECHNIQUE, plan.setting, metric, unit.question)
        rows.add("turns", {**of_turn, **_reply(exchange, model, choices, times.get(exchange.turn))})
    ratings = _ratings(chat, plan)
    for name, (value, statement) in ratings.items():
        rows.add(
            "ratings", {**_rating(chat, model, plan, metric), "criterion": name, "value": value, "statement": statement}
        )
    rows.add("dialogues", dialogue_row(chat, TECHNIQUE, plan.setting, metric, unit.question, complete=bool(ratings)))
    for name in ("turns", "ratings"):
        for row in rows.tables.get(name, ()):  # type: ignore[call-overload]  # mypy widens the names to str
            row["dialogue_status"] = "complete" if ratings else "partial"
    return rows


def _tick_labels(exchanges: Sequence[Exchange]) -> list[str]:
    asked = [_buckets(exchange) or {} for exchange in exchanges]
    return [name for name in dict.fromkeys(name for buckets in asked for name in buckets) if name != NONE]


def _buckets(exchange: Exchange) -> Mapping[str, Any] | None:
    return optional(exchange.bot.data, "problem_data", dict, exchange.bot.where)


def _reply(exchange: Exchange, model: str, choices: Sequence[str], seconds: float | None) -> dict[str, Any]:
    buckets, where = _buckets(exchange), f"{exchange.bot.where}.problem_data"
    row: dict[str, Any] = {
        "model": model,
        "position": 1,
        "selected": 0,
        "continued": 1,
        "text": exchange.bot.text,
        "candidate_id": f"{exchange.turn}-1",
        "seconds": None,
    }
    if buckets is None:  # this page asked for nothing, or not at this reply
        return row
    ticks = [name for name in choices if name in buckets and _ticked(buckets[name], name, where)]
    nothing = _ticked(buckets.get(NONE, False), NONE, where)
    return {
        **row,
        "seconds": seconds,
        "ticks": ";".join(ticks),
        "tick_choices": ";".join(choices),
        # ParlAI takes every bucket beside this one for a problem; some studies ask for what is good in its place.
        "tick_problems": ";".join(name for name in choices if is_problem(name, otherwise=NONE in buckets)),
        "none_said": int(nothing and not ticks),
        "reason": buckets[OTHER] if isinstance(buckets.get(OTHER), str) else None,
    }


def _ticked(value: Any, name: str, where: str) -> bool:
    if ";" in name:
        raise UnreadableUnit(
            f"the name {name!r} has a semicolon, which parts names in the table", where=where, try_="rename it"
        )
    if name == OTHER and isinstance(value, str):
        return bool(value.strip())
    if value is None or value in (0, 1):
        return bool(value)
    raise UnreadableUnit(f"{name} is {shown(value)}, expected true or false", where=where)


def _ratings(chat: Chat, plan: Plan) -> dict[str, tuple[float, str | None]]:
    """Criterion → rating and question; empty where the dialogue was not rated."""
    last = chat.exchanges[-1].bot
    given = last.data.get(RATING)
    if given is None:
        return {}
    values = [_number(part, last.where) for part in _parts(given)]
    questions = chat.unit.final_questions if len(chat.unit.final_questions) == len(values) else ()
    names = plan.criteria or _names(questions, len(values))
    if len(names) != len(values):
        raise UnreadableUnit(
            f"{RATING} {given!r} holds {len(values)} ratings, and {len(names)} names were given for them "
            f"({', '.join(names)})",
            where=last.where,
            try_="name as many with --criteria",
        )
    return {
        name: (value, questions[place] if questions else None)
        for place, (name, value) in enumerate(zip(names, values, strict=True))
    }


def _parts(given: Any) -> list[Any]:
    return given.removeprefix("|").split("|") if isinstance(given, str) else [given]


def _number(part: Any, where: str) -> float:
    try:
        value = math.nan if isinstance(part, bool) else float(part)
    except (TypeError, ValueError):
        value = math.nan
    if not FEWEST <= value <= MOST:
        raise UnreadableUnit(
            f"{RATING} is {shown(part)}, expected {FEWEST:g} to {MOST:g}, with | between several", where=where
        )
    return value


def _names(questions: Sequence[str], count: int) -> tuple[str, ...]:
    if count == 1:
        return ((criterion_of(questions[0]) if questions else None) or RATING,)
    known = [criterion_of(question) for question in questions] or [None] * count
    return tuple(name or f"{RATING}_{place}" for place, name in enumerate(known, start=1))


def _rating(chat: Chat, model: str, plan: Plan, metric: str) -> dict[str, Any]:
    return {
        "dialogue_id": chat.dialogue_id,
        "worker_id": chat.worker,
        "model": model,
        "degraded": 0,
        "technique": TECHNIQUE,
        "setting": plan.setting,
        "reversed": 0,
        "scale": "likert",
        "minimum": FEWEST,
        "maximum": MOST,
        "metric": metric,
    }


def _times(chat: Chat) -> dict[int, float]:
    """Turn → seconds from the reply shown to its ticks received, where the messages were kept."""
    times: dict[int, float] = {}
    shown_at: float | None = None
    turn = 0
    for message in chat.unit.messages:
        sent = body(message)
        task_data = sent.get("task_data")
        if isinstance(task_data, dict) and "problem_data_for_prior_message" in task_data:
            seconds = time_between(shown_at, timestamp(message))
            if turn and seconds is not None:
                times[turn] = seconds
            shown_at = None
        elif turn < len(chat.exchanges) and sent.get("text") == chat.exchanges[turn].bot.text and sent.get("text"):
            turn, shown_at = turn + 1, timestamp(message)
    return times
