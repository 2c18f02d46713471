"""An LSTM language model over the whole dialogue, the “E” of Ji et al. 2022, which ParlAI had until 2021. S. Hochreiter
and J. Schmidhuber, Neural Computation 9(8), 1997; as a language model, W. Zaremba et al., arXiv:1409.2329."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from parlai.core.dict import DictionaryAgent
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch
from parlai.core.torch_generator_agent import TorchGeneratorAgent, TorchGeneratorModel
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.agent.dialogue_agent import add_options

State = tuple[torch.Tensor, torch.Tensor]


class Read(NamedTuple):
    """After the dialogue: the network's ``state``, and its ``outputs``, ``(batch, words, hidden)``, at each word of it."""

    state: State
    outputs: torch.Tensor | None


class RecurrentLm(TorchGeneratorModel):
    """Embeddings, one LSTM that is ParlAI's encoder and decoder alike, and a layer over the dictionary."""

    def __init__(self, opt: Opt, dictionary: DictionaryAgent, longest_label: int) -> None:
        names = (dictionary.null_token, dictionary.start_token, dictionary.end_token, dictionary.unk_token)
        padding, start, end, unknown = (dictionary[name] for name in names)
        super().__init__(padding, start, end, unknown, longest_label=longest_label)
        embedding, hidden, layers, dropout = (
            opt[name] for name in ("embeddingsize", "hiddensize", "numlayers", "dropout")
        )
        if opt["embtied"] and embedding != hidden:
            what = f"embtied needs embeddings as wide as the hidden state ({hidden}), not {embedding}"
            raise InvalidValue(what, try_=f"set embeddingsize to {hidden}, or leave embtied out")
        words = len(dictionary)
        self.embedding = nn.Embedding(words, embedding, padding_idx=padding)
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.dropout = nn.Dropout(dropout)
        self.to_words = nn.Linear(hidden, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        with torch.no_grad():
            self.embedding.weight[padding].zero_()
            for layer in range(layers):
                # The gates' order is input, forget, cell, output. Open forget gates keep early input, such as a
                # persona, useful from the first step (R. Jozefowicz et al., ICML 2015, section 4).
                getattr(self.lstm, f"bias_ih_l{layer}")[hidden : 2 * hidden].fill_(1.0)
        if opt["embtied"]:
            self.to_words.weight = self.embedding.weight

    def encoder(self, text: torch.Tensor) -> Read:
        """Read dialogues, ``(batch, words)``; the state is that after the last real word of each, not of its padding."""
        # An empty dialogue counts as one word of padding, whose embedding is zero.
        lengths = text.ne(self.NULL_IDX).sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(self._embed(text), lengths, batch_first=True, enforce_sorted=False)
        outputs, state = self.lstm(packed)
        return Read(state, pad_packed_sequence(outputs, batch_first=True, total_length=text.size(1))[0])

    def decoder(self, words: torch.Tensor, read: Read, incremental: State | None = None) -> tuple[torch.Tensor, State]:
        """Outputs ``(batch, new, hidden)`` of ``words`` and the state after them; with ``incremental``, of the last
        word alone."""
        new = words if incremental is None else words[:, -1:]
        outputs, state = self.lstm(self._embed(new), read.state if incremental is None else incremental)
        return outputs, state

    def output(self, latent: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.to_words(self.dropout(latent))
        scores[..., self.NULL_IDX] = torch.finfo(scores.dtype).min / 2
        return scores

    def reorder_encoder_states(self, encoder_states: Read, indices: torch.Tensor | Sequence[int]) -> Read:
        return Read(self.reorder_decoder_incremental_state(encoder_states.state, indices), None)

    def reorder_decoder_incremental_state(self, incremental_state: State, inds: torch.Tensor | Sequence[int]) -> State:
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
        return add_options(parser, "lstm")

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.id = "Lstm"

    def build_model(self) -> RecurrentLm:
        model = RecurrentLm(self.opt, self.dict, self.label_truncate or 256)
        if self.opt.get("embedding_type", "random") != "random":
            self._copy_embeddings(model.embedding.weight, self.opt["embedding_type"])
        return model

    def compute_loss(self, batch: Batch, return_output: bool = False) -> Any:
        """Mean cross-entropy of a word: of replies, as ParlAI reports it, and in training of what was heard as well."""
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
