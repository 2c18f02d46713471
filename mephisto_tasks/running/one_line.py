"""How a launch stands, in one line: the same in its own log and for whoever watches it."""

from __future__ import annotations

from collections.abc import Sequence

from mephisto_tasks.running.snapshot import DecidingNow, Door, Inside, ModelNow
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
    deciding: DecidingNow | None = None,
) -> str:
    """“12 of 40 conversations complete, 3 inside, 1 left early, …”; ``what``: is counted by ``done`` and ``wanted``.

    Of a study that ends when it is decided: “12 of at most 400 conversations complete, …; 4 of 6 pairs open; …”.
    """
    words = [
        f"{done_words(done, wanted, deciding)} {what} complete",
        inside_words(inside),
        f"{sum(left.count for left in door.left):,} left early",
        f"{sum(door.turned_away.values()):,} turned away",
        counted(door.failed + sum(model.errors for model in models), "error"),
        *(["paused"] if is_paused else []),
    ]
    return "; ".join([", ".join(words), *([] if deciding is None else [str(deciding)])])


def done_words(done: int, wanted: int | None, deciding: DecidingNow | None) -> str:
    """“12 of 40”, “12 of at most 400”; “12” where it is not known how many it will be, or that is decided."""
    if wanted is None or (deciding is not None and deciding.standing.ended):
        return f"{done:,}"
    return f"{done:,} of {'' if deciding is None else 'at most '}{wanted:,}"


def inside_words(inside: Sequence[Inside]) -> str:
    """“3 inside (1 in the practice)”."""
    practising = sum(one.phase == "practice" for one in inside)
    return f"{len(inside):,} inside" + (f" ({practising} in the practice)" if practising else "")
