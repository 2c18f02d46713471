"""The made-up study that the site shows both ways: its claims are true, and its two pictures can stand in one page."""

from __future__ import annotations

import math
import re

import pytest

from docs.facts.after_stopping import simulated
from docs.facts.decided_picture import SIZES, pictures
from docs.facts.one_study import RULE, OneStudy, made_up


@pytest.fixture(scope="module")
def study() -> OneStudy:
    return made_up()


@pytest.fixture(scope="module")
def drawn(study: OneStudy) -> str:
    return pictures(study)


def test_what_is_decided_is_true(study: OneStudy) -> None:
    """Guards the page against showing a study that erred, which one in twenty may."""
    assert study.standing.ended == "decided"
    for pair in study.pairs:
        wanted = "equal" if abs(pair.gap) < RULE.margin else "first" if pair.gap > 0 else "second"
        assert pair.standing.decided == wanted


def test_intervals_are_those_of_the_study_and_never_grow(study: OneStudy) -> None:
    """They are drawn from its log, and end where it ended."""
    for pair in study.pairs:
        assert pair.low[-1] == pytest.approx(2 * pair.standing.low - 1, abs=1e-3)
        assert pair.high[-1] == pytest.approx(2 * pair.standing.high - 1, abs=1e-3)
        assert (pair.low[1:] >= pair.low[:-1] - 1e-3).all()
        assert (pair.high[1:] <= pair.high[:-1] + 1e-3).all()
        assert 0 < pair.closed <= len(pair.low) == pair.standing.dialogues


def test_the_same_study_is_always_the_same_picture(drawn: str) -> None:
    """Else every build of the site would differ."""
    assert drawn == pictures(made_up())


def test_both_pictures_can_stand_in_one_page(study: OneStudy, drawn: str) -> None:
    """They share no id, are said in words, and take their colours from the page."""
    ids = re.findall(r'\bid="(.*?)"', drawn)
    assert len(ids) == len(set(ids))
    assert drawn.count("<desc") == len(SIZES)
    assert f"{study.standing.answered} dialogues" in drawn
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) == set()
    assert "\n\n" not in drawn


def test_after_stopping_estimates_are_nearer_than_means_and_intervals_hold() -> None:
    """Guards what the page says of estimates: in simulated studies whose mean is far off, the estimate is nearer in its
    average and right in its median, and the interval that holds at all times does."""
    for points in (10, 20):
        found = simulated(points, studies=150)
        assert points < found.estimate < found.mean
        assert abs(found.median - points) < 1.5
        assert found.missed <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 150)
