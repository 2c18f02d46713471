"""Forecasts of running studies hold as often as they say, of studies small enough for a test."""

from __future__ import annotations

import numpy as np

from benchmarks.forecasts import is_held, measured, truths
from parlai_humaneval.stopping.simulation import win_rates
from parlai_humaneval.stopping.units import Scores

TWO = Scores(2, within=0.15)


def test_ranges_of_80_percent_hold_in_70_to_90_percent() -> None:
    """Of all dialogues to come and of those of each open pair, after a quarter, a half and three quarters of the way."""
    rates = np.tile(win_rates([1.0, 1.0, 0.0]), (30, 1, 1))
    figures = list(measured("two alike, and one apart", rates, margin=0.4, simulations=25))
    assert len(figures) == 6
    assert all(is_held(figure) for figure in figures), [(figure.name, figure.ours) for figure in figures]


def test_ranges_of_ratings_hold_too() -> None:
    """Guards raters who score models: three equal ones, two of them rated by each rater."""
    figures = list(measured("rated", np.full((30, 3), 0.5), margin=0.4, simulations=25, raters=TWO, rated="apart"))
    assert len(figures) == 6
    assert all(is_held(figure) for figure in figures), [(figure.name, figure.ours) for figure in figures]


def test_a_range_that_never_holds_is_seen() -> None:
    """Guards the check: also one that always holds is too wide."""
    figure = next(measured("a test", truths(2)["all equal"], cap=60))
    assert not is_held(figure.model_copy(update={"ours": 0.5, "repeats": 100}))
    assert not is_held(figure.model_copy(update={"ours": 1.0, "repeats": 100}))
    assert is_held(figure.model_copy(update={"ours": 0.8, "repeats": 100}))
