"""Files that a study reads: personas of the Human Speaker, and the words of the page.

Everything is checked when it is read; an error names the file, the place and what was expected.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from parlai_humaneval.languages.speaking import t
from parlai_humaneval.protocol.materials.instruction_lines import (
    NO_WORDS,
    InstructionError,
    shared_parts,
    that_holds,
    with_shared,
)
from parlai_humaneval.suggesting import choose_of

Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class MaterialError(ValueError):
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
            raise ValueError(f"more than one sentence stands at {', '.join(twice)}; give them conditions, or join them")
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


def in_words(problem: Any) -> str:
    """One of pydantic's problems in the words of whoever wrote the file or setting."""
    kind, message = str(problem["type"]), str(problem["msg"]).removeprefix("Value error, ")
    given, bounds = problem["input"], problem.get("ctx", {})
    if kind == "literal_error":
        known = (word.strip("'") or "nothing" for word in re.split(", | or ", str(bounds["expected"])))
        return f"cannot be {given!r}{choose_of(str(given), known)}"
    words = {
        "missing": "is missing",
        "extra_forbidden": "is not known here; is it misspelt?",
        "list_type": f"must be a list, such as [a,b]; got {given!r}",
        "model_type": "must be an object of names and values",
        "model_attributes_type": "must be an object of names and values",
        "string_too_short": "must not be empty",
        "too_short": f"needs at least {bounds.get('min_length', 1)} of them",
        "greater_than_equal": f"must be {bounds.get('ge')} or more, not {given!r}",
        "greater_than": f"must be more than {bounds.get('gt')}, not {given!r}",
        "less_than_equal": f"must be {bounds.get('le')} or less, not {given!r}",
        "less_than": f"must be less than {bounds.get('lt')}, not {given!r}",
        "finite_number": f"must be a finite number, not {given!r}",
        **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), f"must be a whole number, not {given!r}"),
        **dict.fromkeys(("float_parsing", "float_type"), f"must be a number, not {given!r}"),
        **dict.fromkeys(("bool_parsing", "bool_type"), f"must be true or false, not {given!r}"),
    }
    return words.get(kind, message)


def validated(model: type[M], data: Any, where: str) -> M:
    """``data`` as ``model``. Raises MaterialError: ``where``, the place in it and what was expected."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the top"
        message = in_words(first)
        raise MaterialError(f"{where}: at {place}: {message}") from error


def read_text(path: Path) -> str:
    """The text of a file in UTF-8. Raises MaterialError."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark in front
    except OSError as error:
        raise MaterialError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise MaterialError(f"{path}: is not text in UTF-8 (byte {error.start + 1}); save it as UTF-8") from error


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
            raise MaterialError(f"{where}: the line is empty; each line must be one {what}")
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise MaterialError(f"{where}: not JSON ({error.msg})") from error
        found.append(validated(model, data, where))
    if not found:
        raise MaterialError(f"{path}: holds no {what}")
    repeated = {name for name, count in Counter(map(id_of, found)).items() if count > 1}
    if repeated:
        raise MaterialError(f"{path}: these {what} ids stand twice: {', '.join(sorted(repeated))}")
    return found


def load_instructions(path: Path, values: Mapping[str, str], flags: Collection[str] = ()) -> Instructions:
    """Instructions from YAML in the language in force, with ``{placeholders}`` filled from ``values``.

    Of their lines those are left that hold with ``flags`` (see :mod:`.instruction_lines`).

    Raises:
        MaterialError: malformed, a placeholder that has no value, or a condition that is none.
    """
    try:
        data = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise MaterialError(f"{path}: not YAML ({error})") from error
    try:
        filled = _filled(with_shared(data, shared_parts()), values, path)
        words = that_holds(filled, flags) if isinstance(filled, dict) else filled
    except InstructionError as error:
        raise MaterialError(f"{path}: {error}") from error
    return validated(Instructions, words, str(path))


def _filled(data: Any, values: Mapping[str, str], path: Path) -> Any:
    if isinstance(data, str):
        try:
            return t(data).format(**values)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = ", ".join("{" + name + "}" for name in values)
            raise MaterialError(f"{path}: unknown placeholder in “{data}”; known: {known}") from error
    if isinstance(data, list):
        return [_filled(item, values, path) for item in data]
    if isinstance(data, dict):
        return {key: item if key in NO_WORDS else _filled(item, values, path) for key, item in data.items()}
    return data
