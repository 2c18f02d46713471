"""What a declared column of a tidy table says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed. ``allowed``: the only values, where it is so."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False
    allowed: tuple[str | int, ...] = ()


def must(
    name: str, kind: Kind, description: str, empty_ok: bool = False, allowed: tuple[str | int, ...] = ()
) -> Column:
    """A column of the exchange format."""
    return Column(name, kind, description, exchange=True, empty_ok=empty_ok, allowed=allowed)


def more(name: str, kind: Kind, description: str) -> Column:
    """A column that our own records fill besides."""
    return Column(name, kind, description, empty_ok=True)
