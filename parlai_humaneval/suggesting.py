"""Which name was meant by a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like this one, if one is like it."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """What follows after a name in quotes that there is not: a question, or nothing."""
    near = nearest(name, known)
    return "" if near is None else f". Did you mean {near}?"


def choose_of(name: str, known: Iterable[str]) -> str:
    """What follows after a name in quotes that there is not: the nearest one, and all that there are."""
    words = list(known)
    meant = suggestion(name, words)
    return f"{meant} Choose one of: {', '.join(words)}" if meant else f"; choose one of: {', '.join(words)}"
