"""Decide what a rater rates next in a study that stops once it reaches a decision: the draw happens when they come."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from parlai_humaneval.allocation.groups import Allocator, Cell, CellCount, Item, PastDialogue
from parlai_humaneval.allocation.items import Batch, CellKey, ItemAllocator, Session, WorkerPast

Models = tuple[str, ...]


class Draw(Protocol):
    """What is still open, and who has come for it."""

    @property
    def free(self) -> int:
        """Dialogues that can be given now."""

    @property
    def missing(self) -> int:
        """Dialogues that are still to be finished, at most."""

    def open_groups(self) -> list[Models]:
        """What a dialogue that is drawn now may be about; nothing when the answer is reached."""

    def came(self, worker: str) -> bool:
        """Whether the worker has taken part. Not where what was drawn for them was never shown: then they can go on."""

    def draw(self, worker: str, dialogues: int) -> list[Models]:
        """Note that a worker came, and draw what so many dialogues, at most, are about; nothing where none is free."""

    def give(self, worker: str, place: int, item_id: str, among: Sequence[str]) -> None:
        """Note which item represents the drawn dialogue at this ``place`` before the worker sees it: it was drawn from
        ``among``, where each item had the same chance."""

    def leave(self, worker: str) -> None:
        """Note that a worker's unit is over; what they did not finish is free for others."""

    def can_go_on(self, worker: str) -> bool:
        """Whether what the worker left still counts."""

    def come_back(self, worker: str) -> bool:
        """Note that a worker goes on with what they left; False: it does not count any more."""


def has_room(draw: Draw, worker: str) -> bool:
    """Whether a worker who has not taken part can begin now: something is free, or was drawn for them before."""
    return draw.free > 0 or draw.can_go_on(worker)


class DrawnAllocator(Allocator):
    """Gives out what is drawn; thread-safe. A worker has one unit, all of whose dialogues are drawn when it begins. A
    group of which some models are decided is a cell of its own, which is made when it is first drawn. ``draw``: says
    what is open. ``groups``: of models, that a dialogue can be about at the beginning. ``metric``, ``setting``: under
    which all is rated. ``cap``: dialogues at most. ``per_unit``: dialogues of a unit; fewer where fewer groups are
    open. ``seed``: see :class:`.groups.Allocator`."""

    def __init__(
        self,
        draw: Draw,
        groups: Sequence[Models],
        metric: str,
        setting: str,
        *,
        cap: int,
        per_unit: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__([Cell(group, metric, setting) for group in groups], cap, seed=seed, per_unit=per_unit)
        self._draw = draw
        self._cap = cap
        self._of = metric, setting

    @property
    def goes_around(self) -> bool:
        """Never: a worker sent elsewhere because a model is out would not have been drawn for it."""
        return False

    def restore(self, past: Iterable[PastDialogue]) -> None:
        past = list(past)
        models = {model for cell in self._counts for model in cell.models}
        fewest = min(2, *(len(cell.models) for cell in self._counts))
        for dialogue in past:
            of = dialogue.cell.metric, dialogue.cell.setting
            if of == self._of and len(dialogue.cell.models) >= fewest and models.issuperset(dialogue.cell.models):
                self._cell(dialogue.cell.models)
        super().restore(past)

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """No number of dialogues is asked for of a cell, and none is stopped but by being decided."""

    @property
    def per_unit(self) -> int:
        return max(1, min(self._per_unit, len(self._draw.open_groups())))

    def available(self, worker: str) -> list[Cell]:
        with self._lock:
            if self.has_done_all(worker) or not has_room(self._draw, worker):
                return []
            return [self._cell(group) for group in self._draw.open_groups()]

    def has_done_all(self, worker: str) -> bool:
        """Whether the worker can get no new unit, whoever leaves: one of theirs began, or they know some of the groups."""
        with self._lock:
            groups = self._draw.open_groups()
            came = self._draw.came(worker) or any(self._seen[worker].values())
            return came or not groups or any(frozenset(group) in self._barred[worker] for group in groups)

    def claim(self, worker: str, unit: str, *, rather_without: frozenset[str] = frozenset()) -> tuple[Cell, ...] | None:
        """Give the worker what is drawn for them; None where they can have nothing now. ``unit`` is a key for
        :meth:`complete` and :meth:`abandon`. Whatever models are to be avoided, nothing is."""
        with self._lock:
            self._must_be_new(unit)
            if not self.available(worker):
                return None
            number = max(1, min(self.per_unit, self._draw.free))
        groups = self._draw.draw(worker, number)  # which is written down, however long that takes
        if not groups:
            return None
        with self._lock:
            return self._start(worker, unit, tuple(self._cell(group) for group in groups))

    def _over(self, worker: str) -> None:
        self._draw.leave(worker)

    def _cell(self, models: Models) -> Cell:
        known = {cell.key: cell for cell in self._counts}
        cell = Cell(models, *self._of)
        if cell.key not in known:
            self._counts[cell] = CellCount(cell, self._cap)
        return known.get(cell.key, cell)

    def wants_again(self, worker: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        return self._draw.can_go_on(worker)

    def claim_again(self, worker: str, unit: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        return self._draw.come_back(worker) and super().claim_again(worker, unit, cells, left)

    def _wants_again(self, worker: str, cells: Sequence[Cell], left: Sequence[Cell]) -> bool:
        return True

    @property
    def remaining(self) -> int:
        return math.ceil(self._draw.missing / self.per_unit)


class DrawnItemAllocator(ItemAllocator):
    """Gives out items of pairs of models that are drawn; thread-safe. A worker has one unit, whose pairs are drawn when
    it begins. For each drawn pair of models the worker gets the neediest of its items that show no dialogue which they
    have met. Where there is none besides what they get for other pairs, that judgement is not given, and is free for
    others when the unit is over. Nobody is let in while some open pair has nothing for them, so a new worker can be
    given whatever is drawn. ``draw``: says what is open. ``items``: everything to judge, under one metric and setting.
    Of each pair of models there must be ``cap`` or more: all judgements may be of the pair that stays open longest.
    ``people``: items judged as well that are not evidence; each unit holds ``people_per_unit`` of them. ``cap``:
    judgements at most. ``per_unit``, ``per_worker_and_cell``, ``group_once``, ``seed``: see
    :class:`.items.ItemAllocator`. ``by_lot``: not the neediest item is given, but any, all as probable."""

    def __init__(
        self,
        draw: Draw,
        items: Sequence[Item],
        people: Sequence[Item] = (),
        *,
        cap: int,
        per_unit: int,
        people_per_unit: int = 0,
        per_worker_and_cell: int | None = None,
        group_once: bool = False,
        seed: int = 0,
        by_lot: bool = False,
    ) -> None:
        super().__init__(
            [*items, *people],
            {item.cell: cap for item in items},
            per_unit=max(1, per_unit - people_per_unit),
            units_per_worker=1,
            per_worker_and_cell=per_worker_and_cell,
            group_once=group_once,
            seed=seed,
            by_lot=by_lot,
        )
        self._draw, self._by_lot = draw, by_lot
        self._people_per_unit = people_per_unit
        self._of_people = {item.cell.key for item in people}
        self._order = random.Random(f"order:{seed}")
        self._key_of: dict[frozenset[str], CellKey] = {item.cell.key[0]: item.cell.key for item in items}

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """No number of judgements is asked for of a pair, and none is stopped but by being decided."""

    def _most_judgements(self) -> int:
        each = 1 if self.group_once else self.per_worker_and_cell
        return self.per_unit if each is None else min(self.per_unit, each * len(self._draw.open_groups()))

    def available(self, worker: str) -> bool:
        with self._lock:
            room = has_room(self._draw, worker) and not self.has_done_all(worker)
            return room and self._can_judge_all(self._workers[worker], ever=False)

    def has_done_all(self, worker: str) -> bool:
        """Whether the worker can get no new unit, whoever leaves: theirs began, or there is an open pair that is not for
        them."""
        with self._lock:
            past = self._workers[worker]
            came = bool(past.sessions) or self._draw.came(worker)
            return came or not self._draw.open_groups() or not self._can_judge_all(past, ever=True)

    def _can_judge_all(self, past: WorkerPast, *, ever: bool) -> bool:
        """Whether there is an item of each open pair that the worker may judge; ``ever``: if everybody else left."""
        keys = [self._key_of[frozenset(group)] for group in self._draw.open_groups()]
        return all(
            key[0] not in past.barred_groups and self._pool.can_draw(past.barred, _single_cell(key), ever=ever)
            for key in keys
        )

    def claim(self, worker: str, unit: str, name: str) -> Batch | None:
        """Give the worker an item of each pair that is drawn for them; None where they can have nothing now. A unit
        ``name`` begins; ``unit`` is the key for the methods below. What was cut off goes on by :meth:`claim_again`."""
        with self._lock:
            self._must_be_new(unit)
            if not self.available(worker):
                return None
            number = self._most_judgements()
        groups = self._draw.draw(worker, number)  # which is written down, however long that takes
        if not groups:
            return None
        batch, among = None, list[list[str]]()
        with self._lock:
            keys = [self._key_of[frozenset(group)] for group in groups]
            items = self._one_of_each(keys, self._workers[worker].barred, among)
            if given := [item for item in items if item is not None]:
                barred = self._workers[worker].barred.union(*(item.dialogues for item in given))
                people = self._of_people
                given += self._pool.draw(self._people_per_unit, barred, lambda key: len(self._pool) * (key in people))
                if people:
                    self._order.shuffle(given)
                batch = self._begin(worker, unit, Session(name), given)
        if batch is None:
            self._draw.leave(worker)  # somebody else was quicker
        for place, (item, others) in enumerate(zip(items, among, strict=True) if self._by_lot else ()):
            if item is not None:
                self._draw.give(worker, place, item.item_id, others)
        return batch

    def _one_of_each(
        self, keys: Sequence[CellKey | None], barred: set[str], among: list[list[str]] | None = None
    ) -> list[Item | None]:
        """An item of each of the pairs, no two of which show the same dialogue; None where there is none. ``among``:
        receives the possible items for each pair, where the choice is random."""
        barred, items = set(barred), list[Item | None]()
        for key in keys:
            if among is not None:
                among.append(self._pool.may_be_drawn(key, barred) if key is not None and self._by_lot else [])
            drawn = [] if key is None else self._pool.draw(1, barred, _single_cell(key))
            barred.update(name for item in drawn for name in item.dialogues)
            items += drawn or [None]
        return items

    def claim_again(self, worker: str, unit: str, session: str, item_ids: Sequence[str]) -> dict[str, Item]:
        """See :meth:`.items.ItemAllocator.claim_again`. The replacement of an item is of the same pair of models.
        Nothing is claimed if the worker's answers would no longer count."""
        if item_ids and not (self.can_go_on(worker, item_ids) and self._draw.come_back(worker)):
            return {}
        taken = super().claim_again(worker, unit, session, item_ids)
        if item_ids and not taken:
            self._draw.leave(worker)
        return taken

    def can_go_on(self, worker: str, item_ids: Sequence[str]) -> bool:
        if not item_ids:
            return True
        with self._lock:
            barred = self._workers[worker].barred
            return self._draw.can_go_on(worker) and any(self._can_replace(name, barred) for name in item_ids)

    def _can_replace(self, item_id: str, barred: set[str]) -> bool:
        key = self._pool.key_of(item_id)
        return key is not None and (self._pool.can_take(item_id) or self._pool.can_draw(barred, _single_cell(key)))

    def _in_place_of(self, past: WorkerPast, gone: Sequence[str], taken: Sequence[Item]) -> dict[str, Item]:
        barred = past.barred.union(*(item.dialogues for item in taken))
        others = self._one_of_each([self._pool.key_of(name) for name in gone], barred)
        return {name: other for name, other in zip(gone, others, strict=True) if other is not None}

    def can_resume(self, worker: str) -> bool:
        """Never by a new unit: what was drawn goes on, or is left."""
        return False

    def _over(self, worker: str) -> None:
        self._draw.leave(worker)

    @property
    def remaining(self) -> int:
        return math.ceil(self._draw.missing / max(1, self._most_judgements()))


def _single_cell(key: CellKey) -> Callable[[CellKey], int]:
    return lambda other: int(other == key)
