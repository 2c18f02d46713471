"""Who comes in first when a study is full."""

from __future__ import annotations

import time

import pytest

from mephisto_tasks.admission.capacity import KEPT_S, WaitingRoom
from mephisto_tasks.control.presence import Floor


@pytest.fixture
def room() -> WaitingRoom:
    return WaitingRoom(Floor())


def comes_in(room: WaitingRoom, who: str, inside: int, *, goes_on: bool = False, kept: bool = False) -> bool:
    """Asks at the door of a study with two places."""
    full = room.full(who, inside, 2, lambda: goes_on, kept=kept)
    if full is None:
        room.leave(who)
    return full is None


def test_who_comes_back_to_a_dialogue_goes_in_before_newcomers(room: WaitingRoom) -> None:
    """Guards the rater whom our pause cut off: the first free place is theirs, whoever asks for it earlier."""
    assert not comes_in(room, "returns", 2, goes_on=True)
    assert not comes_in(room, "new", 1), "the one free place is kept"
    assert comes_in(room, "returns", 1, goes_on=True)
    assert not comes_in(room, "new", 2)
    assert comes_in(room, "new", 1), "nothing is kept any more"


def test_what_is_left_is_kept_for_those_who_were_cut_off(room: WaitingRoom) -> None:
    """Guards newcomers to a study that is launched again near its end: they wait for a moment, and are not turned away."""
    assert not comes_in(room, "new", 0, kept=True)
    assert comes_in(room, "returns", 0, goes_on=True, kept=True)
    assert comes_in(room, "new", 1)


def test_more_places_than_those_kept_are_for_everybody(room: WaitingRoom) -> None:
    assert not comes_in(room, "returns", 2, goes_on=True)
    assert comes_in(room, "new", 0)
    assert not comes_in(room, "newer", 1)


def test_two_who_come_back_do_not_wait_for_each_other(room: WaitingRoom) -> None:
    assert not comes_in(room, "one", 2, goes_on=True)
    assert not comes_in(room, "other", 2, goes_on=True)
    assert comes_in(room, "other", 1, goes_on=True)
    assert comes_in(room, "one", 1, goes_on=True)


def test_a_place_is_not_kept_for_a_page_that_asks_no_more(room: WaitingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not comes_in(room, "closed the page", 2, goes_on=True)
    later = time.monotonic() + KEPT_S + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert comes_in(room, "new", 1)
