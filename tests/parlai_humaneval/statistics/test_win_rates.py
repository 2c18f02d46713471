"""Lin, Sqr and WTA: exact cases, reference cases, and what must hold for any dialogues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.shares import binomial_p, binomial_test, wald_interval, wilson_interval
from parlai_humaneval.statistics.preference.win_rates import (
    lin_pooled,
    linear_win_rate,
    squared_win_rate,
    winner_takes_all,
)

PAPER = [[5, 0], [3, 2], [2, 3], [0, 5], [4, 1]]
FUNCTIONS = {
    "lin": linear_win_rate,
    "lin_pooled": lin_pooled,
    "sqr": squared_win_rate,
    "wta": winner_takes_all,
    "binom_two_sided": binomial_p,
    "wald_ci": wald_interval,
    "wilson_ci": wilson_interval,
}
dialogues = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_reference_cases(gold_cases, function):
    """Every reference case of this topic, to its own tolerance."""
    cases = [case for case in gold_cases if case["function"] == function]
    assert cases
    for case in cases:
        kwargs = {{"conf": "level"}.get(key, key): value for key, value in case["kwargs"].items()}
        got = FUNCTIONS[function](*case["args"], **kwargs)
        if case["expected"] is None:
            assert got is None
        else:
            expected = np.atleast_1d(case["expected"])
            allowed = case["tolerance"] * np.maximum(1, np.abs(expected))
            assert (np.abs(np.atleast_1d(got) - expected) <= allowed).all(), case


def test_exact_cases():
    """Worked by hand: five dialogues won 5:0, 3:2, 2:3, 0:5, 4:1."""
    assert linear_win_rate(3, 1) == 0.75
    assert linear_win_rate(0, 0) is None
    assert lin_pooled(PAPER) == 14 / 25
    assert squared_win_rate(PAPER) == pytest.approx((1 + 9 / 13 + 4 / 13 + 0 + 16 / 17) / 5)
    assert winner_takes_all(PAPER) == 3 / 5


@pytest.mark.parametrize(("ties", "expected"), [("half", 0.5), ("exclude", 0.5), ("loss", 0.25)])
def test_ties_of_wta(ties, expected):
    """Two tied dialogues, one won, one lost, under each rule."""
    assert winner_takes_all([[3, 3], [4, 2], [2, 4], [3, 3]], ties=ties) == expected


@pytest.mark.parametrize("empty", [[], [[0, 0]], [[0, 0], [0, 0]]])
@pytest.mark.parametrize("rate", [lin_pooled, squared_win_rate, winner_takes_all])
def test_nothing_decided_has_no_rate(rate, empty):
    """0/0 is undefined, not 0."""
    assert rate(empty) is None


def test_binomial_and_intervals_exact():
    """Values that can be checked in any statistics table."""
    assert binomial_p(10, 10) == pytest.approx(2 / 1024)
    assert binomial_p(0, 0) == 1
    assert [binomial_p(k, 3, p) for p in (0, 1) for k in (0, 1, 3)] == [1, 0, 0, 0, 0, 1]
    assert wald_interval(111, 128) == pytest.approx((0.8083953846, 0.9259796154))
    assert wilson_interval(111, 128) == pytest.approx((0.7975798331, 0.9153977147))
    assert wald_interval(0, 0) is wilson_interval(0, 0) is None
    empty = binomial_test(0, 0)
    assert (empty.estimate, empty.p_value, empty.ci_low) == (None, 1, None)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(k, n):
    """More successes than trials is a mistake of the caller, said so."""
    for function in (binomial_p, wald_interval, wilson_interval):
        with pytest.raises(ValueError, match="0 ≤ successes ≤ trials"):
            function(k, n)


@given(dialogues)
@pytest.mark.parametrize("rate", [lin_pooled, squared_win_rate, winner_takes_all])
def test_swapping_the_models_gives_the_rest(rate, won_lost):
    """No rate depends on which model is called the first; each stays between 0 and 1."""
    got, swapped = rate(won_lost), rate([(lost, won) for won, lost in won_lost])
    if got is None:
        assert swapped is None
    else:
        assert got + swapped == pytest.approx(1)
        assert 0 <= got <= 1


@given(dialogues, st.randoms())
@pytest.mark.parametrize("rate", [lin_pooled, squared_win_rate, winner_takes_all])
def test_order_of_dialogues_does_not_matter(rate, won_lost, random):
    """Shuffled data gives the same answer."""
    shuffled = won_lost.copy()
    random.shuffle(shuffled)
    got, expected = rate(shuffled), rate(won_lost)
    assert got is expected is None or got == pytest.approx(expected)


@given(st.integers(0, 40), st.integers(1, 40), st.floats(0.5, 0.99))
def test_intervals_hold_the_estimate_and_are_symmetric(k, extra, level):
    """Wilson stays within 0–1 and contains k/n; counting failures mirrors it."""
    n = k + extra
    low, high = wilson_interval(k, n, level)
    assert 0 <= low <= k / n + 1e-12
    assert k / n - 1e-12 <= high <= 1
    assert wilson_interval(n - k, n, level) == pytest.approx((1 - high, 1 - low))
