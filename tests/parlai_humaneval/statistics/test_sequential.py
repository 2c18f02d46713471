"""Looks at a growing study: the vectorised p-values are those of scipy, and the e-process keeps its promise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_ind

from parlai_humaneval.statistics.core.sequential import (
    Crossing,
    anytime_p_values,
    crossing,
    e_values,
    t_p_values,
)
from parlai_humaneval.statistics.core.shares import binomial_p_values

outcomes = st.lists(st.integers(0, 1), min_size=1, max_size=60)


@given(outcomes, st.sampled_from([0.5, 0.8, 0.25, 1 / 3, 0.02, 0.9]))
@settings(max_examples=60, deadline=None)
@example([1] * 12, 0.25)
@example([0, 0, 1], 1 / 3)
def test_every_look_is_scipys_binomial_test(answers, p0):
    """All looks at once give what the exact test gives one by one, for any chance p0."""
    k = np.cumsum(answers)
    n = np.arange(1, len(k) + 1)
    expected = [binomtest(int(a), int(b), p0).pvalue for a, b in zip(k, n, strict=True)]
    np.testing.assert_allclose(binomial_p_values(k, n, p0), expected, rtol=1e-9)


@given(outcomes, st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_wins_and_losses_may_be_swapped(answers, p0):
    """p does not depend on which model is called A."""
    k, n = np.cumsum(answers), np.arange(1, len(answers) + 1)
    np.testing.assert_allclose(binomial_p_values(k, n, p0), binomial_p_values(n - k, n, 1 - p0), rtol=1e-6)


def test_nothing_tried_is_no_evidence():
    """n = 0 gives p = 1, and an empty list an empty one."""
    assert binomial_p_values([0, 0], [0, 1], 0.3).tolist() == [1.0, pytest.approx(binomtest(0, 1, 0.3).pvalue)]
    assert binomial_p_values([], []).size == 0
    assert e_values([]).size == anytime_p_values([]).size == t_p_values([], []).size == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: binomial_p_values([2], [1]), "successes"),
        (lambda: binomial_p_values([1], [1, 2]), "equally long"),
        (lambda: binomial_p_values([1], [1], 1.0), "between 0 and 1"),
        (lambda: e_values([0, 0.5]), "leave ties out"),
        (lambda: e_values([1, float("nan")]), "0 and 1"),
        (lambda: e_values([1], 0.5, weight=0), "weight"),
        (lambda: t_p_values([1.0, float("nan")], [True, False]), "missing"),
        (lambda: t_p_values([1.0], [True, False]), "same length"),
    ],
)
def test_what_cannot_be_used_is_refused(call, words):
    """Ties, missing values and impossible counts are named, not computed with."""
    with pytest.raises(ValueError, match=words):
        call()


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=40))
@settings(max_examples=50, deadline=None)
def test_every_look_is_scipys_t_test(rated):
    """The running t test equals scipy's on what is there so far; where that has no answer, p is 1."""
    values, of_a = np.array([v for v, _ in rated], dtype=float), np.array([a for _, a in rated])
    got = t_p_values(values, of_a)
    for look in range(1, len(values) + 1):
        a, b = values[:look][of_a[:look]], values[:look][~of_a[:look]]
        spread = a.size and b.size and a.size + b.size > 2 and (np.ptp(a) > 0 or np.ptp(b) > 0)
        expected = ttest_ind(a, b).pvalue if spread else 1.0
        assert got[look - 1] == pytest.approx(expected, abs=1e-9)


def test_a_high_mean_costs_no_digits():
    """Ratings around a million have the p-values of the same ratings around 0."""
    rng = np.random.default_rng(4)
    values, of_a = rng.normal(size=200), rng.random(200) < 0.5
    np.testing.assert_allclose(t_p_values(values + 1e6, of_a), t_p_values(values, of_a), rtol=1e-6)


@pytest.mark.parametrize(("p0", "weight"), [(0.5, 20.0), (0.3, 4.0)])
def test_the_mean_of_the_e_process_is_one(p0, weight):
    """Over all 2⁸ courses of eight answers, by their chance under p0, at every look: the property that makes it valid."""
    courses = np.array(list(product([0, 1], repeat=8)))
    chances = np.prod(np.where(courses == 1, p0, 1 - p0), axis=1)
    values = np.array([e_values(monitor, p0, weight=weight) for monitor in courses])
    np.testing.assert_allclose(chances @ values, np.ones(8), rtol=1e-9)


def test_looking_after_every_answer_is_allowed():
    """Of equal models' studies at most 5 % ever cross with the e-process; a third does with the binomial test."""
    rng = np.random.default_rng(11)
    studies = rng.integers(0, 2, (1_000, 400))
    n = np.arange(1, 401)
    naive = np.mean([(binomial_p_values(study.cumsum(), n) < 0.05).any() for study in studies])
    allowed = np.mean([(anytime_p_values(study) < 0.05).any() for study in studies])
    assert naive > 0.25
    assert 0.005 < allowed <= 0.05


@given(outcomes)
def test_anytime_p_never_rises(answers):
    """Evidence once seen is kept, and p is a probability."""
    p = anytime_p_values(answers)
    assert (np.diff(p) <= 1e-12).all()
    assert (p <= 1).all()
    assert (p > 0).all()


def test_overwhelming_evidence_stays_finite():
    """100,000 wins in a row are no overflow."""
    assert np.isfinite(e_values(np.ones(100_000))).all()


@pytest.mark.parametrize(
    ("p", "looks", "expected"),
    [
        ([], 1, Crossing(None, None)),
        ([0.2, 0.05], 1, Crossing(None, None)),
        ([0.2, 0.01, 0.2, 0.01, 0.001], 1, Crossing(1, 3)),
        ([0.2, 0.01, 0.2], 1, Crossing(1, None)),
        ([0.01, 0.01], 1, Crossing(0, 0)),
        ([0.01, 0.01, 0.01], 3, Crossing(2, 2)),
        ([0.01, 0.01], 3, Crossing(None, None)),
    ],
)
def test_first_and_sustained_crossing(p, looks, expected):
    """p = α is not below it; sustained holds to the end; looks before the first allowed one do not count."""
    assert crossing(p, min_looks=looks) == expected
