"""How many raters one launching process serves: more and more of them on one task, and how long they wait.

The raters are programs that speak the page's protocol, all in this process, which shares the processors with the launch.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, percentile
from benchmarks.raters import MODELS, Wave, measure

RATERS = (25, 50, 100)
TURNS = 4
THINK_S = 1.0
"""Mean pause before each answer; people take some ten times as long, so that as many more of them are served."""
PROMPT_S = 1.0
"""A rater is served when 95 of 100 messages have their replies within this time."""


def run(quick: bool) -> list[Figure]:
    """Waits at each number of raters, and the largest number that is served."""
    waves = [Wave(raters, 0.05 if quick else THINK_S) for raters in ((2,) if quick else RATERS)]
    with tempfile.TemporaryDirectory() as name:
        measure(waves, 2 if quick else TURNS, Path(name))
    return [*(_wait(wave) for wave in waves), _served(waves)]


def _note(think_s: float) -> str:
    return (
        f"one `launch sata`, {len(MODELS)} embedded models a turn, pause of {think_s:g} s in the mean before each answer; "
        "message → candidates, the models' time included; all raters in one process that shares the processors"
    )


def _late(wave: Wave) -> float:
    return percentile([wait for outcome in wave.outcomes for wait in outcome.waits_s], 0.95)


def _wait(wave: Wave) -> Figure:
    waits = sum(len(outcome.waits_s) for outcome in wave.outcomes)
    name = f"wait for the replies, {wave.raters} raters, p95"
    return Figure(name=name, unit="ms", ours=1000 * _late(wave), note=_note(wave.think_s), repeats=waits)


def _served(waves: Sequence[Wave]) -> Figure:
    served = max((wave.raters for wave in waves if _late(wave) <= PROMPT_S), default=0)
    name = f"raters served by one launching process, p95 within {PROMPT_S:g} s (of {waves[-1].raters} tried)"
    return Figure(name=name, unit="raters", ours=served, better="more", note=_note(waves[0].think_s))
