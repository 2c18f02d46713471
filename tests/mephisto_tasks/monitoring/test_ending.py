"""When a study will be done, and the honest words where nobody can know."""

from __future__ import annotations

from datetime import datetime

import pytest

from mephisto_tasks.control.snapshot import GroupStatus
from mephisto_tasks.monitoring.status import HOUR, State, estimated_end

NOW = datetime(2026, 5, 4, 12, 0).timestamp()


def _ended(count: int, within: float = HOUR) -> list[float]:
    return [NOW - within * number / count for number in range(count)]


def test_the_rate_of_the_last_hour() -> None:
    """Guards the estimate and its range: twelve came in an hour, so that six more take half of one, give or take."""
    end = estimated_end(NOW, "running", 6, [NOW - 3 * HOUR, *_ended(12)])
    assert end.at == pytest.approx(NOW + HOUR / 2)
    assert end.earliest is not None
    assert end.latest is not None
    assert NOW < end.earliest < end.at < end.latest
    assert end.words.startswith("About 12:30, likely between 12:18 and 12:59")


def test_a_young_launch_has_its_own_rate() -> None:
    """Guards against hours in which nothing ran: twelve in ten minutes are more than twelve an hour."""
    end = estimated_end(NOW, "running", 12, _ended(12, 600), NOW - 600)
    assert end.at == pytest.approx(NOW + 600)
    assert "this launch so far" in end.words


def test_three_assignments_are_enough() -> None:
    """Guards the least that a forecast rests on, next to the two of the table below."""
    assert estimated_end(NOW, "running", 10, _ended(3)).at == pytest.approx(NOW + 10 / 3 * 3600)


def test_an_end_within_the_minute_has_no_range() -> None:
    """Guards against “between 12:00 and 12:00”."""
    assert estimated_end(NOW + 5, "running", 1, _ended(2000)).words.startswith("About 12:00, if the rate stays")


def test_another_day_is_named() -> None:
    """Guards who reads “02:00” and thinks of this night."""
    assert "6 May" in estimated_end(NOW, "running", 500, _ended(12)).words


@pytest.mark.parametrize(
    ("state", "remaining", "done", "said"),
    [
        ("running", 10, 2, "No forecast yet: only 2 assignments were completed in the last hour."),
        ("running", 10, 0, "No forecast yet: no assignment was completed in the last hour."),
        ("running", None, 9, "No forecast: the launch has not reported"),
        ("running", 10_000_000, 9, "At the current rate"),
        ("running", 0, 9, "Everything has been collected."),
        ("paused", 10, 9, "No forecast while"),
        ("cut_off", 10, 9, "No launch is running."),
    ],
)
def test_what_cannot_be_told_is_not(state: State, remaining: int | None, done: int, said: str) -> None:
    """Guards against numbers out of nothing."""
    end = estimated_end(NOW, state, remaining, _ended(done) if done else [])
    assert end.at is None
    assert end.words.startswith(said)


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (2, "No new work starts, but 2 in progress are still to be finished."),
        (0, "Everything has been collected, except for stopped groups."),
    ],
)
def test_what_was_stopped_is_not_called_done(running: int, said: str) -> None:
    """Guards who stopped the last pair: raters may still be inside, and the pair has not what was asked for."""
    group = GroupStatus(
        label="a vs b",
        models=["a", "b"],
        metric="preference",
        setting="",
        completed=3,
        wanted=9,
        running=running,
        stopped="stopped from the page",
    )
    assert estimated_end(NOW, "running", 0, _ended(3), None, [group]).words == said
