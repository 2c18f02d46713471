"""ParlAI's training loop, run in this process, with what it lacks: it tells how far it is, and an interruption is no loss.

Importing this takes seconds: ParlAI and torch come with it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parlai.core.metrics import dict_report
from parlai.core.opt import Opt
from parlai.scripts.train_model import TrainLoop, set_seed
from parlai.utils.io import PathManager

from parlai_humaneval.models.trained.training_options import CHECKPOINT

FOR_TRAINING_ONLY = (
    "optimizer",
    "optimizer_type",
    "lr_scheduler",
    "lr_scheduler_type",
    "warmup_scheduler",
    "number_training_updates",
)
"""What of a model's file inference does not need: two thirds of it."""

Progress = Callable[[str], None]


def run_loop(opt: Opt, progress: Progress | None = None) -> Mapping[str, Any]:
    """Train, validate and test as ``parlai train_model`` does; the answer is the report on the validation data.

    It goes on from ``MODEL_FILE.checkpoint`` where there is one. Interrupted by Ctrl-C it leaves one.
    """
    with _own_interrupts():
        started_from = opt.get("init_model")
        loop = TrainLoop(opt)
        # ParlAI names the checkpoint as what the model starts from, and would save that, and reload it at the end in place
        # of the best model.
        opt["init_model"] = loop.agent.opt["init_model"] = started_from
        # Nor does it know after an interruption that the best model so far was saved; it would save the last over it.
        loop.saved = PathManager.exists(opt["model_file"])
        if progress:
            loop.log = _telling(loop, progress)
        if opt.get("seed") is not None:
            set_seed(opt["seed"])
        try:
            report, _ = loop.train()
        except KeyboardInterrupt:
            if loop.parleys and hasattr(loop, "agent") and hasattr(loop, "_total_epochs"):
                _count_step_in_hand(loop)
                loop.save_model(CHECKPOINT)
            raise
        figures: Mapping[str, Any] = dict_report(report)
        return figures


def _count_step_in_hand(loop: TrainLoop) -> None:
    """Ctrl-C may fall after an update of the weights and before ParlAI counts it: the checkpoint's count holds it too."""
    if getattr(loop.agent, "_number_training_updates", 0) == loop._train_steps + 1:
        loop._train_steps += 1
        loop.parleys = loop._train_steps * loop.update_freq


def keep_for_inference(work: Path, made: Path) -> None:
    """Copy a trained model, with all files beside it, to where it is used, without what only training needs."""
    import shutil

    import torch

    made.parent.mkdir(parents=True, exist_ok=True)
    for file in sorted(work.parent.glob(f"{work.name}.*")):
        if not file.name.startswith(work.name + CHECKPOINT):
            shutil.copyfile(file, made.parent / (made.name + file.name[len(work.name) :]))
    opt = Opt.load(f"{work}.opt")
    # The dictionary has moved along, and generation may have been skipped in training only.
    opt.update(
        model_file=str(made),
        dict_file=f"{made}.dict",
        **({"skip_generation": False} if "skip_generation" in opt else {}),
    )
    opt["override"] = {}
    opt.save(f"{made}.opt")
    states = torch.load(work, map_location="cpu", weights_only=False)
    # Last, and under another name until it is whole: a model file that is there is a trained model.
    unfinished = made.with_name(f"{made.name}.part")
    torch.save({key: value for key, value in states.items() if key not in FOR_TRAINING_ONLY}, unfinished)
    unfinished.replace(made)


def _telling(loop: Any, progress: Progress) -> Callable[[], Any]:
    log = loop.log

    def telling() -> Any:
        report = log()
        figures = dict_report(report)
        parts = [f"epoch {loop._total_epochs:.1f}, step {loop._train_steps}"]
        parts += [f"{key} {figures[key]:.3g}" for key in ("loss", "mean_loss", "ppl") if key in figures]
        progress(", ".join(parts))
        return report

    return telling


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """ParlAI's loop sets the process's Ctrl-C; afterwards it is as before. Outside the main thread neither can."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
