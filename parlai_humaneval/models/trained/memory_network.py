"""The key–value memory network of Zhang et al. 2018 as a torch module: bags of words that attend and are compared.

S. Zhang et al., “Personalizing Dialogue Agents: I have a dog, do you have pets too?”, ACL 2018, sections 4.1 and 4.2, after
A. Miller et al., “Key-Value Memory Networks for Directly Reading Documents”, EMNLP 2016.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

FIRST_SHARPNESS = 10.0
"""What a cosine is multiplied by before the first training step. A softmax over bare cosines would be all but flat."""
NO_CANDIDATE = -1e4
"""Score of a row that is nothing but padding: below every real one (a cosine times the sharpness)."""


class MemoryNetwork(nn.Module):
    """Query, profile, keys, values and candidates are sums of word embeddings, compared by their cosine.

    Args:
        words: size of the dictionary.
        width: of an embedding.
        padding: index of the padding token, whose embedding is zero.
        shared: one table of embeddings for all, as in the paper; else candidates and values have their own.
    """

    def __init__(self, words: int, width: int, padding: int, *, shared: bool = True) -> None:
        super().__init__()
        self.padding = padding
        self.heard = nn.Embedding(words, width, padding_idx=padding)
        self.said = self.heard if shared else nn.Embedding(words, width, padding_idx=padding)
        for table in {self.heard, self.said}:
            nn.init.normal_(table.weight, std=1 / math.sqrt(width))
            with torch.no_grad():
                table.weight[padding].zero_()
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(FIRST_SHARPNESS)))

    def hear(self, tokens: torch.Tensor) -> torch.Tensor:
        """Queries, profile sentences or keys: ``(…, words)`` token indices → ``(…, width)`` unit vectors."""
        return functional.normalize(self.heard(tokens).sum(-2), dim=-1)

    def say(self, tokens: torch.Tensor) -> torch.Tensor:
        """Candidates or values: ``(…, words)`` token indices → ``(…, width)`` unit vectors."""
        return functional.normalize(self.said(tokens).sum(-2), dim=-1)

    def read_profile(self, query: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """The first hop, q⁺ = q + Σ softmax(sim(q, pᵢ)) pᵢ.

        Args:
            query: ``(batch, width)``.
            sentences: ``(batch, sentences, words)`` token indices; a row of padding is no sentence.
        """
        profile = self.hear(sentences)
        there = sentences.ne(self.padding).any(-1)
        scores = self._sharpness() * torch.einsum("bw,bsw->bs", functional.normalize(query, dim=-1), profile)
        # Where there is no sentence at all, rows of padding are attended to: their vectors are zero and add nothing.
        weights = scores.masked_fill(~there, NO_CANDIDATE).softmax(-1)
        return query + torch.einsum("bs,bsw->bw", weights, profile)

    def read_memory(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, nearest: int) -> torch.Tensor:
        """A later hop, q⁺⁺ = q⁺ + Σ softmax(sim(q⁺, kᵢ)) vᵢ, over the ``nearest`` most similar keys.

        Args:
            query: ``(batch, width)``.
            keys, values: ``(memories, width)`` unit vectors.
            nearest: how many memories have a part; the others' would be small, and there are very many of them.
        """
        scores = functional.normalize(query, dim=-1) @ keys.T
        best, rows = scores.topk(min(nearest, len(keys)), dim=-1)
        weights = (self._sharpness() * best).softmax(-1)
        return query + torch.einsum("bn,bnw->bw", weights, values[rows])

    def compare(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        """Scores, ``(batch, candidates)``, of ``(candidates, width)`` common to all or ``(batch, candidates, width)``."""
        query = functional.normalize(query, dim=-1)
        if candidates.dim() == 2:
            return self._sharpness() * query @ candidates.T
        return self._sharpness() * torch.einsum("bw,bcw->bc", query, candidates)

    def _sharpness(self) -> torch.Tensor:
        return self.log_sharpness.clamp(max=math.log(100.0)).exp()
