"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [head, ["---"] * len(head), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    """Text as code, or nothing where there is none."""
    return f"`{text}`" if text else ""


def block(text: str, language: str = "text") -> str:
    """A fenced block."""
    return f"```{language}\n{text.strip()}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")
