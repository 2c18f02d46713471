"""Who rates what next.

A *cell* is what a dialogue can be about: one group of models under one metric. Dialogues are given out so
that the cells stay balanced over what is completed or running, no worker gets a cell twice (Smith et al.
2022, App. B.3: one conversation per model pair and metric), and abandoned dialogues are given out again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Cell:
    """A group of models under a metric. Models stand in the order of the configuration."""

    models: tuple[str, ...]
    metric: str

    @property
    def key(self) -> tuple[frozenset[str], str]:
        """The same for the same models in another order: they are one and the same question."""
        return frozenset(self.models), self.metric

    def __str__(self) -> str:
        return f"{' vs '.join(self.models)} ({self.metric})"


@dataclass(frozen=True)
class PastDialogue:
    """What a database knows of one earlier dialogue: enough to go on with the counts."""

    cell: Cell
    worker: str
    complete: bool
    rated_turns: int
    cut_off: bool = False
    """Ended by the end of its launch: its rater may have the same cell again."""


@dataclass
class _Count:
    completed: int = 0
    running: int = 0

    @property
    def taken(self) -> int:
        return self.completed + self.running


class Allocator:
    """Gives out dialogues; thread-safe.

    Args:
        cells: what can be given out; duplicates are an error.
        wanted: completed dialogues asked for, per cell.
        seed: of the choice among equally needed cells.

    At every moment ``completed + running <= wanted`` holds for each cell, up to dialogues that were
    running when an abandoned one came back as complete after all.
    """

    def __init__(self, cells: Sequence[Cell], wanted: int, *, seed: int = 0) -> None:
        if len({cell.key for cell in cells}) != len(cells):
            raise ValueError("the same group of models stands twice among the groups to compare")
        if not cells:
            raise ValueError("there is nothing to rate: no group of models was given")
        if wanted < 1:
            raise ValueError(f"the number of dialogues per group must be at least 1, not {wanted}")
        self.wanted = wanted
        self._counts: dict[Cell, _Count] = {cell: _Count() for cell in cells}
        self._seen: dict[str, set[Cell]] = {}
        self._running: dict[str, tuple[str, Cell]] = {}
        self._cut_off: set[str] = set()
        self._random = random.Random(f"allocation:{seed}")
        self._lock = threading.Lock()

    def restore(self, past: Iterable[PastDialogue]) -> None:
        """Take over what earlier launches of the same task did; cells no longer asked for are ignored."""
        cells = {cell.key: cell for cell in self._counts}
        with self._lock:
            for dialogue in past:
                cell = cells.get(dialogue.cell.key)
                if cell is None:
                    continue
                if dialogue.complete:
                    self._counts[cell].completed += 1
                if dialogue.cut_off and not dialogue.complete:
                    self._cut_off.add(dialogue.worker)
                elif dialogue.complete or dialogue.rated_turns > 0:
                    self._seen.setdefault(dialogue.worker, set()).add(cell)

    def take_cut_off(self, worker: str) -> bool:
        """True, once, for a worker whose earlier dialogue was ended by the end of its launch."""
        with self._lock:
            known = worker in self._cut_off
            self._cut_off.discard(worker)
            return known

    def available(self, worker: str) -> list[Cell]:
        """Cells that this worker could get now, in no particular order."""
        with self._lock:
            return self._available(worker)

    def _available(self, worker: str) -> list[Cell]:
        busy = {cell for name, cell in self._running.values() if name == worker}
        barred = self._seen.get(worker, set()) | busy
        return [cell for cell, n in self._counts.items() if n.taken < self.wanted and cell not in barred]

    def has_done_all(self, worker: str) -> bool:
        """True when every cell was already rated (or is being rated) by this worker."""
        with self._lock:
            busy = {cell for name, cell in self._running.values() if name == worker}
            return set(self._counts) <= self._seen.get(worker, set()) | busy

    def is_busy(self, worker: str) -> bool:
        """True while a dialogue of this worker is running."""
        with self._lock:
            return any(name == worker for name, _ in self._running.values())

    def claim(self, worker: str, dialogue: str) -> Cell | None:
        """Give the worker the most needed cell open to them; None when there is none.

        ``dialogue`` is a key for :meth:`complete` and :meth:`abandon`.
        """
        with self._lock:
            if dialogue in self._running:
                raise ValueError(f"dialogue {dialogue!r} is already running")
            cells = self._available(worker)
            if not cells:
                return None
            fewest = min(self._counts[cell].taken for cell in cells)
            cell = self._random.choice([cell for cell in cells if self._counts[cell].taken == fewest])
            self._counts[cell].running += 1
            self._running[dialogue] = (worker, cell)
            return cell

    def complete(self, dialogue: str) -> None:
        """The dialogue was rated to its end. Unknown keys are ignored (ended twice)."""
        with self._lock:
            ended = self._end(dialogue)
            if ended is not None:
                worker, cell = ended
                self._counts[cell].completed += 1
                self._seen.setdefault(worker, set()).add(cell)

    def abandon(self, dialogue: str, *, rated_turns: int) -> None:
        """The dialogue was left. It is given out again; a worker who rated part of it does not get the cell again."""
        with self._lock:
            ended = self._end(dialogue)
            if ended is not None and rated_turns > 0:
                worker, cell = ended
                self._seen.setdefault(worker, set()).add(cell)

    def _end(self, dialogue: str) -> tuple[str, Cell] | None:
        ended = self._running.pop(dialogue, None)
        if ended is not None:
            self._counts[ended[1]].running -= 1
        return ended

    @property
    def remaining(self) -> int:
        """Completed dialogues still missing, over all cells."""
        with self._lock:
            return sum(max(0, self.wanted - n.completed) for n in self._counts.values())

    def progress(self) -> AllocationProgress:
        """Counts per cell, for reports and for tests."""
        with self._lock:
            return AllocationProgress(
                wanted=self.wanted,
                completed={cell: n.completed for cell, n in self._counts.items()},
                running={cell: n.running for cell, n in self._counts.items()},
            )


@dataclass(frozen=True)
class AllocationProgress:
    """A snapshot of the counts per cell."""

    wanted: int
    completed: dict[Cell, int] = field(default_factory=dict)
    running: dict[Cell, int] = field(default_factory=dict)
