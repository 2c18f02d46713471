"""What a reader gets (a unit of work), gives (rows), and is told (a plan); fields of units, with errors that name them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from parlai_humaneval.tables.columns import Repeats, Row, TableError
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.techniques.criteria import CRITERIA
from parlai_humaneval.techniques.registry import PW_DIALOG, PW_TURN

NOT_MTURK = "--NOT-MTURK-AGENT-"
"""ParlAI writes it before the name of every worker that it does not take for one of MTurk."""
T = TypeVar("T")
WORDS: Mapping[type, str] = {
    str: "a text",
    dict: "an object",
    list: "a list",
    int: "a whole number",
    bool: "true or false",
}


class UnreadableUnit(TableError):
    """A unit of work that is not of the expected form; the message says where it stands, which field, and what to do."""


@dataclass(frozen=True)
class Unit:
    """What one rater did in one unit of work, as ParlAI saved it, and what is known of it besides.

    Attributes:
        where: file, and place in it, for messages.
        data: chat data (an object) or judged pairs (a list).
        worker: name of the worker on the crowd platform, where it does not stand in ``data``.
        started, ended: seconds since the epoch.
        messages: everything that was sent and received, where that is kept; it tells positions and times.
        question: what raters were asked, where it does not stand in ``data``.
        final_questions: the questions at the end, in their order.
    """

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


@dataclass(frozen=True)
class LeftOut:
    """A unit of work that is whole, but holds no result: not finished, or nothing saved."""

    reason: str


@dataclass(frozen=True)
class Plan:
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


@dataclass
class Rows:
    """Rows by table, and what was left out of them, counted by reason."""

    tables: dict[TableName, list[Row]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, table: TableName, row: Row) -> None:
        self.tables.setdefault(table, []).append(row)


def worker_name(name: str) -> str:
    """The name without what ParlAI puts before it."""
    return name.removeprefix(NOT_MTURK)


def content_id(letter: str, *content: object) -> str:
    """The same for the same content: ``letter`` and 16 hexadecimal digits of a SHA-256."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    return letter + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def required(data: Any, name: str, kind: type[T], where: str) -> T:
    """``data[name]``, which must be there and of ``kind``.

    Raises:
        UnreadableUnit: ``data`` is no object, or the field is missing or of another kind.
    """
    if not isinstance(data, dict):
        raise UnreadableUnit(f"{shown(data)}, expected an object with {name}", where=where)
    if name not in data:
        raise UnreadableUnit(f"{name} is missing (it has: {', '.join(map(str, data)) or 'nothing'})", where=where)
    value = data[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UnreadableUnit(f"{name} is {shown(value)}, expected {WORDS[kind]}", where=where)
    return value


def optional(data: Mapping[str, Any], name: str, kind: type[T], where: str) -> T | None:
    """``data[name]``, or None where it is missing or null.

    Raises:
        UnreadableUnit: it is of another kind.
    """
    return None if data.get(name) is None else required(data, name, kind, where)


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


UNNAMED = "unnamed"
"""Metric where neither the data nor the user says what was asked."""

_PARLAI = {
    "Which next response from your partner would be more interesting?": "interestingness",
    "How well does the speaker play their role in the conversation?": "roleplay",
    "Who talks about the image better?": "image",
    "If you had to say that one speaker is more knowledgeable and one is more ignorant, who is more knowledgeable?": (
        "knowledge"
    ),
}
"""Wordings of ParlAI's own task files that Smith et al. 2022 do not use."""


def _plain(question: str) -> str:
    return "".join(letter for letter in question.lower() if letter.isalnum())


def _by_words(questions: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    return {_plain(question): metric for question, metric in questions}


_CHOICES = _by_words(
    [
        *((question, metric) for metric, question in (*PW_TURN.questions.items(), *PW_DIALOG.questions.items())),
        *_PARLAI.items(),
    ]
)
_RATINGS = _by_words((criterion.text, name) for name, criterion in CRITERIA["likert"].items())


def metric_of(question: str | None) -> str:
    """The metric of a known wording; else the question itself, or :data:`UNNAMED` where there is none."""
    if question is None or not question.strip():
        return UNNAMED
    return _CHOICES.get(_plain(question), " ".join(question.split()))


def criterion_of(question: str) -> str | None:
    """The criterion of a known wording of a rating at the end."""
    return _RATINGS.get(_plain(question))
