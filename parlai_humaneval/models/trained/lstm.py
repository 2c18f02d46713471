"""An LSTM language model over the whole dialogue, the “E” of Ji et al. 2022.

ParlAI had it as ``language_model`` until 2021, one of ConvAI2's baselines; its agent and weights are gone. As there, one
LSTM learns to go on with the dialogue word by word, both in what it heard and in its own reply, and perplexity is that of
replies. Unlike there, a dialogue is read from its start in every step, not cut into stretches of ``--seq-len`` words.
"""

from __future__ import annotations

from typing import Any

import torch
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch
from parlai.core.torch_generator_agent import TorchGeneratorAgent
from torch.nn import functional

from parlai_humaneval.models.trained.recurrent_lm import RecurrentLm


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
        """Sum over the words, each foretold from those before it."""
        scores = self.model.output(outputs)
        return functional.cross_entropy(
            scores.reshape(-1, scores.size(-1)), heard.reshape(-1), ignore_index=self.NULL_IDX, reduction="sum"
        )
