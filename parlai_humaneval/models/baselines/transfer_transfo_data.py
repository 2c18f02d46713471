"""A dialogue as TransferTransfo reads it: ``<bos> persona <speaker1> Hi! <speaker2> Hello, …``; and wrong replies to
rank."""

from __future__ import annotations

import copy
import json
import random
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from parlai.core.dict import DictionaryAgent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.torch_agent import History
from parlai.utils import logging

from parlai_humaneval.dialogues.dialogue import split_persona
from parlai_humaneval.models.agent.isolation import quiet_parlai

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
        """Ids that are no part of a text: the model must say none of them, but for the one that ends its reply."""
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
        """Token ids of who the speakers are, of ``knowledge`` and of the latest turns, ``most`` of them: of older turns
        the beginning is cut; the start loses its end only when it would take more than half and the turns need the
        place."""
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
