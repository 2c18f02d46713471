"""Which texts a person would see nothing of."""

from __future__ import annotations

import unicodedata

from parlai_humaneval.labels import UNSEEN


def is_blank(text: str) -> bool:
    """Whether ``text`` holds nothing but white space and characters without a shape."""
    return all(unicodedata.category(character) in UNSEEN for character in text)
