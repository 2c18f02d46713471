"""Files that a study reads: personas of the Human Speaker, and the words of the page.

Everything is checked when it is read; an error names the file, the place and what was expected.

Which lines of a task's instructions hold in a study, so that what raters read is true of it.

In the YAML file a line may be written ``{when: persona, text: …}`` or ``{unless: [persona, practice], text: …}``. It stays
where every flag of ``when`` is on and none of ``unless`` is. A section takes the same two keys; one that is left without
lines goes as well. A text that stands alone (the title, say) may be a list of such pieces, which are joined.
``{shared: NAME}`` stands for a part of ``data/shared_instructions.yaml``, which holds what tasks have in common.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from parlai_humaneval._util.errors import HumanevalError, InvalidValue, value_problem
from parlai_humaneval.i18n.translate import joined, t

FLAGS: Mapping[str, str] = {
    "persona": "raters play a character",
    "first_message": "the first message is said for them",
    "rater_ends": "the rater ends the chat, from some turn on",
    "practice": "there is a practice before the first chat",
    "told_at_once": "after each answer of the practice one is told whether it was right",
    "reasons": "raters say why they chose",
    "none_allowed": "none of the replies may be chosen",
    "several_choices": "several replies may be chosen at a turn",
    "written_fallback": "where none is chosen, the rater writes a better reply",
    "several_settings": "settings that differ in this are run side by side",
    "several_conversations": "the pay is for several chats, one after another",
    "topic_free": "raters name a topic before a chat",
    "opinion": "they say what they think of it",
    "topic_icebreaker": "a sentence is given as the topic",
    "topic_changes": "raters note new topics with a button",
    "offer_topics": "a button offers topics",
    "human_partner": "a person is among the models, so that raters may talk to one",
    "several_items": "a unit holds several things to judge",
    "self_chat": "both speakers of what is judged are programs",
    "human_bot": "what is judged are chats between a person and a program",
    "labels": "raters say of each speaker whether it is a human or a bot",
    "features": "raters compare two speakers in several respects",
    "human_dialogues": "some of the chats are between two people",
    "replay": "a chat is gone through turn by turn",
    "ranking": "raters put replies in order",
    "scales": "raters rate on scales that say what each point means",
    "own_consent": "a text of the researchers' own asks for consent, and says what is kept and published",
    "unpaid": "raters are promised no pay",
    "part_paid": "who leaves before the end is paid for the part that they did",
    "left_paid": "who leaves before the end is paid for the whole",
    "ties": "two replies may share a place in an order",
}
"""What a line can be made to depend on. With several settings, a flag is on where it is on in one of them."""


CONDITIONS = ("when", "unless")
"""Keys that say when something holds."""
NO_WORDS = frozenset({*CONDITIONS, "at"})
"""Keys of what is not said."""
_GONE = object()
"""In place of what does not hold."""


class InstructionError(HumanevalError, ValueError):
    """A condition or a shared part that does not exist; the message names those that do."""


def shared_parts() -> dict[str, Any]:
    """The parts that tasks have in common, by name."""
    text = (files("parlai_humaneval") / "data" / "shared_instructions.yaml").read_text(encoding="utf-8")
    parts: dict[str, Any] = yaml.safe_load(text)
    return parts


def with_shared(data: Any, parts: Mapping[str, Any]) -> Any:
    """``data`` with every ``{shared: NAME}`` replaced; within a list, a part that is a list takes its place there.

    Raises:
        InstructionError: a name that is not among ``parts``, or a condition on a part that is more than a text.
    """
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
    return _part(data, parts)


def _part(data: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    name = data["shared"]
    if name not in parts:
        raise InstructionError(f"there is no shared part {name!r}", try_=f"known: {', '.join(parts)}")
    conditions = {key: item for key, item in data.items() if key != "shared"}
    part = with_shared(parts[name], parts)
    if not conditions:
        return part
    if not isinstance(part, str):
        raise InstructionError(f"the shared part {name!r} has conditions of its own", try_="name it without any")
    return {**conditions, "text": part}


def that_holds(data: Mapping[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """The instructions as they hold with these ``flags``: conditions decided and gone, pieces of a text joined.

    Raises:
        InstructionError: a condition that names no flag.
    """
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
    if not _holds(data, flags):
        return _GONE
    new = {key: _kept(item, flags) for key, item in data.items() if key not in CONDITIONS}
    if new.keys() == {"text"}:
        return new["text"]
    return _GONE if data.get("lines") and not new["lines"] else new


def _holds(data: Mapping[str, Any], flags: Collection[str]) -> bool:
    wanted, unwanted = _flags(data.get("when", [])), _flags(data.get("unless", []))
    return all(flag in flags for flag in wanted) and not any(flag in flags for flag in unwanted)


def _flags(named: Any) -> list[str]:
    names = named if isinstance(named, list) else [named]
    for name in names:
        if name not in FLAGS:
            raise InstructionError(f"a line depends on {name!r}, which is no flag", try_=f"known: {', '.join(FLAGS)}")
    return names


Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class MaterialError(HumanevalError, ValueError):
    """A file of a study that cannot be used; the message says where and why."""


class _Material(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Persona(_Material):
    """Sentences that the Human Speaker plays (Smith et al. 2022, §3.1.1: two of them)."""

    persona_id: Sentence
    sentences: Annotated[list[Sentence], Field(min_length=1)]


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
                f"more than one sentence stands at {', '.join(twice)}", try_="give them conditions, or join them"
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


M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], data: Any, where: str) -> M:
    """``data`` as ``model``. Raises MaterialError: ``where``, the place in it and what was expected."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the top"
        raise MaterialError(value_problem(first), where=f"{where}: at {place}") from error


def read_text(path: Path) -> str:
    """The text of a file in UTF-8. Raises MaterialError."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except OSError as error:
        raise MaterialError(f"cannot be read ({error.strerror})", where=path) from error
    except UnicodeDecodeError as error:
        raise MaterialError(
            f"is not text in UTF-8 (byte {error.start + 1})", where=path, try_="save it as UTF-8"
        ) from error


def text_lines(text: str) -> list[str]:
    """Lines as JSONL has them: other signs that Python takes for a line's end may stand inside of a sentence."""
    return text.removesuffix("\n").split("\n") if text.strip() else []


def packaged(name: str) -> Path:
    """One of the files that come with this project."""
    return Path(str(files("parlai_humaneval") / "data" / name))


def load_personas(path: Path | None = None) -> list[Persona]:
    """Personas from a JSONL file: ``{"persona_id": …, "sentences": [… , …]}`` a line; default: the packaged set.

    Raises:
        MaterialError: an unreadable line, an empty line or sentence, a repeated id, or no persona at all.
    """
    return read_jsonl(path or packaged("personas.jsonl"), Persona, "persona", lambda persona: persona.persona_id)


def read_jsonl(path: Path, model: type[M], what: str, id_of: Callable[[M], str]) -> list[M]:
    """Every line of a JSONL file as ``model``; ``what`` is the word for one of them.

    Raises:
        MaterialError: an unreadable or empty line, a repeated id, or nothing at all.
    """
    found: list[M] = []
    for number, line in enumerate(text_lines(read_text(path)), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            raise MaterialError("the line is empty", where=where, try_=f"make each line one {what}")
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise MaterialError(f"not JSON ({error.msg})", where=where) from error
        found.append(validated(model, data, where))
    if not found:
        raise MaterialError(f"holds no {what}", where=path)
    repeated = {name for name, count in Counter(map(id_of, found)).items() if count > 1}
    if repeated:
        raise MaterialError(f"these {what} ids stand twice: {', '.join(sorted(repeated))}", where=path)
    return found


def load_instructions(path: Path, values: Mapping[str, str], flags: Collection[str] = ()) -> Instructions:
    """Instructions from YAML in the language in force, with ``{placeholders}`` filled from ``values``.

    Of their lines those are left that hold with ``flags`` (:class:`Sentence`).

    Raises:
        MaterialError: malformed, a placeholder that has no value, or a condition that is none.
    """
    try:
        data = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise MaterialError(f"not YAML ({error})", where=path) from error
    try:
        filled = _filled(with_shared(data, shared_parts()), values, path)
        words = that_holds(filled, flags) if isinstance(filled, dict) else filled
    except InstructionError as error:
        raise MaterialError(error, where=path) from error
    return validated(Instructions, words, str(path))


def _filled(data: Any, values: Mapping[str, str], path: Path) -> Any:
    if isinstance(data, str):
        try:
            return t(data).format(**values)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = ", ".join("{" + name + "}" for name in values)
            raise MaterialError(f"unknown placeholder in “{data}”", where=path, try_=f"known: {known}") from error
    if isinstance(data, list):
        return [_filled(item, values, path) for item in data]
    if isinstance(data, dict):
        return {key: item if key in NO_WORDS else _filled(item, values, path) for key, item in data.items()}
    return data
