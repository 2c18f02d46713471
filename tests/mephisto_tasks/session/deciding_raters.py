"""Simulated raters who come, a few at once, until a study has its answer."""

from __future__ import annotations

from live import eventually

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.raters import Behaviour, run_raters


async def rated(run: RunningStudy, prefer: str, *, at_once: int = 4, most: int = 120, name: str = "sim") -> None:
    """Raters who always choose ``prefer`` where they see it; ``most`` of them, or fewer when nobody else is needed."""
    behaviour = Behaviour(model_of=run.study.shown.get, prefer=prefer, strength=1.0)
    for begin in range(0, most, at_once):
        if run.study.remaining == 0:
            break
        await run_raters(
            run.url,
            behaviour,
            announce=run.study.simulated.add,
            raters=at_once,
            dialogues=at_once,
            seed=begin,
            name=f"{name}{begin}-",
        )
    await eventually(lambda: not run.live_run.task_runner.running_units)
