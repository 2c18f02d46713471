"""What ParlAI's two chat tasks save alike: lines of Human and Bot Speaker in turn, and the dialogue about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.importers.units import Plan, Unit, UnreadableUnit, content_id, optional, required, worker_name
from parlai_humaneval.tables.columns import Row, iso_time

HUMAN, BOT = 0, 1
"""``agent_idx`` of the speakers."""


@dataclass(frozen=True)
class Line:
    """One line; ``fixed``: it was given, neither typed nor made by a model."""

    where: str
    data: Mapping[str, Any]
    text: str
    fixed: bool


@dataclass(frozen=True)
class Exchange:
    """What the Human Speaker said, and how the Bot Speaker went on; ``turn`` counts from 1."""

    turn: int
    human: Line
    bot: Line


@dataclass(frozen=True)
class Chat:
    """A saved dialogue; ``task``: its task_description. Beginnings that were given to both are no exchanges."""

    unit: Unit
    dialogue_id: str
    worker: str
    task: Mapping[str, Any]
    exchanges: tuple[Exchange, ...]


def read_chat(unit: Unit, plan: Plan) -> Chat:
    """The parts of chat data that every task of ParlAI's saves; checked as ParlAI's own analysis checks them.

    Raises:
        UnreadableUnit: a field is missing or of another kind, speakers do not alternate, or no worker is named.
    """
    where = unit.where
    dialog = required(unit.data, "dialog", list, where)
    task = required(unit.data, "task_description", dict, where)
    worker = plan.pseudonym(_worker(unit))
    lines = [_line(entry, f"{where}, dialog[{place}]", place % 2) for place, entry in enumerate(dialog)]
    pairs = list(zip(lines[::2], lines[1::2], strict=False))
    said = [(human, bot) for human, bot in pairs if not bot.fixed]
    exchanges = [Exchange(turn, human, bot) for turn, (human, bot) in enumerate(said, start=1)]
    if not exchanges:
        raise UnreadableUnit("dialog has no reply of a model", where=where)
    models = {name: value for name, value in task.items() if name.endswith("nickname")}
    key = (worker, models, dialog, unit.data.get("hit_ids"), unit.data.get("assignment_ids"))
    return Chat(unit, content_id("d", *key), worker, task, tuple(exchanges))


def _worker(unit: Unit) -> str:
    named = unit.data.get("workers")
    if isinstance(named, list) and len(named) > 1:
        raise UnreadableUnit(
            f"workers names {len(named)} workers, and only chats of one worker with a bot are read", where=unit.where
        )
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else unit.worker
    if not name:
        raise UnreadableUnit(
            "workers is missing, so nobody knows who rated", where=unit.where, try_="add the list with one name"
        )
    return worker_name(name)


def _line(entry: Any, where: str, speaker: int) -> Line:
    index = required(entry, "agent_idx", int, where)
    if index != speaker:
        raise UnreadableUnit(
            f"agent_idx is {index}, expected {speaker}: the person (0) and the bot (1) speak in turn, the person first",
            where=where,
        )
    text = optional(entry, "text", str, where) or ""
    return Line(where, entry, text, bool(entry.get("fake_start")))


def dialogue_row(chat: Chat, technique: str, setting: str, metric: str, question: str | None, complete: bool) -> Row:
    """The row of a chat in the table ``dialogues``."""
    unit, data = chat.unit, chat.unit.data
    # ParlAI's own check of what the worker typed: null where it was off, an empty text where it was passed.
    violations = data.get("acceptability_violations")
    found = violations[0] if isinstance(violations, list) and violations else None
    checks = None if found is None else {"acceptability": {"passed": found == "", "reason": str(found)}}
    models = [value for name, value in chat.task.items() if name.endswith("nickname")]
    personas = data.get("personas")
    return {
        "dialogue_id": chat.dialogue_id,
        "worker_id": chat.worker,
        "technique": technique,
        "setting": setting,
        "started": None if unit.started is None else iso_time(unit.started),
        "seconds": None if unit.started is None or unit.ended is None else unit.ended - unit.started,
        "n_turns": len(chat.exchanges),
        "complete": int(complete),
        "status": "complete" if complete else "partial",
        "n_turns_started": len(chat.exchanges),
        "metric": metric,
        "question": question,
        "models": ";".join(dict.fromkeys(map(str, models))),
        "persona": _json(personas[0]) if isinstance(personas, list) and personas else None,
        "context": _context(data),
        "checks": None if checks is None else _json(checks),
        "checks_failed": ";".join(name for name, check in (checks or {}).items() if not check["passed"]),
        "task_name": unit.task_name,
        "task_run_id": unit.task_run_id,
        "unit_id": unit.unit_id,
        "assignment_id": unit.assignment_id,
    }


def _context(data: Mapping[str, Any]) -> str | None:
    names = ("personas", "context_dataset", "additional_context", "person1_seed_utterance", "person2_seed_utterance")
    found = {name: data[name] for name in names if data.get(name) is not None}
    return _json(found) if found else None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def turn_row(chat: Chat, exchange: Exchange, technique: str, setting: str, metric: str, question: str | None) -> Row:
    """What all rows of a turn share."""
    return {
        "dialogue_id": chat.dialogue_id,
        "worker_id": chat.worker,
        "technique": technique,
        "setting": setting,
        "metric": metric,
        "question": question,
        "turn": exchange.turn,
        "written": 0,
        "complete": 1,
        "human_text": exchange.human.text,
        "human_fixed": int(exchange.human.fixed),
    }


def body(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was sent, without the envelope that earlier versions of Mephisto put around it."""
    inner = message.get("data")
    return inner if isinstance(inner, dict) and inner else message


def time_between(shown: float | None, answered: float | None) -> float | None:
    """Seconds from one to the other; None where either is not known, or a clock went back."""
    return None if shown is None or answered is None or answered < shown else answered - shown


def timestamp(message: Mapping[str, Any]) -> float | None:
    """When a message was sent, in seconds since 1970; None where that was not kept."""
    value = message.get("timestamp")
    return float(value) if isinstance(value, int | float) else None
