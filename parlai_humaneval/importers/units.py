"""Units come from ParlAI's saved JSON files.

The input of a reader (a unit of work), its output (rows), and its plan; fields of units, with errors that name them.
One may hold the chat data alone (as ``model_chat`` writes it into its ``chat_data_folder``), a rater's ``state.json``
or ``agent_data.json`` of a Mephisto data directory, or what Mephisto's ``DataBrowser`` gives; one of them, a JSON list,
or one a line.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from parlai_humaneval._util.data_files import nearest_file, read_text, text_lines
from parlai_humaneval._util.table_files import plain_name
from parlai_humaneval.importers.vocabulary import WORDS
from parlai_humaneval.tables.columns import Repeats, Row, TableError
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.techniques.questions import CRITERIA
from parlai_humaneval.techniques.registry import PW_DIALOG, PW_TURN

NOT_MTURK = "--NOT-MTURK-AGENT-"
"""ParlAI writes it before the name of every worker that it does not take for one of MTurk."""
T = TypeVar("T")
_KINDS: Mapping[type, str] = {str: "a text", dict: "an object", list: "a list", int: "a whole number"}


class UnreadableUnit(TableError):
    """A unit of work that is not of the expected form; the message says where it stands, which field, and what to do."""


@dataclass(frozen=True)
class Unit:
    """What one rater did in one unit of work, as ParlAI saved it, and what is known of it besides. ``where``: file, and
    place in it, for messages. ``data``: chat data (an object) or judged pairs (a list). ``worker``: name of the worker
    on the crowd platform, if ``data`` does not hold it. ``started``, ``ended``: seconds since the epoch. ``messages``:
    everything that was sent and received, where that is kept; it tells positions and times. ``question``: the raters'
    question, if ``data`` does not hold it. ``final_questions``: the questions at the end, in their order."""

    where: str
    data: Any
    worker: str | None = None
    started: float | None = None
    ended: float | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    question: str | None = None
    final_questions: tuple[str, ...] = ()
    task_name: str | None = None
    task_run_id: str | None = None
    unit_id: str | None = None
    assignment_id: str | None = None

    @property
    def seconds(self) -> float | None:
        """From beginning to end, where both are known."""
        return None if self.started is None or self.ended is None else self.ended - self.started


@dataclass(frozen=True)
class LeftOut:
    """A unit of work that is whole, but holds no result: not finished, or nothing saved."""

    reason: str


@dataclass(frozen=True)
class ImportPlan:
    """How units become rows.

    Attributes:
        pseudonym: worker's name → pseudonym.
        metric, setting: put in these columns; ``metric`` None: named after the question.
        criteria: names of the ratings at the end, in their order; empty: named after their questions.
        keep_failed: also what workers did who failed ACUTE-Eval's onboarding.
        repeats: which of the answers count that a worker gave again; None: they are refused.
    """

    pseudonym: Callable[[str], str]
    metric: str | None = None
    setting: str = ""
    criteria: tuple[str, ...] = ()
    keep_failed: bool = False
    repeats: Repeats | None = None

    def worker(self, name: str) -> str:
        """The pseudonym of a worker by the name that ParlAI gave them."""
        return self.pseudonym(name.removeprefix(NOT_MTURK))


@dataclass
class Rows:
    """Rows by table, and what was left out of them, counted by reason."""

    tables: dict[TableName, list[Row]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, table: TableName, row: Row) -> None:
        self.tables.setdefault(table, []).append(row)


def content_id(letter: str, *content: object) -> str:
    """The same for the same content: ``letter`` and 16 hexadecimal digits of an SHA-256."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    return letter + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def required(data: Any, name: str, kind: type[T], where: str) -> T:
    """``data[name]``, which must be there and of ``kind``. Raises UnreadableUnit."""
    if not isinstance(data, dict):
        raise UnreadableUnit(f"{shown(data)}, expected an object with {name}", where=where)
    if name not in data:
        raise UnreadableUnit(f"{name} is missing (it has: {', '.join(map(str, data)) or 'nothing'})", where=where)
    value = data[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UnreadableUnit(f"{name} is {shown(value)}, expected {_KINDS[kind]}", where=where)
    return value


def optional(data: Mapping[str, Any], name: str, kind: type[T], where: str) -> T | None:
    """``data[name]``, or None where it is missing or null. Raises UnreadableUnit."""
    return None if data.get(name) is None else required(data, name, kind, where)


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


UNNAMED = "unnamed"  # Metric where neither the data nor the user says what was asked

_CHOICES: dict[str, str] = {
    **{plain_name(text): metric for entry in (PW_TURN, PW_DIALOG) for metric, text in entry.questions.items()},
    **{plain_name(text): metric for text, metric in WORDS["parlai_questions"].items()},
}
RATINGS = {plain_name(criterion.text): name for name, criterion in CRITERIA["likert"].items()}


def metric_of(question: str | None) -> str:
    """The metric of a known wording; else the question itself, or :data:`UNNAMED` where there is none."""
    if question is None or not question.strip():
        return UNNAMED
    return _CHOICES.get(plain_name(question), " ".join(question.split()))


DONE = ("completed", "approved")
"""Mephisto's statuses of work that counts; ParlAI's own analysis reads these and no others."""

NOTHING_SAVED = "nothing was saved: not finished"


def json_files(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and of folders every ``.json`` and ``.jsonl`` below them, in the order of their names.
    Raises UnreadableUnit."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".jsonl") and file.is_file())
            if not inside:
                raise UnreadableUnit(
                    f"{path} holds no .json or .jsonl file", try_="name the folder or file that ParlAI wrote"
                )
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise UnreadableUnit("there is no such file or folder", where=path, misspelt=nearest_file(path))
    return list(dict.fromkeys(found))


def units_of_file(path: Path) -> Iterator[Unit | LeftOut | UnreadableUnit]:
    """What a file holds, in its order. What cannot be read is given as an error, so that others can go on."""
    try:
        text = read_text(path, error=UnreadableUnit)
        whole = json.loads(text)
    except UnreadableUnit as unreadable:
        yield unreadable
        return
    except (ValueError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(text_lines(text), start=1) if line.strip()]
        if len(lines) < 2 and ".jsonl" not in path.suffixes:
            yield UnreadableUnit(f"{path} is not JSON: {error}")
            return
        entries: list[tuple[str, Any]] = [(f"{path}, line {number}", line) for number, line in lines]
    else:
        several = isinstance(whole, list) and not _judged_pairs(whole)
        places = enumerate(whole if several else [whole], start=1)
        entries, lines = [(f"{path}, entry {n}" if several else str(path), one) for n, one in places], []
    for where, entry in entries:
        try:
            yield _unit_of(json.loads(entry) if lines else entry, where)
        except UnreadableUnit as unreadable:
            yield unreadable
        except (ValueError, RecursionError) as broken:
            yield UnreadableUnit(f"{where} is not JSON: {broken}")


def _judged_pairs(data: object) -> bool:
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "pairing_dict" in data[0]


def _unit_of(entry: Any, where: str) -> Unit | LeftOut:
    """The unit of work in one JSON value, whichever of the forms above it has. Raises UnreadableUnit."""
    if _judged_pairs(entry):
        return Unit(where, entry)
    if not isinstance(entry, dict):
        raise UnreadableUnit(f"{shown(entry)}, expected an object that ParlAI saved", where=where)
    if "data" in entry and ("status" in entry or "worker_id" in entry):
        status, data = entry.get("status"), entry["data"]
        if status is not None and status not in DONE:
            return LeftOut(f"Mephisto's status is {status}")
        known: dict[str, Any] = {
            "worker": str(entry.get("worker_name") or entry.get("worker_id") or "") or None,
            **_times(entry.get("task_start"), entry.get("task_end")),
            **{name: None if entry.get(name) is None else str(entry[name]) for name in ("unit_id", "assignment_id")},
        }
        if isinstance(data, list):
            return Unit(where, data, **known)
        if not isinstance(data, dict):
            return LeftOut(NOTHING_SAVED)
        messages = data.get("messages")
        held = tuple(message for message in messages if isinstance(message, dict)) if isinstance(messages, list) else ()
        world = data.get("save_data")
        return _saved(world.get("custom_data") if isinstance(world, dict) else None, where, messages=held, **known)
    if isinstance(entry.get("outputs"), dict) or ("outputs" in entry and "inputs" in entry):
        return of_state(entry, where)
    if "custom_data" in entry:
        return _saved(entry["custom_data"], where)
    return Unit(where, entry)


def _saved(data: Any, where: str, **known: Any) -> Unit | LeftOut:
    return LeftOut(NOTHING_SAVED) if data is None else Unit(where, data, **known)


def of_state(state: Mapping[str, Any], where: str, **known: Any) -> Unit | LeftOut:
    """The unit of a ``state.json`` (live tasks) or ``agent_data.json`` (static ones); ``known``: its further fields.
    Raises UnreadableUnit."""
    outputs = state.get("outputs")
    if outputs is None:
        return LeftOut(NOTHING_SAVED)
    if not isinstance(outputs, dict) or not ("messages" in outputs or "final_data" in outputs):
        raise UnreadableUnit("outputs has neither messages (a live task) nor final_data (ACUTE-Eval)", where=where)
    if "final_data" in outputs:
        # Beginning and end as Mephisto 1.x (metadata) and earlier ones (times) keep them.
        kept = state.get("metadata") or state.get("times") or {}
        times = _times(kept.get("task_start"), kept.get("task_end"))
        inputs, answers = state.get("inputs"), outputs["final_data"]
        if not isinstance(inputs, list) or not isinstance(answers, list) or len(inputs) != len(answers):
            raise UnreadableUnit("inputs and outputs.final_data are not two lists of the same length", where=where)
        if not all(isinstance(one, dict) for one in (*inputs, *answers)):
            raise UnreadableUnit("inputs and outputs.final_data are not lists of objects", where=where)
        # As ParlAI's agent state merges them.
        pairs = [{**pair, **answer} for pair, answer in zip(inputs, answers, strict=True)]
        return Unit(where, pairs, **{**times, **known})
    messages = outputs["messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UnreadableUnit("`outputs.messages` is not a list of objects", where=where)
    sent = [time for message in messages if (time := seconds_of(message.get("timestamp"))) is not None]
    times = _times(sent[0], sent[-1]) if sent else {}
    return _saved(_world_data(messages), where, **{**times, **known, "messages": tuple(messages)})


def _times(first: Any, last: Any) -> dict[str, Any]:
    return {"started": seconds_of(first), "ended": seconds_of(last)}


def seconds_of(value: Any) -> float | None:
    """A time in seconds since 1970; None where that was not kept."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _world_data(messages: Sequence[Mapping[str, Any]]) -> Any:
    """What the world saved at the end; earlier versions appended it to the messages under another name."""
    for message in reversed(messages):
        if isinstance(world := message.get("WORLD_DATA"), dict):
            return world.get("custom_data")
        if message.get("final_chat_data") is not None:
            return message["final_chat_data"]
    return None
