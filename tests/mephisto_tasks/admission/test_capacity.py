"""Who comes in first when a study is full."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from mephisto_tasks.admission.identity import KEPT_S, CapacityRule
from mephisto_tasks.admission.visits import Visitor
from mephisto_tasks.control.snapshot import Presence


class Study:
    """With two places; a launch's answers."""

    config: Any = SimpleNamespace(most_inside=2)
    inside = 0
    keeps = False
    presence = Presence()
    left = dict.fromkeys(("returns", "closed the page", "one", "other"))

    def keeps_places(self, ahead: int = 0) -> bool:
        return self.keeps

    def availability(self, worker: str) -> str:
        return "all_taken"

    def can_resume(self, worker: str) -> bool:
        return True

    def count_inside(self) -> tuple[int, int]:
        return self.inside, 0

    def find_workers(self, worker_name: str) -> list[Any]:
        return [SimpleNamespace(db_id=worker_name)]


@pytest.fixture
def room() -> CapacityRule:
    study: Any = Study()
    return CapacityRule(study)


def comes_in(room: CapacityRule, who: str, inside: int, *, kept: bool = False) -> bool:
    """Whether they get in, with so many inside; who stands in ``left`` comes back to a dialogue."""
    study: Any = room.study
    study.inside, study.keeps = inside, kept
    visitor = Visitor(study, worker_name=who, known_as=who)
    refusal = room.refusal(visitor)
    if refusal is None:
        room.enter(visitor)
    return refusal is None


def test_who_comes_back_to_a_dialogue_goes_in_before_newcomers(room: CapacityRule) -> None:
    """Guards the rater whom our pause cut off: the first free place is theirs, whoever asks for it earlier."""
    assert not comes_in(room, "returns", 2)
    assert not comes_in(room, "new", 1), "the one free place is kept"
    assert comes_in(room, "returns", 1)
    assert not comes_in(room, "new", 2)
    assert comes_in(room, "new", 1), "nothing is kept any more"


def test_what_is_left_is_kept_for_those_who_were_cut_off(room: CapacityRule) -> None:
    """Guards newcomers to a study that is launched again near its end: they wait for a moment, and are not turned away."""
    assert not comes_in(room, "new", 0, kept=True)
    assert comes_in(room, "returns", 0, kept=True)
    assert comes_in(room, "new", 1)


def test_more_places_than_those_kept_are_for_everybody(room: CapacityRule) -> None:
    assert not comes_in(room, "returns", 2)
    assert comes_in(room, "new", 0)
    assert not comes_in(room, "newer", 1)


def test_two_who_come_back_do_not_wait_for_each_other(room: CapacityRule) -> None:
    assert not comes_in(room, "one", 2)
    assert not comes_in(room, "other", 2)
    assert comes_in(room, "other", 1)
    assert comes_in(room, "one", 1)


def test_a_place_is_not_kept_for_a_page_that_asks_no_more(room: CapacityRule, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not comes_in(room, "closed the page", 2)
    later = time.monotonic() + KEPT_S + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert comes_in(room, "new", 1)
