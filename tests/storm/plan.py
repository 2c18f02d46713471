"""What happens in a storm, and when: drawn from its seed, before it begins."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "cut",
    "half_close",
    "stall",
    "reload",
    "second_tab",
    "thief",
    "forge",
    "away",
    "leave",
    "kill_launcher",
    "stop_launcher",
    "kill_deciding",
    "end_deciding",
    "freeze_launcher",
    "kill_server",
    "full_disk",
    "locked_database",
    "kill_browser",
]
"""``kill_deciding``, ``end_deciding``: kill -9 and SIGTERM of the study that stops once it reaches a decision; a rater
inside never comes back."""

OF_RATERS: Mapping[Kind, float] = {
    "cut": 6,
    "half_close": 3,
    "stall": 3,
    "reload": 4,
    "second_tab": 2,
    "thief": 1,
    "forge": 3,
    "away": 2,
    "leave": 1,
}
"""What happens to one rater, and how often beside the others."""

LASTS: Mapping[Kind, tuple[float, float]] = {
    "stall": (0.5, 4.0),
    "away": (1.0, 6.0),
    "kill_launcher": (0.0, 2.0),
    "stop_launcher": (0.0, 2.0),
    "kill_deciding": (0.0, 2.0),
    "end_deciding": (0.0, 2.0),
    "freeze_launcher": (1.0, 6.0),
    "kill_server": (1.0, 5.0),
    "full_disk": (2.0, 6.0),
    "locked_database": (2.0, 6.0),
}
"""Seconds, least and most, of what has a length; of a launcher: until it is launched again."""

RATER_EVENTS_PER_S = 1.2
SPARE_S = 4.0
"""Nothing big begins so shortly after the beginning."""


@dataclass(frozen=True)
class Event:
    """``at_s``: seconds after the beginning. ``who``: in [0, 1), which of those present then it happens to."""

    at_s: float
    kind: Kind
    who: float
    lasts_s: float = 0.0

    def __str__(self) -> str:
        length = f" for {self.lasts_s:.1f} s" if self.lasts_s else ""
        return f"{self.at_s:6.1f} s  {self.kind}{length}"


def drawn(seed: int, seconds: float, *, browser: bool = False) -> list[Event]:
    """The plan of a storm: small things all the time, and big ones one after another, each kind at least once a minute."""
    chance = random.Random(f"storm:{seed}")
    small = list(OF_RATERS)
    events = [
        _event(chance, chance.uniform(1.0, seconds), chance.choices(small, [OF_RATERS[kind] for kind in small])[0])
        for _ in range(round(seconds * RATER_EVENTS_PER_S))
    ]
    for begin in range(0, max(60, round(seconds)), 60):
        events += _big(chance, begin, min(begin + 60.0, max(seconds, 60.0)), browser=browser)
    return sorted((event for event in events if event.at_s < seconds), key=lambda event: event.at_s)


def _big(chance: random.Random, begin: float, end: float, *, browser: bool) -> list[Event]:
    """Each big thing of one minute, in random order; a full disk and a locked database may well meet a killed launcher."""
    kinds: list[Kind] = [
        "kill_launcher",
        "stop_launcher",
        "kill_deciding",
        "end_deciding",
        "freeze_launcher",
        "kill_server",
        "full_disk",
        "locked_database",
    ]
    if browser:
        kinds.append("kill_browser")
    chance.shuffle(kinds)
    room = (end - begin - SPARE_S) / len(kinds)
    starts = [begin + SPARE_S + room * (number + chance.uniform(0.0, 0.9)) for number in range(len(kinds))]
    return [_event(chance, start, kind) for start, kind in zip(starts, kinds, strict=True)]


def _event(chance: random.Random, at_s: float, kind: Kind) -> Event:
    least, most = LASTS.get(kind, (0.0, 0.0))
    return Event(round(at_s, 2), kind, chance.random(), round(chance.uniform(least, most), 2))


def counts(events: Sequence[Event]) -> dict[str, int]:
    """How many there are of each kind, the most frequent first."""
    kinds = [event.kind for event in events]
    return dict(sorted(((kind, kinds.count(kind)) for kind in set(kinds)), key=lambda pair: (-pair[1], pair[0])))
