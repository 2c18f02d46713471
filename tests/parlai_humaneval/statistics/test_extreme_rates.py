"""Rates near 0 and 1: one statement with the interval, right error rates, and no false certainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.shares import ClusteredRate, extreme_rate_test

failures = st.lists(st.tuples(st.integers(0, 3), st.integers(3, 40)), min_size=4, max_size=30)


@settings(max_examples=100, deadline=None)
@given(failures, st.sampled_from([0.5, 0.8, 0.95]))
def test_p_and_interval_are_one_statement(pairs, null):
    """p is below .05 exactly where the interval leaves the hypothesis out; and the share lies inside."""
    observed = ClusteredRate.of([n - missed for missed, n in pairs], [n for _, n in pairs])
    (p,), low, high = extreme_rate_test(observed, [null])
    assert 0 <= low <= observed.share <= high <= 1
    assert (p < 0.05) == (low > null or high < null)


@given(failures)
@settings(max_examples=50, deadline=None)
def test_failures_mirror_successes(pairs):
    """Near 0 it is the same test as near 1."""
    missed, trials = np.array(pairs, dtype=float).T
    (p,), low, high = extreme_rate_test(ClusteredRate.of(trials - missed, trials), [0.9])
    (p_of_failures,), low_of, high_of = extreme_rate_test(ClusteredRate.of(missed, trials), [0.1])
    assert p == pytest.approx(p_of_failures, abs=1e-9)
    assert (low, high) == pytest.approx((1 - high_of, 1 - low_of), abs=1e-9)


def test_workers_of_one_answer_each_are_clopper_and_pearson():
    """Nothing is alike where each gave one answer: up to twelve the exact interval of a library."""
    for wins in (8, 11, 12):
        _, low, high = extreme_rate_test(ClusteredRate.of([1] * wins + [0] * (12 - wins), [1] * 12), [0.5])
        assert (low, high) == pytest.approx(proportion_confint(wins, 12, method="beta"), abs=2e-4)


def test_all_won_gives_no_false_certainty():
    """Five workers, every turn won: each counts about as one answer, so p is about 2/2⁵ and ½ is not excluded."""
    got = clustered_share(cluster_sums([6] * 5, [6] * 5, range(5)))
    assert got.p_value == pytest.approx(2 / 2**5, rel=0.02)
    assert got.ci_low == pytest.approx(proportion_confint(5, 5, method="beta")[0], abs=0.005)
    assert got.ci_high == 1
    assert any("the same share" in note for note in got.notes)


@pytest.mark.parametrize(("rate", "workers"), [(0.95, 20), (0.85, 50)])
def test_unequal_workers_at_a_high_baseline(rate, workers):
    """Loads as in crowds, ICC .17: the clustered t test rejects the true rate of .95 in a seventh of studies or more."""
    rng = np.random.default_rng(round(100 * rate) + workers)
    strength = (1 - 0.17) / 0.17
    p_values = []
    for _ in range(200):  # .05 with an error of .015; a seventh with one of .025
        trials = 6 * np.clip(np.ceil(3.2 * np.exp(rng.normal(0, 1.1, workers))), 1, 25).astype(int)
        wins = rng.binomial(trials, rng.beta(rate * strength, (1 - rate) * strength, workers))
        p_values.append(clustered_share(cluster_sums(wins, trials, range(workers)), null=rate).p_value)
    assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.08
