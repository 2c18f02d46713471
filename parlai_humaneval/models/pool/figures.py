"""How a model has answered so far, counted where its replies are waited for."""

from __future__ import annotations

import threading
from collections import deque
from typing import TypedDict

import numpy as np

KEPT = 1000
"""Replies over which times are taken: the last ones."""


class Answering(TypedDict):
    """Of one model. Seconds are from a question to its reply, with all tries; None: no reply yet."""

    replies: int
    median_s: float | None
    p95_s: float | None
    retries: int
    errors: int
    outage_since: float | None


class Figures:
    """Counts of one model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: deque[float] = deque(maxlen=KEPT)
        self._replies = self._retries = self._errors = 0

    def answered(self, seconds: float, *, fit: bool) -> None:
        """A reply came; one that is not ``fit`` to be shown is an error."""
        with self._lock:
            self._replies += fit
            self._errors += not fit
            self._seconds.append(seconds)

    def asked_again(self) -> None:
        with self._lock:
            self._retries += 1

    def gave_up(self) -> None:
        """No reply will come."""
        with self._lock:
            self._errors += 1

    def now(self, outage_since: float | None) -> Answering:
        """The counts; ``outage_since``: when the model's server went, if it is out."""
        with self._lock:
            seconds = list(self._seconds)
            counts = self._replies, self._retries, self._errors
        median, p95 = (float(value) for value in np.percentile(seconds, [50, 95])) if seconds else (None, None)
        replies, retries, errors = counts
        return Answering(
            replies=replies,
            median_s=median,
            p95_s=p95,
            retries=retries,
            errors=errors,
            outage_since=outage_since,
        )
