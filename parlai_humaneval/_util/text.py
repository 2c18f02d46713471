"""Text that a model, a rater, a browser, a server or a file says, fit for a terminal and a log; and names in one spelling.

Such text is data: nothing in it may be a code that a terminal obeys, or turn the letters around it. Ids and names are
cleaned as people type and paste them; which columns of tables hold such names is for ``tables.labels`` to say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

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
