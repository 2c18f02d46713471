"""Who judges which dialogues next: whatever the pool, and however workers come, leave, come back and the process dies.

A plain account of what happened stands beside the allocator. Every rule is worked out from it anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from parlai_humaneval.allocation.groups import Cell, Item, PastJudgement
from parlai_humaneval.allocation.items import Batch, ItemAllocator

WORKERS = st.sampled_from([f"w{number}" for number in range(4)])
CELLS = [Cell(("a", "b"), "preference"), Cell(("a", "c"), "preference"), Cell(("b", "c"), "preference")]


@st.composite
def pools(draw: st.DrawFn) -> list[Item]:
    """Up to twelve items of one or two of few dialogues each, so that they get in each other's way."""
    dialogues = st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=2, unique=True)
    count = draw(st.integers(1, 12))
    return [
        Item(
            f"i{number}",
            draw(st.sampled_from(CELLS)),
            tuple(draw(dialogues)),
            wanted=draw(st.integers(1, 3)),
        )
        for number in range(count)
    ]


@dataclass
class Unit:
    """A unit under way, by the account."""

    worker: str
    batch: Batch
    shown: list[Item] = field(default_factory=list)
    done: list[Item] = field(default_factory=list)

    @property
    def open(self) -> list[Item]:
        return [item for item in self.batch.items if item not in self.done]


@dataclass
class Had:
    """A session that a worker has had, by the account: of the last visit in which they saw anything."""

    numbers: int
    done: int


class ItemAllocation(RuleBasedStateMachine):
    @initialize(
        pool=pools(),
        data=st.data(),
        per_unit=st.integers(1, 4),
        units=st.none() | st.integers(1, 3),
        per_cell=st.none() | st.integers(1, 3),
    )
    def begin(
        self, pool: list[Item], data: st.DataObject, per_unit: int, units: int | None, per_cell: int | None
    ) -> None:
        self.pool, self.per_unit, self.units, self.per_cell = pool, per_unit, units, per_cell
        most: Counter[Cell] = Counter()
        for item in pool:
            most[item.cell] += item.wanted
        self.cells = list(most)
        self.limits = data.draw(st.none() | st.just({cell: data.draw(st.integers(1, most[cell])) for cell in most}))
        self.wanted = dict(self.limits or most)
        self.stopped: set[Cell] = set()
        self.allocator = self.fresh(0)
        self.running: dict[str, Unit] = {}
        self.log: list[PastJudgement] = []
        self.number = 0

    def fresh(self, seed: int) -> ItemAllocator:
        return ItemAllocator(
            self.pool,
            self.limits,
            per_unit=self.per_unit,
            units_per_worker=self.units,
            per_worker_and_cell=self.per_cell,
            seed=seed,
        )

    # The account

    def judged(self, item: Item) -> int:
        done = sum(past.item_id == item.item_id and past.complete for past in self.log)
        return done + sum(item in unit.done for unit in self.running.values())

    def underway(self, item: Item) -> int:
        return sum(item in unit.open for unit in self.running.values())

    def met(self, worker: str) -> set[str]:
        """Dialogues that were shown to a worker, or will be."""
        past = {name for one in self.log if one.worker == worker for name in one.dialogues}
        own = [unit for unit in self.running.values() if unit.worker == worker]
        return past | {name for unit in own for item in unit.batch.items for name in item.dialogues}

    def of_cell(self, worker: str, cell: Cell) -> int:
        past = sum(one.worker == worker and one.cell == cell and one.complete for one in self.log)
        own = [unit for unit in self.running.values() if unit.worker == worker]
        return past + sum(item.cell == cell for unit in own for item in unit.batch.items)

    def had(self, worker: str) -> dict[str, Had]:
        """Sessions that have ended, whole or not."""
        found: dict[str, Had] = {}
        for one in self.log:
            if one.worker == worker:
                session = found.pop(one.session, Had(0, 0))
                found[one.session] = Had(one.numbers, session.done + one.complete)
        running = {unit.batch.session for unit in self.running.values()}
        return {name: session for name, session in found.items() if name not in running}

    def cut_off(self, worker: str) -> dict[str, Had]:
        return {name: one for name, one in self.had(worker).items() if one.done < one.numbers}

    def may_begin(self, worker: str) -> bool:
        running = {unit.batch.session for unit in self.running.values() if unit.worker == worker}
        had = len(self.had(worker)) + len(running)
        return bool(self.cut_off(worker)) or self.units is None or had < self.units

    def fit(self, worker: str) -> list[Item]:
        """Items that the worker could be shown, were they needed."""
        met = self.met(worker)
        return [
            item
            for item in self.pool
            if met.isdisjoint(item.dialogues)
            and (self.per_cell is None or self.of_cell(worker, item.cell) < self.per_cell)
        ]

    def needed(self, item: Item) -> bool:
        enough = self.taken(item.cell) >= self.wanted[item.cell] or item.cell in self.stopped
        return not enough and self.judged(item) + self.underway(item) < self.wants(item)

    def wants(self, item: Item) -> int:
        """Judgements of an item: those of its study, and more where its cell wants more than all items of it take."""
        items = [other for other in self.pool if other.cell == item.cell]
        beyond = self.wanted[item.cell] - sum(other.wanted for other in items)
        return item.wanted + max(0, -(-beyond // len(items)))

    def taken(self, cell: Cell) -> int:
        return sum(self.judged(item) + self.underway(item) for item in self.pool if item.cell == cell)

    # What happens

    @rule(worker=WORKERS)
    def claim(self, worker: str) -> None:
        open_items = [item for item in self.fit(worker) if self.needed(item)]
        possible = bool(open_items) and self.may_begin(worker)
        assert self.allocator.available(worker) == possible
        cut_off, met = self.cut_off(worker), self.met(worker)
        self.number += 1
        batch = self.allocator.claim(worker, f"u{self.number}", f"s{self.number}")
        assert (batch is not None) == possible
        if batch is None:
            return
        if cut_off:
            session = cut_off[batch.session]
            most, done = session.numbers - session.done, session.done
        else:
            assert batch.session == f"s{self.number}"
            most, done = self.per_unit, 0
        assert (batch.done, batch.numbers) == (done, done + len(batch.items))
        shown = [name for item in batch.items for name in item.dialogues]
        assert len(set(shown)) == len(shown), "no dialogue twice in a batch"
        assert met.isdisjoint(shown), "nothing that the worker has met"
        assert 1 <= len(batch.items) <= most
        self.running[f"u{self.number}"] = Unit(worker, batch)
        if len(batch.items) < most:
            assert not any(self.needed(item) for item in self.fit(worker)), "a unit is short only where nothing fits"

    @precondition(lambda self: self.running)
    @rule(data=st.data(), answer=st.booleans())
    def go_on(self, data: st.DataObject, answer: bool) -> None:
        """The next item comes on the page, and is answered or not."""
        key = data.draw(st.sampled_from(sorted(self.running)))
        unit = self.running[key]
        if not unit.open:
            return
        item = unit.open[0]
        if item not in unit.shown:
            unit.shown.append(item)
            self.allocator.note_shown(key, item.item_id)
        if answer:
            unit.done.append(item)
            self.allocator.note_done(key, item.item_id)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), whole=st.booleans())
    def end(self, data: st.DataObject, whole: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        if whole:
            self.running[key].shown = self.running[key].done = list(self.running[key].batch.items)
            self.allocator.complete(key)
        else:
            self.allocator.abandon(key)
        self.store(key)
        self.allocator.abandon(key)  # too late: it counts as it was ended first
        self.allocator.complete(key)
        self.allocator.note_done(key, "whatever")

    def store(self, key: str) -> None:
        unit = self.running.pop(key)
        self.log += [
            PastJudgement(
                item.item_id,
                item.cell,
                item.dialogues,
                unit.worker,
                unit.batch.session,
                item in unit.done,
                unit.batch.numbers,
            )
            for item in unit.shown
        ]

    @rule(data=st.data(), more=st.integers(0, 3))
    def steer(self, data: st.DataObject, more: int) -> None:
        """While units run, more are asked for of one cell, and others are stopped or given out again."""
        self.wanted[data.draw(st.sampled_from(self.cells))] += more
        self.stopped = data.draw(st.sets(st.sampled_from(self.cells)))
        self.allocator.ask_for(self.wanted, self.stopped)

    @rule()
    def restart(self) -> None:
        """The process dies with everybody at work; the next launch knows only what was stored."""
        for key in list(self.running):
            self.store(key)
        self.number += 1
        self.allocator = self.fresh(self.number)
        self.allocator.restore(self.log)
        self.allocator.ask_for(self.wanted, self.stopped)

    # What always holds

    @invariant()
    def agrees_with_the_account(self) -> None:
        if not hasattr(self, "allocator"):
            return
        progress = self.allocator.progress()
        assert progress.wanted == self.wanted
        for item in self.pool:
            assert self.judged(item) + self.underway(item) <= self.wants(item)
        for cell in self.cells:
            items = [item for item in self.pool if item.cell == cell]
            assert progress.completed[cell] == sum(map(self.judged, items))
            assert progress.running[cell] == sum(map(self.underway, items))
            assert progress.completed[cell] + progress.running[cell] <= self.wanted[cell]
        uses: Counter[str] = Counter()
        for item in self.pool:
            for name in item.dialogues:
                uses[name] += self.judged(item) + self.underway(item)
        assert self.allocator.reuse() == uses
        missing = sum(self.wanted[cell] - progress.completed[cell] for cell in self.cells if cell not in self.stopped)
        assert (self.allocator.remaining == 0) == (missing == 0)
        assert -(-missing // self.per_unit) <= self.allocator.remaining <= missing

    @invariant()
    def workers_stand_as_the_account_says(self) -> None:
        if not hasattr(self, "allocator"):
            return
        for worker in ("w0", "w1"):
            own = [unit for unit in self.running.values() if unit.worker == worker]
            assert self.allocator.is_busy(worker) == bool(own)
            ever = [item for item in self.fit(worker) if item.cell not in self.stopped]
            assert self.allocator.has_done_all(worker) == (not self.may_begin(worker) or not ever)

    def teardown(self) -> None:
        """With enough new workers everything reaches its number, however it went until then."""
        if not hasattr(self, "allocator"):
            return
        for key in list(self.running):
            self.running[key].shown = self.running[key].done = list(self.running[key].batch.items)
            self.allocator.complete(key)
            self.store(key)
        arrivals = 0
        while self.allocator.remaining:
            arrivals += 1
            key, before = f"new-{arrivals}", self.allocator.remaining
            batch = self.allocator.claim(key, key, key)
            assert batch is not None, "whoever has seen nothing gets something while anything is missing"
            unit = Unit(key, batch, list(batch.items), list(batch.items))
            self.running[key] = unit
            self.allocator.complete(key)
            self.store(key)
            assert self.allocator.remaining >= before - 1, "no fewer units than were said to remain"
        completed = self.allocator.progress().completed
        for cell in set(self.cells) - self.stopped:
            assert completed[cell] == self.wanted[cell]
            items = [item for item in self.pool if item.cell == cell]
            if self.wanted[cell] == sum(map(self.wants, items)):
                assert all(self.judged(item) == self.wants(item) for item in items)


TestItemAllocation = ItemAllocation.TestCase
TestItemAllocation.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
