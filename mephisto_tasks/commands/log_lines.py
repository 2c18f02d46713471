"""How a launch goes, a line a minute, where nobody looks on: under systemd, nohup, or into a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime

import click

from mephisto_tasks.engine.study import Study
from mephisto_tasks.running.snapshot import so_far
from parlai_humaneval.statistics.wording import counted

EVERY_S = 60.0


def follow_in_lines(
    study: Study, is_over: Callable[[], bool], warning: Callable[[], str | None], stop: threading.Event
) -> None:
    """A line at the beginning, a minute after the last one, and at the end; warnings at once."""
    next_line = time.monotonic()
    while not stop.is_set() and not is_over():
        if said := warning():
            _say(said)
        if time.monotonic() >= next_line:
            _say(line(study))
            next_line += EVERY_S
        stop.wait(0.5)
    _say(line(study))


def line(study: Study) -> str:
    """How the launch stands."""
    done, wanted = so_far(study.progress())
    door, inside = study.floor.door(), study.floor.inside(str)
    practising = sum(visit.phase == "practice" for visit in inside)
    words = [
        f"{done:,} of {wanted:,} {study.unit_words.counted} complete",
        f"{len(inside):,} inside" + (f" ({practising} in the practice)" if practising else ""),
        f"{sum(left.count for left in door.left):,} left early",
        f"{sum(door.turned_away.values()):,} turned away",
        counted(door.failed + sum(model.errors for model in study.models_now()), "error"),
    ]
    if study.steered.paused is not None:
        words.append("paused")
    return ", ".join(words)


def _say(text: str) -> None:
    click.echo(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {text}")
