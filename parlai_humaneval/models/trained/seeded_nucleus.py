"""Nucleus sampling of which each conversation has its own chance, whichever others share its batch."""

from __future__ import annotations

import random

import torch
from parlai.core.torch_generator_agent import NucleusSampling, _PathSelection
from torch import Tensor


class SeededNucleus(NucleusSampling):
    """ParlAI's nucleus sampling (Holtzman et al. 2019), drawn by a generator of its own instead of the process's."""

    @classmethod
    def like(cls, search: NucleusSampling, chance: random.Random) -> SeededNucleus:
        """``search``, before its first step, with a chance of its own; without details of tokens."""
        seeded = cls.__new__(cls)
        seeded.__dict__.update(search.__dict__)
        seeded._chance = torch.Generator(device=search.device).manual_seed(chance.getrandbits(63))
        return seeded

    def select_paths(self, logprobs: Tensor, prior_scores: Tensor, current_length: int) -> _PathSelection:
        """The next token of each hypothesis. ``logprobs``: ``(hypotheses, vocabulary)``."""
        probabilities, tokens = logprobs.softmax(-1).sort(dim=-1, descending=True, stable=True)
        probabilities = probabilities.masked_fill(self.get_mask(probabilities), 0.0)
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
        drawn = torch.multinomial(probabilities, 1, generator=self._chance)
        scores = prior_scores + probabilities.gather(1, drawn).log().squeeze(1)
        hypotheses = torch.arange(len(logprobs), device=logprobs.device)
        return _PathSelection(hypotheses, tokens.gather(1, drawn).squeeze(1), scores)
