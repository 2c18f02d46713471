"""An LSTM language model as ParlAI's search wants it: one network that reads the dialogue and goes on with the reply.

S. Hochreiter and J. Schmidhuber, “Long Short-Term Memory”, Neural Computation 9(8), 1997; as a language model,
W. Zaremba, I. Sutskever and O. Vinyals, “Recurrent Neural Network Regularization”, arXiv:1409.2329.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from parlai.core.torch_generator_agent import TorchGeneratorModel
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[torch.Tensor, torch.Tensor]
"""Hidden and cell state, each ``(layers, batch, hidden)``."""


class Read(NamedTuple):
    """After the dialogue: the network's ``state``, and its ``outputs``, ``(batch, words, hidden)``, at each word of it."""

    state: State
    outputs: torch.Tensor | None


class RecurrentLm(TorchGeneratorModel):
    """Embeddings, one LSTM for dialogue and reply alike, and a layer over the dictionary.

    ParlAI calls what reads the dialogue the encoder and what writes the reply the decoder; here they are one network, and
    the decoder goes on in the state in which the encoder ended.

    Args:
        words: size of the dictionary.
        embedding, hidden, layers, dropout: of the network.
        tied: one matrix for embeddings and output; needs ``embedding == hidden``.
        padding, start, end, unknown: indices of these tokens.
        longest_label: most words of a reply, in ParlAI's greedy forward pass.
    """

    def __init__(
        self,
        words: int,
        *,
        embedding: int,
        hidden: int,
        layers: int,
        dropout: float,
        tied: bool,
        padding: int,
        start: int,
        end: int,
        unknown: int,
        longest_label: int,
    ) -> None:
        super().__init__(padding, start, end, unknown, longest_label=longest_label)
        if tied and embedding != hidden:
            raise ValueError(
                f"embtied needs embeddings as wide as the hidden state: embeddingsize {embedding}, hiddensize {hidden}"
            )
        self.embedding = nn.Embedding(words, embedding, padding_idx=padding)
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.dropout = nn.Dropout(dropout)
        self.to_words = nn.Linear(hidden, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        with torch.no_grad():
            self.embedding.weight[padding].zero_()
            for layer in range(layers):
                # Gates stand in the order input, forget, cell, output. Open forget gates let what was heard at the start, a
                # persona, be of use from the first step (R. Jozefowicz et al., ICML 2015, section 4).
                getattr(self.lstm, f"bias_ih_l{layer}")[hidden : 2 * hidden].fill_(1.0)
        if tied:
            self.to_words.weight = self.embedding.weight

    def encoder(self, text: torch.Tensor) -> Read:
        """Read dialogues, ``(batch, words)``; the state is that after the last real word of each, not of its padding."""
        # An empty dialogue counts as one word of padding, whose embedding is zero.
        lengths = text.ne(self.NULL_IDX).sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(self._embed(text), lengths, batch_first=True, enforce_sorted=False)
        outputs, state = self.lstm(packed)
        return Read(state, pad_packed_sequence(outputs, batch_first=True, total_length=text.size(1))[0])

    def decoder(self, words: torch.Tensor, read: Read, incremental: State | None = None) -> tuple[torch.Tensor, State]:
        """Go on with ``words``, ``(batch, so far)``: outputs ``(batch, new, hidden)`` and the state after them.

        Given the ``incremental`` state after all words but the last, only the last is read.
        """
        new = words if incremental is None else words[:, -1:]
        outputs, state = self.lstm(self._embed(new), read.state if incremental is None else incremental)
        return outputs, state

    def output(self, latent: torch.Tensor) -> torch.Tensor:
        """Scores over the dictionary, ``(batch, words, dictionary)``; padding is never said."""
        scores: torch.Tensor = self.to_words(self.dropout(latent))
        scores[..., self.NULL_IDX] = torch.finfo(scores.dtype).min / 2
        return scores

    def reorder_encoder_states(self, encoder_states: Read, indices: torch.Tensor | Sequence[int]) -> Read:
        """The rows at ``indices``, for beams; the outputs have served by then."""
        return Read(self.reorder_decoder_incremental_state(encoder_states.state, indices), None)

    def reorder_decoder_incremental_state(self, incremental_state: State, inds: torch.Tensor | Sequence[int]) -> State:
        """The rows at ``inds``: each beam goes on from the one it came from."""
        hidden, cell = incremental_state
        rows = torch.as_tensor(inds, device=hidden.device)
        return hidden.index_select(1, rows), cell.index_select(1, rows)

    def _embed(self, words: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.dropout(self.embedding(words))
        return vectors
