"""What a causal model bears: padding on the left of its prompts, and replies that join and leave between two words.

Architectures differ in both, and none says so. So each model is tried with a short text when it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parlai_humaneval.models.local.reading import Layers, Reader, cache_of, layers_of

if TYPE_CHECKING:
    import torch

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
    """A short text, the same with padding on its left, and the mask of that."""
    import torch

    words = model.get_input_embeddings().num_embeddings
    ids = torch.arange(1, PROBE + 1, device=model.device)[None] % words
    nothing = torch.zeros_like(ids)
    return ids, torch.cat([nothing, ids], dim=1), torch.cat([nothing, torch.ones_like(ids)], dim=1)


def _next_scores(model: Any, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """What ``generate`` chooses the next word by."""
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
