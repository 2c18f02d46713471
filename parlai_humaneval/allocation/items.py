"""Decide which finished dialogues each rater judges next, and count judgements per item, group of models and dialogue.

A unit of work holds several items. They are chosen when a worker begins it: the neediest ones that show no dialogue
which this worker has met, in this unit or any other (Deriu et al. 2020, §4: no two segments of a conversation in a batch of
20; §3.1: each segment of a conversation is rated by a different annotator). How many units a worker may have is limited
(ibid.: three), or how many items of the same models (Smith et al. 2022, App. B.3: one per model pair and metric). No
item gets more judgements than it wants (App. C.7: a pairing of two conversations is judged once at most), and what a
worker leaves undone is given out again.

What one worker has met, and their units of work: which are done, and which was cut off.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parlai_humaneval._util.arrays import Flags, Ints
from parlai_humaneval.allocation.groups import Cell, CellCount, Item, PastJudgement, UnitAllocator, units_needed

CellKey = tuple[frozenset[str], str, str]


@dataclass
class ItemCount(CellCount):
    """The judgements of one cell. ``rows``: its items' places among all. ``every``: all of its items are to reach their
    number, so that judgements of what is not in the study any more (``gone``) fill no gap."""

    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    every: bool = True
    gone: int = 0

    @property
    def full(self) -> bool:
        """Whether nobody else is needed, unless somebody leaves."""
        return self.stopped or self.taken >= self.wanted


class ItemPool:
    """Counts items, and draws them; not thread-safe. Arrays, because a draw looks at every item. ``wanted``: judgements
    per cell; None, or a cell that is not named: as many as its items want together. ``chance`` decides between items
    that are needed alike; ``by_lot``: between all items of a cell that may be drawn. Raises ValueError."""

    def __init__(
        self, items: Sequence[Item], wanted: Mapping[Cell, int] | None, chance: random.Random, *, by_lot: bool = False
    ) -> None:
        if not items:
            raise ValueError("there is nothing to judge: no item was given")
        self._items = list(items)
        self._chance, self._by_lot = chance, by_lot
        self._ties = np.random.default_rng(chance.getrandbits(64))
        self._row_of: dict[str, int] = {}
        self.cells: dict[CellKey, ItemCount] = {}
        rows: dict[CellKey, list[int]] = {}
        for row, item in enumerate(items):
            if item.item_id in self._row_of:
                raise ValueError(f"the item {item.item_id} appears twice")
            if item.wanted < 1 or not item.dialogues:
                raise ValueError(f"the item {item.item_id} needs a dialogue, and at least one judgement")
            self._row_of[item.item_id] = row
            self.cells.setdefault(item.cell.key, ItemCount(item.cell)).wanted += item.wanted
            rows.setdefault(item.cell.key, []).append(row)
        for cell, number in (wanted or {}).items():
            count = self.cells.get(cell.key)
            if count is None:
                raise ValueError(f"there is no item of {cell}")
            if number < 1:
                raise ValueError(f"the number of judgements of {cell} must be at least 1, not {number}")
            if number > count.wanted:
                raise ValueError(f"{number} judgements of {cell} are needed, but its items allow only {count.wanted}")
            count.every = number == count.wanted
            count.wanted = number
        for key, found in rows.items():
            self.cells[key].rows = np.array(found, np.int64)
        names = list(dict.fromkeys(name for item in items for name in item.dialogues))
        self._place_of = {name: place for place, name in enumerate(names)}
        # Items × dialogues of the longest item; short rows are filled with the place after the last dialogue, which nobody
        # meets and nothing uses.
        self._shows: Ints = np.full((len(items), max(len(item.dialogues) for item in items)), len(names), np.int64)
        for row, item in enumerate(items):
            places = self._places(item.dialogues)
            self._shows[row, : len(places)] = places
        self._wanted: Ints = np.array([item.wanted for item in items], np.int64)
        self._completed, self._running = np.zeros((2, len(items)), np.int64)
        self._uses, self._owed = np.zeros((2, len(names) + 1), np.int64)
        self._count_owed()

    def __len__(self) -> int:
        return len(self._items)

    def _count_owed(self) -> None:
        self._owed[:] = 0
        for count in self.cells.values():
            if count.every and not count.stopped:
                lacking = np.maximum(self._wanted[count.rows] - self._completed[count.rows], 0)
                shows = self._shows[count.rows]
                np.add.at(self._owed, shows, np.broadcast_to(lacking[:, None], shows.shape))
        self._owed[-1] = 0  # of rows that are shorter than others

    def most(self, key: CellKey) -> int:
        """Judgements that the items of a cell take, each as often as it wants now."""
        return int(self._wanted[self.cells[key].rows].sum())

    def ask_for(self, wanted: Mapping[CellKey, int], stopped: Collection[CellKey]) -> None:
        """Set how many judgements of each cell are wanted from now on, and stop drawing from the ``stopped`` cells.
        Where the items of a cell do not take so many, each of them gets more of them."""
        for key, count in self.cells.items():
            count.stopped = key in stopped
            count.wanted = wanted.get(key, count.wanted)
            beyond = count.wanted - self.most(key)
            if beyond > 0:
                self._wanted[count.rows] += math.ceil(beyond / len(count.rows))
            count.every = count.wanted == self.most(key)
            counted = np.minimum(self._completed[count.rows], self._wanted[count.rows])
            count.completed = int(counted.sum()) + (0 if count.every else count.gone)
        self._count_owed()

    def _places(self, dialogues: Collection[str]) -> list[int]:
        return [self._place_of[name] for name in dialogues if name in self._place_of]

    def restore(self, past: PastJudgement) -> None:
        """Count an earlier judgement. One of an item that is gone still counts for its cell, where any item will do."""
        self._uses[self._places(past.dialogues)] += 1
        if past.item_id in self._row_of:
            self._count_completed(self._row_of[past.item_id])
        elif (count := self.cells.get(past.cell.key)) is not None:
            count.gone += 1
            count.completed += not count.every

    def _start(self, row: int) -> None:
        item = self._items[row]
        self._running[row] += 1
        self.cells[item.cell.key].running += 1
        self._uses[self._places(item.dialogues)] += 1

    def key_of(self, item_id: str) -> CellKey | None:
        """The cell of an item; None where the study has no such item any more."""
        row = self._row_of.get(item_id)
        return None if row is None else self._items[row].cell.key

    def can_take(self, item_id: str) -> bool:
        """Whether just this item still needs a judgement."""
        row = self._row_of.get(item_id)
        if row is None or self.cells[self._items[row].cell.key].full:
            return False
        return bool(self._completed[row] + self._running[row] < self._wanted[row])

    def take(self, item_id: str) -> Item | None:
        """Draw just this item; None where :meth:`can_take` is False."""
        if not self.can_take(item_id):
            return None
        row = self._row_of[item_id]
        self._start(row)
        return self._items[row]

    def finish(self, item: Item) -> None:
        """A drawn item was judged."""
        self._end(item)
        self._count_completed(self._row_of[item.item_id])

    def give_back(self, item: Item) -> None:
        """A drawn item was not judged."""
        self._end(item)
        self._uses[self._places(item.dialogues)] -= 1

    def _end(self, item: Item) -> None:
        self._running[self._row_of[item.item_id]] -= 1
        self.cells[item.cell.key].running -= 1

    def _count_completed(self, row: int) -> None:
        item = self._items[row]
        self._completed[row] += 1
        if self._completed[row] > self._wanted[row]:  # more of one item replace nothing of another
            return
        count = self.cells[item.cell.key]
        count.completed += 1
        if count.every and not count.stopped:
            self._owed[self._places(item.dialogues)] -= 1

    def _met(self, barred: Collection[str]) -> Flags:
        met = np.zeros(len(self._uses), np.bool_)
        met[self._places(barred)] = True
        return met

    def _open_rows(self, count: ItemCount, met: Flags, *, ever: bool = False) -> Ints:
        """Places of a cell's items that may be drawn; ``ever``: if everybody else left and nothing had been judged."""
        rows = count.rows
        if not ever:
            taken = self._completed[rows] + self._running[rows]
            rows = rows[:0] if count.full else rows[taken < self._wanted[rows]]
        return rows[~met[self._shows[rows]].any(axis=1)]

    def may_be_drawn(self, key: CellKey, barred: Collection[str]) -> list[str]:
        """Ids of a cell's items one of which :meth:`draw` gives."""
        return [self._items[row].item_id for row in self._open_rows(self.cells[key], self._met(barred)).tolist()]

    def can_draw(self, barred: Collection[str], room: Callable[[CellKey], int], *, ever: bool = False) -> bool:
        """Whether :meth:`draw` would give anything; ``ever``: if everybody else left and nothing had been judged."""
        met = self._met(barred)
        return any(
            room(key) > 0 and not count.stopped and len(self._open_rows(count, met, ever=ever)) > 0
            for key, count in self.cells.items()
        )

    def draw(self, most: int, barred: Collection[str], room: Callable[[CellKey], int]) -> list[Item]:
        """Up to ``most`` items, no two of which show the same dialogue, for somebody to judge. First comes the cell
        with the least share of what it wants, in it the item with the fewest judgements, and of these the one whose
        dialogues were shown least. ``barred``: dialogues that may not be shown; ``room``: how many items of a cell may
        be drawn."""
        met = self._met(barred)
        left = {key: room(key) for key in self.cells}
        queues: dict[CellKey, Iterator[int]] = {}
        drawn: list[Item] = []
        while len(drawn) < most:
            able = [key for key, number in left.items() if number > 0 and not self.cells[key].full]
            if not able:
                break
            self._chance.shuffle(able)
            key = min(able, key=lambda one: self.cells[one].taken / self.cells[one].wanted)
            if key not in queues:
                # Drawing one changes the need of none that may be drawn after it: they show other dialogues.
                open_rows = self._open_rows(self.cells[key], met)
                taken = self._completed[open_rows] + self._running[open_rows]
                uses, ties = self._uses[self._shows[open_rows]], self._ties.random(len(open_rows))
                needs = () if self._by_lot else (uses.max(axis=1), uses.sum(axis=1), taken)
                queues[key] = iter(open_rows[np.lexsort((ties, *needs))].tolist())
            row = next((one for one in queues[key] if not met[self._shows[one]].any()), None)
            if row is None:
                del left[key]
                continue
            self._start(row)
            met[self._places(self._items[row].dialogues)] = True
            left[key] -= 1
            drawn.append(self._items[row])
        self._chance.shuffle(drawn)  # else the most needed would always be judged by raters who are still fresh
        return drawn

    def per_dialogue(self) -> int:
        """The most judgements that one dialogue is still to be shown for."""
        return int(self._owed.max())

    def uses(self) -> dict[str, int]:
        """Dialogue → judgements, completed or running, that show it."""
        return {name: int(self._uses[place]) for name, place in self._place_of.items()}


@dataclass
class Session:
    """One unit of work, maybe in several visits: ``done`` of ``numbers`` items are judged. ``numbers`` is that of the
    last visit in which anything was shown. ``running``: a visit is under way."""

    name: str
    numbers: int = 0
    done: int = 0
    running: bool = False

    @property
    def lacks(self) -> int:
        return max(0, self.numbers - self.done)


@dataclass
class Visit:
    """What a worker was given at once. ``shown`` and ``done`` are ids of items."""

    worker: str
    session: Session
    items: dict[str, Item]
    numbers: int
    shown: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    @property
    def open_items(self) -> list[Item]:
        """What is not judged yet."""
        return [item for name, item in self.items.items() if name not in self.done]


class WorkerPast:
    """One worker's memory."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.cells: Counter[CellKey] = Counter()
        self.barred_groups: set[frozenset[str]] = set()
        """Models that the worker rated elsewhere, and may not rate again."""
        self.met: set[str] = set()
        """Dialogues that the worker has seen, or knows from elsewhere, such as their own."""
        self.visits: list[Visit] = []

    @property
    def cut_off(self) -> Session | None:
        """The last unit that ended before its end."""
        return next((one for one in reversed(self.sessions.values()) if one.lacks and not one.running), None)

    @property
    def barred(self) -> set[str]:
        """Dialogues that the worker has seen, or is about to see."""
        planned = (item.dialogues for visit in self.visits for item in visit.items.values())
        return self.met.union(*planned)

    def judged_of(self, key: CellKey) -> int:
        """Items of a cell that the worker has judged, or is about to."""
        return self.cells[key] + sum(item.cell.key == key for visit in self.visits for item in visit.open_items)


@dataclass(frozen=True)
class Batch:
    """What a worker gets at once: ``items`` in their order, after ``done`` of the ``numbers`` items of the ``session``."""

    session: str
    items: list[Item]
    done: int
    numbers: int


class ItemAllocator(UnitAllocator[Visit]):
    """Gives out items; thread-safe. At every moment, of what is completed or running: an item has at most its
    ``wanted`` judgements, and a cell at most its own. A worker meets no dialogue twice; an item was met when it was
    shown, answered or not. Judgements that earlier launches made with larger numbers are the one exception. ``items``:
    everything to judge. ``wanted``: judgements per cell, at most as many as its items want together; None: just as
    many. ``per_unit``: items of a unit. One may be shorter, where fewer are left for its worker. ``units_per_worker``:
    None: as many as there are. Going on with a unit that was cut off makes no new one. ``per_worker_and_cell``: items
    of one cell that a worker may judge; one that was seen and not answered does not count. ``group_once``: a worker
    judges one item of the same models only, in whatever cell. ``seed``: of the choice among items that are needed
    alike; ``by_lot``: among all."""

    def __init__(
        self,
        items: Sequence[Item],
        wanted: Mapping[Cell, int] | None = None,
        *,
        per_unit: int,
        units_per_worker: int | None = None,
        per_worker_and_cell: int | None = None,
        group_once: bool = False,
        seed: int = 0,
        by_lot: bool = False,
    ) -> None:
        for name, value in (
            ("items of a unit", per_unit),
            ("units per worker", units_per_worker),
            ("items per worker and cell", per_worker_and_cell),
        ):
            if value is not None and value < 1:
                raise ValueError(f"the number of {name} must be at least 1, not {value}")
        super().__init__()
        self.per_unit, self.units_per_worker = per_unit, units_per_worker
        self.per_worker_and_cell, self.group_once = per_worker_and_cell, group_once
        self._pool = ItemPool(items, wanted, random.Random(f"items:{seed}"), by_lot=by_lot)
        self._workers: dict[str, WorkerPast] = defaultdict(WorkerPast)

    def _cells(self) -> Iterable[CellCount]:
        return self._pool.cells.values()

    def restore(self, past: Iterable[PastJudgement]) -> None:
        """Take over what earlier launches of the same task did, in the order in which it happened."""
        with self._lock:
            for judgement in past:
                memory = self._workers[judgement.worker]
                memory.met.update(judgement.dialogues)
                session = memory.sessions.setdefault(judgement.session, Session(judgement.session))
                session.numbers = judgement.numbers
                if judgement.complete:
                    session.done += 1
                    memory.cells[judgement.cell.key] += 1
                    self._pool.restore(judgement)

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """Set how many judgements of each cell are wanted from now on, and stop giving out the ``stopped`` cells. What
        is under way goes on, and counts. Where the items of a cell do not take so many, each gets more of them."""
        with self._lock:
            self._pool.ask_for({cell.key: number for cell, number in wanted.items()}, {cell.key for cell in stopped})

    def most(self) -> dict[Cell, int]:
        """Judgements that the items of each cell take, each as often as it wants now."""
        with self._lock:
            return {count.cell: self._pool.most(key) for key, count in self._pool.cells.items()}

    def bar(self, worker: str, dialogues: Iterable[str]) -> None:
        """Never show these to the worker, who may have held them (Liu et al. 2023: raters who took no part)."""
        with self._lock:
            self._workers[worker].met.update(dialogues)

    def bar_groups(self, worker: str, groups: Iterable[frozenset[str]]) -> None:
        """The worker gets no item of just these models: they rated them elsewhere."""
        with self._lock:
            self._workers[worker].barred_groups.update(groups)

    def claim(self, worker: str, unit: str, name: str) -> Batch | None:
        """Give the worker as many items as a unit holds; None where there is nothing for them. Somebody whose earlier
        unit was cut off goes on with it, and gets as many items as it lacks; for everybody else a unit ``name`` begins.
        ``unit`` is the key for the methods below."""
        with self._lock:
            self._must_be_new(unit)
            past = self._workers[worker]
            session = past.cut_off
            if session is None:
                if not self._has_unit(past):
                    return None
                if name in past.sessions:
                    raise ValueError(f"the worker has had the unit {name!r} before; a new unit needs another name")
                session = Session(name)
            lacks = session.lacks or self.per_unit
            items = self._pool.draw(lacks, past.barred, lambda key: self._free_items(past, key))
            return self._begin(worker, unit, session, items) if items else None

    def _begin(self, worker: str, unit: str, session: Session, items: Sequence[Item]) -> Batch:
        numbers = session.done + len(items)
        visit = Visit(worker, session, {item.item_id: item for item in items}, numbers)
        self._running[unit] = visit
        past = self._workers[worker]
        past.sessions[session.name] = session
        session.running = True
        past.visits.append(visit)
        return Batch(session.name, list(items), session.done, numbers)

    def claim_again(self, worker: str, unit: str, session: str, item_ids: Sequence[str]) -> dict[str, Item]:
        """The worker goes on with a unit that was cut off, in which these items are left. Returns: For each of them
        itself, or another one in its place, where others judge it by now; it is absent where there is none. If none of
        the items is available, nothing is claimed."""
        with self._lock:
            self._must_be_new(unit)
            past = self._workers[worker]
            taken = {name: item for name in item_ids if (item := self._pool.take(name)) is not None}
            gone = [name for name in item_ids if name not in taken]
            taken |= self._in_place_of(past, gone, list(taken.values()))
            if not taken and item_ids:
                return {}
            self._begin(worker, unit, past.sessions.get(session) or Session(session), list(taken.values()))
            return taken

    def _in_place_of(self, past: WorkerPast, gone: Sequence[str], taken: Sequence[Item]) -> dict[str, Item]:
        """Another item for each of those that others judge by now, as far as there are any; none where nothing at all was
        ``taken`` of what the worker had."""
        if not taken:
            return {}
        barred = past.barred.union(*(item.dialogues for item in taken))
        others = self._pool.draw(len(gone), barred, lambda key: self._free_items(past, key, taken))
        return dict(zip(gone, others, strict=False))

    def can_go_on(self, worker: str, item_ids: Sequence[str]) -> bool:
        """Whether the worker can go on with a unit in which these are left; where none are, only its end is missing."""
        with self._lock:
            return not item_ids or any(self._pool.can_take(name) for name in item_ids)

    def _free_items(self, past: WorkerPast, key: CellKey, besides: Iterable[Item] = ()) -> int:
        if key[0] in past.barred_groups:
            return 0
        if self.group_once:
            # Cells with the same models, whatever their metric and setting.
            keys = {*past.cells, *(item.cell.key for visit in past.visits for item in visit.open_items)}
            judged = sum(past.judged_of(other) for other in keys if other[0] == key[0])
            return 1 - judged - sum(item.cell.key[0] == key[0] for item in besides)
        if self.per_worker_and_cell is None:
            return len(self._pool)
        return self.per_worker_and_cell - past.judged_of(key) - sum(item.cell.key == key for item in besides)

    def note_shown(self, unit: str, item_id: str) -> None:
        """The worker sees the item. Ignored when the unit has ended."""
        with self._lock:
            if visit := self._running.get(unit):
                self._note_shown(visit, visit.items[item_id])

    def _note_shown(self, visit: Visit, item: Item) -> None:
        visit.shown.add(item.item_id)
        visit.session.numbers = visit.numbers
        self._workers[visit.worker].met.update(item.dialogues)

    def note_done(self, unit: str, item_id: str) -> None:
        """The worker has judged the item; it counts whatever becomes of the unit. Ignored when the unit has ended."""
        with self._lock:
            visit = self._running.get(unit)
            if visit is not None and item_id not in visit.done:
                item = visit.items[item_id]
                self._note_shown(visit, item)
                visit.done.add(item_id)
                visit.session.done += 1
                self._workers[visit.worker].cells[item.cell.key] += 1
                self._pool.finish(item)

    def complete(self, unit: str) -> None:
        """Every item of the unit was judged. Ignored when the unit has ended."""
        self._close(unit, lambda item: self.note_done(unit, item.item_id))

    def abandon(self, unit: str) -> None:
        """The unit was left: what is not judged is given out again. Ignored when the unit has ended."""
        self._close(unit, self._pool.give_back)

    def _close(self, unit: str, let_go: Callable[[Item], object]) -> None:
        worker = self._worker_of(unit)
        with self._lock:
            if visit := self._running.get(unit):
                for item in visit.open_items:
                    let_go(item)
                del self._running[unit]
                past = self._workers[visit.worker]
                past.visits.remove(visit)
                visit.session.running = False
                if not visit.session.numbers:  # one of which nothing was ever shown is as if it had not been
                    del past.sessions[visit.session.name]
        self._over(worker)

    def available(self, worker: str) -> bool:
        """Whether the worker could get anything now."""
        with self._lock:
            past = self._workers[worker]
            return self._has_unit(past) and self._pool.can_draw(past.barred, lambda key: self._free_items(past, key))

    def has_done_all(self, worker: str) -> bool:
        """Whether nothing is left that this worker could ever get, whoever leaves."""
        with self._lock:
            past = self._workers[worker]
            return not (
                self._has_unit(past)
                and self._pool.can_draw(past.barred, lambda key: self._free_items(past, key), ever=True)
            )

    def _has_unit(self, past: WorkerPast) -> bool:
        limit = self.units_per_worker
        return past.cut_off is not None or limit is None or len(past.sessions) < limit

    def can_resume(self, worker: str) -> bool:
        """Whether an earlier unit of this worker was cut off, with which they would go on."""
        with self._lock:
            return self._workers[worker].cut_off is not None

    @property
    def remaining(self) -> int:
        """Units that it takes at least to complete everything; 0 when nothing is missing. More are needed where units
        are shorter than ``per_unit``."""
        with self._lock:
            missing = [count.missing for count in self._pool.cells.values()]
            return max(units_needed(missing, self.per_unit, self.per_worker_and_cell), self._pool.per_dialogue())

    def reuse(self) -> dict[str, int]:
        """Dialogue → judgements, completed or running, that show it."""
        with self._lock:
            return self._pool.uses()
