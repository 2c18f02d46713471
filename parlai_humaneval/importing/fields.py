"""Fields of JSON objects, with an error that names place, field and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from parlai_humaneval.importing.units import UnreadableUnit

T = TypeVar("T")

WORDS: Mapping[type, str] = {
    str: "a text",
    dict: "an object",
    list: "a list",
    int: "a whole number",
    bool: "true or false",
}


def required(data: Any, name: str, kind: type[T], where: str) -> T:
    """``data[name]``, which must be there and of ``kind``.

    Raises:
        UnreadableUnit: ``data`` is no object, or the field is missing or of another kind.
    """
    if not isinstance(data, dict):
        raise UnreadableUnit(f"{where}: {shown(data)}, expected an object with {name}.")
    if name not in data:
        raise UnreadableUnit(f"{where}: {name} is missing. It has: {', '.join(map(str, data)) or 'nothing'}.")
    value = data[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UnreadableUnit(f"{where}: {name} is {shown(value)}, expected {WORDS[kind]}.")
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
