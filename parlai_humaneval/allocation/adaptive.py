"""Who rates what next in a study that ends when it is decided: what a worker rates is drawn when they come."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from parlai_humaneval.allocation.groups import Allocator, Cell, PastDialogue

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
    """Gives out what is drawn; thread-safe. A worker has one unit, all of whose dialogues are drawn when it begins.

    A group of which some models are decided is a cell of its own, which is made when it is first drawn.

    Args:
        draw: says what is open.
        groups: of models, that a dialogue can be about at the beginning.
        metric, setting: under which all is rated.
        cap: dialogues at most.
        per_unit: dialogues of a unit; fewer where fewer groups are open.
        seed: see :class:`.groups.Allocator`.
    """

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
        """Never: who is sent elsewhere because a model is out would not have been sent by lot."""
        return False

    def restore(self, past: Iterable[PastDialogue]) -> None:
        past = list(past)
        models = {model for cell in self._counts for model in cell.models}
        for dialogue in past:
            of = dialogue.cell.metric, dialogue.cell.setting
            if of == self._of and len(dialogue.cell.models) > 1 and models.issuperset(dialogue.cell.models):
                self._cell(dialogue.cell.models)
        super().restore(past)

    def ask_for(self, wanted: Mapping[Cell, int], stopped: Collection[Cell]) -> None:
        """No number of dialogues is asked for of a cell, and none is stopped but by being decided."""

    @property
    def per_unit(self) -> int:
        return max(1, min(self._per_unit, len(self._draw.open_groups())))

    def _available(self, worker: str) -> list[Cell]:
        if self._is_through(worker) or not has_room(self._draw, worker):
            return []
        return [self._cell(group) for group in self._draw.open_groups()]

    def _is_through(self, worker: str) -> bool:
        """Whether the worker can get no new unit, whoever leaves: one of theirs began, or they know some of the groups."""
        groups = self._draw.open_groups()
        came = self._draw.came(worker) or any(self._seen[worker].values())
        return came or not groups or any(frozenset(group) in self._barred[worker] for group in groups)

    def has_done_all(self, worker: str) -> bool:
        with self._lock:
            return self._is_through(worker)

    def claim(self, worker: str, unit: str, *, rather_without: frozenset[str] = frozenset()) -> tuple[Cell, ...] | None:
        """Give the worker what is drawn for them; None where they can have nothing now.

        ``unit`` is a key for :meth:`complete` and :meth:`abandon`. Whatever models are to be avoided, nothing is.
        """
        with self._lock:
            self._must_be_new(unit)
            if not self._available(worker):
                return None
            number = max(1, min(self.per_unit, self._draw.free))
        groups = self._draw.draw(worker, number)  # which is written down, however long that takes
        if not groups:
            return None
        with self._lock:
            return self._start(worker, unit, tuple(self._cell(group) for group in groups))

    def complete(self, unit: str) -> None:
        worker = self._worker_of(unit)
        super().complete(unit)
        self._draw.leave(worker)

    def abandon(self, unit: str, *, rated: Sequence[Cell]) -> None:
        worker = self._worker_of(unit)
        super().abandon(unit, rated=rated)
        self._draw.leave(worker)

    def _worker_of(self, unit: str) -> str:
        with self._lock:
            return self._running.get(unit, ("", ()))[0]

    def _cell(self, models: Models) -> Cell:
        known = {cell.key: cell for cell in self._counts}
        cell = Cell(models, *self._of)
        if cell.key not in known:
            self._add(cell, self._cap)
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
