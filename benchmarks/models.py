"""Two models that answer at once, for both sides: ours by a zoo file, ParlAI's task by its model options.

ParlAI's per-turn world compares the histories of its two bots, and expects them where TorchAgent keeps them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line


class InstantAgent(DialogueAgent):
    """Answers at once, so that all time measured is the way there and back."""

    @property
    def history(self) -> SimpleNamespace:
        """``history_strings``: the dialogue so far, without the speakers."""
        return SimpleNamespace(history_strings=[text for _, text in self.dialogue])

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """A sentence that says how many lines came before."""
        return f"That was line {len(dialogue)}, and I have nothing to think about."


class OtherInstantAgent(InstantAgent):
    """Equally quick with other words: two equal replies would be shown as one, with nothing to choose."""

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The same with a word before it."""
        return f"Well, {super().reply(dialogue, rng)}"


AGENTS = {"instant_a": "benchmarks.models:InstantAgent", "instant_b": "benchmarks.models:OtherInstantAgent"}
"""The two models, each with its agent in ParlAI's spelling."""
