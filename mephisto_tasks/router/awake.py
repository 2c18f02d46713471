"""The time by which it is said that a page has gone silent: it stands still while this process does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TICK_S = 0.1
ASLEEP_S = 0.3
"""Whoever was not looked at for longer was asleep: so much of it counts at most."""


class AwakeTime:
    """Seconds in which this process could have heard its pages.

    Where a laptop is shut, a virtual machine is moved or a machine is too busy, nobody's heartbeats come through, and by any
    other clock all raters would have left at the moment in which it goes on.

    It belongs to one event loop and is read there.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._awake_s = 0.0

    def now(self) -> float:
        """Seconds that have counted so far."""
        return self._awake_s + min(self._clock() - self._looked_at, ASLEEP_S)

    def look(self) -> None:
        """It is awake now."""
        self._awake_s = self.now()
        self._looked_at = self._clock()

    async def keep_looking(self) -> None:
        """For as long as its loop runs."""
        while True:
            self.look()
            await asyncio.sleep(TICK_S)
