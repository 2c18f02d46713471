"""A line of a dialogue, as a model of one's own gets it. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Turn:
    """What one side said. ``speaker``: ``human`` is the person, ``bot`` is you, whichever model's words were picked."""

    speaker: Literal["human", "bot"]
    text: str
