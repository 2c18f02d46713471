"""Share not spotted within k exchanges, and Kendall's τ-b, against the reference and other packages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.isotonic import isotonic_regression

from parlai_humaneval.statistics.core.ranks import kendall_tau_b, tau_b_of_pairs
from parlai_humaneval.statistics.survival.curve import survival

SEEN = st.lists(st.tuples(st.sampled_from([1, 2, 3, 5, 8]), st.booleans()), min_size=1, max_size=60)
SCORES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=8)


def test_reference_survival(gold_cases):
    """Published cases of the interval-censored estimate."""
    cases = [case for case in gold_cases if case["function"] == "turnbull_pava" and not case["kwargs"]]
    assert cases
    for case in cases:
        k, spotted = case["args"][:2]
        assert survival(k, spotted) == pytest.approx({int(x): s for x, s in case["expected"]}, abs=case["tolerance"])


def test_survival_by_hand():
    """3 of 4 spotted after 2 exchanges, 1 of 4 after 3: nobody comes back to life, so both are 4 of 8."""
    assert survival([2] * 4 + [3] * 4, [1, 1, 1, 0, 1, 0, 0, 0]) == {2: 0.5, 3: 0.5}
    assert survival([], []) == {}


@settings(max_examples=80, deadline=None)
@given(SEEN)
def test_survival_is_weighted_isotonic_regression(seen):
    """As scikit-learn has it; it never rises, and the order of rows changes nothing."""
    k, spotted = (np.array(values) for values in zip(*seen, strict=True))
    lengths = np.unique(k)
    shares = np.array([spotted[k == length].mean() for length in lengths])
    weights = np.array([(k == length).sum() for length in lengths], dtype=float)
    found = survival(k, spotted)
    expected = 1 - isotonic_regression(shares, sample_weight=weights)
    assert list(found.values()) == pytest.approx(list(expected))
    assert all(a >= b - 1e-12 for a, b in zip(found.values(), list(found.values())[1:], strict=False))
    assert survival(k[::-1], spotted[::-1]) == pytest.approx(found)


def test_reference_tau(gold_cases):
    """τ-b of the cases that count ties."""
    cases = [case for case in gold_cases if case["function"] == "kendall_tau_b"]
    assert cases
    for case in cases:
        assert kendall_tau_b(*case["args"]) == pytest.approx(case["expected"], abs=case["tolerance"])


@settings(max_examples=80, deadline=None)
@given(SCORES)
def test_tau_is_that_of_scipy(both):
    """Ties in either list; none where one of them ties everything."""
    x, y = zip(*both, strict=True)
    expected = kendalltau(x, y).statistic
    found = kendall_tau_b(x, y)
    assert found is None if np.isnan(expected) else found == pytest.approx(expected)


def test_many_orders_at_once():
    """Two orders in one call, in the order of their first pair; the third ties everything."""
    tau = tau_b_of_pairs([1, 1, 1, 1, 1], [1, 1, -1, -1, 0], ["p", "p", "q", "p", "r"])
    assert tau[:2] == pytest.approx([1 / 3, -1])
    assert np.isnan(tau[2])
