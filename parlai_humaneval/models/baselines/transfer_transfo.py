"""TransferTransfo: GPT-2 with a language-modelling head and a multiple-choice head.

T. Wolf, V. Sanh, J. Chaumond and C. Delangue, “TransferTransfo: A Transfer Learning Approach for Neural Network Based
Conversational Agents”, 2019 (arXiv 1901.08149); trained by Liu et al. 2023 (“Models”) to tell the true reply from four
random ones while it learns to say it.

Options, with their defaults (those of ParlAI's TorchGeneratorAgent besides: ``inference``, ``topp``, ``temperature``,
``beam_…``, ``text_truncate``, ``label_truncate``, ``fp16``, …):

* ``hf_model``: what training starts from, a folder or a name on the hub; by default GPT-2 of ``gpt2_size``
* ``gpt2_size``: small, medium, large or xl (small)
* ``num_negatives``: random replies beside the true one (4)
* ``lm_coef``: weight of the language modelling loss (2.0); ``mc_coef``: of the multiple-choice loss (1.0)
* ``max_history``: exchanges that are heard besides the last message (2); -1: all that fit
* ``knowledge_field``: field of a message whose text stands before the dialogue, for that turn ("")
* ``rank_candidates``: rank candidates by the multiple-choice head in evaluation (true)

``inference`` is nucleus, ``topp`` 0.9 and ``temperature`` 0.7 unless said otherwise, as in their ``interact.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.metrics import AverageMetric
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch
from parlai.core.torch_generator_agent import TorchGeneratorAgent
from parlai.utils.torch import padded_3d, padded_tensor
from torch import Tensor

from parlai_humaneval.models.baselines.transfer_transfo_data import (
    OtherReplies,
    SpeakerHistory,
    TransferTransfoDictionary,
    offered,
    pretrained_name,
    replies_for_evaluation,
    wrong_replies,
)
from parlai_humaneval.models.baselines.transfer_transfo_model import DoubleHeadsModel, load_gpt2
from parlai_humaneval.models.pool.loading import GENERATION_OPTIONS as SEARCH_OPTIONS

CONFIG_SUFFIX = ".config.json"
"""Of the file beside a trained model that holds the shape of its GPT-2."""
SIZES = ("small", "medium", "large", "xl")


@register_agent("parlai_humaneval/transfer_transfo")
class TransferTransfoAgent(TorchGeneratorAgent):
    """Speaks with the language-modelling head; ranks with the multiple-choice head, in training and evaluation.

    What it reads is laid out in :mod:`parlai_humaneval.models.baselines.transfer_transfo_data`.

    Training sets each true reply beside ``num_negatives`` wrong ones: of the example's own ``label_candidates`` where
    the true one is among them, else true replies to other examples, of the batch and before. Examples that come before
    there are enough replies to choose from train the language-modelling head only.

    Evaluation reports, beside ParlAI's ``ppl``, ``token_acc`` and scores of the generated text, ``mc_loss``, ``hits@1``
    and ``hits@5``. The candidates are the example's own, where the true reply is among them (in ConvAI2 20: the paper's
    hits@1); else the true reply and ``num_negatives`` of the task's validation data, drawn for each example from the same
    1,024, so that no score depends on the batch size. Of five, ``hits@1`` of chance is .2 and ``hits@5`` is always 1.

    Raises:
        ValueError: for options that do not fit the model or each other.
        PretrainedMissing: when training is to start from a GPT-2 that cannot be had.
    """

    GENERATION_OPTIONS = SEARCH_OPTIONS | {"label_truncate", "max_history"}
    """Options that change what is said and no weight: two agents that differ in them can share one model."""

    opt: Opt
    model: Any

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        """ParlAI's options of generators, with other defaults, and our own."""
        super().add_cmdline_args(parser, partial_opt=partial_opt)
        # Declare what TransferTransfo has beside the options of ParlAI's generators.
        group = parser.add_argument_group("TransferTransfo arguments")
        group.add_argument(
            "--hf-model", type=str, default=None, help="Training starts from this: a folder or a name on the hub"
        )
        group.add_argument("--gpt2-size", type=str, default="small", choices=SIZES, help="… or from GPT-2 of this size")
        group.add_argument("--num-negatives", type=int, default=4, help="Wrong replies beside the true one (Liu 2023)")
        group.add_argument(
            "--lm-coef", type=float, default=2.0, help="Weight of the language modelling loss (Wolf et al. 2019, §4)"
        )
        group.add_argument(
            "--mc-coef", type=float, default=1.0, help="Weight of the multiple-choice loss (Wolf et al. 2019, §4)"
        )
        group.add_argument(
            "--max-history",
            type=int,
            default=2,
            help="Exchanges that are read besides the last message (the authors' code: 2); -1: all that fit",
        )
        group.add_argument(
            "--knowledge-field",
            type=str,
            default="",
            help="Field of a message whose text is known for that turn, e.g. checked_sentence of wizard_of_wikipedia",
        )
        parser.set_defaults(
            inference="nucleus",
            topp=0.9,
            temperature=0.7,
            text_truncate=768,
            label_truncate=128,
            rank_candidates=True,
            dict_maxexs=0,
        )
        return parser

    @staticmethod
    def dictionary_class() -> type[TransferTransfoDictionary]:
        """GPT-2's tokens and five more."""
        return TransferTransfoDictionary

    @classmethod
    def history_class(cls) -> type[SpeakerHistory]:
        """Turns with their speakers."""
        return SpeakerHistory

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        self._seed = int(opt.get("seed") or 0)
        self._others: OtherReplies = shared["others"] if shared else OtherReplies()
        self._of_evaluation: Callable[[], OtherReplies] = (
            shared["of_evaluation"] if shared else cache(partial(replies_for_evaluation, opt))
        )
        self._draws = shared["draws"] if shared else random.Random(self._seed)
        if shared:  # ParlAI takes all options from the first agent; those of the search may be a clone's own
            own = {key: opt[key] for key in self.GENERATION_OPTIONS if key in opt}
            shared = {**shared, "opt": Opt({**shared["opt"], **own})}
        super().__init__(opt, shared)
        self.id = "TransferTransfo"
        self._must_fit(self._bare_model().gpt2.config.n_positions)

    def share(self) -> dict[str, Any]:
        """The model, and the replies to draw wrong ones from."""
        drawn_from = {"others": self._others, "of_evaluation": self._of_evaluation, "draws": self._draws}
        return {**super().share(), **drawn_from}

    def build_model(self) -> DoubleHeadsModel:
        """GPT-2 in the shape that was saved beside the model, else the pretrained one; with our tokens added."""
        trained, _ = self._get_init_model(self.opt, None)
        config = Path(f"{trained}{CONFIG_SUFFIX}") if trained else None
        gpt2 = load_gpt2(pretrained_name(self.opt), config if config and config.exists() else None)
        return DoubleHeadsModel(gpt2, self.dict)

    def _must_fit(self, positions: int) -> None:
        if not self.text_truncate or not self.label_truncate or self.text_truncate + self.label_truncate >= positions:
            raise ValueError(
                f"text_truncate ({self.text_truncate}) and label_truncate ({self.label_truncate}) must be set, and "
                f"leave a place free of the {positions} that this GPT-2 has"
            )

    def save(self, path: str | None = None) -> None:
        """Save the model, and beside it the shape of its GPT-2, so that it can be loaded without the hub."""
        super().save(path)
        target = path or self.opt.get("model_file")
        if target:
            self._bare_model().gpt2.config.to_json_file(f"{target}{CONFIG_SUFFIX}", use_diff=False)

    def _bare_model(self) -> DoubleHeadsModel:
        """The model without what distributed training wraps it in."""
        model: DoubleHeadsModel = getattr(self.model, "module", self.model)
        return model

    def _set_text_vec(self, obs: Message, history: SpeakerHistory, truncate: int | None) -> Message:
        if "text" not in obs or "text_vec" in obs:
            return obs
        known = str(obs.get(self.opt.get("knowledge_field") or "") or "")
        full, cut = history.context(known), history.context(known, truncate)
        obs["full_text"] = history.get_history_str()
        obs["full_text_vec"] = full
        obs["text_vec"] = torch.tensor(cut)
        obs["context_original_length"] = len(full)
        obs["context_truncate_rate"] = len(full) != len(cut)
        obs["context_truncated_length"] = len(full) - len(cut)
        return obs

    def _set_label_cands_vec(self, obs: Message, add_start: bool, add_end: bool, truncate: int | None) -> Message:
        return obs  # batchify() makes vectors of those that are needed, which in training are few

    def _pad_tensor(self, items: Sequence[Any], is_label: bool = False) -> tuple[Tensor, list[int]]:
        padded, lengths = padded_tensor(items, pad_idx=self.NULL_IDX, left_padded=not is_label)
        return padded, lengths

    def batchify(self, obs_batch: Sequence[Message], sort: bool = False) -> Batch:
        """A batch with wrong replies to learn from, or with candidates to rank."""
        batch = super().batchify(obs_batch, sort=sort)
        examples = [obs_batch[index] for index in batch.valid_indices.tolist()] if batch.batchsize else []
        if not examples or batch.labels is None:
            return batch
        if batch.is_training:
            for true in filter(None, batch.labels):
                self._others.add(true)
            batch["wrong_vec"], batch["has_wrong"] = self._wrong(examples, batch.labels)
        elif self.rank_candidates:
            batch["candidates"] = [
                self._candidates(example, true) for example, true in zip(examples, batch.labels, strict=True)
            ]
        return batch

    def _wrong(self, examples: Sequence[Message], labels: Sequence[str | None]) -> tuple[Tensor | None, Tensor | None]:
        """Wrong replies ``(examples, num_negatives, tokens)``, and which examples have them; None where none has."""
        number = int(self.opt["num_negatives"]) if self.opt["mc_coef"] else 0
        drawn = [
            wrong_replies(example, true, number, self._others, self._draws) if true and number else []
            for example, true in zip(examples, labels, strict=True)
        ]
        if not any(drawn):
            return None, None
        vectors = [self._reply_vecs(texts) if texts else [torch.tensor([self.END_IDX])] * number for texts in drawn]
        return padded_3d(vectors, pad_idx=self.NULL_IDX), torch.tensor([bool(texts) for texts in drawn])

    def _candidates(self, example: Message, true: str | None) -> list[str] | None:
        """What the true reply is ranked among; the same for the same example, whatever stands beside it."""
        if true is None:
            return None
        if own := offered(example, true):
            return own
        chance = random.Random(f"{self._seed}|{true}|{example.get('full_text')}")
        wrong = self._of_evaluation().draw(
            int(self.opt["num_negatives"]), true=true, heard=str(example.get("full_text") or ""), rng=chance
        )
        return chance.sample([true, *wrong], 1 + len(wrong)) if wrong else None

    def _reply_vecs(self, texts: Sequence[str]) -> list[Tensor]:
        return [
            self._vectorize_text(text, add_end=True, truncate=self.label_truncate, truncate_left=False)
            for text in texts
        ]

    def _model_input(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        return batch.text_vec, batch.get("wrong_vec")

    def _encoder_input(self, batch: Batch) -> tuple[Tensor]:
        return (batch.text_vec,)

    def compute_loss(self, batch: Batch, return_output: bool = False) -> Any:
        """The language modelling loss; in training with that of the multiple choice, both weighted."""
        loss, output = super().compute_loss(batch, return_output=True)
        if batch.is_training:
            loss = self.opt["lm_coef"] * loss
            if output[3] is not None:
                loss = loss + self.opt["mc_coef"] * self._choice_loss(output[3], batch.has_wrong)
        return (loss, output) if return_output else loss

    def _choice_loss(self, scores: Tensor, counted: Tensor) -> Tensor:
        """Mean cross entropy of the first choice, over the ``counted`` rows; recorded as ``mc_loss`` and ``mc_acc``."""
        target = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
        losses = torch.nn.functional.cross_entropy(scores, target, reduction="none") * counted
        right = (scores.argmax(1) == 0) & counted
        self.record_local_metric("mc_loss", AverageMetric.many(losses.detach(), counted.long()))
        self.record_local_metric("mc_acc", AverageMetric.many(right.long(), counted.long()))
        return losses.sum() / counted.sum()

    def rank_eval_label_candidates(self, batch: Batch, batchsize: int) -> tuple[list[Any], list[Any]]:
        """Candidates by falling multiple-choice score, with their scores; None for an example that has none."""
        ranked: list[Any] = []
        ranked_scores: list[Any] = []
        losses: list[AverageMetric] = []
        for row, texts in enumerate(batch.candidates or [None] * batchsize):
            if texts is None:
                ranked.append(None)
                ranked_scores.append(None)
                losses.append(AverageMetric(0, 0))
                continue
            replies = padded_3d([self._reply_vecs(texts)], pad_idx=self.NULL_IDX).to(batch.text_vec.device)
            context = batch.text_vec[row]
            # Without the padding, whose width is that of the batch: nearly equal scores stay in one order.
            scores = self._bare_model().score_replies(context[context != self.NULL_IDX][None], replies)[0]
            order = scores.argsort(descending=True, stable=True).tolist()
            ranked.append([texts[place] for place in order])
            ranked_scores.append([scores[place].item() for place in order])
            true = texts.index(batch.labels[row])
            losses.append(AverageMetric(-scores.log_softmax(0)[true].item(), 1))
        if batch.labels is not None:
            self.record_local_metric("mc_loss", losses)
        return ranked, ranked_scores
