"""Text that a model, a server or a file says, fit for a line of a terminal."""

from __future__ import annotations


def on_one_line(text: str, most: int) -> str:
    """The text without line breaks and codes that a terminal would obey; cut to ``most`` letters."""
    cut = text if len(text) <= most else text[:most] + "…"
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(cut.split()))
