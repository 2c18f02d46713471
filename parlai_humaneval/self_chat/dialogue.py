"""One dialogue between two models, under way, and how it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parlai_humaneval.models.pool.asking import Answer
from parlai_humaneval.models.pool.child import Child, Utterance
from parlai_humaneval.models.pool.pool import ModelPool
from parlai_humaneval.protocol.dialogues.files import CONTEXT
from parlai_humaneval.protocol.materials.persona_lines import OWN, PARTNERS
from parlai_humaneval.self_chat.naming import dialogue_id, seed_of, speaker_ids
from parlai_humaneval.self_chat.settings import Pair
from parlai_humaneval.self_chat.starts import Start

SILENCE_SHOWN = "…"
"""Stands for a reply that was empty at every try: the partner hears it, and a rater sees that nothing came."""


class BotDialogue:
    """Two models and what they have said so far.

    They speak by turns. Of a pair, its first model begins dialogues 0, 2, 4, … and its second the others.

    Args:
        pool: holds both models, loaded.
        pair: the two models.
        number: of the dialogue among those of this pair, from 0.
        start: how it begins. Its lines count as said by the models, and are marked ``seeded`` in the file.
        seed: of the whole run.
        exchanges: lines of each speaker at the end.
    """

    def __init__(self, pool: ModelPool, pair: Pair, number: int, start: Start, *, seed: int, exchanges: int) -> None:
        self.pair = pair
        self.number = number
        self._start = start
        self._seed = seed
        self._exchanges = exchanges
        turned = number % 2 == 1
        self._models = pair[::-1] if turned else pair
        # Which side begins says nothing about a model that talks to itself, so there the ids stay in order.
        self._ids = speaker_ids(pair)[::-1] if turned and pair[0] != pair[1] else speaker_ids(pair)
        self._children = [
            Child(pool.worker(model), seed_of(pair, seed, number, side), start.personas[side])
            for side, model in enumerate(self._models)
        ]
        self._heard: tuple[list[Utterance], list[Utterance]] = ([], [])
        self._acts: list[dict[str, Any]] = []
        for line in start.lines:
            self._say(line, seeded=True)

    @property
    def done(self) -> bool:
        """Whether every line has been said."""
        return len(self._acts) >= 2 * self._exchanges

    @property
    def next_child(self) -> Child:
        """The side whose turn it is."""
        return self._children[len(self._acts) % 2]

    @property
    def next_view(self) -> Sequence[Utterance]:
        """What was said so far, as the side whose turn it is hears it."""
        return self._heard[len(self._acts) % 2]

    def take(self, answer: Answer) -> None:
        """Add the reply of the side whose turn it is."""
        if answer.failed:
            self._say(SILENCE_SHOWN, empty=True)
        else:
            self._say(answer.text)

    def _say(self, text: str, **marks: bool) -> None:
        side = len(self._acts) % 2
        self._heard[side].append(Utterance("bot", text))
        self._heard[1 - side].append(Utterance("human", text))
        self._acts.append({"id": self._ids[side], "text": text, **marks})

    def as_json(self, metadata_path: str) -> dict[str, Any]:
        """The dialogue as a line of ParlAI's conversations format, with keys of our own that its reader passes over.

        An act may be marked ``seeded`` (put into the model's mouth) or ``empty`` (the model gave no text). In the context,
        “your persona” is the second speaker's, who hears the first line, and “partner's persona” the first one's.
        """
        return {
            "dialog": [self._acts[index : index + 2] for index in range(0, len(self._acts), 2)],
            "context": self._context(),
            "metadata_path": metadata_path,
            "dialogue_id": dialogue_id(self.pair, self._seed, self.number),
            "number": self.number,
            "entities": dict(zip(self._ids, self._models, strict=True)),
            "seed": self._seed,
            "start_id": self._start.start_id,
        }

    def _context(self) -> list[dict[str, str]]:
        first, second = self._start.personas
        lines = [*((f"{PARTNERS} {sentence}", self._ids[0]) for sentence in first)]
        lines += [(f"{OWN} {sentence}", self._ids[1]) for sentence in second]
        acts = [{"id": CONTEXT, "text": text, "about": about} for text, about in lines]
        return [*acts, {"id": CONTEXT, "text": self._start.topic}] if self._start.topic else acts
