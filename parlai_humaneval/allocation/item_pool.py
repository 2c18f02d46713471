"""How often every item, group of models and dialogue was judged, and which of them come next."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parlai_humaneval._util.arrays import Flags, Ints
from parlai_humaneval.allocation.groups import Cell, CellCount, Item, PastJudgement

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
        """So many judgements of each cell are wanted from now on; cells that are ``stopped`` are not drawn from any
        more. Where the items of a cell do not take so many, each of them gets more of them."""
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
