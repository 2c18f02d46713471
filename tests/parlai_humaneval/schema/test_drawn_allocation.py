"""Allocation by lot: one unit a worker, what is open decides, and nobody is sent around it."""

from __future__ import annotations

from itertools import combinations

from parlai_humaneval.allocation.adaptive import DrawnAllocator
from parlai_humaneval.allocation.groups import Cell, PastDialogue

Models = tuple[str, ...]
PAIRS = list(combinations("abc", 2))


class Lot:
    """Draws the first open groups; who left may come back once."""

    def __init__(self, groups: list[Models], free: int = 10) -> None:
        self.groups, self.free, self.in_flight = groups, free, 0
        self.who: dict[str, int] = {}
        self.gone: set[str] = set()

    @property
    def missing(self) -> int:
        return self.free + self.in_flight

    def open_groups(self) -> list[Models]:
        return self.groups

    def came(self, worker: str) -> bool:
        return worker in self.who

    def draw(self, worker: str, dialogues: int) -> list[Models]:
        self.who[worker] = dialogues
        self.free, self.in_flight = self.free - dialogues, self.in_flight + dialogues
        return self.groups[:dialogues]

    def leave(self, worker: str) -> None:
        self.gone.add(worker)

    def can_go_on(self, worker: str) -> bool:
        return worker in self.gone

    def come_back(self, worker: str) -> bool:
        self.gone.remove(worker)
        return True


def allocator(lot: Lot, *, groups: list[Models] | None = None, per_unit: int = 1) -> DrawnAllocator:
    return DrawnAllocator(lot, groups or PAIRS, "preference", "", cap=10, per_unit=per_unit, seed=1)


def cells(*groups: str) -> tuple[Cell, ...]:
    return tuple(Cell(tuple(group), "preference") for group in groups)


def test_a_worker_has_one_unit_of_what_was_drawn() -> None:
    """Whatever models are out: somebody who is sent elsewhere would not have been sent by lot."""
    given = allocator(Lot(PAIRS), per_unit=2)
    assert given.claim("w1", "u1", rather_without=frozenset("a")) == cells("ab", "ac")
    assert not given.goes_around
    assert given.claim("w1", "u2") is None
    assert given.has_done_all("w1")
    given.complete("u1")
    assert given.claim("w1", "u3") is None
    assert given.progress().completed[cells("ab")[0]] == 1
    assert given.remaining == 5


def test_fewer_are_given_where_fewer_are_open_or_free() -> None:
    """A unit holds no more than is open, and the cap is never exceeded."""
    lot = Lot([("a", "b")], free=10)
    given = allocator(lot, per_unit=2)
    assert given.per_unit == 1
    assert given.claim("w1", "u1") == cells("ab")
    lot.free = 0
    assert given.available("w2") == []
    assert not given.has_done_all("w2"), "somebody may leave"
    lot.groups = []
    assert given.has_done_all("w2")
    assert given.claim("w2", "u2") is None


def test_who_knows_a_pair_from_elsewhere_is_not_drawn_for() -> None:
    """Else pairs would not be equally likely for them."""
    given = allocator(Lot(PAIRS))
    given.bar_groups("w1", [frozenset("bc")])
    assert given.has_done_all("w1")
    assert given.claim("w1", "u1") is None
    assert given.claim("w2", "u2") is not None


def test_who_left_goes_on_only_while_it_counts() -> None:
    """What is left is asked of the draw, and noted there."""
    lot = Lot(PAIRS)
    given = allocator(lot)
    (cell,) = given.claim("w1", "u1") or ()
    given.abandon("u1", rated=[cell])
    assert lot.gone == {"w1"}
    assert given.wants_again("w1", [cell], [cell])
    assert given.claim_again("w1", "u2", [cell], [cell])
    assert not given.wants_again("w1", [cell], [cell])
    assert given.is_busy("w1")
    given.complete("u2")
    assert given.progress().completed[cell] == 1


def test_panels_of_fewer_models_are_counted_as_they_come() -> None:
    """A model is dropped: its panel is a new cell, also where an earlier launch dropped it; other studies' are none."""
    lot = Lot([("a", "b", "c")])
    given = allocator(lot, groups=[("a", "b", "c")])
    given.restore(
        [
            PastDialogue(cells("ab")[0], "w0", complete=True, rated_turns=6),
            PastDialogue(Cell(("a", "x"), "preference"), "w9", complete=True, rated_turns=6),
            PastDialogue(Cell(("a", "c"), "humanness"), "w9", complete=True, rated_turns=6),
        ]
    )
    assert given.claim("w1", "u1") == cells("abc")
    lot.groups = [("a", "c")]
    assert given.claim("w2", "u2") == cells("ac")
    assert set(given.progress().wanted) == set(cells("abc", "ab", "ac"))
    assert given.has_done_all("w0"), "they took part"
