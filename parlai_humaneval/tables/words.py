"""How a count is written, the same everywhere."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """“1 turn”, “1,200 turns”."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
