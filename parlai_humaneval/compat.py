"""What ParlAI 1.7.2 needs on today's torch and transformers, in one place: ``parlai_humaneval_hook`` calls it."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any


def mend_plateau(lr_scheduler: ModuleType) -> None:
    """Let ``--lr-scheduler reduceonplateau``, the default, run: newer torch has no ``verbose``, which ParlAI passes."""
    plateau = lr_scheduler.optim.lr_scheduler.ReduceLROnPlateau
    if "verbose" in inspect.signature(plateau).parameters:
        return

    def __init__(
        self: Any, optimizer: Any, patience: int, decay: float, warmup_updates: int, warmup_rate: float
    ) -> None:
        lr_scheduler.ParlAILRScheduler.__init__(self, warmup_updates, warmup_rate)
        self.scheduler = plateau(optimizer, "min", factor=decay, patience=patience)

    lr_scheduler.ReduceOnPlateauLRScheduler.__init__ = __init__


def mend_gpt2(agents: Any) -> None:
    """Let ``hugging_face/gpt2`` and ``hugging_face/dialogpt`` speak: they keep tuples, and transformers 5 keeps caches."""
    library = agents.GPT2Model
    if "past_key_values" in inspect.signature(library.forward).parameters:
        return
    from parlai_humaneval.models.local.reading import cache_of, layers_of

    class GPT2Model(library):  # type: ignore[misc, valid-type]
        """As it was in transformers 4: what it has read goes in and comes out as tensors, layer by layer."""

        def forward(self, *arguments: Any, past_key_values: Any = None, **options: Any) -> tuple[Any, Any]:
            read = cache_of(tuple((keys, values) for keys, values in past_key_values or ()))
            out = super().forward(*arguments, cache=read, **options)
            return out.last_hidden_state, layers_of(out.cache)

    agents.GPT2Model = GPT2Model
