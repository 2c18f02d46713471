"""Who judges which finished dialogues next in a study that ends when it is decided: the models are drawn, then the items."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from parlai_humaneval.allocation.adaptive import Draw, has_room
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.allocation.item_pool import CellKey
from parlai_humaneval.allocation.items import Batch, ItemAllocator, Session, WorkerPast


class DrawnItemAllocator(ItemAllocator):
    """Gives out items of pairs of models that are drawn; thread-safe. A worker has one unit, whose pairs are drawn when it
    begins.

    For each drawn pair of models the worker gets the neediest of its items that show no dialogue which they have met. Where
    there is none besides what they get for other pairs, that judgement is not given, and is free for others when the unit is
    over. Nobody is let in while some open pair has nothing for them: who comes can be given whatever may be drawn.

    Args:
        draw: says what is open.
        items: everything to judge, under one metric and setting. Of each pair of models there must be ``cap`` or more: all
            judgements may be of the pair that stays open longest.
        cap: judgements at most.
        per_unit, per_worker_and_cell, group_once, seed: see :class:`.items.ItemAllocator`.

    Raises:
        ValueError: see :class:`.items.ItemAllocator`; or a pair has fewer items than ``cap``.
    """

    def __init__(
        self,
        draw: Draw,
        items: Sequence[Item],
        *,
        cap: int,
        per_unit: int,
        per_worker_and_cell: int | None = None,
        group_once: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(
            items,
            {item.cell: cap for item in items},
            per_unit=per_unit,
            units_per_worker=1,
            per_worker_and_cell=per_worker_and_cell,
            group_once=group_once,
            seed=seed,
        )
        self._draw = draw
        self._key_of: dict[frozenset[str], CellKey] = {key[0]: key for key in self._pool.cells}

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """No number of judgements is asked for of a pair, and none is stopped but by being decided."""

    def _most_judgements(self) -> int:
        each = 1 if self.group_once else self.per_worker_and_cell
        return self.per_unit if each is None else min(self.per_unit, each * len(self._draw.open_groups()))

    def available(self, worker: str) -> bool:
        with self._lock:
            return self._is_available(worker)

    def _is_available(self, worker: str) -> bool:
        past = self._workers[worker]
        room = has_room(self._draw, worker) and not self._is_through(worker, past)
        return room and self._can_judge_all(past, ever=False)

    def has_done_all(self, worker: str) -> bool:
        with self._lock:
            return self._is_through(worker, self._workers[worker])

    def _is_through(self, worker: str, past: WorkerPast) -> bool:
        """Whether the worker can get no new unit, whoever leaves: theirs began, or there is an open pair that is not for
        them."""
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
        """Give the worker an item of each pair that is drawn for them; None where they can have nothing now.

        A unit ``name`` begins; ``unit`` is the key for the methods below. What was cut off goes on by :meth:`claim_again`.
        """
        with self._lock:
            self._must_be_new(unit)
            if not self._is_available(worker):
                return None
            number = self._most_judgements()
        groups = self._draw.draw(worker, number)  # which is written down, however long that takes
        if not groups:
            return None
        with self._lock:
            items = self._one_of_each(
                [self._key_of[frozenset(group)] for group in groups], self._workers[worker].barred
            )
            if given := [item for item in items if item is not None]:
                return self._begin(worker, unit, Session(name), given)
        self._draw.leave(worker)  # somebody else was quicker
        return None

    def _one_of_each(self, keys: Sequence[CellKey | None], barred: set[str]) -> list[Item | None]:
        """An item of each of the pairs, no two of which show the same dialogue; None where there is none."""
        barred, items = set(barred), list[Item | None]()
        for key in keys:
            drawn = [] if key is None else self._pool.draw(1, barred, _single_cell(key))
            barred.update(name for item in drawn for name in item.dialogues)
            items += drawn or [None]
        return items

    def claim_again(self, worker: str, unit: str, session: str, item_ids: Sequence[str]) -> dict[str, Item]:
        """See :meth:`.items.ItemAllocator.claim_again`. What stands in the place of an item is of the same pair of models;
        nothing is claimed where what the worker answers would not count any more."""
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

    def goes_on(self, worker: str) -> bool:
        """Never by a new unit: what was drawn goes on, or is left."""
        return False

    def complete(self, unit: str) -> None:
        worker = self._worker_of(unit)
        super().complete(unit)
        self._draw.leave(worker)

    def abandon(self, unit: str) -> None:
        worker = self._worker_of(unit)
        super().abandon(unit)
        self._draw.leave(worker)

    def _worker_of(self, unit: str) -> str:
        with self._lock:
            visit = self._visits.get(unit)
            return "" if visit is None else visit.worker

    @property
    def remaining(self) -> int:
        return math.ceil(self._draw.missing / max(1, self._most_judgements()))


def _single_cell(key: CellKey) -> Callable[[CellKey], int]:
    return lambda other: int(other == key)
