"""A clock that a test can move."""

from __future__ import annotations

import time


class Clock:
    """The time of the server: that of this machine, and what it was moved by."""

    def __init__(self) -> None:
        self.moved_s = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.moved_s

    def move(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self.moved_s += seconds
