"""ParlAI's convention for personas: lines at the start of the first message that a model reads.

``your persona: …`` is about the reader, ``partner's persona: …`` about the speaker. Models that were trained on ParlAI's
ConvAI2 and BlendedSkillTalk tasks know this convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

OWN = "your persona:"
PARTNERS = "partner's persona:"


@dataclass(frozen=True)
class HeardPersona:
    """The parts of a message: sentences about its reader, about its speaker, and what was said."""

    own: tuple[str, ...]
    partner: tuple[str, ...]
    said: str


def persona_line(line: str) -> tuple[Literal["own", "partner"], str] | None:
    """Whose persona a line belongs to, and its sentence, which may be empty; None for any other line."""
    line = line.strip()
    if line.startswith(OWN):
        return "own", line[len(OWN) :].strip()
    if line.startswith(PARTNERS):
        return "partner", line[len(PARTNERS) :].strip()
    return None


def split_persona(text: str) -> HeardPersona:
    """Separate persona lines at the start of ``text`` from the rest."""
    lines = text.split("\n")
    heard: dict[str, list[str]] = {"own": [], "partner": []}
    while lines and (found := persona_line(lines[0])):
        whose, sentence = found
        if sentence:
            heard[whose].append(sentence)
        lines.pop(0)
    return HeardPersona(tuple(heard["own"]), tuple(heard["partner"]), "\n".join(lines))


def with_persona(own: Sequence[str], said: str) -> str:
    """``said`` as the first message to a model whose persona is ``own``."""
    return "\n".join([*(f"{OWN} {sentence}" for sentence in own), *([said] if said else [])])
