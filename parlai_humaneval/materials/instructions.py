"""The instructions of a task, limited to the lines that are true of the study.

In the YAML file a line may be written ``{when: persona, text: …}`` or ``{unless: [persona, practice], text: …}``. It stays
where every flag of ``when`` is on and none of ``unless`` is. A section takes the same two keys; one that is left without
lines goes as well. A text of its own (such as the title) may be a list of such pieces, which are joined. ``{shared:
NAME}`` inserts a part of ``data/shared_instructions.yaml``, which holds what tasks have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, field_validator, model_validator

from parlai_humaneval._util.data_files import DataError, Sentence, packaged, read_json, read_yaml, validated
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import joined, t


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
            what = "two replies are the same, so a rater could not tell which one is right"
            raise InvalidValue(what, try_="change one of them")
        if self.right and max(self.right) > len(self.replies):
            what = f"right names reply {max(self.right)}, but there are {len(self.replies)}"
            raise InvalidValue(what, try_="count replies from 1")
        if len(set(self.right)) < len(self.right):
            raise InvalidValue("right names a reply twice", try_="name each reply once")
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
            raise InvalidValue("`must` and `must_not` overlap", try_="keep each choice in one of them")
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
    """Two finished chats. ``judged``: the index of the judged speaker in both chats (2: the speaker who answers)."""

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


FLAGS: Mapping[str, str] = read_yaml(packaged("instruction_flags.yaml"))
"""Conditions that a line can depend on, with their meanings."""


CONDITIONS = ("when", "unless")  # Keys that say when something holds
NO_WORDS = frozenset({*CONDITIONS, "at"})  # Keys of what is not said
_GONE = object()  # In place of what does not hold


def shared_parts() -> dict[str, Any]:
    """The parts that tasks have in common, by name."""
    parts: dict[str, Any] = read_yaml(packaged("shared_instructions.yaml"))
    return parts


def with_shared(data: Any, parts: Mapping[str, Any]) -> Any:
    """``data`` with every ``{shared: NAME}`` replaced; within a list, a part that is a list takes its place there.
    Raises DataError."""
    if isinstance(data, list):
        found: list[Any] = []
        for item in data:
            new = with_shared(item, parts)
            spliced = isinstance(item, dict) and isinstance(new, list)
            found.extend(new if spliced else [new])
        return found
    if not isinstance(data, dict):
        return data
    if "shared" not in data:
        return {key: with_shared(item, parts) for key, item in data.items()}
    name = data["shared"]
    if name not in parts:
        raise DataError(f"there is no shared part {name!r}", try_=f"known: {', '.join(parts)}")
    conditions = {key: item for key, item in data.items() if key != "shared"}
    part = with_shared(parts[name], parts)
    if not conditions:
        return part
    if not isinstance(part, str):
        raise DataError(f"the shared part {name!r} has conditions of its own", try_="use it without conditions")
    return {**conditions, "text": part}


def that_holds(data: Mapping[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """The instructions as they hold with these ``flags``: conditions decided and gone, pieces of a text joined. Raises
    DataError."""
    kept = {key: _kept(item, flags) for key, item in data.items()}
    return {
        key: joined(map(str, item)) if isinstance(item, list) else item
        for key, item in kept.items()
        if item is not _GONE
    }


def _kept(data: Any, flags: Collection[str]) -> Any:
    """``data`` without what does not hold; :data:`_GONE` where that is all of it."""
    if isinstance(data, list):
        return [new for item in data if (new := _kept(item, flags)) is not _GONE]
    if not isinstance(data, dict):
        return data
    wanted, unwanted = _flags(data.get("when", [])), _flags(data.get("unless", []))
    if not all(flag in flags for flag in wanted) or any(flag in flags for flag in unwanted):
        return _GONE
    new = {key: _kept(item, flags) for key, item in data.items() if key not in CONDITIONS}
    if new.keys() == {"text"}:
        return new["text"]
    return _GONE if data.get("lines") and not new["lines"] else new


def _flags(named: Any) -> list[str]:
    names = named if isinstance(named, list) else [named]
    for name in names:
        if name not in FLAGS:
            raise DataError(f"a line depends on {name!r}, which is not a flag", try_=f"known: {', '.join(FLAGS)}")
    return names


class _Material(BaseModel, extra="forbid"):
    """The file may hold only declared fields."""


class Section(_Material):
    heading: Sentence
    lines: Annotated[list[Sentence], Field(min_length=1)]


class Sections(_Material):
    sections: Annotated[list[Section], Field(min_length=1)]


GuidePart = Literal[
    "message", "replies", "answers", "scales", "order", "better_reply", "topic", "chats", "reason", "send"
]
"""A part of the page: the field of a message, replies to choose from, options to tick or pick, scales, replies to put in
order, the field of a better reply, that of a topic, finished chats, that of a reason, the button once all is filled in."""


class GuideLine(_Material):
    """A sentence next to a part of the page, shown when a rater first needs that part."""

    at: GuidePart
    text: Sentence


class Guide(_Material):
    """What leads through a rater's first turn; ``task`` through that of the task itself, after the practice or without."""

    practice: list[GuideLine] = Field(default_factory=list)
    task: list[GuideLine] = Field(default_factory=list)

    @field_validator("practice", "task")
    @classmethod
    def _one_for_each_part(cls, lines: list[GuideLine]) -> list[GuideLine]:
        twice = [part for part, count in Counter(line.at for line in lines).items() if count > 1]
        if twice:
            raise InvalidValue(
                f"several sentences have the position {', '.join(twice)}", try_="give each a condition, or join them"
            )
        return lines


class Instructions(_Material):
    """All standing words of a task's page. ``guide`` None: that of the task's own file."""

    title: Sentence
    tagline: Sentence
    preview: Sections
    instructions: Sections
    consent: Sentence
    pay: Sentence
    start_label: Sentence
    guide: Guide | None = None


def load_instructions(path: Path, values: Mapping[str, str], flags: Collection[str] = ()) -> Instructions:
    """Instructions from YAML in the language in force, with ``{placeholders}`` filled from ``values``. Of their lines
    those are left that hold with ``flags`` (:class:`Sentence`). Raises DataError."""
    data = read_yaml(path)
    try:
        filled = _filled(with_shared(data, shared_parts()), values)
        words = that_holds(filled, flags) if isinstance(filled, dict) else filled
    except DataError as error:
        raise DataError(error, where=path) from error
    return validated(Instructions, words, str(path))


def _filled(data: Any, values: Mapping[str, str]) -> Any:
    if isinstance(data, str):
        try:
            return t(data).format(**values)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = ", ".join("{" + name + "}" for name in values)
            raise DataError(f"unknown placeholder in “{data}”", try_=f"known: {known}") from error
    if isinstance(data, list):
        return [_filled(item, values) for item in data]
    if isinstance(data, dict):
        return {key: item if key in NO_WORDS else _filled(item, values) for key, item in data.items()}
    return data
