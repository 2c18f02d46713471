"""Win rates of single models and combined ones: reference cases, plain references, edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.shares import wald_interval
from parlai_humaneval.statistics.preference.win_rates import (
    effective_win_rate,
    effective_win_test,
    pw_combo_score,
    sm_combo_score,
    sm_wta,
    sm_wta_scores,
)

FUNCTIONS = {"sm_wta": sm_wta, "effective_win_rate": effective_win_rate, "combo": pw_combo_score}
scores = st.lists(st.integers(1, 5), min_size=1, max_size=25)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_reference_cases_of_single_models(gold_cases, function):
    """Every reference case, to its own tolerance; None where nothing is decided."""
    cases = [case for case in gold_cases if case["function"] == function]
    assert cases
    for case in cases:
        got = FUNCTIONS[function](*case["args"], **case["kwargs"])
        if case["expected"] is None:
            assert got is None
        else:
            assert got == pytest.approx(case["expected"], abs=case["tolerance"])


def plain_effective(a, b, ties):
    """All pairs, one by one."""
    wins = sum(x > y for x in a for y in b)
    equal = sum(x == y for x in a for y in b)
    counted = len(a) * len(b) - (equal if ties == "exclude" else 0)
    return (wins + (equal / 2 if ties == "half" else 0)) / counted if counted else None


@settings(deadline=None)
@given(a=scores, b=scores, ties=st.sampled_from(["half", "exclude", "strict"]))
def test_effective_win_rate_is_that_of_all_pairs(a, b, ties):
    """By ranks as by comparing each score with each; swapping the models gives the rest, but for "strict"."""
    got, swapped = effective_win_rate(a, b, ties), effective_win_rate(b, a, ties)
    expected = plain_effective(a, b, ties)
    assert got is expected is None or got == pytest.approx(expected)
    if got is not None and ties != "strict":
        assert got + swapped == pytest.approx(1)


@settings(deadline=None, max_examples=50)
@given(a=scores, b=scores)
def test_effective_win_rate_is_mann_whitney(a, b):
    """U / (n·m) of scipy."""
    from scipy.stats import mannwhitneyu

    assert effective_win_rate(a, b) == pytest.approx(mannwhitneyu(a, b).statistic / (len(a) * len(b)))


def test_large_scores_need_little_memory():
    """100,000 against 100,000 are 10¹⁰ pairs, which no matrix holds; equal shares of 0, 1, 2 give ½."""
    a = np.arange(100_000) % 3
    assert effective_win_rate(a, a) == pytest.approx(0.5)
    assert effective_win_rate(a + 1, a, "strict") == pytest.approx(6 / 9, abs=1e-4)  # 1 beats 0; 2 beats 0, 1; 3 all


def test_nothing_to_compare_and_missing_scores():
    """No scores: no rate. A missing score is a mistake of the caller."""
    assert effective_win_rate([], [1, 2]) is effective_win_rate([1], []) is None
    with pytest.raises(ValueError, match="score is missing"):
        effective_win_rate([1, float("nan")], [2])
    assert sm_wta([]) is sm_wta([[0, 0]]) is None
    with pytest.raises(ValueError, match="successes ≤ turns"):
        sm_wta([[3, 2]])


def test_half_of_the_turns_is_a_success():
    """2 of 4 counts, 1 of 3 does not; a dialogue without turns is left out."""
    assert sm_wta_scores(np.array([2.0, 1, 0]), np.array([4.0, 3, 0])).tolist()[:2] == [1, 0]
    assert sm_wta([[2, 4], [1, 3], [0, 0]]) == 0.5


def test_published_combinations(gold_cases):
    """Smith et al. 2022, Table 3: Lin of turns 2–6 and self-chats at 1:5, within rounding, in percent as in shares."""
    assert pw_combo_score(67, 82) == pytest.approx(79.5)
    assert pw_combo_score(0.84, 0.61) == pytest.approx(0.6483, abs=1e-4)
    assert pw_combo_score(52, 55) == pytest.approx(54.5)
    assert pw_combo_score(0.2, 0.8, 1, 0) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="not both 0"):
        pw_combo_score(0.2, 0.8, 0, 0)


def test_turns_and_ratings_of_a_conversation():
    """Likert 1–5 is brought to 0–1: 3 is ½; at 1:1 with a lost dialogue that is ¼, and 5 with a won one is 1."""
    assert sm_combo_score([0, 1, 1], [3, 5, 1], 1, 1).tolist() == pytest.approx([0.25, 1, 0.5])
    assert sm_combo_score([1], [1]).tolist() == pytest.approx([1 / 6])
    with pytest.raises(ValueError, match="from 1 to 5"):
        sm_combo_score([1], [6])
    with pytest.raises(ValueError, match="one of each per conversation"):
        sm_combo_score([1, 0], [3])


def test_interval_of_a_success_rate_of_the_paper():
    """Liu et al. 2023, Table 6: 111 of 128, 87 % [.81, .93]."""
    assert wald_interval(111, 128) == pytest.approx((0.81, 0.93), abs=0.005)


def test_clustered_effective_win_rate_against_the_jackknife():
    """The error is close to that of leaving out each worker, whose scores of both models go together."""
    rng = np.random.default_rng(3)
    workers = np.arange(60).repeat(4)
    taste = rng.normal(size=60).repeat(4)
    a = np.round(taste + rng.normal(0.4, 1, 240))
    b = np.round(taste + rng.normal(0, 1, 240))
    result = effective_win_test(a, workers, b, workers)
    assert result.estimate == pytest.approx(effective_win_rate(a, b))
    left = np.array([effective_win_rate(a[workers != w], b[workers != w]) for w in range(60)])
    jackknife = np.sqrt(59 / 60 * ((left - left.mean()) ** 2).sum())
    assert result.details["standard_error"] == pytest.approx(jackknife, rel=0.05)
    assert result.statistic == pytest.approx((result.estimate - 0.5) / result.details["standard_error"])
    assert result.ci_low < result.estimate < result.ci_high


def test_clustered_effective_win_rate_holds_its_level():
    """Equal models, workers with tastes: about 5 % of true nulls are rejected, of which Mann–Whitney rejects many more."""
    rng = np.random.default_rng(0)
    from scipy.stats import mannwhitneyu

    rejected = independent = 0
    studies = 120  # .05 with an error of .02
    for _ in range(studies):
        workers = np.arange(30).repeat(5)
        a, b = (rng.normal(size=30).repeat(5) + rng.normal(size=150) for _ in range(2))
        rejected += effective_win_test(a, workers, b, workers + 30).p_value < 0.05
        independent += mannwhitneyu(a, b).pvalue < 0.05
    assert 0.01 <= rejected / studies <= 0.09
    assert independent / studies > 0.15


def test_effective_win_rate_of_swapped_models_is_the_rest():
    """Estimate and ends mirror at ½, the p-value stays."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(1, 6, 40), rng.integers(1, 6, 30)
    one = effective_win_test(a, np.arange(40) // 4, b, np.arange(30) // 3)
    two = effective_win_test(b, np.arange(30) // 3, a, np.arange(40) // 4)
    assert (two.estimate, two.ci_low, two.ci_high) == pytest.approx((1 - one.estimate, 1 - one.ci_high, 1 - one.ci_low))
    assert two.p_value == pytest.approx(one.p_value)


def test_clustered_effective_win_rate_of_nothing():
    """No scores of B: p = 1 and no estimate; two workers: an estimate, and words instead of an interval."""
    with pytest.raises(ValueError, match="for each score"):
        effective_win_test([1, 2], ["a"], [3], ["b"])
    empty = effective_win_test([1, 2], ["a", "b"], [], [])
    assert (empty.estimate, empty.p_value, empty.ci_low) == (None, 1, None)
    few = effective_win_test([1, 2], ["a", "b"], [1, 1], ["a", "b"])
    assert (few.estimate, few.p_value, few.ci_low) == (0.75, None, None)
    assert few.notes
