"""Replies that grow word by word together, and join and leave between two words; the same words as of ``generate``."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parlai_humaneval.models.agent.dialogue_agent import HEARS_FIELD
from parlai_humaneval.models.backends.generation import drawing, padded
from parlai_humaneval.models.backends.hugging_face import Layers, Pretrained, Reader, cache_of, layers_of

if TYPE_CHECKING:
    import torch

PADDING = 0


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
    hears: Callable[[str], None] | None = None
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


@dataclass(eq=False)
class ContinuousBatch:
    """Replies under way. ``_read_prompt``: the prompt of what was asked, and its chance; ``_say``: the answer of a reply's
    tokens."""

    pretrained: Pretrained
    _config: Any
    _is_over: Callable[[str], bool]
    _read_prompt: Callable[[Any], tuple[Sequence[int], random.Random]]
    _say: Callable[[Any, Sequence[int]], Any]

    def __post_init__(self) -> None:
        config = self._config
        self._model = self.pretrained.model
        self._read_words = Reader(self._model)
        self._tokenizer = self.pretrained.tokenizer
        self._device = self.pretrained.device
        self._ends = list(config.eos_token_id or ())
        self._longest = int(config.max_new_tokens)
        self._shortest = int(config.min_new_tokens or 0) if self._ends else 0
        self._no_beginning = list(config.begin_suppress_tokens or ())
        self._rules = deepcopy(config)  # what is left of the settings when the above is taken care of
        self._rules.update(min_new_tokens=None, begin_suppress_tokens=None, renormalize_logits=False, do_sample=False)
        self._has_rules = bool(self._rules_of([PADDING]))
        self._group: _Group | None = None
        self._joined: list[_Group] = []

    def __len__(self) -> int:
        groups = [*self._joined, *([self._group] if self._group else [])]
        return sum(len(group.rows) for group in groups)

    def clear(self) -> None:
        self._group, self._joined = None, []

    def join(self, asked: Mapping[Any, Any]) -> None:
        """Read what was asked, by its keys; the replies begin with the next :meth:`step`. When it raises, none has
        joined."""
        import torch

        prompts = [(key, what, *self._read_prompt(what)) for key, what in asked.items()]
        rows = [
            _Row(key, prompt, chance, self._rules_of(prompt) if self._has_rules else (), what.get(HEARS_FIELD))
            for key, what, prompt, chance in prompts
        ]
        with torch.inference_mode():
            ids, mask = padded([row.prompt for row in rows], PADDING, self._device, left=True)
            scores, cache = self._read_words(ids, mask, None)
            self._joined.append(_Group(rows, mask, cache, scores))

    def step(self) -> dict[Any, Any]:
        """One more word for each reply; those that are over with it leave, and their answers are returned by their keys."""
        import torch

        with torch.inference_mode():
            groups = [*self._joined]
            if self._group is not None:
                rows, mask = self._group.rows, self._group.mask
                ids = torch.tensor([row.new[-1:] for row in rows], device=self._device)
                mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
                scores, cache = self._read_words(ids, mask, self._group.cache)
                groups.insert(0, _Group(rows, mask, cache, scores))
            if not groups:
                return {}
            group = groups[0] if len(groups) == 1 else _merged_groups(groups)
            self._group, self._joined = group, []
            over = self._take_words(group)
            for row in (row for place, row in enumerate(group.rows) if place not in over):
                if row.hears is not None and (text := self._say(row.prompt, row.new)["text"]):
                    row.hears(str(text))
            if over:
                self._group = _without(group, over)
        rows = [group.rows[place] for place in over]
        return {row.key: self._say(row.prompt, row.new[:-1] if row.new[-1] in self._ends else row.new) for row in rows}

    def _take_words(self, group: _Group) -> list[int]:
        import torch

        scores = group.scores
        if self._has_rules:
            each = list(scores.split(1))
            for place, row in enumerate(group.rows):
                said = torch.tensor([[*row.prompt, *row.new]], device=self._device)
                for rule in row.rules:
                    each[place] = rule(said, each[place])
            scores = torch.cat(each)
        too_short = [place for place, row in enumerate(group.rows) if len(row.new) < self._shortest]
        begins = [place for place, row in enumerate(group.rows) if not row.new]
        for places, tokens in ((too_short, self._ends), (begins, self._no_beginning)):
            if places and tokens:
                scores[torch.tensor(places)[:, None], torch.tensor(tokens)] = float("-inf")
        for rule in drawing(self._config, [row.chance for row in group.rows]):
            scores = rule(None, scores)
        for row, token in zip(group.rows, scores.argmax(dim=-1).tolist(), strict=True):
            row.new.append(token)
        return [
            place
            for place, row in enumerate(group.rows)
            if row.new[-1] in self._ends
            or len(row.new) >= self._longest
            or self._is_over(self._tokenizer.decode(row.new))
        ]

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
