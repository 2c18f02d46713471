"""Who rates what next: whatever the order in which workers come, leave and come back."""

from __future__ import annotations

import threading
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from parlai_humaneval.allocation.groups import Allocator, Cell, PastDialogue

WORKERS = st.sampled_from([f"w{number}" for number in range(6)])


def cells(count: int) -> list[Cell]:
    names = ["a", "b", "c", "d"]
    pairs = [(one, two) for i, one in enumerate(names) for two in names[i + 1 :]]
    return [Cell(models=pair, metric="preference") for pair in pairs[:count]]


class Allocation(RuleBasedStateMachine):
    """Random arrivals, completions, drop-outs and restarts, against a plain account of what happened."""

    @initialize(count=st.integers(1, 5), wanted=st.integers(1, 4), seed=st.integers(0, 9))
    def begin(self, count: int, wanted: int, seed: int) -> None:
        self.cells, self.begun_with, self.seed = cells(count), wanted, seed
        self.wanted = dict.fromkeys(self.cells, wanted)
        self.stopped: set[Cell] = set()
        self.allocator = Allocator(self.cells, wanted, seed=seed)
        self.running: dict[str, tuple[str, Cell]] = {}
        self.past: list[PastDialogue] = []
        self.number = 0

    def seen(self, worker: str) -> set[Cell]:
        return {past.cell for past in self.past if past.worker == worker and (past.complete or past.rated_turns)}

    def busy(self, worker: str) -> set[Cell]:
        return {cell for name, cell in self.running.values() if name == worker}

    def completed(self, cell: Cell) -> int:
        return sum(past.cell == cell and past.complete for past in self.past)

    def taken(self, cell: Cell) -> int:
        return self.completed(cell) + sum(running == cell for _, running in self.running.values())

    @rule(worker=WORKERS)
    def claim(self, worker: str) -> None:
        open_to = [
            cell
            for cell in self.cells
            if self.taken(cell) < self.wanted[cell]
            and cell not in self.seen(worker) | self.busy(worker)
            and cell not in self.stopped
        ]
        assert set(self.allocator.available(worker)) == set(open_to)
        self.number += 1
        key = f"d{self.number}"
        got = self.allocator.claim(worker, key)
        if not open_to:
            assert got is None, "a worker gets nothing twice, and nothing beyond the number"
            return
        assert got is not None
        (cell,) = got
        assert cell in open_to
        lacks = {other: self.wanted[other] - self.taken(other) for other in open_to}
        assert lacks[cell] == max(lacks.values()), "the most needed first"
        self.running[key] = (worker, cell)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), again=st.booleans())
    def complete(self, data: st.DataObject, again: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        worker, cell = self.running.pop(key)
        for _ in range(1 + again):
            self.allocator.complete(key)
        self.past.append(PastDialogue(cell, worker, complete=True, rated_turns=6))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), turns=st.integers(0, 5), again=st.booleans())
    def abandon(self, data: st.DataObject, turns: int, again: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        worker, cell = self.running.pop(key)
        for _ in range(1 + again):
            self.allocator.abandon(key, rated=[cell] if turns else [])
        self.allocator.complete(key)  # too late: it counts as it was ended first
        self.past.append(PastDialogue(cell, worker, complete=False, rated_turns=turns))

    @rule(data=st.data(), more=st.integers(0, 2))
    def steer(self, data: st.DataObject, more: int) -> None:
        """While dialogues run, more are asked for of one cell, and others are stopped or given out again."""
        self.wanted[data.draw(st.sampled_from(self.cells))] += more
        self.stopped = data.draw(st.sets(st.sampled_from(self.cells)))
        self.allocator.ask_for(self.wanted, self.stopped)

    @rule(turns=st.integers(0, 3))
    def restart(self, turns: int) -> None:
        """The process dies with everybody in mid-dialogue; the next launch knows only what was stored."""
        for worker, cell in self.running.values():
            self.past.append(PastDialogue(cell, worker, complete=False, rated_turns=turns))
        self.running.clear()
        self.allocator = Allocator(self.cells, self.begun_with, seed=self.seed + 1)
        self.allocator.restore(self.past)
        self.allocator.ask_for(self.wanted, self.stopped)

    @invariant()
    def agrees_with_the_account(self) -> None:
        if not hasattr(self, "allocator"):
            return
        progress = self.allocator.progress()
        for cell in self.cells:
            assert progress.completed[cell] == self.completed(cell)
            assert progress.completed[cell] + progress.running[cell] == self.taken(cell) <= self.wanted[cell]
        given_out = set(self.cells) - self.stopped
        assert self.allocator.remaining == sum(self.wanted[cell] - self.completed(cell) for cell in given_out)
        for worker in {worker for worker, _ in self.running.values()} | {"w0"}:
            assert self.allocator.is_busy(worker) == bool(self.busy(worker))
            assert self.allocator.has_done_all(worker) == (given_out <= self.seen(worker) | self.busy(worker))

    def teardown(self) -> None:
        """With enough new workers, everything reaches its number, however it went until then."""
        if not hasattr(self, "allocator"):
            return
        for key in list(self.running):
            self.allocator.complete(key)
        arrivals = 0
        while self.allocator.remaining:
            arrivals += 1
            assert arrivals <= sum(self.wanted.values())
            assert self.allocator.claim(f"new-{arrivals}", f"n{arrivals}") is not None
            self.allocator.complete(f"n{arrivals}")
        completed = self.allocator.progress().completed
        for cell in set(self.cells) - self.stopped:
            assert completed[cell] == self.wanted[cell]


TestAllocation = Allocation.TestCase
TestAllocation.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_new_workers_keep_cells_balanced_at_every_moment(count: int) -> None:
    allocator = Allocator(cells(count), 5, seed=3)
    for number in range(5 * count):
        assert allocator.claim(f"w{number}", f"d{number}") is not None
        taken = allocator.progress().running.values()
        assert max(taken) - min(taken) <= 1


def test_equally_needed_cells_come_in_random_order() -> None:
    """The first worker of each of twenty launches: not always the same pair."""
    first = {Allocator(cells(4), 5, seed=seed).claim("w", "d") for seed in range(20)}
    assert len(first) == 4


def test_the_same_seed_gives_the_same_order() -> None:
    def order(seed: int) -> list[tuple[Cell, ...] | None]:
        allocator = Allocator(cells(4), 3, seed=seed)
        return [allocator.claim(f"w{number}", f"d{number}") for number in range(12)]

    assert order(7) == order(7)


def test_counts_hold_when_threads_claim_at_once() -> None:
    allocator = Allocator(cells(3), 4)
    got: dict[tuple[Cell, ...] | None, int] = defaultdict(int)
    lock = threading.Lock()

    def come(number: int) -> None:
        cell = allocator.claim(f"w{number}", f"d{number}")
        with lock:
            got[cell] += 1

    threads = [threading.Thread(target=come, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.pop(None) == 40 - 12
    assert set(got.values()) == {4}


def test_models_named_in_another_order_are_the_same_pair() -> None:
    """A second launch with models=[b,a] goes on with the counts of [a,b]."""
    allocator = Allocator([Cell(("b", "a"), "preference")], 2)
    allocator.restore([PastDialogue(Cell(("a", "b"), "preference"), "w1", complete=True, rated_turns=6)])
    assert allocator.remaining == 1
    assert allocator.has_done_all("w1")


def test_another_metric_or_model_of_the_past_does_not_count() -> None:
    allocator = Allocator([Cell(("a", "b"), "preference")], 1)
    past = [
        PastDialogue(Cell(("a", "b"), "humanness"), "w1", complete=True, rated_turns=6),
        PastDialogue(Cell(("a", "c"), "preference"), "w1", complete=True, rated_turns=6),
    ]
    allocator.restore(past)
    assert allocator.remaining == 1
    assert allocator.available("w1")


def test_more_completed_than_wanted_is_no_debt() -> None:
    """Fewer asked for than are there already: nothing remains in that cell, and the other still gets its own."""
    one, two = cells(2)
    allocator = Allocator([one, two], 2)
    allocator.restore([PastDialogue(one, f"w{number}", complete=True, rated_turns=6) for number in range(5)])
    assert allocator.remaining == 2
    assert allocator.available("new") == [two]


@pytest.mark.parametrize(
    ("groups", "wanted", "said"),
    [
        ([], 1, "nothing to rate"),
        ([("a", "b"), ("a", "b")], 1, "is listed twice"),
        ([("a", "b"), ("b", "a")], 1, "is listed twice"),
        ([("a", "b")], 0, "at least 1"),
    ],
)
def test_what_cannot_be_given_out_is_an_error(groups: list[tuple[str, str]], wanted: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Allocator([Cell(group, "preference") for group in groups], wanted)


def test_a_dialogue_is_not_given_out_twice() -> None:
    allocator = Allocator(cells(1), 2)
    allocator.claim("w1", "d1")
    with pytest.raises(ValueError, match="already running"):
        allocator.claim("w2", "d1")


@given(st.integers(2, 6), st.data(), st.integers(1, 4), st.integers(0, 2**16))
def test_units_of_several_cells(count: int, data: st.DataObject, wanted: int, seed: int) -> None:
    """A unit holds different cells, the most needed ones, and so many units as are said to remain are enough."""
    per_unit = data.draw(st.integers(1, count))
    allocator = Allocator(cells(count), wanted, seed=seed, per_unit=per_unit)
    units = 0
    while allocator.remaining:
        before = allocator.remaining
        got = allocator.claim(f"w{units}", f"u{units}")
        assert got is not None
        assert len(set(got)) == len(got) == per_unit
        allocator.complete(f"u{units}")
        assert allocator.remaining == before - 1
        units += 1
    completed = allocator.progress().completed.values()
    assert min(completed) >= wanted
    assert max(completed) - min(completed) <= 1
    assert allocator.claim("late", "late") is None


def test_a_unit_left_gives_all_its_cells_back_and_bars_those_that_were_begun() -> None:
    allocator = Allocator(cells(3), 2, per_unit=2)
    got = allocator.claim("w1", "u1")
    assert got is not None
    allocator.abandon("u1", rated=[got[0]])
    assert set(allocator.progress().running.values()) == {0}
    assert got[0] not in allocator.available("w1")
    assert len(allocator.available("w1")) == 2


def test_a_worker_goes_on_with_a_unit_that_was_cut_off() -> None:
    """The same cells are theirs again, also where they had been begun; what is no longer asked for is not counted."""
    allocator = Allocator(cells(2), 2, per_unit=2)
    gone = Cell(("x", "y"), "preference")
    assert allocator.claim_again("w1", "u1", [*cells(2), gone], cells(2))
    assert allocator.is_busy("w1")
    assert allocator.available("w1") == []
    allocator.complete("u1")
    assert set(allocator.progress().completed.values()) == {1}


def test_a_unit_that_was_cut_off_goes_to_others_last_and_is_not_given_twice() -> None:
    """Guards the one who comes back, as long as there is something else for others; and the counts, when there is not."""
    first, second = cells(2)
    allocator = Allocator([first, second], 1)
    assert allocator.claim_again("away", "u1", [first], [first])
    allocator.abandon("u1", rated=[first])
    allocator.note_left("away", [first])
    assert allocator.claim("w1", "u2") == (second,), "whatever the chance: the other one is spoken for"
    assert allocator.wants_again("w", [first], [first])
    assert allocator.claim("w2", "u3") == (first,), "nothing else is open"
    assert not allocator.wants_again("w", [first], [first])
    assert not allocator.claim_again("away", "u4", [first], [first])
    assert not allocator.is_busy("away")
    assert set(allocator.progress().running.values()) == {1}
    allocator.abandon("u3", rated=[])
    assert allocator.claim_again("away", "u5", [first], [first]), "it is free again"
    allocator.abandon("u5", rated=[])
    allocator.ask_for({}, {first})
    assert not allocator.claim_again("away", "u6", [first], [first]), "it is stopped"


def test_settings_of_one_group_are_different_cells() -> None:
    """Liu et al. 2023: each worker at most once per model group and setting."""
    both = [Cell(("a", "b"), "appropriate", setting) for setting in ("soba", "sata_user")]
    allocator = Allocator(both, 5)
    first, second = allocator.claim("w1", "d1"), allocator.claim("w1", "d2")
    assert first is not None
    assert second is not None
    assert {*first, *second} == set(both)
    assert allocator.claim("w1", "d3") is None


def test_a_worker_may_have_a_cell_as_often_as_is_allowed() -> None:
    """Ma et al. 2023: twenty annotators hold many conversations each. What earlier launches gave them counts."""
    (only,) = cells(1)
    allocator = Allocator([only], 9, per_worker=3)
    allocator.restore([PastDialogue(only, "w1", complete=True, rated_turns=6)])
    for number in range(2):
        assert allocator.claim("w1", f"d{number}") == (only,)
        assert allocator.available("w1") == [], "not two at once"
        allocator.complete(f"d{number}")
    assert allocator.claim("w1", "d3") is None
    assert allocator.has_done_all("w1")
    assert not allocator.has_done_all("w2")


def test_a_unit_held_in_two_visits_counts_once_for_its_worker() -> None:
    both = cells(2)
    allocator = Allocator(both, 9, per_unit=2, per_worker=2)
    allocator.claim("w1", "u1")
    allocator.abandon("u1", rated=both)
    assert allocator.claim_again("w1", "u2", both, both)
    allocator.complete("u2")
    assert set(allocator.available("w1")) == set(both)
    allocator.claim("w1", "u3")
    allocator.complete("u3")
    assert allocator.has_done_all("w1")


def test_what_remains_is_what_the_neediest_cell_lacks() -> None:
    """Two cells a unit: one that lacks four dialogues needs four units, however few the others lack."""
    every = cells(3)
    allocator = Allocator(every, 4, per_unit=2)
    allocator.restore(
        PastDialogue(cell, f"w{number}{cell}", complete=True, rated_turns=6)
        for cell in every[1:]
        for number in range(4)
    )
    assert allocator.remaining == 4


def test_models_that_are_out_come_last_and_only_where_nothing_else_is_left() -> None:
    """Guards a rater against a wait that another group of models would not have; the choice by need is as it was."""
    allocator = Allocator(cells(3), 1, seed=1)  # a-b, a-c, a-d
    given_out = [allocator.claim("w", f"unit {number}", rather_without=frozenset("c")) for number in range(3)]
    assert [got is not None and "c" in got[0].models for got in given_out] == [False, False, True]


def test_a_unit_shrinks_where_too_few_groups_are_left() -> None:
    """Guards a study of several conversations a unit against an end without end: with two of four groups stopped, no unit
    of three could ever be made."""
    all_cells = cells(4)
    allocator = Allocator(all_cells, 2, per_unit=3)
    first = allocator.claim("w1", "u1")
    assert first is not None
    assert len(first) == 3
    allocator.ask_for({}, set(all_cells[2:]))
    assert allocator.per_unit == 2
    allocator.complete("u1")
    assert sum(allocator.progress().completed.values()) == 3, "what was under way counts, stopped or not"
    while allocator.remaining:
        number = allocator.remaining
        assert set(allocator.claim(f"n{number}", f"n{number}") or ()) == set(all_cells[:2])
        allocator.complete(f"n{number}")
    assert allocator.claim("late", "late") is None
    allocator.ask_for({}, ())
    assert allocator.per_unit == 3
