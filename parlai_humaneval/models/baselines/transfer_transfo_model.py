"""GPT-2 with two heads, as ParlAI's search and losses want it.

The “encoder state” is the context's token ids, padded on the left; replies are padded on the right. Attention, positions
and token types all follow from the ids, so that a row reads the same in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from parlai.core.torch_generator_agent import TorchGeneratorModel
from parlai.utils.torch import neginf
from torch import Tensor

from parlai_humaneval.models.backends.forward_pass import Layers, cache_name, cache_of, layers_of
from parlai_humaneval.models.baselines.transfer_transfo_data import (
    BOS,
    EOS,
    PAD,
    PARTNER,
    SELF,
    TransferTransfoDictionary,
    ids_of,
    pretrained_missing,
)


def load_gpt2(name: str, config_file: Path | None) -> Any:
    """``GPT2DoubleHeadsModel``: random weights in the shape of ``config_file``, else those called ``name``.

    Raises:
        PretrainedMissing: when ``name`` is not here and cannot be downloaded.
    """
    from transformers import GPT2Config, GPT2DoubleHeadsModel

    if config_file is not None:
        return GPT2DoubleHeadsModel(GPT2Config.from_json_file(config_file))
    try:
        return GPT2DoubleHeadsModel.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise pretrained_missing(name, error) from error


class DoubleHeadsModel(TorchGeneratorModel):
    """A language-modelling head that speaks and a multiple-choice head that tells a true reply from wrong ones.

    Every token has, beside its own embedding and its position's, that of a type: the speaker token before it, or
    ``<bos>`` for the model's persona and knowledge (the paper's three “dialogue states”, §3.2).
    """

    def __init__(self, gpt2: Any, dictionary: TransferTransfoDictionary) -> None:
        pad, start, end = ids_of(dictionary, (PAD, SELF, EOS))
        super().__init__(padding_idx=pad, start_idx=start, end_idx=end)
        if gpt2.config.vocab_size != len(dictionary):
            gpt2.resize_token_embeddings(len(dictionary))
        self.gpt2 = gpt2
        self._cache_name = cache_name(gpt2.transformer)
        self.register_buffer("types", torch.tensor(ids_of(dictionary, (BOS, PARTNER, SELF))), persistent=False)
        self.register_buffer("unspoken", torch.tensor(dictionary.unspoken()), persistent=False)

    def encoder(self, context: Tensor) -> Tensor:
        """A decoder alone has nothing to encode."""
        return context

    def decoder(self, replies: Tensor, context: Tensor, past: Layers | None = None) -> tuple[Tensor, Layers]:
        """Read ``replies`` after ``context``; with ``past``, all but the last token have been read.

        Returns:
            Hidden states ``(rows, tokens of replies, or 1 with past, width)``, and the next ``past``.
        """
        known = torch.cat([context, replies], 1)
        if past is None:
            hidden, past = self._read(known, known.size(1))
            return hidden[:, -replies.size(1) :], past
        return self._read(known, 1, past)

    def output(self, hidden: Tensor) -> Tensor:
        """Scores of the next token for ParlAI's search; tokens that are no text have none."""
        scores: Tensor = self.gpt2.lm_head(hidden)
        return scores.index_fill(-1, self.unspoken, neginf(scores.dtype))

    def forward(
        self, context: Tensor, wrong: Tensor | None = None, *, ys: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Read the true replies ``ys`` ``(rows, tokens)``, and ``wrong`` ones ``(rows, choices, tokens)``.

        Returns:
            Scores of the tokens of ``ys`` ``(rows, tokens, vocabulary)``, the best of them, the context, and, with
            ``wrong``, the multiple-choice scores ``(rows, 1 + choices)``, those of ``ys`` first.
        """
        replies = ys.unsqueeze(1) if wrong is None else _side_by_side(ys, wrong, self.NULL_IDX)
        hidden = self._read_replies(context, replies)
        # The loss is over the whole vocabulary, as Wolf et al.'s: what cannot be said must be learnt not to be.
        scores = self.gpt2.lm_head(hidden[:, 0, : ys.size(1)])
        choices = None if wrong is None else self._choose(hidden, replies)
        return scores, scores.max(dim=2).indices, context, choices

    def score_replies(self, context: Tensor, replies: Tensor) -> Tensor:
        """Multiple-choice scores ``(rows, choices)`` of ``replies`` ``(rows, choices, tokens)``."""
        return self._choose(self._read_replies(context, replies), replies)

    def _read_replies(self, context: Tensor, replies: Tensor) -> Tensor:
        """Hidden states ``(rows, choices, 1 + tokens, width)``; each context is read once for all of its replies."""
        rows, choices, tokens = replies.shape
        _, past = self._read(context, context.size(1))
        past = tuple((key.repeat_interleave(choices, 0), value.repeat_interleave(choices, 0)) for key, value in past)
        begun = torch.cat([self.START.expand(rows * choices, 1), replies.reshape(rows * choices, tokens)], 1)
        known = torch.cat([context.repeat_interleave(choices, 0), begun], 1)
        hidden, _ = self._read(known, 1 + tokens, past)
        return hidden.view(rows, choices, 1 + tokens, -1)

    def _choose(self, hidden: Tensor, replies: Tensor) -> Tensor:
        last = replies.ne(self.NULL_IDX).sum(-1)  # <eos>, in hidden states that begin with <speaker2>
        scores: Tensor = self.gpt2.multiple_choice_head(hidden, last).squeeze(-1)
        return scores.float()

    def _read(self, known: Tensor, new: int, past: Layers | None = None) -> tuple[Tensor, Layers]:
        """Hidden states of the last ``new`` of the ``known`` tokens; the others are in ``past``, where there is one."""
        mask = known.ne(self.NULL_IDX)
        positions = (mask.long().cumsum(1) - 1).clamp(min=0)
        read = self.gpt2.transformer(
            input_ids=known[:, -new:],
            token_type_ids=self._types(known)[:, -new:],
            position_ids=positions[:, -new:],
            attention_mask=mask,
            use_cache=True,
            **{self._cache_name: cache_of(past or ())},
        )
        layers = layers_of(read[self._cache_name])
        assert layers is not None, "GPT-2 keeps keys and values of each layer"
        return read.last_hidden_state, layers

    def _types(self, known: Tensor) -> Tensor:
        places = torch.arange(known.size(1), device=known.device).expand_as(known)
        latest = torch.where(torch.isin(known, self.types), places, 0).cummax(1).values
        return known.gather(1, latest)

    def reorder_encoder_states(self, encoder_states: Tensor, indices: Sequence[int] | Tensor) -> Tensor:
        """Rows of the context, for beams."""
        chosen = torch.as_tensor(indices, device=encoder_states.device)
        return encoder_states.index_select(0, chosen)

    def reorder_decoder_incremental_state(self, incremental_state: Layers, inds: Tensor) -> Layers:
        """Rows of the past, for beams."""
        return tuple((key.index_select(0, inds), value.index_select(0, inds)) for key, value in incremental_state)


def _side_by_side(true: Tensor, wrong: Tensor, pad: int) -> Tensor:
    """The true reply before the wrong ones, ``(rows, 1 + choices, tokens of the longest)``."""
    longest = max(true.size(1), wrong.size(2))
    widened = [
        torch.nn.functional.pad(replies, (0, longest - replies.size(-1)), value=pad)
        for replies in (true.unsqueeze(1), wrong)
    ]
    return torch.cat(widened, 1)
