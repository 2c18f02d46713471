"""Ids and names as people type and paste them, in one spelling."""

from __future__ import annotations

import unicodedata

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
