"""The benchmark of studies that stop: every truth and crowd is there, and a measured task becomes figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import sequential
from benchmarks.sequential import SHARE, apart, circles, equal_models, needed


def test_every_size_and_likeness_is_measured() -> None:
    """Two to ten models, three ICCs, eight raters at a time, and thousands of studies."""
    tasks = [*needed(False), *apart(False), *equal_models(False), *circles(False)]
    assert {len(task.strengths) for task in tasks} == {2, 3, 4, 6, 10}
    assert min(task.studies for task in [*needed(False), *apart(False)]) == 500
    assert {task.crowd.icc for task in equal_models(False)} == {0.0, 0.05, 0.17}
    assert {task.crowd.in_flight for task in tasks} == {8}
    assert sum(task.studies for task in tasks) > 10_000
    assert len({task.name for task in tasks}) == len(tasks)


def test_a_task_becomes_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios beside their goals, both kinds of false claims beside what they may be, and who is warned of a circle."""
    pair = [
        replace(task, studies=6)
        for task in needed(True)
        if task.name in ("one pair, true gap 10", "one pair, true gap 20")
    ]
    monkeypatch.setattr(sequential, "needed", lambda quick: pair)
    monkeypatch.setattr(sequential, "equal_models", lambda quick: [replace(equal_models(True)[0], studies=6)])
    monkeypatch.setattr(sequential, "apart", lambda quick: [])
    monkeypatch.setattr(sequential, "circles", lambda quick: [replace(circles(True)[1], studies=6)])
    figures = {figure.name: figure for figure in sequential.run(True)}
    assert 0 < figures["one pair, true gap 20, evidence"].ours < figures["one pair, true gap 20"].ours < 1
    assert figures["one pair, true gap 20"].peer == 0.18
    assert [figure.name.split(":")[0] for figure in figures.values() if figure.unit == SHARE] == [
        "two are called equal",
        "one is called better",
    ]
    assert figures["warns: 3 models in a circle of 30 points"].repeats == 6
