"""One forward pass of a causal model, and its cache as plain tensors, in transformers 4.35 and in transformers 5.

The library has renamed and remade these parts: caches were tuples and are objects, ``past_key_values`` became ``cache``,
positions are no longer made by the model. No other module of ours touches them.

What a causal model bears: padding on the left of its prompts, and replies that join and leave between two words.

Architectures differ in both, and none says so. So each model is tried with a short text when it is loaded.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


Layers = tuple[tuple["torch.Tensor", "torch.Tensor"], ...]
"""Keys and values of each layer, in the shape ``(rows, heads, words, size)``."""


class Reader:
    """Reads token ids with a model.

    Args:
        model: a causal language model.
    """

    def __init__(self, model: Any) -> None:
        takes = inspect.signature(model.forward).parameters
        self._model = model
        self._cache_name = cache_name(model)
        self._takes_positions = "position_ids" in takes
        self._always: dict[str, Any] = {"use_cache": True, "return_dict": True}
        if "logits_to_keep" in takes:
            self._always["logits_to_keep"] = 1  # large vocabularies: scores of the whole prompt fill gigabytes

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
        """Scores of each row's next word, and the cache that has read ``ids`` as well.

        Args:
            ids: the new tokens.
            mask: of the tokens in ``cache`` and the new ones; 0 is padding. Positions count without it.
            cache: what has been read before; None: nothing.
        """
        inputs: dict[str, Any] = {self._cache_name: cache_of(()) if cache is None else cache}
        if self._takes_positions:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self._model(input_ids=ids, attention_mask=mask, **inputs, **self._always)
        return out.logits[:, -1].float(), out[self._cache_name]


def cache_name(model: Any) -> str:
    """What ``forward`` calls the cache, and its output, too."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def layers_of(cache: Any) -> Layers | None:
    """The tensors of a cache; None: it is of a kind that cannot be put together row by row."""
    pairs = (
        [(layer.keys, layer.values) if type(layer).__name__ == "DynamicLayer" else None for layer in cache.layers]
        if hasattr(cache, "layers")
        else cache
    )
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return None
    return tuple(pairs)


def cache_of(layers: Layers) -> Any:
    """The library's cache of these tensors, without a copy.

    Layers with a sliding window get plain ones, too, which forget nothing: the window is in the attention mask.
    """
    try:
        from transformers.cache_utils import DynamicCache, DynamicLayer
    except ImportError:  # transformers 4: tuples, of which the first pass gets none
        return layers or None
    cache = DynamicCache()
    for keys, values in layers:
        layer = DynamicLayer()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache


PROBE = 5
"""Tokens of the short text."""


def bears_padding(model: Any) -> bool:
    """Whether padding on the left leaves what the model says next as it was.

    Most models count their positions from the attention mask. Some do not, and would answer otherwise in a batch than
    alone; neither do all of those that read word by word into one state (Mamba's kind).
    """
    ids, padded, mask = _probe(model)
    return _alike(_next_scores(model, ids), _next_scores(model, padded, mask), model.dtype)


def grows(model: Any) -> bool:
    """Whether its cache is of the usual kind: keys and values of each layer by rows, with padding that it does not mind."""
    import torch

    ids, padded, mask = _probe(model)
    read = Reader(model)
    with torch.inference_mode():
        try:
            _, cache = read(padded[:, :-1], mask[:, :-1])
            layers = layers_of(cache)
            if layers is None or not _is_usual(layers, words=2 * PROBE - 1):
                return False
            beside, _ = read(padded[:, -1:], mask, cache_of(layers))
        except Exception:  # noqa: BLE001 - a model with a cache of its own kind may raise anything
            return False
    return _alike(_next_scores(model, ids), beside[0], model.dtype)


def _is_usual(layers: Layers, words: int) -> bool:
    shapes = [each.shape for layer in layers for each in layer]
    return bool(shapes) and all(len(shape) == 4 and shape[0] == 1 and shape[2] == words for shape in shapes)


def _probe(model: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    import torch

    words = model.get_input_embeddings().num_embeddings
    ids = torch.arange(1, PROBE + 1, device=model.device)[None] % words
    nothing = torch.zeros_like(ids)
    return ids, torch.cat([nothing, ids], dim=1), torch.cat([nothing, torch.ones_like(ids)], dim=1)


def _next_scores(model: Any, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    import torch
    from transformers import GenerationConfig

    config = GenerationConfig(
        max_new_tokens=1, do_sample=False, num_beams=1, pad_token_id=0, return_dict_in_generate=True, output_scores=True
    )
    mask = torch.ones_like(ids) if mask is None else mask
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, generation_config=config)
    scores: torch.Tensor = out.scores[0][0]
    return scores


def _alike(alone: torch.Tensor, beside: torch.Tensor, dtype: torch.dtype) -> bool:
    import torch

    tolerance = 1e-3 if dtype == torch.float32 else 5e-2
    return bool((alone - beside).abs().max() <= tolerance * (alone.max() - alone.min()))
