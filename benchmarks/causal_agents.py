"""A causal model whose replies have the lengths that a benchmark wants, whatever its random weights say."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.serving_models import LONGEST
from parlai_humaneval.models.backends.language_models import CausalLmAgent

LONG_OF = 5
"""Every fifth reply is a long one."""
SHORTEST = 4
SPREAD = 12
"""The others have 4 to 15 words."""


class FixedLengthAgent(CausalLmAgent):
    """No word ends a reply early: as long as the search says."""

    def _is_over(self, text: str) -> bool:
        super()._is_over(text)  # looked for all the same, as in a real model
        return False


class MixedLengthsAgent(CausalLmAgent):
    """The first word of a reply says how many follow: the same ones for the same dialogue and chance."""

    def _is_over(self, text: str) -> bool:
        super()._is_over(text)
        words = text.split()
        return len(words) >= _length(words)

    def _spoken(self, tokens: Sequence[int]) -> str:
        words = self.pretrained.tokenizer.decode(list(tokens)).split()
        return " ".join(words[: _length(words)])


class WholeBatchesAgent(MixedLengthsAgent):
    """The same replies, each of which is there when the longest of its batch is."""

    def continuous(self) -> None:
        """Not so."""


def _length(words: Sequence[str]) -> int:
    number = sum(map(ord, words[0])) if words else 0
    return LONGEST if number % LONG_OF == 0 else SHORTEST + number % SPREAD
