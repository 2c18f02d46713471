"""The papers' tests of who is chosen from several, against reference cases, libraries and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.preference.tests import cochran_q_test, goodness_of_fit_test, mcnemar_test

matrices = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.sampled_from([0, 1]), min_size=k, max_size=k), min_size=1, max_size=30)
)


def cases(gold_cases, function):
    found = [case for case in gold_cases if case["function"] == function]
    assert found
    return found


def test_reference_cases(gold_cases):
    """McNemar without correction, Cochran's Q and Pearson's χ², ties among them."""
    for case in cases(gold_cases, "mcnemar"):
        got = mcnemar_test(*case["args"])
        assert (got.statistic, got.p_value) == pytest.approx((case["expected"]["chi2"], case["expected"]["p_chi2"]))
    for case in cases(gold_cases, "cochran_q"):
        got = cochran_q_test(*case["args"])
        assert (got.statistic, got.p_value) == pytest.approx((case["expected"]["Q"], case["expected"]["p"]))
        assert got.details["df"] == case["expected"]["df"]
    for case in cases(gold_cases, "gof"):
        got = goodness_of_fit_test(*case["args"])
        assert (got.statistic, got.p_value) == pytest.approx((case["expected"]["chi2"], case["expected"]["p"]))


@settings(max_examples=60, deadline=None)
@given(chosen=matrices)
def test_cochrans_q_is_that_of_statsmodels(chosen):
    """And at two models it is McNemar's χ²."""
    from statsmodels.stats.contingency_tables import cochrans_q

    x = np.array(chosen)
    got = cochran_q_test(x)
    if (x == x[:, :1]).all():
        assert (got.statistic, got.p_value) == (0, 1)
        return
    expected = cochrans_q(x)
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    if x.shape[1] == 2:
        pair = mcnemar_test(int((x[:, 0] > x[:, 1]).sum()), int((x[:, 0] < x[:, 1]).sum()), n=len(x))
        assert (pair.statistic, pair.p_value) == pytest.approx((got.statistic, got.p_value))
        assert pair.estimate == pytest.approx(x[:, 0].mean() - x[:, 1].mean())


@pytest.mark.parametrize(
    "result",
    [
        mcnemar_test(0, 0),
        cochran_q_test([]),
        cochran_q_test(np.zeros((0, 4))),
        goodness_of_fit_test([0, 0, 0]),
        goodness_of_fit_test([7]),
    ],
)
def test_nothing_to_tell_apart_is_p_one(result):
    """No turns, or one model alone: no statistic that is nan, and the reason stands there."""
    assert result.p_value == 1
    assert result.statistic == 0
    assert result.notes or result.n


def test_all_ties_are_said():
    """Both chosen in all of three turns."""
    assert cochran_q_test([[1, 1]] * 3).notes == ("every turn is a tie: nothing distinguishes the models",)
    assert mcnemar_test(0, 0, n=3).estimate == 0
