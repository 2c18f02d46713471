"""Models that both sides run: ours by a zoo file, ParlAI's task by its model options.

ParlAI's per-turn world compares the histories of its two bots, which it expects where TorchAgent keeps them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line
from parlai_humaneval.models.baselines.eliza import ElizaAgent
from parlai_humaneval.models.baselines.retrieval import RetrievalAgent


class WithHistory(DialogueAgent):
    """A dialogue agent that shows its history in TorchAgent's place."""

    @property
    def history(self) -> SimpleNamespace:
        """``history_strings``: what was said so far, without the speakers."""
        return SimpleNamespace(history_strings=[text for _, text in self.dialogue])


class InstantAgent(WithHistory):
    """Answers at once, so that all time measured is the way there and back."""

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """A sentence that says how many lines came before."""
        return f"That was line {len(dialogue)}, and I have nothing to think about."


class OtherInstantAgent(InstantAgent):
    """As quick, in other words: two equal replies would be shown as one, and nothing asked."""

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        """The same with a word before it."""
        return f"Well, {super().reply(dialogue, rng)}"


class ElizaWithHistory(WithHistory, ElizaAgent):
    """The embedded ``eliza``."""


class RetrievalWithHistory(WithHistory, RetrievalAgent):
    """The embedded ``retrieval``."""


PAIRS: dict[str, dict[str, str]] = {
    "instant": {"instant_a": "benchmarks.models:InstantAgent", "instant_b": "benchmarks.models:OtherInstantAgent"},
    "embedded": {
        "eliza_b": "benchmarks.models:ElizaWithHistory",
        "retrieval_b": "benchmarks.models:RetrievalWithHistory",
    },
}
"""Pair → its two models, each with the agent in ParlAI's spelling."""
