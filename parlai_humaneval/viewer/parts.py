"""The parts of a viewer's entry, as its page reads them: lines, replies, answers and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from typing_extensions import Required, TypedDict

if TYPE_CHECKING:
    from parlai_humaneval.schema.wire import Markup

Kind = Literal["rater", "own", "judge"]
"""The source of an answer: a rater; the rater who held a dialogue that another one rates again; a judge."""


class Said(TypedDict, total=False):
    text: Required[str]
    markup: Markup
    images: list[dict[str, object]]


class Reply(Said, total=False):
    """A candidate of a turn. ``raw``: the model's own words, where others were shown; ``withdrawn``: earlier tries."""

    model: Required[str]
    position: int
    continued: bool
    failed: bool
    masked: bool
    raw: str
    changes: list[str]
    blocked: str
    thoughts: str
    withdrawn: list[str]
    latency: float


class Answer(TypedDict, total=False):
    """What somebody answered about a turn or the whole. ``chosen``: models; ``says``: question and answer in words."""

    by: Required[str]
    kind: Required[Kind]
    chosen: list[str]
    none: bool
    same: bool
    ticks: dict[str, list[str]]
    ranks: dict[str, int]
    says: list[tuple[str, str]]
    written: str
    reason: str
    seconds: float
    order: int


class Turn(TypedDict, total=False):
    turn: Required[int]
    human: Said
    given: bool
    replies: Required[list[Reply]]
    answers: Required[list[Answer]]


class Line(Said):
    who: str
    person: bool


class Talk(TypedDict):
    """A finished dialogue, as it was shown."""

    id: str
    title: str
    lines: list[Line]


class Check(TypedDict):
    name: str
    passed: bool
    reason: str
    by: str


class Details(TypedDict, total=False):
    """All of an entry that is not in the index."""

    questions: list[str]
    about: list[tuple[str, str]]
    talks: list[Talk]
    turns: list[Turn]
    answers: list[Answer]
    checks: list[Check]
    feedback: list[tuple[str, str]]
