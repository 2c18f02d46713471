"""The practice conversation before a rater's first dialogue: items with right answers, from a JSON file.

A file is ``{"metric": …, "items": […]}``. What an item asks follows from its keys:

- ``human, replies, right``: which replies (numbers from 1; ``[]``: none of them). ``good, bad`` in place of the last two
  is the short form for two replies of which the first is right (Smith et al. 2022, App. B.2).
- ``human, reply, must, must_not``: what must be ticked of the reply, and what must not.
- ``lines, sides``: a finished chat, and for each criterion the end of the scale (``low`` or ``high``) that is right.
- ``human, replies, better``: which of two partners: ``a``, ``b``, ``tie`` or ``both_bad``.
- ``conversations, judged, better``: two finished chats, and in which of them (1 or 2) the judged speaker is better.
- ``lines, labels``: a finished chat, and for each of its two speakers what they can be taken for: ``human``, ``unsure``,
  ``bot``, or a list of those that are right.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from parlai_humaneval._util.data_files import DataError, Sentence, read_json, validated
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import t


class _Item(BaseModel, extra="forbid"):
    why: Sentence


class ChooseItem(_Item):
    """``right``: numbers of the right replies. ``continues``: said after it; None: the first right reply, or the first."""

    human: Sentence
    replies: Annotated[list[Sentence], Field(min_length=1, max_length=8)]
    right: list[Annotated[int, Field(ge=1)]]
    continues: Sentence | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        if isinstance(data, dict) and {"good", "bad"} <= data.keys():
            rest = {key: value for key, value in data.items() if key not in {"good", "bad"}}
            return {"replies": [data["good"], data["bad"]], "right": [1], **rest}
        return data

    @model_validator(mode="after")
    def _possible(self) -> ChooseItem:
        if len(set(self.replies)) < len(self.replies):
            raise ValueError("two replies are the same, so a rater could not tell which one is right")
        if self.right and max(self.right) > len(self.replies):
            raise ValueError(f"right names reply {max(self.right)}, but there are {len(self.replies)}")
        if len(set(self.right)) < len(self.right):
            raise ValueError("right names a reply twice")
        return self

    @property
    def next_line(self) -> str:
        """What the partner is taken to have said."""
        return self.continues or self.replies[(self.right[0] if self.right else 1) - 1]


class TickItem(_Item):
    """Ticks that are neither in ``must`` nor in ``must_not`` are the rater's own affair."""

    human: Sentence
    reply: Sentence
    must: list[Sentence] = Field(default_factory=list)
    must_not: list[Sentence] = Field(default_factory=list)

    @model_validator(mode="after")
    def _possible(self) -> TickItem:
        if not self.must and not self.must_not:
            raise InvalidValue("there is no right answer", try_="name what must be ticked, or what must_not")
        if set(self.must) & set(self.must_not):
            raise ValueError("`must` and `must_not` overlap")
        return self


class RateItem(_Item):
    """``lines`` are said in turn, the human's first."""

    lines: Annotated[list[Sentence], Field(min_length=2)]
    sides: Annotated[dict[Sentence, Literal["low", "high"]], Field(min_length=1)]


class VerdictItem(_Item):
    human: Sentence
    replies: Annotated[list[Sentence], Field(min_length=2, max_length=2)]
    better: Literal["a", "b", "tie", "both_bad"]


class PairItem(_Item):
    """Two finished chats. ``judged``: the place of the judged speaker in both (2: who answers)."""

    conversations: Annotated[list[Annotated[list[Sentence], Field(min_length=2)]], Field(min_length=2, max_length=2)]
    judged: Literal[1, 2] = 2
    better: Literal[1, 2]


Label = Literal["human", "unsure", "bot"]


class SegmentItem(_Item):
    """``labels``: the right ones for the speaker of the first line and for the other (Deriu et al. 2020, §3.1)."""

    lines: Annotated[list[Sentence], Field(min_length=2)]
    labels: Annotated[list[Label | Annotated[list[Label], Field(min_length=1)]], Field(min_length=2, max_length=2)]

    @property
    def right(self) -> list[set[str]]:
        """The right labels of each speaker."""
        return [{one} if isinstance(one, str) else set(one) for one in self.labels]


_KINDS = {
    "conversations": "pair",
    "labels": "segment",
    "better": "verdict",
    "sides": "rate",
    "must": "tick",
    "must_not": "tick",
    "right": "choose",
    "good": "choose",
}


def _kind(data: Any) -> str | None:
    if isinstance(data, _Item):
        return type(data).__name__.removesuffix("Item").lower()
    keys = data.keys() if isinstance(data, dict) else set()
    return next((kind for key, kind in _KINDS.items() if key in keys), None)


PracticeItem = Annotated[
    Annotated[ChooseItem, Tag("choose")]
    | Annotated[TickItem, Tag("tick")]
    | Annotated[RateItem, Tag("rate")]
    | Annotated[VerdictItem, Tag("verdict")]
    | Annotated[PairItem, Tag("pair")]
    | Annotated[SegmentItem, Tag("segment")],
    Discriminator(
        _kind,
        custom_error_type="no_right_answer",
        custom_error_message="this item has no right answer: it needs right, must or must_not, sides, labels, or better",
    ),
]


class Practice(BaseModel, extra="forbid"):
    """A practice conversation: every item must be answered right. ``question`` None: the study's own."""

    metric: Sentence
    question: Sentence | None = None
    items: Annotated[list[PracticeItem], Field(min_length=1)]


def in_language(item: PracticeItem) -> PracticeItem:
    """An item as a rater reads it: what is said in it, and why, in the language in force."""
    return type(item).model_validate({name: _said(name, value) for name, value in item.model_dump().items()})


_SAID = frozenset({"human", "replies", "continues", "reply", "lines", "conversations", "why"})


def _said(name: str, value: Any) -> Any:
    if name not in _SAID or value is None:
        return value
    return [_said(name, part) for part in value] if isinstance(value, list) else t(value)


def load_practice(path: Path, metric: str) -> Practice:
    """The practice conversation of a metric. Raises DataError."""
    practice = validated(Practice, read_json(path), path)
    if practice.metric != metric:
        raise DataError(f"is for the metric {practice.metric!r}, but this study asks for {metric!r}", where=path)
    return practice
