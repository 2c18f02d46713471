"""The words of a task's page: which of its lines hold in a study, so that what raters read is true of it.

In the YAML file a line may be written ``{when: persona, text: …}`` or ``{unless: [persona, practice], text: …}``. It stays
where every flag of ``when`` is on and none of ``unless`` is. A section takes the same two keys; one that is left without
lines goes as well. A text that stands alone (the title, say) may be a list of such pieces, which are joined.
``{shared: NAME}`` stands for a part of ``data/shared_instructions.yaml``, which holds what tasks have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator

from parlai_humaneval._util.data_files import DataError, Sentence, packaged, read_yaml, validated
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import joined, t

FLAGS: Mapping[str, str] = read_yaml(packaged("instruction_flags.yaml"))
"""What a line can be made to depend on, with what it stands for."""


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
        raise DataError(f"the shared part {name!r} has conditions of its own", try_="name it without any")
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
    """Nothing but what is declared may stand in the file."""


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
    """A sentence that stands beside a part of the page when a rater first has to do with it."""

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
                f"more than one sentence has the position {', '.join(twice)}", try_="give them conditions, or join them"
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
