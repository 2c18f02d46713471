"""An LSTM language model over the whole dialogue, the “E” of Ji et al. 2022.

ParlAI had it as ``language_model`` until 2021, one of ConvAI2's baselines; its agent and weights are gone. As there, one
LSTM learns to go on with the dialogue word by word, both in what it heard and in its own reply, and perplexity is that of
replies. Unlike there, a dialogue is read from its start in every step, not cut into stretches of ``--seq-len`` words.

S. Hochreiter and J. Schmidhuber, “Long Short-Term Memory”, Neural Computation 9(8), 1997; as a language model,
W. Zaremba, I. Sutskever and O. Vinyals, “Recurrent Neural Network Regularization”, arXiv:1409.2329.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch
from parlai.core.torch_generator_agent import TorchGeneratorAgent, TorchGeneratorModel
from torch import nn
from torch.nn import functional
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


@register_agent("parlai_humaneval/lstm")
class LstmAgent(TorchGeneratorAgent):
    """Generates with any of ParlAI's searches; a persona is text before the first words, as for its other generators."""

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt=partial_opt)
        group = parser.add_argument_group("LSTM language model arguments")
        group.add_argument("--hiddensize", "-hs", type=int, default=200, help="Width of the hidden layers")
        group.add_argument("--embeddingsize", "-esz", type=int, default=200, help="Width of the word embeddings")
        group.add_argument("--numlayers", "-nl", type=int, default=2, help="Layers of the LSTM")
        group.add_argument("--dropout", "-dr", type=float, default=0.1, help="Share of values dropped in training")
        group.add_argument("--embtied", type="bool", default=False, help="One matrix for embeddings and output")
        group.add_argument(
            "--learn-context", type="bool", default=True, help="Learn from what was heard, too, not from replies alone"
        )
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = "Lstm"

    def build_model(self) -> RecurrentLm:
        """The network, its words in the dictionary's order."""
        opt = self.opt
        model = RecurrentLm(
            len(self.dict),
            embedding=opt["embeddingsize"],
            hidden=opt["hiddensize"],
            layers=opt["numlayers"],
            dropout=opt["dropout"],
            tied=opt["embtied"],
            padding=self.NULL_IDX,
            start=self.START_IDX,
            end=self.END_IDX,
            unknown=self.dict[self.dict.unk_token],
            longest_label=self.label_truncate or 256,
        )
        if opt.get("embedding_type", "random") != "random":
            self._copy_embeddings(model.embedding.weight, opt["embedding_type"])
        return model

    def compute_loss(self, batch: Batch, return_output: bool = False) -> Any:
        """Mean cross-entropy of a word, in nats: of replies, and in training of what was heard as well.

        Loss, perplexity and accuracy in ParlAI's reports are those of replies alone, as for all of its generators.
        """
        loss, output = super().compute_loss(batch, return_output=True)
        if self.is_training and self.opt["learn_context"]:
            heard = batch.text_vec[:, 1:]
            said, words = batch.label_vec.ne(self.NULL_IDX).sum(), heard.ne(self.NULL_IDX).sum()
            loss = (loss * said + self._loss_of_heard(output[2].outputs[:, :-1], heard)) / (said + words)
        return (loss, output) if return_output else loss

    def _loss_of_heard(self, outputs: torch.Tensor, heard: torch.Tensor) -> torch.Tensor:
        scores = self.model.output(outputs)
        return functional.cross_entropy(
            scores.reshape(-1, scores.size(-1)), heard.reshape(-1), ignore_index=self.NULL_IDX, reduction="sum"
        )
