"""Guards the benchmark of techniques that stop once decided: it simulates what it says, and the rules keep their promise."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks import techniques
from benchmarks.sequential import ALPHA, SHARE
from benchmarks.techniques import Task, _figures, tasks, truth_of

BY_NAME = {task.name: task for task in tasks(False)}


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(techniques, "_DRAWS", 10_000)


@pytest.mark.parametrize("kind", ["scales", "ticks", "one", "bots"])
def test_models_are_as_far_apart_as_is_said(kind: str) -> None:
    """Guards the figures: the best model is just so far ahead of the next one."""
    task = next(task for task in BY_NAME.values() if (task.kind, task.apart) == (kind, 2.0))
    assert truth_of(task)[0, 1] == pytest.approx(2 * task.margin, rel=0.1)


@pytest.mark.parametrize("by", ["two models a rater", "a rater each"])
def test_equal_models_are_called_different_in_few_studies(by: str) -> None:
    """Guards ratings by one rater and by two: those who like a model are quick, and who dislike one leave."""
    task = replace(BY_NAME[f"sliders, {by}: equal, quick where liked, left where not"], studies=200)
    assert claimed(task) <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 200)


def test_dialogues_that_everybody_judges_are_noticed() -> None:
    """Guards the reason for judging each dialogue once, and that the simulation sees what is wrong."""
    (task,) = (task for task in BY_NAME.values() if task.pool == 45)
    assert claimed(replace(task, pool=8, studies=100)) > 2 * ALPHA


def claimed(task: Task) -> float:
    return next(figure.ours for figure in _figures(task) if figure.unit == SHARE)
