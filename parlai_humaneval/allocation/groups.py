"""Decide which dialogue each rater holds next.

A *cell* is what a dialogue can be about: one group of models under one metric and setting. Dialogues are given out so
that the cells stay balanced over what is completed or running, no worker gets a cell twice (Smith et al.
2022, App. B.3: one conversation per model pair and metric; Liu et al. 2023: per model group and setting), and abandoned
dialogues are given out again. A unit of work may hold several dialogues (Ji et al. 2022): then its worker gets as many
different cells at once.

Also how several models share a conversation: what each model hears, and in which order raters see the replies.
"""

from __future__ import annotations

import math
import random
import threading
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from parlai_humaneval.schema.records import ModelRecord


@dataclass(frozen=True, order=True)
class Cell:
    """A group of models under a metric and setting. Models keep the order of the configuration."""

    models: tuple[str, ...]
    metric: str
    setting: str = ""

    @property
    def key(self) -> tuple[frozenset[str], str, str]:
        """The same for the same models in another order: they are one and the same question."""
        return frozenset(self.models), self.metric, self.setting

    def __str__(self) -> str:
        return f"{' vs '.join(self.models)} ({self.metric}{', ' + self.setting if self.setting else ''})"


@dataclass(frozen=True)
class PastDialogue:
    """What a database knows of one earlier dialogue: enough to go on with the counts."""

    cell: Cell
    worker: str
    complete: bool
    rated_turns: int
    cut_off: bool = False  # Ended by the end of its launch: its rater may have the same cell again
    models: Sequence[ModelRecord] = ()


@dataclass(frozen=True)
class Item:
    """One thing to judge. ``item_id`` is the same in every launch over the same dialogues. ``cell``: what is balanced,
    the models (``human`` for people) under a metric and setting. ``dialogues``: ids of what is shown; no worker meets
    one of them twice. ``judged``: for each dialogue the index of the speaker that the question is about (0: the first
    speaker), None: both. ``k``: exchanges to show, None: all. ``turn``: the one turn that is asked about, None: all of
    them, or none. ``wanted``: judgements that the item needs, and the most that it gets."""

    item_id: str
    cell: Cell
    dialogues: tuple[str, ...]
    judged: tuple[int | None, ...] = (None,)
    k: int | None = None
    turn: int | None = None
    wanted: int = 1


@dataclass(frozen=True)
class PastJudgement:
    """What a database knows of one earlier judgement: enough to go on with the counts. ``session``: the unit of work it
    belongs to; ``complete``: it was answered (else it was only seen). ``numbers``: items of that unit, 0 where it is
    not known, and then nothing of the unit is missing."""

    item_id: str
    cell: Cell
    dialogues: tuple[str, ...]
    worker: str
    session: str
    complete: bool
    numbers: int


@dataclass
class CellCount:
    """The dialogues, or judgements, of a cell."""

    cell: Cell
    wanted: int = 0
    completed: int = 0
    running: int = 0
    stopped: bool = False

    @property
    def taken(self) -> int:
        return self.completed + self.running

    @property
    def missing(self) -> int:
        """What is still to be completed."""
        return 0 if self.stopped else max(0, self.wanted - self.completed)


def units_needed(missing: Sequence[int], per_unit: int, per_worker_and_cell: int | None) -> int:
    """Units that it takes at least to complete what each cell misses, where a unit holds so many of one cell at most."""
    bounds = [math.ceil(sum(missing) / per_unit)]
    if per_worker_and_cell is not None:
        bounds += [math.ceil(number / per_worker_and_cell) for number in missing]
    return max(bounds)


@dataclass(frozen=True)
class AllocationProgress:
    """A snapshot of the counts (dialogues, judgements) per cell."""

    wanted: dict[Cell, int] = field(default_factory=dict)
    completed: dict[Cell, int] = field(default_factory=dict)
    running: dict[Cell, int] = field(default_factory=dict)


class Unit(Protocol):
    """A unit of work under way."""

    @property
    def worker(self) -> str:
        """Who has it."""


U = TypeVar("U", bound=Unit)


class UnitAllocator(ABC, Generic[U]):
    """Gives out units of work; thread-safe."""

    def __init__(self) -> None:
        self._running: dict[str, U] = {}
        self._lock = threading.RLock()

    @abstractmethod
    def _cells(self) -> Iterable[CellCount]:
        """The counts of all cells."""

    def _over(self, worker: str) -> None:
        """A unit of the worker is over."""

    def is_busy(self, worker: str) -> bool:
        """Whether a unit of this worker is under way."""
        with self._lock:
            return any(unit.worker == worker for unit in self._running.values())

    def progress(self) -> AllocationProgress:
        """Counts per cell, for reports and for tests."""
        with self._lock:
            counts = list(self._cells())
            return AllocationProgress(
                wanted={count.cell: count.wanted for count in counts},
                completed={count.cell: count.completed for count in counts},
                running={count.cell: count.running for count in counts},
            )

    def _must_be_new(self, unit: str) -> None:
        if unit in self._running:
            raise ValueError(f"unit {unit!r} is already running")

    def _worker_of(self, unit: str) -> str:
        with self._lock:
            return self._running[unit].worker if unit in self._running else ""


@dataclass(frozen=True)
class _Dialogues:
    """What a worker has at once."""

    worker: str = ""
    cells: tuple[Cell, ...] = ()


class Allocator(UnitAllocator[_Dialogues]):
    """Gives out dialogues; thread-safe. ``cells``: what can be given out; duplicates are an error. ``wanted``:
    completed dialogues asked for, per cell; :meth:`ask_for` changes it while dialogues run. ``seed``: of the choice
    among equally needed cells. ``per_worker``: dialogues of one cell that a worker may have. ``group_once``: a worker
    gets the same models once only, in whatever cell. ``per_unit``: cells of one unit of work. With more than one, a
    unit is filled up with cells that have enough already, where too few are still needed. With one cell a unit,
    ``completed + running <= wanted`` holds for each cell at every moment, up to dialogues that were running when an
    abandoned one came back as complete after all."""

    def __init__(
        self,
        cells: Sequence[Cell],
        wanted: int,
        *,
        seed: int = 0,
        per_unit: int = 1,
        per_worker: int = 1,
        group_once: bool = False,
    ) -> None:
        if len({cell.key for cell in cells}) != len(cells):
            raise ValueError("a group of models is listed twice among the groups to compare")
        if not cells:
            raise ValueError("there is nothing to rate: no group of models was given")
        if wanted < 1:
            raise ValueError(f"the number of dialogues per group must be at least 1, not {wanted}")
        if not 1 <= per_unit <= len(cells):
            raise ValueError(f"a unit of {per_unit} dialogues needs {per_unit} groups of models, not {len(cells)}")
        super().__init__()
        self._per_unit, self.per_worker, self.group_once = per_unit, per_worker, group_once
        self._counts = {cell: CellCount(cell, wanted) for cell in cells}
        self._seen: dict[str, Counter[Cell]] = defaultdict(Counter)
        self._cut_off: set[str] = set()
        self._left: dict[str, frozenset[Cell]] = {}
        self._barred: dict[str, set[frozenset[str]]] = defaultdict(set)
        self._random = random.Random(f"allocation:{seed}")

    def _cells(self) -> Iterable[CellCount]:
        return self._counts.values()

    @property
    def goes_around(self) -> bool:
        """Whether a worker is given other cells while a model of some is out."""
        return True

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
                    self._seen[dialogue.worker][cell] += 1

    def bar_groups(self, worker: str, groups: Iterable[frozenset[str]]) -> None:
        """The worker gets no dialogue with all models of one of these groups: they rated them elsewhere."""
        with self._lock:
            self._barred[worker].update(groups)

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """Set how many dialogues of each cell are wanted from now on, and stop giving out the ``stopped`` cells. What
        runs goes on, and counts. A unit holds as many cells as are left, where these are fewer than ``per_unit``."""
        with self._lock:
            for cell, count in self._counts.items():
                count.wanted = wanted.get(cell, count.wanted)
                count.stopped = cell in stopped

    @property
    def per_unit(self) -> int:
        """Cells of a unit that begins now."""
        return max(1, min(self._per_unit, sum(not count.stopped for count in self._counts.values())))

    def take_cut_off(self, worker: str) -> bool:
        """True, once, for a worker whose earlier dialogue was ended by the end of its launch."""
        with self._lock:
            known = worker in self._cut_off
            self._cut_off.discard(worker)
            return known

    def note_left(self, worker: str, cells: Iterable[Cell]) -> None:
        """The worker may come back and go on with these: others get them when nothing else is open to them."""
        with self._lock:
            self._left[worker] = frozenset(cells)

    def available(self, worker: str) -> list[Cell]:
        """Cells that this worker could get now, in no particular order; empty where no whole unit can be made."""
        with self._lock:
            barred = self._barred_cells(worker)
            free = [cell for cell, count in self._counts.items() if cell not in barred and not count.stopped]
            needed = [cell for cell in free if self._counts[cell].taken < self._counts[cell].wanted]
            if self.per_unit == 1:
                return needed
            return free if needed and len(free) >= self.per_unit else []

    def _barred_cells(self, worker: str) -> set[Cell]:
        busy = {cell for unit in self._running.values() if unit.worker == worker for cell in unit.cells}
        seen = self._seen[worker]
        groups = set(self._barred[worker])
        if self.group_once:
            groups |= {frozenset(cell.models) for cell in (*busy, *(cell for cell, times in seen.items() if times > 0))}
        enough = {cell for cell, times in seen.items() if times >= self.per_worker}
        return busy | enough | {cell for cell in self._counts if frozenset(cell.models) in groups}

    def has_done_all(self, worker: str) -> bool:
        """True when this worker has rated (or is rating) so many cells that no unit is left for them."""
        with self._lock:
            given_out = {cell for cell, count in self._counts.items() if not count.stopped}
            return len(given_out - self._barred_cells(worker)) < self.per_unit

    def claim(self, worker: str, unit: str, *, rather_without: frozenset[str] = frozenset()) -> tuple[Cell, ...] | None:
        """Give the worker the ``per_unit`` most needed cells open to them; None when there are none. ``unit`` is a key
        for :meth:`complete` and :meth:`abandon`. Cells of models ``rather_without`` come last."""
        with self._lock:
            self._must_be_new(unit)
            cells = self.available(worker)
            if not cells:
                return None
            self._left.pop(worker, None)
            self._random.shuffle(cells)

            def last(cell: Cell) -> tuple[bool, bool, int]:
                """Models that are out; what who left may come back to; what lacks less than others."""
                count = self._counts[cell]
                reserved = count.taken + sum(cell in left for left in self._left.values()) >= count.wanted
                return not rather_without.isdisjoint(cell.models), reserved, count.taken - count.wanted

            cells.sort(key=last)
            return self._start(worker, unit, tuple(cells[: self.per_unit]))

    def wants_again(self, worker: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        """Whether a worker's unit of these ``cells`` that was cut off can go on with those that are ``left`` of it: nobody
        else has it, and none of them is stopped. Of several cells, one that still lacks something is enough, as for a new
        unit."""
        with self._lock:
            return self._wants_again(worker, cells, left)

    def _wants_again(self, worker: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        counts = [self._counts[cell] for cell in cells if cell in self._counts]
        stopped = any(self._counts[cell].stopped for cell in left if cell in self._counts)
        return not stopped and any(count.taken < count.wanted for count in counts)

    def claim_again(self, worker: str, unit: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        """The worker goes on with a unit that was cut off; False, and nothing changes, where :meth:`wants_again` is
        False. Cells that are not asked for any more are not counted."""
        with self._lock:
            self._must_be_new(unit)
            if not self._wants_again(worker, cells, left):
                return False
            known = tuple(cell for cell in cells if cell in self._counts)
            self._left.pop(worker, None)
            self._cut_off.discard(worker)
            self._seen[worker].subtract(cell for cell in known if self._seen[worker][cell])  # else they count twice
            self._start(worker, unit, known)
            return True

    def _start(self, worker: str, unit: str, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
        for cell in cells:
            self._counts[cell].running += 1
        self._running[unit] = _Dialogues(worker, cells)
        return cells

    def complete(self, unit: str) -> None:
        """Every dialogue of the unit was rated to its end. Unknown keys are ignored (ended twice)."""
        with self._lock:
            ended = self._end(unit)
            for cell in ended.cells:
                self._counts[cell].completed += 1
                self._seen[ended.worker][cell] += 1
        self._over(ended.worker)

    def abandon(self, unit: str, *, rated: Sequence[Cell]) -> None:
        """The unit was left. It is given out again, but not the cells that were ``rated`` in part to this worker."""
        with self._lock:
            ended = self._end(unit)
            self._seen[ended.worker].update(cell for cell in ended.cells if cell in rated)
        self._over(ended.worker)

    def _end(self, unit: str) -> _Dialogues:
        ended = self._running.pop(unit, _Dialogues())
        for cell in ended.cells:
            self._counts[cell].running -= 1
        return ended

    @property
    def remaining(self) -> int:
        """Units that are still to be completed until no cell misses a dialogue."""
        with self._lock:
            return units_needed([count.missing for count in self._counts.values()], self.per_unit, 1)


History = Literal["shared", "independent"]
"""shared: whatever continues, each model hears it as its own words; independent: each hears its own replies only."""
Order = Literal["balanced", "fixed"]
"""balanced: random, and balanced over the turns of a dialogue; fixed: random once, and the same throughout."""


def shown_order(kind: Order, n: int, seed: int, turn: int) -> list[int]:
    """The indices of ``n`` models in the order in which they are shown at a turn, counted from 0, of a dialogue with this
    ``seed``. ``balanced``: turns are taken in blocks of ``n``, each a random cyclic Latin square, so that every model
    stands once at every position of a block, and in any number of turns a model's counts of two positions differ by one
    at most. ``fixed``: side by side, a partner must not change places."""
    if kind == "fixed":
        return random.Random(f"fixed order|{seed}").sample(range(n), n)
    block, row = divmod(turn, n)
    rng = random.Random(f"order|{seed}|{block}")
    models = rng.sample(range(n), n)
    shift = rng.sample(range(n), n)[row]
    return models[shift:] + models[:shift]
