"""What ParlAI 1.7.2 needs to run on today's torch, in one place; ``parlai_humaneval_hook`` calls it for every way in."""

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
