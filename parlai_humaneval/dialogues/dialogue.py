"""A finished dialogue, wherever it came from: a file, a self-chat, or a rater's own conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.schema.records import HUMAN, ImageRecord, ReplayedRating

__all__ = ["HUMAN", "Dialogue", "DialogueKind", "SaidLine"]

DialogueKind = Literal["human_bot", "self_chat", "bot_bot", "human_human"]


@dataclass(frozen=True)
class SaidLine:
    """One line of a dialogue."""

    speaker: str
    text: str
    images: tuple[ImageRecord, ...] = ()


@dataclass(frozen=True)
class Dialogue:
    """A dialogue: at least two lines, none blank. ``context`` holds what nobody said (persona lines with their prefix,
    topics); ``line_number`` where it begins in its ``source``, a file or the name of a task. ``entities``: speaker →
    who that is, a model's name or ``human``; empty where the source does not say. ``settings``: what the source tells
    of how the dialogue was made. ``rating``: what its own rater was asked and answered, of a dialogue that was rated
    live. ``format``: what a file of another project was taken for, in words."""

    dialogue_id: str
    lines: tuple[SaidLine, ...]
    context: tuple[str, ...]
    line_number: int
    entities: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    rating: ReplayedRating | None = None
    format: str = field(default="", compare=False)

    @property
    def texts(self) -> list[str]:
        """What was said, line by line."""
        return [line.text for line in self.lines]

    @property
    def place(self) -> str:
        """Where the dialogue stands, for messages."""
        return f"{self.source}, line {self.line_number}" if self.line_number else self.source

    @property
    def speakers(self) -> list[str]:
        """The speakers in the order in which they first speak."""
        return list(dict.fromkeys(line.speaker for line in self.lines))

    @property
    def models(self) -> list[str]:
        """The models that speak, once each, in the order in which they first speak."""
        found = [self.entities.get(speaker, "") for speaker in self.speakers]
        return list(dict.fromkeys(name for name in found if name not in ("", HUMAN)))

    @property
    def kind(self) -> DialogueKind:
        """The kinds of speakers; a dialogue with unknown speakers counts as a dialogue between people."""
        people = [self.entities.get(speaker, HUMAN) == HUMAN for speaker in self.speakers]
        if all(people):
            return "human_human"
        if any(people):
            return "human_bot"
        return "self_chat" if len(self.models) == 1 else "bot_bot"

    @property
    def exchanges(self) -> int:
        """Complete exchanges: one line of each speaker (Deriu et al. 2020, §3.1)."""
        return len(self.lines) // 2

    def known_entities(self) -> list[str]:
        """The speakers' identities, in the order in which they first speak. Raises DataError."""
        unknown = [speaker for speaker in self.speakers if not self.entities.get(speaker)]
        if unknown:
            raise DataError(
                f"dialogue {self.dialogue_id} does not say who {' and '.join(unknown)} is",
                where=self.place,
                try_="name each speaker as in {file: …, entities: {speaker: model, …}} (“human” for a person), or in the "
                "file itself, under entities",
            )
        return [self.entities[speaker] for speaker in self.speakers]


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
