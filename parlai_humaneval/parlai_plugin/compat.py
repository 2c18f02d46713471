"""What ParlAI 1.7.2 needs to run on today's torch and transformers, and without them, in one place.

``parlai_humaneval_hook`` calls what mends ParlAI's modules, for every way in.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from types import ModuleType
from typing import Any

from parlai_humaneval._util.installing import check_code, check_release


def mend_plateau(lr_scheduler: ModuleType) -> None:
    """Let ``--lr-scheduler reduceonplateau``, the default, run: newer torch has no ``verbose``, which ParlAI passes.

    Raises:
        UntestedRelease: ParlAI's scheduler is not the one that is mended here.
    """
    plateau = lr_scheduler.optim.lr_scheduler.ReduceLROnPlateau
    if "verbose" in inspect.signature(plateau).parameters:
        return
    check_code(lr_scheduler.ReduceOnPlateauLRScheduler.__init__, "0bc893a8")

    def __init__(
        self: Any, optimizer: Any, patience: int, decay: float, warmup_updates: int, warmup_rate: float
    ) -> None:
        lr_scheduler.ParlAILRScheduler.__init__(self, warmup_updates, warmup_rate)
        self.scheduler = plateau(optimizer, "min", factor=decay, patience=patience)

    lr_scheduler.ReduceOnPlateauLRScheduler.__init__ = __init__


def mend_gpt2(agents: Any) -> None:
    """Let ``hugging_face/gpt2`` and ``hugging_face/dialogpt`` speak: they keep tuples, and transformers 5 keeps caches.

    Raises:
        UntestedRelease: ParlAI's decoder is not the one that is mended here.
    """
    library = agents.GPT2Model
    if "past_key_values" in inspect.signature(library.forward).parameters:
        return
    check_code(agents.GPT2Decoder, "bb2586c2")
    from parlai_humaneval.models.backends.forward_pass import cache_of, layers_of

    class GPT2Model(library):  # type: ignore[misc, valid-type]  # its base is known at run time only
        """As it was in transformers 4: what it has read goes in and comes out as tensors, layer by layer."""

        def forward(self, *arguments: Any, past_key_values: Any = None, **options: Any) -> tuple[Any, Any]:
            read = cache_of(tuple((keys, values) for keys, values in past_key_values or ()))
            out = super().forward(*arguments, cache=read, **options)
            return out.last_hidden_state, layers_of(out.cache)

    agents.GPT2Model = GPT2Model


class _OnUse(ModuleType):
    """Stands for a module, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def parlai_without_torch() -> None:
    """ParlAI's agents, without torch: half of the seconds between a launch and its link are torch's import.

    Two of ParlAI's modules take torch where it is, and do without where it is not: one for a pool of processes that
    download, for which Python's own does, the other to ask of a value whether it is a tensor, for which torch is
    imported then. A model that is made with torch imports it.

    Raises:
        UntestedRelease: ParlAI is not the one that is mended here.
    """
    check_release("parlai")
    if "torch" in sys.modules or "parlai.core.build_data" in sys.modules:
        return
    hidden = ("torch", "torch.multiprocessing")
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how Python marks a module as absent
    try:
        importlib.import_module("parlai.core.build_data")
        misc: Any = importlib.import_module("parlai.utils.misc")
    finally:
        for name in hidden:
            del sys.modules[name]
    check_code(misc.round_sigfigs, "802892fb")
    if importlib.util.find_spec("torch") is not None:
        misc.torch = _OnUse("torch")
        vars(misc)["__TORCH_AVAILABLE"] = True
