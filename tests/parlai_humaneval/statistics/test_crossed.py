"""Dialogues that several workers judged: tests hold for other workers and other dialogues, and say when they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share, too_few_clusters
from parlai_humaneval.statistics.core.means import (
    clustered_difference,
    clustered_mean,
    crossed_difference,
    crossed_mean,
)
from parlai_humaneval.statistics.core.two_way import ABOUT, crossed_share, is_by_both, two_way_error
from parlai_humaneval.statistics.preference.win_rates import effective_win_test


def _judged(rng, workers=60, dialogues=30, each=6, sd=(0.5, 0.7), log_odds=0.0):
    """Outcomes, workers and dialogues of a study in which each worker judges ``each`` of the same dialogues."""
    shown = rng.random((workers, dialogues)).argsort(axis=1)[:, :each].ravel()
    raters = np.repeat(np.arange(workers), each)
    odds = log_odds + rng.normal(0, sd[0], workers)[raters] + rng.normal(0, sd[1], dialogues)[shown]
    won = (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(float)
    return won, raters, shown


def test_a_true_null_is_rejected_in_a_twentieth_of_studies():
    """Where 60 workers judge the same 30 dialogues, the test by worker alone rejects three times as often as it says."""
    rng = np.random.default_rng(1)
    studies = [_judged(rng) for _ in range(200)]  # .05 with an error of .015
    results = [crossed_share(won, np.ones_like(won), raters, [shown]) for won, raters, shown in studies]
    by_both = np.mean([result.p_value < 0.05 for result in results])
    by_worker = np.mean([result.details["p_by_worker"] < 0.05 for result in results])
    assert 0.02 < by_both < 0.08
    assert by_worker > 0.11


def test_a_difference_of_means_holds_as_well():
    """Ratings of two models by the same workers, each of whom rates some of 12 dialogues a model."""
    rng = np.random.default_rng(2)
    both, alone = [], []
    for _ in range(150):  # .05 with an error of .018
        quality, of_worker = rng.normal(0, 0.6, (2, 12)), rng.normal(0, 0.5, 40)
        rated = []
        for model in (0, 1):
            _, raters, shown = _judged(rng, 40, 12, 5)
            values = quality[model][shown] + of_worker[raters] + rng.normal(0, 1, len(shown))
            rated += [values, raters, [f"{model}-{name}" for name in shown]]
        result = crossed_difference(*rated)
        both.append(result.p_value < 0.05)
        alone.append(result.details["p_by_worker"] < 0.05)
    assert 0.01 < np.mean(both) < 0.086
    assert np.mean(alone) > 0.15


def test_fresh_dialogues_give_the_answer_by_worker():
    """Dialogues that one worker judged, once or several times, change nothing, to the last digit."""
    rng = np.random.default_rng(3)
    workers = rng.integers(0, 25, 200)
    dialogues = workers * 10 + rng.integers(0, 5, 200)
    won, ones = rng.integers(0, 2, 200).astype(float), np.ones(200)
    fresh = [dialogues, np.arange(200)]
    assert crossed_share(won, ones, workers, fresh) == clustered_share(cluster_sums(won, ones, workers))
    assert crossed_mean(won, workers, dialogues, null=0.4) == clustered_mean(won, workers, null=0.4)
    a, b = slice(0, 90), slice(90, 200)
    of_a, of_b = (won[a], workers[a]), (won[b], workers[b])
    expected = clustered_difference(*of_a, *of_b)
    assert crossed_difference(*of_a, dialogues[a], *of_b, dialogues[b]) == expected
    effective = effective_win_test(*of_a, *of_b, dialogues=(dialogues[a], dialogues[b]))
    assert effective == effective_win_test(*of_a, *of_b)


@given(st.integers(0, 10_000), st.floats(-2.5, 2.5), st.sampled_from([(1, 6), (3, 8), (6, 30)]))
@settings(max_examples=60, deadline=None)
def test_p_and_interval_say_the_same(seed, log_odds, size):
    """p is below .05 exactly where the interval is without one half, and the interval lies within what is possible."""
    each, dialogues = size
    won, raters, shown = _judged(np.random.default_rng(seed), 12, dialogues, each, log_odds=log_odds)
    result = crossed_share(won, np.ones_like(won), raters, [shown])
    if result.ci_low is not None and is_by_both(result):
        assert 0 <= result.ci_low <= result.estimate <= result.ci_high <= 1
        assert (result.p_value < 0.05) == (not result.ci_low <= 0.5 <= result.ci_high)


def test_workers_dialogues_of_a_and_of_b_all_count():
    """The variance is that of three clusterings: each alone, minus each two, plus all three; never below one alone."""
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, size, 400) for size in (20, 15, 12)]
    influence = sum(rng.normal(0, 1, size)[code] for size, code in zip((20, 15, 12), codes, strict=True))
    influence = influence + rng.normal(0, 1, 400)
    influence -= influence.mean()

    def variance(*chosen):
        cells = {}
        for place, cell in enumerate(zip(*(codes[number] for number in chosen), strict=True)):
            cells[cell] = cells.get(cell, 0.0) + influence[place]
        return len(cells) / (len(cells) - 1) * sum(value**2 for value in cells.values())

    expected = variance(0) + variance(1) + variance(2) - variance(0, 1) - variance(0, 2) - variance(1, 2)
    expected += variance(0, 1, 2)
    assert two_way_error(influence, codes) == pytest.approx(np.sqrt(expected))
    independent = rng.normal(0, 1, 60)
    grid = [np.repeat(np.arange(6), 10), np.tile(np.arange(10), 6)]
    independent -= independent.reshape(6, 10).mean(axis=1).repeat(10)
    one_way = 10 / 9 * float((np.bincount(grid[1], weights=independent) ** 2).sum())
    assert two_way_error(independent, grid) >= np.sqrt(one_way) - 1e-12


def test_few_dialogues_are_said_to_be_what_the_answer_is_about():
    """Twelve dialogues: a note with their number; a hundred: none; two: the answer by worker, with the note."""
    rng = np.random.default_rng(5)
    few, many, two = (
        crossed_share(won, np.ones_like(won), raters, [shown])
        for won, raters, shown in (_judged(rng, 40, 12), _judged(rng, 60, 100, 10), _judged(rng, 40, 2, 2))
    )
    assert few.details[ABOUT] == 12
    assert any(note.startswith("the answer is about these 12 dialogues") for note in few.notes)
    assert ABOUT not in many.details
    assert not any("about these" in note for note in many.notes)
    assert (two.details[ABOUT], two.details["n_workers"], is_by_both(two)) == (2, 40, False)
    assert two.p_value is not None


def test_one_dialogue_is_named_as_one():
    """Everybody judged the same: the answer by worker, about this dialogue."""
    won = np.array([1, 1, 0, 1, 1, 0, 1, 1.0])
    one = crossed_share(won, np.ones(8), np.arange(8), [np.zeros(8)])
    alone = clustered_share(cluster_sums(won, np.ones(8), np.arange(8)))
    assert (one.p_value, one.ci_low) == (alone.p_value, alone.ci_low)
    assert any("this one dialogue" in note for note in one.notes)


def test_where_nothing_differs_it_says_so():
    """All won, by everybody on every dialogue: the fewer of workers and dialogues count; all alike in between: by worker."""
    workers, dialogues = np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10)
    won = crossed_share(np.ones(40), np.ones(40), workers, [dialogues])
    by_dialogue = clustered_share(cluster_sums(np.ones(40), np.ones(40), dialogues), cluster="dialogue")
    assert (won.estimate, won.p_value, won.ci_low) == (1.0, by_dialogue.p_value, by_dialogue.ci_low)
    assert won.p_value > won.details["p_by_worker"]
    alike = crossed_mean(np.full(40, 3.0), workers, dialogues, null=3.0)
    assert (alike.estimate, alike.p_value, alike.ci_low) == (3.0, 1.0, None)


@pytest.mark.parametrize("workers", [1, 2])
def test_too_few_workers_are_named(workers):
    """One or two workers over many dialogues: no interval and no p, as without dialogues."""
    raters, shown = np.repeat(np.arange(workers), 20), np.tile(np.arange(20), workers)
    won = np.tile([1.0, 0.0], 10 * workers)
    result = crossed_share(won, np.ones_like(won), raters, [shown])
    assert (result.ci_low, result.p_value) == (None, None)
    assert any(too_few_clusters() in note for note in result.notes)


def test_nothing_and_missing_values():
    """Only ties: p = 1 and no estimate. nan does not count."""
    nothing = crossed_share(np.zeros(6), np.zeros(6), list("aabbcc"), [list("xyxyxy")])
    assert (nothing.estimate, nothing.p_value, nothing.n) == (None, 1.0, 0)
    rng = np.random.default_rng(6)
    values, raters, shown = _judged(rng, 12, 8, 4)
    holed = values.copy()
    holed[:5] = np.nan
    got, expected = crossed_mean(holed, raters, shown), crossed_mean(values[5:], raters[5:], shown[5:])
    assert got == expected
    assert is_by_both(got)
