"""One forward pass of a causal model, and its cache as plain tensors, in transformers 4.35 and in transformers 5.

The library has renamed and remade these parts: caches were tuples and are objects, ``past_key_values`` became ``cache``,
positions are no longer made by the model. No other module of ours touches them.
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
