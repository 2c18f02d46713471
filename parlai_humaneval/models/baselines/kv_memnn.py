"""A key–value memory network that picks one of the replies it was trained on: ConvAI2's baseline, the “C” of Ji et al.
2022 and the “KV” of Deriu et al. 2020. It follows S. Zhang et al., “Personalizing Dialogue Agents”, ACL 2018, §4.1 and
§4.2, after A. Miller et al., EMNLP 2016; but its negatives are the other replies of the batch under a cross-entropy, a
hop reads the ``nearest_keys`` only, and cosines are multiplied by a learned sharpness before each softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from parlai.core.loader import register_agent
from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from parlai.core.torch_agent import Batch, History, Output
from parlai.core.torch_ranker_agent import TorchRankerAgent
from parlai.utils.torch import padded_tensor
from torch import nn
from torch.nn import functional

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.dialogue import split_persona
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.agent.dialogue_agent import add_options

FIRST_SHARPNESS = 10.0
"""What a cosine is multiplied by before the first training step. A softmax over bare cosines would be all but flat."""
NO_CANDIDATE = -1e4
"""Score of a row that is nothing but padding: below every real one (a cosine times the sharpness)."""


class MemoryNetwork(nn.Module):
    """Sums of word embeddings, compared by their cosine; ``shared``: one table for all, as in the paper."""

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
        """The first hop, q⁺ = q + Σ softmax(sim(q, pᵢ)) pᵢ, over ``(batch, sentences, words)`` tokens."""
        profile = self.hear(sentences)
        there = sentences.ne(self.padding).any(-1)
        scores = self._sharpness() * torch.einsum("bw,bsw->bs", functional.normalize(query, dim=-1), profile)
        # Where there is no sentence at all, rows of padding are attended to: their vectors are zero and add nothing.
        weights = scores.masked_fill(~there, NO_CANDIDATE).softmax(-1)
        return query + torch.einsum("bs,bsw->bw", weights, profile)

    def read_memory(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, nearest: int) -> torch.Tensor:
        """A later hop, q⁺⁺ = q⁺ + Σ softmax(sim(q⁺, kᵢ)) vᵢ, over the ``nearest`` of ``(memories, width)``."""
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


Encoder = Callable[[torch.Tensor], torch.Tensor]
CHUNK = 512


class ReplyMemory:
    """Dialogues so far and the replies to them, each pair once: filled in training, and part of the model's file."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.pairs: dict[tuple[tuple[int, ...], str], list[int]] = {}  # key and reply → the reply's tokens
        self._encoded: tuple[torch.Tensor, torch.Tensor] | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def add(self, key: Sequence[int], reply: str, reply_tokens: Sequence[int]) -> None:
        pair = (tuple(key), reply)
        if len(self) < self.limit and key and reply_tokens and pair not in self.pairs:
            self.pairs[pair] = list(reply_tokens)
            self.forget_vectors()

    def candidates(self) -> list[str]:
        """Every reply once; of those with the same words the first, as rounding would choose between them."""
        bags: dict[tuple[int, ...], str] = {}
        for (_, reply), tokens in self.pairs.items():
            bags.setdefault(tuple(sorted(tokens)), reply)
        return list(bags.values())

    def forget_vectors(self) -> None:
        self._encoded = None

    def vectors(
        self, hear: Encoder, say: Encoder, padding: int, like: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values, each ``(pairs, width)``, on the device of ``like``; kept until the weights change."""
        if self._encoded is None:
            keys = [list(key) for key, _ in self.pairs]
            replies = list(self.pairs.values())
            self._encoded = encoded(keys, hear, padding, like.device), encoded(replies, say, padding, like.device)
        return self._encoded

    def state(self) -> dict[str, Any]:
        """What is saved with the model: flat tensors, as a hundred thousand small lists take long to read."""
        keys, replies = [key for key, _ in self.pairs], [reply for _, reply in self.pairs]
        return {"replies": replies, "keys": _flat(keys), "reply_tokens": _flat([*self.pairs.values()])}

    @classmethod
    def from_state(cls, state: dict[str, Any], limit: int) -> ReplyMemory:
        memory = cls(limit)
        pairs = zip(_lists(*state["keys"]), state["replies"], _lists(*state["reply_tokens"]), strict=True)
        memory.pairs = {(tuple(key), reply): tokens for key, reply, tokens in pairs}
        return memory


def encoded(rows: Sequence[Sequence[int]], encoder: Encoder, padding: int, device: torch.device) -> torch.Tensor:
    starts = range(0, len(rows), CHUNK)
    with torch.no_grad():
        return torch.cat(
            [encoder(padded_tensor(rows[start : start + CHUNK], padding)[0].to(device)) for start in starts]
        )


def _flat(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = [token for row in rows for token in row]
    return torch.tensor(tokens, dtype=torch.int32), torch.tensor([len(row) for row in rows], dtype=torch.int32)


def _lists(tokens: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    return [part.tolist() for part in tokens.split(lengths.tolist())] if len(lengths) else []


PROFILE_FIELD = "profile_vecs"
SAID_FIELD = "said_before"


@register_agent("parlai_humaneval/kv_memnn")
class KvMemnnAgent(TorchRankerAgent):
    """Ranks candidates, else the replies it remembers, by profile and dialogues; it repeats no line of the dialogue."""

    GENERATION_OPTIONS = frozenset({"hops", "nearest_keys"})

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt=partial_opt)
        add_options(parser, "kv_memnn")
        parser.set_defaults(candidates="batch", eval_candidates="batch")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        for option, least in (("hops", 0), ("nearest_keys", 1), ("memory_limit", 1)):
            if opt[option] < least:
                raise InvalidValue(f"{opt[option]} is too low", where=option, try_=f"choose {least} or more")
        # ParlAI's constructor loads the model's file, and with it what is remembered.
        self.memory: ReplyMemory = shared["memory"] if shared else ReplyMemory(opt["memory_limit"])
        self._said_before: list[set[tuple[int, ...]]] = []
        self._tokens_of: Callable[[str], tuple[int, ...]] = (
            shared["tokens"] if shared else cache(lambda text: tuple(self.dict.txt2vec(text)))
        )
        super().__init__(opt, shared)
        self.id = "KvMemnn"
        self.hops: int = opt["hops"]
        self.nearest_keys: int = opt["nearest_keys"]

    def build_model(self) -> MemoryNetwork:
        shared: bool = self.opt["share_embeddings"]
        model = MemoryNetwork(len(self.dict), self.opt["embeddingsize"], self.NULL_IDX, shared=shared)
        if self.opt.get("embedding_type", "random") != "random":
            for table in {model.heard, model.said}:
                self._copy_embeddings(table.weight, self.opt["embedding_type"])
        return model

    def share(self) -> dict[str, Any]:
        return {**super().share(), "memory": self.memory, "tokens": self._tokens_of}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "memory": self.memory.state()}

    def load(self, path: str) -> dict[str, Any]:
        states: dict[str, Any] = super().load(path)
        if "memory" in states:
            self.memory = ReplyMemory.from_state(states["memory"], self.opt["memory_limit"])
        return states

    # What is heard

    def vectorize(self, *args: Any, **kwargs: Any) -> Message:
        return super().vectorize(*args, **{**kwargs, "add_start": False, "add_end": False})

    def _set_text_vec(self, obs: Message, history: History, truncate: int | None) -> Message:
        if "text" not in obs or "text_vec" in obs:
            return super()._set_text_vec(obs, history, truncate)
        heard = split_persona("\n".join(history.history_raw_strings))
        obs["full_text"] = heard.said
        obs["text_vec"] = self.dict.txt2vec(heard.said)
        obs[PROFILE_FIELD] = [self.dict.txt2vec(sentence) for sentence in (*heard.own, *heard.partner)]
        lines = [line for text in history.history_raw_strings for line in text.split("\n")]
        obs[SAID_FIELD] = {tuple(self.dict.txt2vec(line)) for line in lines}
        return super()._set_text_vec(obs, history, truncate)

    def batchify(self, obs_batch: list[Message], sort: bool = False) -> Batch:
        """ParlAI's batch with the profiles, ``(batch, sentences, words)``, and what must not be repeated."""
        batch = super().batchify(obs_batch, sort)
        heard = [obs_batch[index] for index in batch.valid_indices] if batch.batchsize else []
        profiles = [example.get(PROFILE_FIELD, []) for example in heard]
        most = max([1, *map(len, profiles)])
        rows = [sentence for profile in profiles for sentence in [*profile, *[[]] * (most - len(profile))]]
        batch.profiles = padded_tensor(rows, self.NULL_IDX)[0].view(len(profiles), most, -1) if profiles else None
        batch.said_before = [example.get(SAID_FIELD, set()) for example in heard]
        return batch

    # Training

    def train_step(self, batch: Batch) -> Output | None:
        if batch.text_vec is not None and batch.label_vec is not None:
            for query, label, reply in zip(batch.text_vec, batch.label_vec, batch.labels, strict=True):
                self.memory.add(self._words(query), reply, self._words(label))
        output: Output | None = super().train_step(batch)
        self.memory.forget_vectors()
        return output

    def _words(self, tokens: torch.Tensor) -> list[int]:
        words: list[int] = tokens[tokens.ne(self.NULL_IDX)].tolist()
        return words

    # Ranking

    def score_candidates(
        self, batch: Batch, cand_vecs: torch.Tensor, cand_encs: torch.Tensor | None = None
    ) -> torch.Tensor:
        model: MemoryNetwork = self.model
        state = model.hear(batch.text_vec)
        if batch.profiles is not None:
            state = model.read_profile(state, batch.profiles.to(state.device))
        if not self.is_training and len(self.memory):
            keys, values = self.memory.vectors(model.hear, model.say, self.NULL_IDX, state)
            for _ in range(self.hops):
                state = model.read_memory(state, keys, values, self.nearest_keys)
        scores = model.compare(state, model.say(cand_vecs) if cand_encs is None else cand_encs)
        if cand_vecs.dim() == 3:  # lists of unequal length are filled up
            scores = scores.masked_fill(~cand_vecs.ne(self.NULL_IDX).any(-1), NO_CANDIDATE)
        return scores

    def encode_candidates(self, padded_cands: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.model.say(padded_cands)
        return vectors

    def get_task_candidates_path(self) -> str | None:
        """ParlAI would go through its task's data for candidates; here they are what is remembered."""
        return None

    def set_fixed_candidates(self, shared: dict[str, Any] | None) -> None:
        if shared or self.fixed_candidates_path or "fixed" not in (self.candidates, self.eval_candidates):
            super().set_fixed_candidates(shared)
            return
        self.fixed_candidates = self.memory.candidates()
        if not self.fixed_candidates:
            raise InvalidValue(worded(__file__, "no_memory"))
        self.num_fixed_candidates = len(self.fixed_candidates)
        vectors = self.vectorize_fixed_candidates(self.fixed_candidates)
        device = next(self.model.parameters()).device
        self.fixed_candidate_vecs = padded_tensor(vectors, self.NULL_IDX)[0].to(device)
        self.fixed_candidate_encs = encoded(
            self.fixed_candidate_vecs.tolist(), self.encode_candidates, self.NULL_IDX, device
        )

    def eval_step(self, batch: Batch) -> Output | None:
        self._said_before = batch.said_before
        output: Output | None = super().eval_step(batch)
        return output

    def block_repeats(self, cand_preds: list[list[str]]) -> list[list[str]]:
        """Candidates that were not said yet, in whatever capitals; all, where all were."""
        return [
            [text for text in ranked if self._tokens_of(text) not in said] or ranked
            for ranked, said in zip(cand_preds, self._said_before, strict=True)
        ]
