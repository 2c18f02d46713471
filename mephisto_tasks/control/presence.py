"""Who is inside a running launch, and how those ended who were: told by the pages themselves, for the snapshot."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from mephisto_tasks.control.snapshot import Door, Inside, Left, Phase
from parlai_humaneval.schema.steps import Progress

Ending = Literal["done", "failed", "left", "closed", "nothing"]
"""Done to its end; ended on our side; the rater went away; the launch ended; there was nothing for them."""


@dataclass(eq=False)
class Visit:
    """One rater's page, in the practice or in a unit. Written by the thread that holds it, read by others."""

    worker: str
    """The name in Mephisto's database, which leaves the launch as a pseudonym only."""
    phase: Phase
    simulated: bool
    is_here: Callable[[], bool] = lambda: True
    """Whether the page is connected now."""
    since: float = field(default_factory=time.time)
    step: str = ""
    step_since: float | None = None
    progress: Progress | None = None
    answered_at: float | None = None

    def showed(self, step: str, progress: Progress | None) -> None:
        """The page shows a step of this kind."""
        if (step, progress) != (self.step, self.progress):
            self.step, self.progress, self.step_since = step, progress, time.time()

    def answered(self) -> None:
        """The page said something."""
        self.answered_at = time.time()

    def inside(self, pseudonym: Callable[[str], str]) -> Inside:
        progress = self.progress
        return Inside(
            worker=pseudonym(self.worker),
            simulated=self.simulated,
            phase=self.phase,
            since=self.since,
            step=self.step,
            step_since=self.step_since,
            part=None if progress is None else progress.current,
            parts=None if progress is None else progress.total,
            unit=None if progress is None else progress.unit,
            last_seen=self.answered_at or self.since,
            here=self.is_here(),
        )


class Presence:
    """All visits of one launch. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._visits: dict[Visit, None] = {}
        self._turned_away: Counter[str] = Counter()
        self._left: Counter[tuple[Phase, str]] = Counter()
        self._endings: Counter[Ending] = Counter()
        self._verdicts: Counter[bool] = Counter()
        self._passed: set[str] = set()
        self._came = self._let_in = self._waited = 0

    def came(self) -> None:
        """Somebody's page asks for work."""
        with self._lock:
            self._came += 1

    def waits(self) -> None:
        """Somebody's page was told that the study is full; it waits outside."""
        with self._lock:
            self._waited += 1

    def turned_away(self, kind: str) -> None:
        """Somebody's page was told why there is none; ``kind`` is the reason in a word."""
        with self._lock:
            self._turned_away[kind] += 1

    def enter(self, visit: Visit) -> Visit:
        """A rater begins the practice or a unit; who goes on from the one to the other came in once."""
        with self._lock:
            self._visits[visit] = None
            if visit.phase == "practice" or visit.worker not in self._passed:
                self._let_in += 1
            self._passed.discard(visit.worker)
        return visit

    def verdict(self, worker: str, passed: bool) -> None:
        """How a practice ended."""
        with self._lock:
            self._verdicts[passed] += 1
            if passed:
                self._passed.add(worker)

    def leave(self, visit: Visit, ending: Ending) -> None:
        """A visit is over; one that was over already stays as it ended."""
        with self._lock:
            if visit not in self._visits:
                return
            del self._visits[visit]
            if visit.phase == "task":
                self._endings[ending] += 1
            if ending == "left":
                self._left[visit.phase, visit.step] += 1

    def inside(self, pseudonym: Callable[[str], str]) -> list[Inside]:
        """Who is on a page now, who came first first."""
        with self._lock:
            visits = list(self._visits)
        return [visit.inside(pseudonym) for visit in visits]

    def door(self) -> Door:
        """Who came, and how they ended."""
        with self._lock:
            return Door(
                came=self._came,
                let_in=self._let_in,
                waited=self._waited,
                turned_away=dict(self._turned_away.most_common()),
                practice_passed=self._verdicts[True],
                practice_failed=self._verdicts[False],
                completed=self._endings["done"],
                failed=self._endings["failed"],
                left=[Left(phase=phase, step=step, count=count) for (phase, step), count in self._left.most_common()],
            )
