"""Clustered means and differences, and the paper's t test: against regressions of a library, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, t_test

values = st.lists(st.integers(1, 5), min_size=2, max_size=40)


def regression(y, x, workers):
    """OLS with the cluster sandwich of statsmodels, and our G/(G−1)."""
    import statsmodels.api as sm

    groups = np.unique(workers, return_inverse=True)[1]
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    g = groups.max() + 1
    return fit.params, fit.bse * np.sqrt(g / (g - 1))


def test_a_mean_and_its_error_are_those_of_a_clustered_regression():
    """40 ratings of 8 workers."""
    rng = np.random.default_rng(1)
    workers = np.repeat([f"w{i}" for i in range(8)], 5)
    y = rng.normal(3, 1, 40) + np.repeat(rng.normal(0, 1, 8), 5)
    (mean,), (error,) = regression(y, np.ones((40, 1)), workers)
    got = clustered_mean(y, workers, null=3)
    assert (got.estimate, got.details["standard_error"]) == pytest.approx((mean, error))
    assert got.statistic == pytest.approx((mean - 3) / error)


def test_a_difference_and_its_error_are_those_of_a_clustered_regression():
    """Workers who rated both models, and some who rated one."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(3, 1, 30), rng.normal(4, 1, 24)
    of_a, of_b = np.repeat([f"w{i}" for i in range(10)], 3), np.repeat([f"w{i}" for i in range(4, 12)], 3)
    x = np.column_stack([np.ones(54), np.r_[np.ones(30), np.zeros(24)]])
    (_, gap), (_, error) = regression(np.r_[a, b], x, np.r_[of_a, of_b])
    got = clustered_difference(a, of_a, b, of_b)
    assert (got.estimate, got.details["standard_error"]) == pytest.approx((gap, error))
    assert got.details["n_workers"] == 12


@settings(max_examples=60, deadline=None)
@given(a=values, b=values)
def test_the_t_test_is_that_of_scipy(a, b):
    """Where a variance can be estimated; elsewhere it is the exact permutation test."""
    from scipy.stats import ttest_ind

    got = t_test(a, b)
    if len({*a}) == len({*b}) == 1:
        of_deals = (2 if len(a) == len(b) else 1) / math.comb(len(a) + len(b), len(a))
        assert got.p_value == pytest.approx(1.0 if a[0] == b[0] else of_deals)
        return
    expected = ttest_ind(a, b)
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(y=values, order=st.randoms(use_true_random=False))
def test_order_does_not_matter(y, order):
    """Rows in another order, the same interval."""
    workers = [f"w{i % 3}" for i in range(len(y))]
    rows = list(zip(y, workers, strict=True))
    order.shuffle(rows)
    one, other = clustered_mean(y, workers), clustered_mean(*zip(*rows, strict=True))
    assert (one.estimate, one.ci_low or 0) == pytest.approx((other.estimate, other.ci_low or 0))


def test_no_observations_one_worker_and_equal_workers():
    """Nothing is invented: no interval where the data cannot say, p = 1 with no data."""
    empty = clustered_mean([], [], null=0)
    assert (empty.estimate, empty.p_value, empty.n) == (None, 1, 0)
    one = clustered_mean([1, 2], ["w", "w"], null=0)
    assert (one.estimate, one.ci_low, one.p_value) == (1.5, None, None)
    two = clustered_mean([1, 0, 0], ["v", "w", "w"], null=0, limits=(-1, 1))
    assert (two.ci_low, two.p_value) == (None, None)
    assert two.notes == ("too few raters for an interval and a p-value (at least 3 are needed)",)
    equal = clustered_mean([1, 1, 1, 1], ["v", "v", "w", "x"], null=0)
    assert (equal.ci_low, equal.p_value) == (None, 2**-2)
    assert clustered_mean([0, 0, 0], ["v", "w", "x"], null=0).p_value == 1
    assert clustered_difference([], [], [1], ["w"]).p_value == 1
    assert t_test([], [1]).p_value == 1
    assert clustered_mean([1, np.nan], ["v", "w"]).n == 1


def test_a_difference_of_shares_stays_within_one():
    """By hand: 1, 0, 0 of three workers is 1/3 with error 1/3; ±4.3027/3 would be −1.10 to 1.77."""
    workers = ["u", "v", "w"]
    free = clustered_mean([1, 0, 0], workers, null=0)
    assert (free.ci_low, free.ci_high) == pytest.approx((1 / 3 - 4.302653 / 3, 1 / 3 + 4.302653 / 3))
    cut = clustered_mean([1, 0, 0], workers, null=0, limits=(-1, 1))
    assert (cut.ci_low, cut.ci_high) == (-1, 1)
    assert cut.p_value == free.p_value
    assert cut.notes[-1] == "the interval was cut at the end of the possible range"
    gap = clustered_difference([1, 1, 0], workers, [0, 0, 1], workers, limits=(-1, 1))
    assert -1 <= gap.ci_low <= gap.estimate <= gap.ci_high <= 1
