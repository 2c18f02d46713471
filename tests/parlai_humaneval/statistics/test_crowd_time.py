"""Time to significance and variability over chunks: against plain loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_ind

from parlai_humaneval.statistics.raters.time import (
    chunk_variability,
    collection_time,
    cumulative_time,
    dialogues_needed,
    time_to_difference,
    time_to_significance,
)

answers = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40)), min_size=1, max_size=50)


@given(answers, st.sampled_from([0.5, 0.8]), st.integers(1, 10))
@settings(max_examples=50, deadline=None)
def test_time_to_significance_is_that_of_a_loop(pairs, p0, min_looks):
    """First and sustained time by testing after each answer with scipy."""
    outcomes, times = [x for x, _ in pairs], np.cumsum([t for _, t in pairs])
    got = time_to_significance(outcomes, times, p0=p0, min_looks=min_looks)
    p = [binomtest(sum(outcomes[:n]), n, p0).pvalue for n in range(1, len(outcomes) + 1)]
    below = [value < 0.05 and n >= min_looks for n, value in enumerate(p, start=1)]
    first = next((t for t, yes in zip(times, below, strict=True) if yes), None)
    sustained = next((t for i, t in enumerate(times) if all(below[i:])), None)
    assert (got.first, got.sustained) == (first, sustained)
    assert got.total == times[-1]
    np.testing.assert_allclose(got.p_values, p, rtol=1e-9)


def test_six_wins_in_a_row():
    """By hand: 2/2⁶ = .031 is the first p below .05."""
    found = time_to_significance([1] * 8, [10, 20, 30, 40, 50, 60, 70, 80])
    assert (found.first, found.sustained, found.n) == (60.0, 60.0, 8)
    assert found.anytime is None


def test_the_time_that_allows_for_looking_comes_later():
    """The e-process needs more than the first look that happens to cross."""
    found = time_to_significance([1] * 40, np.arange(40))
    assert found.first == 5.0
    assert found.anytime is not None
    assert found.anytime > found.first


def test_no_answers():
    """Nothing was seen: no time, no p."""
    found = time_to_significance([], [])
    assert (found.first, found.sustained, found.anytime, found.total, found.n) == (None, None, None, None, 0)


@pytest.mark.parametrize(
    ("outcomes", "times", "words"),
    [
        ([1, 0], [1], "each outcome needs its time"),
        ([1, 0], [2, 1], "must not decrease"),
        ([1, 0.5], [1, 2], "leave ties out"),
        ([1, 0], [1, float("nan")], "without missing"),
    ],
)
def test_bad_outcomes_and_times_are_refused(outcomes, times, words):
    """The message says what is wrong."""
    with pytest.raises(ValueError, match=words):
        time_to_significance(outcomes, times)


def test_time_to_a_difference_of_ratings():
    """The t test of single-model techniques: the first look at which scipy finds p < .05."""
    rng = np.random.default_rng(3)
    of_a = np.tile([True, False], 60)
    values = np.where(of_a, 4.0, 3.2) + rng.normal(0, 0.8, 120)
    found = time_to_difference(values, of_a, np.arange(1, 121) * 7.0, min_looks=4)
    p = [ttest_ind(values[:n][of_a[:n]], values[:n][~of_a[:n]]).pvalue for n in range(4, 121)]
    first = next(n for n, value in enumerate(p, start=4) if value < 0.05)
    assert found.first == 7.0 * first
    assert found.sustained is not None
    assert found.anytime is None


def test_onboarding_counts_once_for_each_worker():
    """Paid when a worker comes, not again with the next answer."""
    got = cumulative_time([10, 10, 10, 10], ["a", "b", "a", "c"], onboarding=100)
    assert got.tolist() == [110.0, 220.0, 230.0, 340.0]
    assert cumulative_time([1, 2], ["a", "a"]).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("durations", [[1.0, float("nan")], [1.0, -1.0]])
def test_unknown_durations_are_refused(durations):
    """A missing time would silently make a technique cheap."""
    with pytest.raises(ValueError, match="known and not negative"):
        cumulative_time(durations, ["a", "b"])


@given(st.integers(0, 3_000), st.none() | st.integers(1, 30))
def test_dialogues_needed_is_the_least_number_that_will_do(n, reuse):
    """N² pairs at most, and N·reuse judgements at most; one dialogue less would not do."""
    needed = int(dialogues_needed([n], reuse)[0])

    def enough(dialogues: int) -> bool:
        return dialogues**2 >= n and (reuse is None or dialogues * reuse >= n)

    assert enough(needed)
    assert needed == 0 or not enough(needed - 1)


def test_collecting_dialogues_of_both_models():
    """Nine judgements need three dialogues of each model, a tenth a fourth; without reuse every one needs its own."""
    assert collection_time([1, 9, 10], 5.0).tolist() == [10.0, 30.0, 40.0]
    assert collection_time([10], 5.0, reuse=1).tolist() == [100.0]
    with pytest.raises(ValueError, match="reuse"):
        dialogues_needed([1], 0)


@given(answers, st.sampled_from([1.0, 45.0, 60.0]), st.integers(0, 1))
def test_chunks_are_those_of_a_loop(pairs, chunk, ddof):
    """Answers fill a chunk until it is full, then the next begins; a rest does not count."""
    rates, held, spent = [], [], 0
    for outcome, duration in pairs:
        held.append(outcome)
        spent += duration
        if spent >= chunk:
            rates.append(float(np.mean(held)))
            held, spent = [], 0
    got = chunk_variability([x for x, _ in pairs], [t for _, t in pairs], chunk=chunk, ddof=ddof)
    assert got.rates == pytest.approx(rates)
    expected = float(np.std(rates, ddof=ddof)) if len(rates) > ddof else None
    assert got.sd == (None if expected is None else pytest.approx(expected))


def test_rounding_does_not_keep_a_chunk_open():
    """Eight answers of 0.1 minutes are 0.8 minutes, though their floating-point sum falls short of it."""
    assert np.cumsum([0.1] * 8)[-1] < 0.8
    got = chunk_variability([1] * 8, [0.1] * 8, chunk=0.8)
    assert got.rates == [1.0]
    assert chunk_variability([1], [44.0]).sd is None


@pytest.mark.parametrize(
    ("outcomes", "durations", "chunk"),
    [([1], [1, 2], 45.0), ([1], [-1], 45.0), ([float("nan")], [1], 45.0), ([], [], 0.0)],
)
def test_bad_chunks_are_refused(outcomes, durations, chunk):
    """Missing outcomes, negative durations, chunks of no length."""
    with pytest.raises(ValueError, match="outcomes and durations"):
        chunk_variability(outcomes, durations, chunk=chunk)
