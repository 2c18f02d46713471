"""Text that a model, a rater, a browser, a server or a file says, fit for a terminal and for a log.

Such text is data: nothing in it may be a code that a terminal obeys, or turn the letters around it.

Which name was meant by a misspelt one.

Ids and names as people type and paste them, in one spelling.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable

INSTEAD = "�"
"""Stands where something was taken out."""
_LINES = "\n\t"
_CONTROL = ("Cc", "Cs")
"""Control characters, of ASCII and of the table behind it, and halves of characters."""
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They change the direction of what stands behind them, whoever wrote that."""


def printable(text: str, keep: str = _LINES, instead: Callable[[str], str] = lambda letter: INSTEAD) -> str:
    """The text without what a terminal would obey; by default its lines and tabs stay, and :data:`INSTEAD` stands there."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in keep or not _is_obeyed(letter) else instead(letter) for letter in text)


def _is_obeyed(letter: str) -> bool:
    return letter in _TURNING or unicodedata.category(letter) in _CONTROL


def on_one_line(text: str, most: int) -> str:
    """The text without line breaks and codes that a terminal would obey; cut to ``most`` letters."""
    cut = text if len(text) <= most else text[:most] + "…"
    return "".join(letter if letter.isprintable() else INSTEAD for letter in " ".join(cut.split()))


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


UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of control and format characters (such as the zero-width space, direction marks and the byte order
mark) and of white space, the non-breaking one included."""


def clean_label(text: str) -> str:
    """``text`` without blanks and invisible characters at its ends, with composed accents (Unicode's NFC).

    >>> clean_label('\\ufeffBlender\\u00a0 ')
    'Blender'
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    composed = unicodedata.normalize("NFC", text)
    seen = [place for place, letter in enumerate(composed) if unicodedata.category(letter) not in UNSEEN]
    return composed[seen[0] : seen[-1] + 1] if seen else ""
