"""Raters whom the end of an earlier launch cut off: how long a launch waits for them before the study goes on without them.

Raters count in the order in which they came, so the evidence of everybody who came later waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping

RETURN_S = 20.0
"""A page that was left open finds a new launch within so many seconds (it tries every eight)."""
PATIENCE_S = 90.0
"""A launch waits no longer than this. A browser lets a page in the background try once a minute."""


class Absent:
    """Workers who had begun, and have not come back to this launch.

    A worker is gone once their page has been silent for as long as an answer may take (``silence_s``), however many launches
    that lasted. Two limits hold besides: an open page has :data:`RETURN_S` to find a launch again, and nobody is waited for
    longer than :data:`PATIENCE_S`.

    Args:
        last_seen: worker → when they last did anything, in seconds since the epoch.
        silence_s: ``answer_timeout_s`` of this launch.
    """

    def __init__(self, last_seen: Mapping[str, float], silence_s: float) -> None:
        self._last_seen = dict(last_seen)
        self._silence_s = silence_s
        self._opened: float | None = None

    def __contains__(self, worker: object) -> bool:
        return worker in self._last_seen

    def __len__(self) -> int:
        return len(self._last_seen)

    def opens(self, at: float) -> None:
        """From now on raters can come in."""
        self._opened = at

    def stop_waiting(self, worker: str) -> None:
        """The worker is here, or the study goes on without them."""
        self._last_seen.pop(worker, None)

    def gone(self, now: float) -> list[str]:
        """Those for whom nobody waits any longer."""
        return [worker for worker, seen in self._last_seen.items() if now >= self._until(seen)]

    def _until(self, seen: float) -> float:
        silent = seen + self._silence_s
        if self._opened is None:
            return silent + PATIENCE_S
        return min(max(silent, self._opened + RETURN_S), self._opened + PATIENCE_S, silent + PATIENCE_S)
