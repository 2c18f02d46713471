"""ParlAI's ``pairwise_per_turn_eval``: at every turn two models reply, and a person chooses with which the chat goes on.

Source of the format: ParlAI 1.7.2, ``crowdsourcing/tasks/pairwise_per_turn_eval`` (worlds.py, analysis/compile_results.py)
— the PW-Turn of Smith et al. 2022, §3.1.2. The saved chat data has no positions; the messages of a ``state.json`` tell
them (top is 1, bottom 2), and the time to each choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.importers.chats import (
    HUMAN,
    Chat,
    Exchange,
    body,
    dialogue_row,
    read_chat,
    time_between,
    timestamp,
    turn_row,
)
from parlai_humaneval.importers.units import Plan, Rows, Unit, UnreadableUnit, metric_of, optional, required
from parlai_humaneval.tables.columns import Row

TECHNIQUE = "pw_turn"
NOT_KNOWN = 0
"""Position of a candidate of which nothing says where it stood."""


@dataclass(frozen=True)
class _TurnMessages:
    top: str | None = None
    at: float | None = None
    answered: float | None = None


def rows_of(unit: Unit, plan: Plan) -> Rows:
    """Two rows of ``turns`` and one of ``comparisons`` for each turn, and one of ``dialogues``.

    ``position`` is 0 where the messages are not kept: the saved chat does not tell it.

    Raises:
        UnreadableUnit: not of this form; the message names the field.
    """
    chat = read_chat(unit, plan)
    where = f"{chat.unit.where}, task_description"
    first, second = (required(chat.task, f"model_{number}_nickname", str, where) for number in (1, 2))
    if first == second:
        raise UnreadableUnit(
            f"both models are named {first!r}, so that neither can win", where=where, try_="rename one"
        )
    models = first, second
    question = unit.question or _question(chat)
    metric = plan.metric or metric_of(question)
    # Turn → what the messages tell of it. Pairs stand at even task_turn_idx, from 0.
    tops: dict[int, tuple[str, float | None]] = {}
    answers: dict[int, float | None] = {}
    for message in chat.unit.messages:
        task_data = body(message).get("task_data")
        if not isinstance(task_data, dict):
            continue
        if isinstance(top := task_data.get("top_bot_data"), dict) and isinstance(name := top.get("top_bot_id"), str):
            tops[_turn(task_data, len(tops))] = name, timestamp(message)
        elif "accepted_bot_id" in task_data:
            answers[_turn(task_data, len(answers))] = timestamp(message)
    seen = {turn: _TurnMessages(top, at, answers.get(turn)) for turn, (top, at) in tops.items()}
    rows = Rows()
    for exchange in chat.exchanges:
        of_turn = turn_row(chat, exchange, TECHNIQUE, plan.setting, metric, question)
        shown = seen.get(exchange.turn, _TurnMessages())
        pair = _chosen_and_other({**of_turn, "dialogue_status": "complete"}, exchange, models, shown)
        for row in pair:
            rows.add("turns", row)
        rows.add("comparisons", _comparison(*sorted(pair, key=lambda row: str(row["model"]))))
    rows.add("dialogues", dialogue_row(chat, TECHNIQUE, plan.setting, metric, question, complete=True))
    return rows


def _models(chat: Chat) -> tuple[str, str]:
    where = f"{chat.unit.where}, task_description"
    first, second = (required(chat.task, f"model_{number}_nickname", str, where) for number in (1, 2))
    if first == second:
        raise UnreadableUnit(
            f"both models are named {first!r}, so that neither can win", where=where, try_="rename one"
        )
    return first, second


def _question(chat: Chat) -> str | None:
    """What the page asked; it travels with the first line, “Hi!”."""
    first = chat.unit.data["dialog"][HUMAN].get("task_data")
    return optional(first, "prompt_instruction", str, chat.unit.where) if isinstance(first, dict) else None


def _chosen_and_other(
    of_turn: Row, exchange: Exchange, models: tuple[str, str], shown: _TurnMessages
) -> tuple[Row, Row]:
    where, data = exchange.bot.where, exchange.bot.data
    chosen, other = (_candidate(data, name, models, where) for name in ("accepted_bot_data", "not_accepted_bot_data"))
    choice = required(data, "human_choice", str, where)
    if choice != chosen["model"] or choice == other["model"]:
        raise UnreadableUnit(
            f"human_choice is {choice!r}, but accepted_bot_data is of {chosen['model']!r} and "
            f"not_accepted_bot_data of {other['model']!r}",
            where=where,
        )
    seconds = time_between(shown.at, shown.answered)
    shared = {**of_turn, "seconds": seconds, "reason": optional(data, "human_justification", str, where)}
    rows = [
        {
            **shared,
            **candidate,
            "position": _position(str(candidate["model"]), shown),
            "failed": 0,  # so that a place which is not known is not taken for a reply that was not shown
            "selected": won,
            "continued": won,
        }
        for candidate, won in ((chosen, 1), (other, 0))
    ]
    return rows[0], rows[1]


def _candidate(data: Mapping[str, Any], name: str, models: tuple[str, str], where: str) -> Row:
    candidate = required(data, name, dict, where)
    inside = f"{where}.{name}"
    model = required(candidate, "id", str, inside)
    if model not in models:
        raise UnreadableUnit(
            f"id is {model!r}, expected {models[0]!r} or {models[1]!r} of task_description", where=inside
        )
    return {
        "model": model,
        "text": required(candidate, "text", str, inside),
        "candidate_id": f"model_{models.index(model) + 1}",
    }


def _position(model: str, shown: _TurnMessages) -> int:
    return NOT_KNOWN if shown.top is None else 1 if model == shown.top else 2


def _comparison(a: Row, b: Row) -> Row:
    return {
        "item_id": f"{a['dialogue_id']}:{a['turn']}",
        "model_a": a["model"],
        "model_b": b["model"],
        "dialogue_a": a["dialogue_id"],
        "dialogue_b": b["dialogue_id"],
        "winner": a["model"] if a["selected"] else b["model"],
        "tied": 0,
        "position_a": a["position"] or None,
        "selected_a": a["selected"],
        "selected_b": b["selected"],
        "n_models": 2,
        "both_bad": 0,
        "automatic": 0,
        **{
            name: a[name]
            for name in (
                "worker_id",
                "metric",
                "seconds",
                "technique",
                "setting",
                "turn",
                "reason",
                "question",
                "dialogue_status",
            )
        },
    }


def _turn(task_data: Mapping[str, Any], before: int) -> int:
    index = task_data.get("task_turn_idx")
    return index // 2 + 1 if isinstance(index, int) and index >= 0 else before + 1
