"""Replies to many prompts by one call of transformers' ``generate``, each as if it had been asked for alone; and replies
that grow word by word together, and join and leave between two words; the same words as of ``generate``."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.text import is_mark
from parlai_humaneval.models.agent.dialogue_agent import HEARS_FIELD
from parlai_humaneval.models.agent.names import is_transformers_5
from parlai_humaneval.models.backends.hugging_face import Layers, Pretrained, Reader, cache_of, layers_of

if TYPE_CHECKING:
    import torch


SEARCH_OPTIONS: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "max_new_tokens": (lambda value: value >= 1, "at least 1"),
    "min_new_tokens": (lambda value: value >= 0, "at least 0"),
    "temperature": (lambda value: value > 0, "above 0 (do_sample: false always takes the likeliest word)"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "top_k": (lambda value: value >= 0, "at least 0 (0: all words)"),
    "num_beams": (lambda value: value >= 1, "at least 1"),
    "repetition_penalty": (lambda value: value > 0, "above 0 (1: none)"),
    "no_repeat_ngram_size": (lambda value: value >= 0, "at least 0 (0: none)"),
}
DEFAULT_NEW_TOKENS = 128
UNSET_MAX_LENGTH = 20
UNSET: Mapping[str, Any] = {
    "do_sample": False,
    "num_beams": 1,
    "num_beam_groups": 1,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
    "max_length": UNSET_MAX_LENGTH,
    "use_cache": True,
}
"""What ``generate`` takes for settings that a model leaves open; transformers 5 no longer writes them into its config."""
WARPERS: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    "temperature": ("TemperatureLogitsWarper", lambda value: value != 1),
    "top_k": ("TopKLogitsWarper", lambda value: value > 0),
    "top_p": ("TopPLogitsWarper", lambda value: value < 1),
    "min_p": ("MinPLogitsWarper", lambda value: value > 0),
    "typical_p": ("TypicalLogitsWarper", lambda value: value < 1),
    "epsilon_cutoff": ("EpsilonLogitsWarper", lambda value: 0 < value < 1),
    "eta_cutoff": ("EtaLogitsWarper", lambda value: 0 < value < 1),
}
"""What the library does to scores before it draws, in its order: setting → class, and when it applies."""


def search_config(pretrained: Pretrained, options: Mapping[str, Any], turn_ends: Sequence[int]) -> Any:
    """The model's own ``GenerationConfig`` with ``options`` over it; a ValueError for a value out of range, or settings
    that exclude each other. ``turn_ends``: tokens that end a reply, too."""
    for name, (is_right, wanted) in SEARCH_OPTIONS.items():
        value = options.get(name)
        if value is not None and not is_right(value):
            raise InvalidValue(f"{value:g} is not possible", where=name, try_=f"choose a number that is {wanted}")
    config = deepcopy(pretrained.settings)
    if is_transformers_5():
        config.update(**{name: value for name, value in UNSET.items() if getattr(config, name, None) is None})
    longest = config.max_new_tokens
    if longest is None and pretrained.model.config.is_encoder_decoder and config.max_length != UNSET_MAX_LENGTH:
        longest = config.max_length - 1  # that counts the token which starts every text
    room = (pretrained.context or UNSET_MAX_LENGTH * DEFAULT_NEW_TOKENS) // 2
    config.update(
        max_new_tokens=int(longest or min(DEFAULT_NEW_TOKENS, max(1, room))),
        min_new_tokens=config.min_new_tokens
        or max(1, config.min_length - 1 if pretrained.model.config.is_encoder_decoder else 1),
    )
    # The same in other words, and transformers 5 warns of both.
    config.max_length, config.min_length = (None, None) if is_transformers_5() else (UNSET_MAX_LENGTH, 0)
    config.update(**{name: value for name, value in options.items() if value is not None})
    if config.do_sample and config.num_beams > 1:
        what = "num_beams searches for the likeliest reply and do_sample draws one"
        raise InvalidValue(what, try_="choose one of them")
    if pretrained.context is not None and config.max_new_tokens >= pretrained.context:
        what = f"max_new_tokens {config.max_new_tokens} leaves no room in {pretrained.context} tokens"
        raise InvalidValue(what, try_="choose a lower number")
    config.min_new_tokens = min(config.min_new_tokens, config.max_new_tokens)
    end = pretrained.tokenizer.eos_token_id if config.eos_token_id is None else config.eos_token_id
    ends = end if isinstance(end, list) else [end]
    config.eos_token_id = sorted({*ends, *turn_ends} - {None}) or None
    if config.min_new_tokens and not pretrained.model.config.is_encoder_decoder:
        config.begin_suppress_tokens = sorted(wordless(pretrained.tokenizer))  # a reply would be over, or empty
    config.update(num_return_sequences=1, return_dict_in_generate=False, output_scores=False)
    return config


def wordless(tokenizer: Any) -> set[int]:
    """Special tokens, the unknown word included, which nobody can read; but no mark of thoughts."""
    special = zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True)
    return {token for token, name in special if token != tokenizer.unk_token_id and not is_mark(str(name))}


def generate(
    pretrained: Pretrained,
    config: Any,
    prompts: Sequence[Sequence[int]],
    chances: Sequence[random.Random],
    is_over: Callable[[str], bool] | None = None,
) -> list[list[int]]:
    """The new tokens after each prompt, up to what ends a reply, drawn by its chance. ``is_over``: for models without
    an end."""
    import torch

    replies: list[list[int]] = [[] for _ in prompts]
    ends = set(config.eos_token_id or ())
    is_causal = not pretrained.model.config.is_encoder_decoder
    by_length: dict[int, list[int]] = {}
    for row, prompt in enumerate(prompts):
        # Prompts share a call, unless padding would change the replies (beams, in 4.35).
        pads = pretrained.pads_left and not (is_causal and config.num_beams > 1)
        by_length.setdefault(0 if pads else len(prompt), []).append(row)
    for rows in by_length.values():
        batch, search = [prompts[row] for row in rows], deepcopy(config)
        if is_causal or config.pad_token_id is None:
            # A token to pad with. Any will do, as it is masked, but ``generate`` warns of one with which a prompt ends.
            last = {None, *(prompt[-1] for prompt in batch)}
            candidates = (pretrained.tokenizer.pad_token_id, *range(len(last)))
            search.pad_token_id = next(token for token in candidates if token not in last)
        ids, mask = padded(batch, search.pad_token_id, pretrained.device, left=is_causal)
        start = ids.shape[1] if is_causal else 1
        padding = [ids.shape[1] - len(prompt) for prompt in batch] if is_causal else []
        processors = _processors(search, padding, [chances[row] for row in rows])
        over = _AllOver(pretrained.tokenizer, start, ends, is_over)
        with torch.inference_mode():  # a tenth of the time of small models
            out = pretrained.model.generate(
                ids,
                attention_mask=mask,
                generation_config=search,
                logits_processor=processors,
                stopping_criteria=[over] if config.num_beams == 1 else [],
            )
        for row, tokens in zip(rows, out[:, start:].tolist(), strict=True):
            replies[row] = list(takewhile(lambda token: token not in ends, tokens))
    return replies


def padded(
    prompts: Sequence[Sequence[int]], padding: int, device: torch.device, *, left: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    ids = torch.full((len(prompts), max(map(len, prompts))), padding, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        here = slice(-len(prompt), None) if left else slice(len(prompt))
        ids[row, here], mask[row, here] = torch.tensor(prompt), 1
    return ids.to(device), mask.to(device)


def _processors(config: Any, padding: Sequence[int], chances: Sequence[random.Random]) -> list[Any]:
    """What is done to the scores of the next words; moves into it what ``config`` would do to padding or by one chance."""
    from transformers.generation import logits_process as library

    chain: list[Any] = []
    if any(padding):
        if config.repetition_penalty not in (None, 1.0):
            chain.append(_Unpadded(library.RepetitionPenaltyLogitsProcessor(config.repetition_penalty), padding))
        if config.no_repeat_ngram_size:
            chain.append(_Unpadded(library.NoRepeatNGramLogitsProcessor(config.no_repeat_ngram_size), padding))
        config.update(repetition_penalty=1.0, no_repeat_ngram_size=0)
    chain += drawing(config, chances)
    # The likeliest word is taken, of which there is but one after a draw.
    config.update(do_sample=False, temperature=1.0, top_k=50, top_p=1.0, typical_p=1.0)
    config.update(epsilon_cutoff=0.0, eta_cutoff=0.0, min_p=None)
    return chain


def drawing(config: Any, chances: Sequence[random.Random]) -> list[Any]:
    """The processors that draw one word per row by its probability; none if the likeliest words are taken."""
    from transformers.generation import logits_process as library

    if not config.do_sample:
        return []
    given = ((kind, getattr(config, setting, None), applies) for setting, (kind, applies) in WARPERS.items())
    warpers = (getattr(library, kind)(value) for kind, value, applies in given if value is not None and applies(value))
    return [*warpers, _Drawn(chances)]


@dataclass(eq=False)
class _Unpadded:
    """One of transformers' processors, which sees each prompt without the padding on its left."""

    processor: Any
    padding: Sequence[int]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        import torch

        rows = (
            self.processor(input_ids[row : row + 1, start:], scores[row : row + 1])
            for row, start in enumerate(self.padding)
        )
        return torch.cat(list(rows))


class _Drawn:
    """Draws each row's next word by that row's own chance, from cumulated doubles: neither companions nor device
    matter."""

    def __init__(self, chances: Sequence[random.Random]) -> None:
        self._chances = chances

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        import torch

        cumulated = scores.double().softmax(dim=-1).cumsum(dim=-1)
        numbers = torch.tensor([[chance.random()] for chance in self._chances], dtype=torch.double)
        at = numbers.to(scores.device) * cumulated[:, -1:]
        chosen = torch.searchsorted(cumulated, at, right=True).clamp(max=scores.shape[-1] - 1)
        return torch.full_like(scores, float("-inf")).scatter(1, chosen, 0.0)


@dataclass(eq=False)
class _AllOver:
    """Whether every reply is over, by an ending token or by what it says; asked after each word."""

    tokenizer: Any
    start: int
    ends: set[int]
    is_over: Callable[[str], bool] | None
    over: set[int] = field(default_factory=set)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **unused: Any) -> bool:
        new = input_ids[:, self.start :].tolist()
        self.over.update(row for row, tokens in enumerate(new) if row not in self.over and self._ends_with(tokens))
        return len(self.over) == len(new)

    def _ends_with(self, tokens: list[int]) -> bool:
        said_all = self.is_over is not None and self.is_over(self.tokenizer.decode(tokens))
        return said_all or tokens[-1] in self.ends


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
