"""Who waits outside because the study is full: told so, known again, and counted once."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable

from mephisto_tasks.admission.eligibility import Refusal
from mephisto_tasks.control.presence import Floor
from parlai_humaneval.i18n.translate import phrase

SOONEST_AGAIN_S = 5.0
LATEST_AGAIN_S = 20.0
A_SECOND = 10
"""So many pages that wait may ask again in one second, all together."""
MOST_REMEMBERED = 10_000
"""So many of those who wait are known again; of more, some are counted twice."""
FULL_TITLE = phrase("The study is full just now")
FULL = phrase(
    "As many people are taking part as can at once. You need not do anything: this page tries again by itself, and goes in "
    "as soon as there is a place. If you have begun before, all that you did is kept."
)


KEPT_S = 30.0
"""A place is kept so long for who goes on with something: their page asks again sooner than that, if it is still open."""


class WaitingRoom:
    """Registrations (of visitors by link: workers) that were told that the study is full."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._since: OrderedDict[str, float] = OrderedDict()
        self._going_on: dict[str, float] = {}
        """Of those, who come back to what was cut off, and when they last asked."""

    def leave(self, who: str) -> bool:
        """They come in now; True where they had waited."""
        self._going_on.pop(who, None)
        return self._since.pop(who, None) is not None

    def full(
        self, who: str, inside: int, most: int, goes_on: Callable[[], bool], *, kept: bool = False
    ) -> Refusal | None:
        """Why somebody cannot come in just now: ``inside`` are as many as ``most``, or the places left are for others, who
        come back to what was cut off (``goes_on``; ``kept``: for them alone). ``who`` is known again the next time."""
        if inside + self._places_kept(who) < most and not kept:
            return None
        if goes_on():
            if inside < most:
                return None
            self._going_on[who] = time.monotonic()
        if who not in self._since:
            self._floor.came()
            self._floor.waits()
        self._since[who] = time.monotonic()
        self._since.move_to_end(who)
        if len(self._since) > MOST_REMEMBERED:
            self._since.popitem(last=False)
        return Refusal("full", f"{most} are inside", FULL, title=FULL_TITLE, tries_again=True)

    def _places_kept(self, who: str) -> int:
        """For those who go on with something, and who asked not long ago; ``who`` is none of them."""
        oldest = time.monotonic() - KEPT_S
        return sum(other != who and at > oldest for other, at in list(self._going_on.items()))

    def try_again_s(self) -> float:
        """Not all at once, and the less often the more wait."""
        newest = time.monotonic() - LATEST_AGAIN_S
        waiting = sum(1 for at in list(self._since.values()) if at > newest)
        return min(LATEST_AGAIN_S, max(SOONEST_AGAIN_S, waiting / A_SECOND)) * random.uniform(0.8, 1.2)
