"""How a launch stands, in one line: the same in its own log and for whoever watches it."""

from __future__ import annotations

from collections.abc import Sequence

from mephisto_tasks.running.snapshot import Door, Inside, ModelNow
from parlai_humaneval.statistics.wording import counted


def one_line(
    done: int,
    wanted: int,
    what: str,
    *,
    inside: Sequence[Inside],
    door: Door,
    models: Sequence[ModelNow],
    is_paused: bool,
) -> str:
    """“12 of 40 conversations complete, 3 inside, 1 left early, …”; ``what``: is counted by ``done`` and ``wanted``."""
    words = [
        f"{done:,} of {wanted:,} {what} complete",
        inside_words(inside),
        f"{sum(left.count for left in door.left):,} left early",
        f"{sum(door.turned_away.values()):,} turned away",
        counted(door.failed + sum(model.errors for model in models), "error"),
        *(["paused"] if is_paused else []),
    ]
    return ", ".join(words)


def inside_words(inside: Sequence[Inside]) -> str:
    """“3 inside (1 in the practice)”."""
    practising = sum(one.phase == "practice" for one in inside)
    return f"{len(inside):,} inside" + (f" ({practising} in the practice)" if practising else "")
