"""When a study will be done: from the rate of the last hour, and in honest words where nobody can know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import sqrt

from mephisto_tasks.control.snapshot import DecidingNow
from mephisto_tasks.monitoring.status import End, GroupStanding, State
from parlai_humaneval.statistics.core.formatting import counted

HOUR = 3600.0
LEAST = 3
"""From fewer units in the last hour nothing is told."""
LONGEST = 90 * 24 * HOUR
"""Nothing is told of what lies further off."""

_NO_END: dict[State, str] = {
    "not_running": "Nothing runs.",
    "ended": "Nothing runs.",
    "cut_off": "Nothing runs.",
    "starting": "The launch is just starting.",
    "ending": "The launch is ending.",
    "paused": "Paused: nobody new comes in, so there is no end in sight.",
    "broken": "Nothing is given out any more, so there is no end in sight.",
    "silent": "The launch has not been heard of, so nothing can be told.",
}


def estimated_end(
    now: float,
    state: State,
    remaining: int | None,
    ended: Sequence[float],
    began: float | None = None,
    groups: Sequence[GroupStanding] = (),
    deciding: DecidingNow | None = None,
) -> End:
    """``remaining`` units, if they come as those that ``ended`` in the last hour.

    ``began``: of the launch, so that of one that is younger the rate is of its own time. The range holds what the
    number of units of one hour leaves open (a Poisson count, at two standard errors of its root), not what may change.
    ``groups``: how they stand. ``deciding``: of a study that ends when it is decided; as many are to go as is foreseen, and
    the range holds what that leaves open, too.
    """
    if remaining == 0:
        return End(words=_done_words(groups, deciding))
    if state in _NO_END:
        return End(words=_NO_END[state])
    if remaining is None:
        return End(words="Not known: the launch has not said how much is still to be done.")
    to_go = _to_go(remaining, len(ended), groups, deciding)
    if to_go is None:
        return End(words=f"When every pair is decided, which is not foreseen yet; {_at_most(deciding)}.")
    since = max(now - HOUR, min(began or 0.0, now))
    count = sum(since <= at <= now for at in ended)
    span, hour = now - since, "the last hour" if now - since >= HOUR else "this launch so far"
    if count < LEAST:
        was = f"only {counted(count, 'unit')} {'was' if count == 1 else 'were'}" if count else "no unit was"
        return End(words=f"Cannot be told: {was} done in {hour}.")
    likely, low, high = count / span, (sqrt(count) - 1) ** 2 / span, (sqrt(count) + 1) ** 2 / span
    at, earliest, latest = (now + units / rate for units, rate in zip(to_go, (likely, high, low), strict=True))
    if at - now > LONGEST:
        return End(words=f"Months away, as units come now ({count} in {hour}).")
    first, last = _clock(earliest, now), _clock(latest, now)
    words = f"About {_clock(at, now)}{'' if first == last else f', likely between {first} and {last}'}"
    foreseen = "" if deciding is None else " and as many are needed as is foreseen"
    words = f"{words}, if units come as in {hour} ({count:,}){foreseen}."
    return End(at=at, earliest=earliest, latest=latest, words=words)


def _to_go(
    remaining: int, ended: int, groups: Sequence[GroupStanding], deciding: DecidingNow | None
) -> tuple[float, float, float] | None:
    """Units to go: as is likely, at least and at most; None where answers decide, and it is not foreseen.

    ``ended``: units that are complete, which had all the dialogues of ``groups``.
    """
    if deciding is None:
        return remaining, remaining, remaining
    forecast, dialogues = deciding.forecast, sum(group.completed for group in groups)
    if forecast is None:
        return None
    a_unit = dialogues / ended if dialogues and ended else 1.0
    return forecast.expected / a_unit, forecast.low / a_unit, forecast.high / a_unit


def _at_most(deciding: DecidingNow | None) -> str:
    return "" if deciding is None else f"after {counted(deciding.standing.cap, 'dialogue')} at the latest"


def _done_words(groups: Sequence[GroupStanding], deciding: DecidingNow | None) -> str:
    besides = ", but for what was stopped" if any(group.stopped for group in groups) else ""
    if running := sum(group.running for group in groups):
        return (
            f"Nothing new is given out; {running:,} under way {'is' if running == 1 else 'are'} still to be finished."
        )
    if deciding is not None and deciding.standing.ended is not None:
        reached = "The answer is reached." if deciding.standing.ended == "decided" else "The cap is reached."
        return " ".join(filter(None, (reached, deciding.standing.next_step)))
    return f"All that was asked for is there{besides}."


def _clock(at: float, now: float) -> str:
    """“21:40”, of another day “24 Nov 21:40”; in local time."""
    moment, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%-d %b %H:%M")
