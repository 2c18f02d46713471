"""Replies that grow word by word together, and are joined and left between two words.

One call of ``generate`` ends with the longest reply of its batch. Here each reply leaves as soon as it is over, and others
take its place, so that a long one holds nobody up. The words are those that ``generate`` gives each prompt alone (but for
the rounding of numbers): every row has its own positions, its own chance, and is punished for its own repetitions only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parlai_humaneval.models.backends.forward_pass import Layers, Reader, cache_of, layers_of
from parlai_humaneval.models.backends.generation import drawing, padded
from parlai_humaneval.models.backends.hugging_face import Pretrained

if TYPE_CHECKING:
    import torch

PADDING = 0
"""Any token will do: it is masked."""


def can_grow(pretrained: Pretrained, config: Any) -> bool:
    """Whether replies can be joined between two words: the search keeps one text a reply, and the cache can be cut."""
    searches = config.num_beams == 1 and config.num_beam_groups in (None, 1) and not config.penalty_alpha
    plain = config.guidance_scale in (None, 1) and config.forced_bos_token_id is None and config.max_time is None
    forced = getattr(config, "forced_decoder_ids", None)  # not in transformers 5
    return bool(pretrained.grows and searches and plain and not forced and config.use_cache)


@dataclass(eq=False)
class _Row:
    """A reply under way; ``rules``: what the model's settings do to the scores of this row's next word."""

    key: Any
    prompt: Sequence[int]
    chance: random.Random
    rules: Sequence[Any]
    new: list[int] = field(default_factory=list)


@dataclass(eq=False)
class _Group:
    rows: list[_Row]
    mask: torch.Tensor
    cache: Any
    scores: torch.Tensor

    @property
    def layers(self) -> Layers:
        layers = layers_of(self.cache)
        assert layers is not None, "a model whose cache is of another kind was found out when it was loaded"
        return layers


class GrowingReplies:
    """Replies under way of one model.

    Args:
        pretrained: the model.
        config: of ``search_config``.
        is_over: whether a text has gone on beyond the reply.
        read: the prompt of what was asked, and its chance.
        say: the answer, from a prompt and its reply's tokens.
    """

    def __init__(
        self,
        pretrained: Pretrained,
        config: Any,
        is_over: Callable[[str], bool],
        read: Callable[[Any], tuple[Sequence[int], random.Random]],
        say: Callable[[Any, Sequence[int]], Any],
    ) -> None:
        self._read_prompt = read
        self._say = say
        self._model = pretrained.model
        self._read_words = Reader(pretrained.model)
        self._tokenizer = pretrained.tokenizer
        self._device = pretrained.device
        self._is_over = is_over
        self._ends = list(config.eos_token_id or ())
        self._longest = int(config.max_new_tokens)
        self._shortest = int(config.min_new_tokens or 0) if self._ends else 0
        self._no_beginning = list(config.begin_suppress_tokens or ())
        self._config = config
        self._rules = deepcopy(config)  # what is left of the settings when the above is taken care of
        self._rules.update(min_new_tokens=None, begin_suppress_tokens=None, renormalize_logits=False, do_sample=False)
        self._has_rules = bool(self._rules_of([PADDING]))
        self._group: _Group | None = None
        self._joined: list[_Group] = []

    def __len__(self) -> int:
        groups = [*self._joined, *([self._group] if self._group else [])]
        return sum(len(group.rows) for group in groups)

    def clear(self) -> None:
        """Forget all replies under way."""
        self._group, self._joined = None, []

    def join(self, asked: Mapping[Any, Any]) -> None:
        """Read what was asked, each under a key of its own; with the next :meth:`step` the replies begin.

        When it raises, none of them has joined.
        """
        import torch

        rows = [self._row(key, *self._read_prompt(what)) for key, what in asked.items()]
        with torch.inference_mode():
            ids, mask = padded([row.prompt for row in rows], PADDING, self._device, left=True)
            self._joined.append(self._read(rows, ids, mask, None))

    def step(self) -> dict[Any, Any]:
        """One more word for each reply; those that are over with it leave, and their answers are returned by their keys."""
        import torch

        with torch.inference_mode():
            groups = [*([self._grown(self._group)] if self._group else []), *self._joined]
            if not groups:
                return {}
            group = groups[0] if len(groups) == 1 else _merged_groups(groups)
            self._group, self._joined = group, []
            over = self._take_words(group)
            if over:
                self._group = _without(group, over)
        rows = [group.rows[place] for place in over]
        return {row.key: self._say(row.prompt, row.new[:-1] if row.new[-1] in self._ends else row.new) for row in rows}

    def _row(self, key: Any, prompt: Sequence[int], chance: random.Random) -> _Row:
        return _Row(key, prompt, chance, self._rules_of(prompt) if self._has_rules else ())

    def _grown(self, group: _Group) -> _Group:
        import torch

        ids = torch.tensor([row.new[-1:] for row in group.rows], device=self._device)
        mask = torch.cat([group.mask, torch.ones_like(ids)], dim=1)
        return self._read(group.rows, ids, mask, group.cache)

    def _read(self, rows: list[_Row], ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> _Group:
        scores, cache = self._read_words(ids, mask, cache)
        return _Group(rows, mask, cache, scores)

    def _take_words(self, group: _Group) -> list[int]:
        scores = self._allowed_scores(group)
        for rule in drawing(self._config, [row.chance for row in group.rows]):
            scores = rule(None, scores)
        for row, token in zip(group.rows, scores.argmax(dim=-1).tolist(), strict=True):
            row.new.append(token)
        return [place for place, row in enumerate(group.rows) if self._ended(row)]

    def _ended(self, row: _Row) -> bool:
        if row.new[-1] in self._ends or len(row.new) >= self._longest:
            return True
        return self._is_over(self._tokenizer.decode(row.new))

    def _allowed_scores(self, group: _Group) -> torch.Tensor:
        import torch

        scores = group.scores
        if self._has_rules:
            each = (self._ruled(row, scores[place : place + 1]) for place, row in enumerate(group.rows))
            scores = torch.cat(list(each))
        too_short = [place for place, row in enumerate(group.rows) if len(row.new) < self._shortest]
        begins = [place for place, row in enumerate(group.rows) if not row.new]
        for places, tokens in ((too_short, self._ends), (begins, self._no_beginning)):
            if places and tokens:
                scores[torch.tensor(places)[:, None], torch.tensor(tokens)] = float("-inf")
        return scores

    def _ruled(self, row: _Row, scores: torch.Tensor) -> torch.Tensor:
        import torch

        said = torch.tensor([[*row.prompt, *row.new]], device=self._device)
        for rule in row.rules:
            scores = rule(said, scores)
        return scores

    def _rules_of(self, prompt: Sequence[int]) -> list[Any]:
        import torch

        self._rules.max_length = len(prompt) + self._longest
        ids = torch.tensor([list(prompt)], device=self._device)
        return list(
            self._model._get_logits_processor(
                generation_config=self._rules,
                input_ids_seq_length=len(prompt),
                encoder_input_ids=ids,
                prefix_allowed_tokens_fn=None,
                logits_processor=[],
            )
        )


def _merged_groups(groups: Sequence[_Group]) -> _Group:
    import torch
    from torch.nn.functional import pad

    longest = max(group.mask.shape[1] for group in groups)
    missing = [longest - group.mask.shape[1] for group in groups]
    pairs = list(zip(groups, missing, strict=True))
    layers = zip(*(group.layers for group in groups), strict=True)

    def joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        padded = (pad(each, (0, 0, more, 0)) for each, more in zip(tensors, missing, strict=True))
        return torch.cat(list(padded))

    return _Group(
        [row for group in groups for row in group.rows],
        torch.cat([pad(group.mask, (more, 0)) for group, more in pairs]),
        cache_of(
            tuple((joined([keys for keys, _ in each]), joined([values for _, values in each])) for each in layers)
        ),
        torch.cat([group.scores for group in groups]),
    )


def _without(group: _Group, over: Sequence[int]) -> _Group | None:
    """The other rows, without the padding that none of them needs; None: there are none."""
    import torch

    left = sorted(set(range(len(group.rows))) - set(over))
    if not left:
        return None
    rows = [group.rows[place] for place in left]
    chosen = torch.tensor(left, device=group.mask.device)
    width = max(len(row.prompt) + len(row.new) - 1 for row in rows)  # the last word has not been read yet

    def kept(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[:, :, -width:].index_select(0, chosen)

    cache = cache_of(tuple((kept(keys), kept(values)) for keys, values in group.layers))
    return _Group(rows, group.mask[:, -width:].index_select(0, chosen), cache, group.scores[chosen])
