"""Which texts a person would see nothing of."""

from __future__ import annotations

import unicodedata

_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Unicode's categories of control and format characters (such as the zero-width space) and of white space."""


def is_blank(text: str) -> bool:
    """Whether ``text`` holds nothing but white space and characters without a shape."""
    return all(unicodedata.category(character) in _UNSEEN for character in text)
