"""Least squares: numpy's coefficients, statsmodels' intervals, and no number where the data give none."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.ratings.likert import ols


def _data(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k))
    return x, x @ np.arange(1, k + 1) + rng.normal(size=n), rng.integers(0, 12, n)


@given(st.integers(8, 60), st.integers(1, 5), st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_coefficients_are_those_of_the_normal_equations(n, k, seed):
    """Intercept first, then a coefficient a column; rows may come in any order."""
    x, y, _ = _data(n, k, seed)
    expected = np.linalg.lstsq(np.column_stack([np.ones(n), x]), y, rcond=None)[0]
    assert [result.estimate for result in ols(x, y)] == pytest.approx(expected, abs=1e-8)
    order = np.random.default_rng(seed).permutation(n)
    assert [result.estimate for result in ols(x[order], y[order])] == pytest.approx(expected, abs=1e-8)


def test_classical_intervals_are_statsmodels():
    """t with n − k − 1 degrees of freedom."""
    x, y, _ = _data(40, 3, 1)
    fit = sm.OLS(y, sm.add_constant(x)).fit()
    for result, (low, high), p in zip(ols(x, y), fit.conf_int(), fit.pvalues, strict=True):
        assert (result.ci_low, result.ci_high, result.p_value) == pytest.approx((low, high, p))
        assert result.details["df"] == 36


def test_clustered_intervals_are_statsmodels_cr1():
    """Clustered by worker: another interval about the same coefficient, with workers − 1 degrees of freedom."""
    x, y, workers = _data(80, 3, 2)
    fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": workers}, use_t=True)
    got = ols(x, y, clusters=[f"w{w}" for w in workers], names=["one", "two", "three"])
    assert [result.name for result in got] == ["intercept", "one", "two", "three"]
    for result, (low, high), p in zip(got, fit.conf_int(), fit.pvalues, strict=True):
        assert (result.ci_low, result.ci_high, result.p_value) == pytest.approx((low, high, p))
        assert result.details["df"] == len(set(workers)) - 1


def test_terms_that_cannot_be_told_apart_have_no_estimate():
    """A constant column and two equal ones; what stands alone keeps its coefficient."""
    x, y, _ = _data(30, 2, 3)
    result = ols(np.column_stack([x, x[:, 1]]), y, names=["alone", "same", "same again"])
    by_name = {one.name: one for one in result}
    assert by_name["alone"].estimate is not None
    assert by_name["same"].estimate is by_name["same again"].estimate is None
    assert "cannot be separated" in by_name["same"].notes[0]
    constant = ols(np.ones(30), y)
    assert [one.estimate for one in constant] == [None, None]


def test_no_interval_where_no_error_is_left():
    """As many terms as rows, or a perfect fit: the coefficients stand, the interval does not."""
    for x, y in (([0, 1], [1, 3]), ([0, 1, 2, 3], [1, 3, 5, 7])):
        intercept, slope = ols(x, y)
        assert (intercept.estimate, slope.estimate) == (pytest.approx(1), pytest.approx(2))
        assert slope.ci_low is slope.p_value is None
        assert slope.notes


def test_few_workers_give_no_clustered_interval():
    """Two workers, or no more workers than terms."""
    x, y, _ = _data(40, 3, 4)
    for workers in (np.arange(40) % 2, np.arange(40) % 4):
        got = ols(x, y, clusters=workers)
        assert all(one.ci_low is None and one.estimate is not None and one.notes for one in got)


@pytest.mark.parametrize(
    ("x", "y", "more", "words"),
    [
        ([[1.0], [2.0]], [1.0], {}, "a row for each"),
        ([1.0, float("nan")], [1.0, 2.0], {}, "missing"),
        ([], [], {}, "no observations"),
        ([1.0, 2.0], [1.0, 2.0], {"names": ["a", "b"]}, "2 names for 1 columns"),
        ([1.0, 2.0], [1.0, 2.0], {"clusters": ["w", None]}, "needs its rater"),
    ],
)
def test_what_cannot_be_used_is_refused(x, y, more, words):
    """Shapes that do not fit, missing values, no data."""
    with pytest.raises(ValueError, match=words):
        ols(x, y, **more)
