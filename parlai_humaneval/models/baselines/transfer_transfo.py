"""TransferTransfo: GPT-2 with a language-modelling head and a multiple-choice head.

T. Wolf, V. Sanh, J. Chaumond and C. Delangue, 2019 (arXiv 1901.08149); trained by Liu et al. 2023 (“Models”) to tell
the true reply from four random ones while it learns to say it. Defaults of the search are those of their
``interact.py``. The “encoder state” is the context's token ids, padded on the left; replies are padded on the right.
"""

from __future__ import annotations

import copy
import json
import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from parlai.core.dict import DictionaryAgent
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.metrics import AverageMetric
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch, History
from parlai.core.torch_generator_agent import TorchGeneratorAgent, TorchGeneratorModel
from parlai.utils import logging
from parlai.utils.torch import neginf, padded_3d, padded_tensor
from torch import Tensor
from torch.nn.functional import pad

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.dialogue import split_persona
from parlai_humaneval.models.agent.dialogue_agent import add_options
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.backends.hugging_face import Layers, cache_name, cache_of, layers_of
from parlai_humaneval.models.pool.loading import GENERATION_OPTIONS as SEARCH_OPTIONS

KEPT = 1024


class OtherReplies:
    """Remembers the latest true replies of one fold; a wrong one is drawn from them, each as likely as another."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._texts: OrderedDict[str, None] = OrderedDict()

    def add(self, text: str) -> None:
        self._texts[text] = None
        self._texts.move_to_end(text)
        if len(self._texts) > self._kept:
            self._texts.popitem(last=False)

    def draw(self, number: int, *, true: str, heard: str, rng: random.Random) -> list[str]:
        """``number`` different replies that are neither ``true`` nor part of the dialogue ``heard``; none if too few."""
        texts = list(self._texts)
        fitting = (text for text in rng.sample(texts, len(texts)) if text != true and text not in heard)
        drawn = list(islice(fitting, number))
        return drawn if len(drawn) == number else []


def replies_for_evaluation(opt: Opt) -> OtherReplies:
    """The first replies of the task's validation data: all examples are ranked among the same, whatever the batch size."""
    others = OtherReplies()
    task, fold = opt.get("evaltask") or opt.get("task"), str(opt.get("datatype") or "").partition(":")[0]
    if not task:
        return others
    try:
        texts = _sample_replies(opt, task, "valid")
    except Exception as error:  # noqa: BLE001 - a task may raise anything, and some have no such fold
        logging.warning(f"{task} gives no validation data to draw wrong replies from ({error}); fold: {fold}")
        # Without :evalmode, ParlAI's training data have no end.
        texts = _sample_replies(opt, task, "train:evalmode" if fold == "train" else fold)
    for text in texts:
        others.add(text)
    return others


def _sample_replies(opt: Opt, task: str, fold: str) -> list[str]:
    from parlai.agents.repeat_label.repeat_label import RepeatLabelAgent
    from parlai.core.worlds import create_task

    ordered = copy.deepcopy(opt)
    ordered.update(task=task, datatype=fold, batchsize=1, num_workers=0, dynamic_batching=None)
    ordered["image_mode"] = "no_image_model"
    with quiet_parlai():
        world = create_task(ordered, RepeatLabelAgent(ordered))
    texts: dict[str, None] = {}
    while len(texts) < KEPT and not world.epoch_done():
        world.parley()
        example = world.get_acts()[0]
        texts.update(dict.fromkeys(list(example.get("eval_labels") or example.get("labels") or ())[:1]))
    return list(texts)


def offered(example: Mapping[str, Any], true: str) -> list[str]:
    """The task's own candidates, where the true reply is among them (some tasks offer sentences of knowledge)."""
    candidates = list(dict.fromkeys(map(str, example.get("label_candidates") or ())))
    return candidates if true in candidates else []


def wrong_replies(
    example: Mapping[str, Any], true: str, number: int, others: OtherReplies, rng: random.Random
) -> list[str]:
    """``number`` wrong replies, of the task's own candidates where it has enough, else of ``others``; else none."""
    own = [candidate for candidate in offered(example, true) if candidate != true]
    if len(own) >= number:
        return rng.sample(own, number)
    return others.draw(number, true=true, heard=str(example.get("full_text") or ""), rng=rng)


BOS, EOS, PARTNER, SELF, PAD = "<bos>", "<eos>", "<speaker1>", "<speaker2>", "<pad>"
OWN_TOKENS = (BOS, EOS, PARTNER, SELF, PAD)
"""Named as in the authors' code. ``<speaker2>`` begins what the model says, ``<speaker1>`` what it hears."""


class PretrainedMissing(RuntimeError):
    """What training is to start from is not on this machine and cannot be fetched."""


def pretrained_name(opt: Opt) -> str:
    size = opt.get("gpt2_size") or "small"
    return (
        str(Path(opt["hf_model"]).expanduser()) if opt.get("hf_model") else {"small": "gpt2"}.get(size, f"gpt2-{size}")
    )


def pretrained_missing(name: str, error: Exception) -> PretrainedMissing:
    return PretrainedMissing(
        f"GPT-2 “{name}” is not a folder with a model and is not cached on this machine, and it could not be "
        f"downloaded ({error}). Set hf_model to a folder, or load the model once with an internet connection."
    )


class TransferTransfoDictionary(DictionaryAgent):
    """Byte-level BPE of a GPT-2 tokenizer, and :data:`OWN_TOKENS`, which nobody can write. Its file is a
    ``tokenizer.json``."""

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        # ParlAI's constructor would build a dictionary of words; what TorchAgent reads of it is set here.
        from tokenizers import Tokenizer

        self.opt = opt
        self.lower = False
        self.tokenizer = "hf"
        self.freq: dict[str, int] = defaultdict(int)
        self.additional_special_tokens: list[str] = []
        self.null_token, self.start_token, self.end_token, self.unk_token = PAD, SELF, EOS, PAD
        self._json = _tokenizer_json(opt)
        tokenizer = json.loads(self._json)
        special = [token["content"] for token in tokenizer["added_tokens"]]
        self._bpe = Tokenizer.from_str(json.dumps({**tokenizer, "added_tokens": [], "post_processor": None}))
        self.tok2ind: dict[str, int] = self._bpe.get_vocab()
        words = len(self.tok2ind)
        self.tok2ind |= {token: words + number for number, token in enumerate(OWN_TOKENS)}
        self.ind2tok: dict[int, str] = {index: token for token, index in self.tok2ind.items()}
        self._unk_token_idx = self.tok2ind[PAD]
        self._unspoken = [self.tok2ind[token] for token in special if token in self.tok2ind]
        self._words = words

    def is_prebuilt(self) -> bool:
        return True

    def unspoken(self) -> list[int]:
        """Ids of special tokens: the model must never say any of them, except the token that ends its reply."""
        own = [index for index in range(self._words, len(self)) if index != self.tok2ind[EOS]]
        return [*self._unspoken, *own]

    def txt2vec(self, text: str, vec_type: Any = list) -> Any:
        return vec_type(self._bpe.encode(text, add_special_tokens=False).ids)

    def vec2txt(self, vector: Iterable[Any], delimiter: str = " ") -> str:
        return str(self._bpe.decode([int(index) for index in vector if int(index) < self._words])).strip()

    def save(self, filename: str | None = None, append: bool = False, sort: bool = True) -> None:
        path = Path(filename or self.opt["dict_file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._json, encoding="utf-8")


def _tokenizer_json(opt: Opt) -> str:
    saved = opt.get("dict_file")
    if saved and Path(saved).exists():
        return Path(saved).read_text(encoding="utf-8")
    from transformers import GPT2TokenizerFast

    name = pretrained_name(opt)
    try:
        tokenizer = GPT2TokenizerFast.from_pretrained(name)
    except Exception as error:  # offline it is an OSError, for a folder without a tokenizer a TypeError or another
        raise pretrained_missing(name, error) from error
    return str(tokenizer.backend_tokenizer.to_str())


def ids_of(dictionary: DictionaryAgent, tokens: Sequence[str] = OWN_TOKENS) -> list[int]:
    return [int(dictionary[token]) for token in tokens]


class SpeakerHistory(History):
    """Turns apart by their speakers, and personas apart from what was said; ``max_history``: exchanges that are read."""

    def __init__(self, opt: Opt, **arguments: Any) -> None:
        super().__init__(opt, **arguments)
        most = 2 * int(opt.get("max_history", 2)) + 1
        self._kept = min(limit for limit in (most, self.size, 10**9) if limit > 0)
        self._bos, self._partner, self._self = ids_of(self.dict, (BOS, PARTNER, SELF))
        self.reset()

    def reset(self) -> None:
        super().reset()
        self.own: list[str] = []
        self.partners: list[str] = []
        self.turns: list[list[int]] = []
        self._heard_partner = False

    def update_history(self, obs: Message, temp_history: str | None = None) -> None:
        text = str(obs.get(self.field) or "")
        if not self._heard_partner:
            heard = split_persona(text)
            self.own += heard.own
            self.partners += heard.partner
            text = heard.said
        if text:
            self._heard_partner = True
            self._add(self._partner, text)

    def add_reply(self, text: str) -> None:
        self._add(self._self, text)

    def _add(self, speaker: int, text: str) -> None:
        self.history_strings.append(text)
        self.turns.append([speaker, *self.parse(text)])

    def get_history_str(self) -> str:
        return "\n".join([*self.own, *self.partners, *self.history_strings])

    def get_history_vec(self) -> list[int]:
        return self.context()

    def context(self, knowledge: str = "", most: int | None = None) -> list[int]:
        """Token ids of the speakers, of ``knowledge`` and of the latest turns, at most ``most``. Older turns lose their
        beginning; the start loses its end only if it would take more than half and the turns need the room."""
        turns = self.turns[-self._kept :]
        start = [self._bos, *self.parse(" ".join([*self.own, *([knowledge] if knowledge else [])]))]
        if self.partners:
            start += [self._partner, *self.parse(" ".join(self.partners))]
        if most is not None:
            start = start[: max(most // 2, most - sum(map(len, turns)))]
            turns = _latest_turns(turns, most - len(start))
        return [*start, *(token for turn in turns for token in turn)]


def _latest_turns(turns: Sequence[list[int]], most: int) -> list[list[int]]:
    kept: list[list[int]] = []
    for turn in reversed(turns):
        if len(turn) > most:
            return [[turn[0], *turn[len(turn) - most + 1 :]], *kept] if most > 1 else kept
        kept.insert(0, turn)
        most -= len(turn)
    return kept


def load_gpt2(name: str, config_file: Path | None) -> Any:
    """GPT-2 with random weights in the shape of ``config_file``, else called ``name``; PretrainedMissing where it is
    not had."""
    from transformers import GPT2Config, GPT2DoubleHeadsModel

    if config_file is not None:
        return GPT2DoubleHeadsModel(GPT2Config.from_json_file(config_file))
    try:
        return GPT2DoubleHeadsModel.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise pretrained_missing(name, error) from error


class DoubleHeadsModel(TorchGeneratorModel):
    """One head speaks, one tells a true reply from wrong ones. Tokens have types, too: the speaker (§3.2)."""

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
        return context

    def decoder(self, replies: Tensor, context: Tensor, past: Layers | None = None) -> tuple[Tensor, Layers]:
        """Hidden states of ``replies`` after ``context``, and the next ``past``, with which only the last token is
        read."""
        known = torch.cat([context, replies], 1)
        if past is None:
            hidden, past = self._read(known, known.size(1))
            return hidden[:, -replies.size(1) :], past
        return self._read(known, 1, past)

    def output(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.gpt2.lm_head(hidden)
        return scores.index_fill(-1, self.unspoken, neginf(scores.dtype))

    def forward(
        self, context: Tensor, wrong: Tensor | None = None, *, ys: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Read the true replies ``ys`` and ``wrong`` ones ``(rows, choices, tokens)``: scores of the tokens of ``ys``,
        the best of them, the context, and the multiple-choice scores, those of ``ys`` first."""
        replies = ys.unsqueeze(1)
        if wrong is not None:  # the true reply precedes the wrong ones, (rows, 1 + choices, tokens of the longest)
            longest = max(ys.size(1), wrong.size(2))
            missing = [(each, (0, longest - each.size(-1))) for each in (replies, wrong)]
            replies = torch.cat([pad(each, more, value=self.NULL_IDX) for each, more in missing], 1)
        hidden = self.read_replies(context, replies)
        # The loss is over the whole vocabulary, as Wolf et al.'s: what cannot be said must be learnt not to be.
        scores = self.gpt2.lm_head(hidden[:, 0, : ys.size(1)])
        choices = None if wrong is None else self.choose(hidden, replies)
        return scores, scores.max(dim=2).indices, context, choices

    def read_replies(self, context: Tensor, replies: Tensor) -> Tensor:
        """Hidden states ``(rows, choices, 1 + tokens, width)``; each context is read once for all of its replies."""
        rows, choices, tokens = replies.shape
        _, past = self._read(context, context.size(1))
        past = tuple((key.repeat_interleave(choices, 0), value.repeat_interleave(choices, 0)) for key, value in past)
        begun = torch.cat([self.START.expand(rows * choices, 1), replies.reshape(rows * choices, tokens)], 1)
        known = torch.cat([context.repeat_interleave(choices, 0), begun], 1)
        hidden, _ = self._read(known, 1 + tokens, past)
        return hidden.view(rows, choices, 1 + tokens, -1)

    def choose(self, hidden: Tensor, replies: Tensor) -> Tensor:
        last = replies.ne(self.NULL_IDX).sum(-1)  # <eos>, in hidden states that begin with <speaker2>
        scores: Tensor = self.gpt2.multiple_choice_head(hidden, last).squeeze(-1)
        return scores.float()

    def _read(self, known: Tensor, new: int, past: Layers | None = None) -> tuple[Tensor, Layers]:
        """Hidden states of the last ``new`` of the ``known`` tokens; the others are in ``past``, where there is one."""
        mask = known.ne(self.NULL_IDX)
        positions = (mask.long().cumsum(1) - 1).clamp(min=0)
        places = torch.arange(known.size(1), device=known.device).expand_as(known)
        latest = torch.where(torch.isin(known, self.types), places, 0).cummax(1).values
        read = self.gpt2.transformer(
            input_ids=known[:, -new:],
            token_type_ids=known.gather(1, latest)[:, -new:],
            position_ids=positions[:, -new:],
            attention_mask=mask,
            use_cache=True,
            **{self._cache_name: cache_of(past or ())},
        )
        layers = layers_of(read[self._cache_name])
        assert layers is not None, "GPT-2 keeps keys and values of each layer"
        return read.last_hidden_state, layers

    def reorder_encoder_states(self, encoder_states: Tensor, indices: Sequence[int] | Tensor) -> Tensor:
        chosen = torch.as_tensor(indices, device=encoder_states.device)
        return encoder_states.index_select(0, chosen)

    def reorder_decoder_incremental_state(self, incremental_state: Layers, inds: Tensor) -> Layers:
        return tuple((key.index_select(0, inds), value.index_select(0, inds)) for key, value in incremental_state)


CONFIG_SUFFIX = ".config.json"


@register_agent("parlai_humaneval/transfer_transfo")
class TransferTransfoAgent(TorchGeneratorAgent):
    """Speaks with the language-modelling head; ranks with the multiple-choice head, in training and evaluation.

    Training pairs each true reply with ``num_negatives`` wrong ones: of the example's own ``label_candidates`` where
    the true one is among them, else of other examples' replies so far. Evaluation reports ``mc_loss``, ``hits@1`` and
    ``hits@5`` besides: among the example's own candidates (in ConvAI2 20: the paper's hits@1), else among
    ``num_negatives`` of the validation data, drawn for each example from the same 1,024, so that no score depends on
    the batch size.
    """

    GENERATION_OPTIONS = SEARCH_OPTIONS | {"label_truncate", "max_history"}
    """Options that change what is said and no weight: two agents that differ in them can share one model."""

    opt: Opt
    model: Any

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt=partial_opt)
        add_options(parser, "transfer_transfo")
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
        return TransferTransfoDictionary

    @classmethod
    def history_class(cls) -> type[SpeakerHistory]:
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
        positions = self._bare_model().gpt2.config.n_positions
        if not self.text_truncate or not self.label_truncate or self.text_truncate + self.label_truncate >= positions:
            raise InvalidValue(
                f"text_truncate ({self.text_truncate}) and label_truncate ({self.label_truncate}) must be set, and "
                f"leave one of this GPT-2's {positions} positions free",
                try_="choose lower ones",
            )

    def share(self) -> dict[str, Any]:
        drawn_from = {"others": self._others, "of_evaluation": self._of_evaluation, "draws": self._draws}
        return {**super().share(), **drawn_from}

    def build_model(self) -> DoubleHeadsModel:
        trained, _ = self._get_init_model(self.opt, None)
        config = Path(f"{trained}{CONFIG_SUFFIX}") if trained else None
        gpt2 = load_gpt2(pretrained_name(self.opt), config if config and config.exists() else None)
        return DoubleHeadsModel(gpt2, self.dict)

    def save(self, path: str | None = None) -> None:
        super().save(path)
        target = path or self.opt.get("model_file")
        if target:
            self._bare_model().gpt2.config.to_json_file(f"{target}{CONFIG_SUFFIX}", use_diff=False)

    def _bare_model(self) -> DoubleHeadsModel:
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
        batch = super().batchify(obs_batch, sort=sort)
        examples = [obs_batch[index] for index in batch.valid_indices.tolist()] if batch.batchsize else []
        if not examples or batch.labels is None:
            return batch
        if batch.is_training:
            for true in filter(None, batch.labels):
                self._others.add(true)
            # Wrong replies (examples, num_negatives, tokens), and which examples have them.
            batch["wrong_vec"], batch["has_wrong"] = None, None
            number = int(self.opt["num_negatives"]) if self.opt["mc_coef"] else 0
            drawn = [
                wrong_replies(example, true, number, self._others, self._draws) if true and number else []
                for example, true in zip(examples, batch.labels, strict=True)
            ]
            if any(drawn):
                vectors = [
                    self._reply_vecs(some) if some else [torch.tensor([self.END_IDX])] * number for some in drawn
                ]
                batch["wrong_vec"] = padded_3d(vectors, pad_idx=self.NULL_IDX)
                batch["has_wrong"] = torch.tensor([bool(texts) for texts in drawn])
        elif self.rank_candidates:
            batch["candidates"] = [
                self._candidates(example, true) for example, true in zip(examples, batch.labels, strict=True)
            ]
        return batch

    def _candidates(self, example: Message, true: str | None) -> list[str] | None:
        """The candidates among which the true reply is ranked; always the same for the same example."""
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
        loss, output = super().compute_loss(batch, return_output=True)
        if batch.is_training:
            loss = self.opt["lm_coef"] * loss
            if (scores := output[3]) is not None:  # the first choice is right, in the rows that have others
                counted = batch.has_wrong
                target = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
                losses = torch.nn.functional.cross_entropy(scores, target, reduction="none") * counted
                right = (scores.argmax(1) == 0) & counted
                self.record_local_metric("mc_loss", AverageMetric.many(losses.detach(), counted.long()))
                self.record_local_metric("mc_acc", AverageMetric.many(right.long(), counted.long()))
                loss = loss + self.opt["mc_coef"] * losses.sum() / counted.sum()
        return (loss, output) if return_output else loss

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
            hidden = self._bare_model().read_replies(context[context != self.NULL_IDX][None], replies)
            scores = self._bare_model().choose(hidden, replies)[0]
            order = scores.argsort(descending=True, stable=True).tolist()
            ranked.append([texts[place] for place in order])
            ranked_scores.append([scores[place].item() for place in order])
            true = texts.index(batch.labels[row])
            losses.append(AverageMetric(-scores.log_softmax(0)[true].item(), 1))
        if batch.labels is not None:
            self.record_local_metric("mc_loss", losses)
        return ranked, ranked_scores
