"""The formulas of sample sizes, against printed numbers, other libraries and what must hold of any such formula."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.planning.power import (
    chi2_noncentrality,
    cochran_q_size,
    goodness_of_fit_size,
    mcnemar_size,
    one_proportion_size,
    rank_sum_size,
    two_proportions_size,
)

GAPS = st.floats(0.02, 0.4)
RATES = st.tuples(st.floats(0.001, 0.2), st.floats(0.3, 0.99))


def test_the_papers_numbers() -> None:
    """Guards Liu et al. 2023, Table 1: their rounded sizes, and the textbook's beside them."""
    assert round(one_proportion_size(0.5, 0.6, variance="null")) == 196
    assert round(one_proportion_size(0.8, 0.9, variance="null")) == 126
    assert round(mcnemar_size(0.85, 0.1, variance="null")) == 667
    assert math.ceil(mcnemar_size(0.85, 0.1)) == 665
    assert round(goodness_of_fit_size([54, 53, 48, 35])) == 430
    assert round(cochran_q_size([0.35, 0.25, 0.3, 0.3], 0.408)) == 445
    assert chi2_noncentrality(3) == pytest.approx(10.9026, abs=1e-4)
    assert math.ceil(one_proportion_size(0.5, 0.55, variance="null")) == 785


def test_statsmodels_agrees() -> None:
    """Guards the noncentrality, and the size with the null variance, against statsmodels' own solvers."""
    from statsmodels.stats.power import GofChisquarePower, normal_sample_size_one_tail

    shares = [0.3, 0.2, 0.25, 0.25]
    effect = math.sqrt(sum((p - 0.25) ** 2 / 0.25 for p in shares))
    expected = GofChisquarePower().solve_power(effect_size=effect, n_bins=4, alpha=0.01, power=0.9)
    assert goodness_of_fit_size(shares, 0.01, 0.9) == pytest.approx(expected, rel=1e-6)
    two_sided = normal_sample_size_one_tail(0.1, 0.8, 0.025, std_null=0.5, std_alternative=math.sqrt(0.24))
    assert one_proportion_size(0.5, 0.6) == pytest.approx(two_sided, rel=1e-9)
    p1, p2 = 0.85, 0.75
    spread = (math.sqrt(2 * 0.8 * 0.2), math.sqrt(p1 * (1 - p1) + p2 * (1 - p2)))
    two = normal_sample_size_one_tail(0.1, 0.9, 0.005, std_null=spread[0], std_alternative=spread[1])
    assert two_proportions_size(p1, p2, 0.01, 0.9) == pytest.approx(two, rel=1e-9)


@given(gap=GAPS, rates=RATES)
def test_one_choice_of_two_is_one_share(gap: float, rates: tuple[float, float]) -> None:
    """Guards the common scale: a forced choice is McNemar's test without ties, with win rates .5 ± gap/2."""
    assert mcnemar_size(1.0, gap, *rates) == pytest.approx(one_proportion_size(0.5, 0.5 + gap / 2, *rates), rel=1e-9)


@given(gap=GAPS, discordance=st.floats(0.5, 1), rates=st.tuples(st.floats(0.001, 0.05), st.floats(0.5, 0.99)))
def test_two_models_of_several(gap: float, discordance: float, rates: tuple[float, float]) -> None:
    """Guards Cochran's Q with two models: it is McNemar's test with the variance of the null hypothesis.

    The χ² of one degree of freedom has both tails of the normal, so that it needs a hair fewer.
    """
    q = cochran_q_size([0.5 + gap / 2, 0.5 - gap / 2], discordance, *rates)
    assert q == pytest.approx(mcnemar_size(discordance, gap, *rates, variance="null"), rel=0.02)


@given(picks=st.lists(st.integers(1, 50), min_size=2, max_size=6).filter(lambda p: len(set(p)) > 1))
def test_one_pick_of_several(picks: list[int]) -> None:
    """Guards that Pearson's χ² of one pick a turn is Cochran's Q with a discordance of 2/k, in any order and unit."""
    shares = [pick / sum(picks) for pick in picks]
    size = goodness_of_fit_size(picks)
    assert size == pytest.approx(cochran_q_size(shares, 2 / len(picks)), rel=1e-9)
    assert size == pytest.approx(goodness_of_fit_size(sorted(shares)), rel=1e-9)


@given(gap=GAPS, more=st.floats(1.05, 2), rates=RATES)
def test_monotone(gap: float, more: float, rates: tuple[float, float]) -> None:
    """Guards all sizes: a wider gap needs fewer; more power, a stricter level and more discordance need more."""
    alpha, power = rates
    wider = min(0.45, gap * more)
    for size in (
        lambda g, a, p: one_proportion_size(0.5, 0.5 + g / 2, a, p),
        lambda g, a, p: two_proportions_size(0.5 + g / 2, 0.5 - g / 2, a, p),
        lambda g, a, p: mcnemar_size(0.8, g, a, p),
        lambda g, a, p: goodness_of_fit_size([0.25 + g / 2, 0.25 - g / 2, 0.25, 0.25], a, p),
        lambda g, a, p: cochran_q_size([0.3 + g / 2, 0.3 - g / 2, 0.3], 0.5, a, p),
        rank_sum_size,
    ):
        assert size(wider, alpha, power) < size(gap, alpha, power)
        assert size(gap, alpha, (power + 1) / 2) > size(gap, alpha, power)
        assert size(gap, alpha / 2, power) > size(gap, alpha, power)
    assert mcnemar_size(0.9, gap, alpha, power) > mcnemar_size(0.6, gap, alpha, power)


def test_rank_sum_has_its_power() -> None:
    """Guards Noether's formula: of 2,000 made-up pairs of samples, scipy's rank-sum test finds 80 %."""
    import numpy as np
    from scipy.special import ndtri
    from scipy.stats import mannwhitneyu

    n, rng = math.ceil(rank_sum_size(0.3)), np.random.default_rng(3)
    distance = math.sqrt(2) * ndtri(0.65)
    p = mannwhitneyu(rng.standard_normal((2_000, n)) + distance, rng.standard_normal((2_000, n)), axis=1).pvalue
    assert 0.77 < (p < 0.05).mean() < 0.84


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: one_proportion_size(0.5, 0.5), "no number of turns"),
        (lambda: one_proportion_size(0, 0.5), "0 < p0 < 1"),
        (lambda: one_proportion_size(0.5, 0.6, 0.05, 0.05), "alpha < power"),
        (lambda: two_proportions_size(0.5, 0.5), "no number of turns"),
        (lambda: two_proportions_size(0.5, 1.5), "0 to 1"),
        (lambda: mcnemar_size(0.1, 0.2), "more often than the answers do"),
        (lambda: mcnemar_size(0.1, 0), "gap is 0"),
        (lambda: mcnemar_size(0, 0.1), "discordance"),
        (lambda: chi2_noncentrality(0), "two models"),
        (lambda: goodness_of_fit_size([1]), "two or more"),
        (lambda: goodness_of_fit_size([0, 0]), "two or more"),
        (lambda: goodness_of_fit_size([2, 2]), "equal"),
        (lambda: goodness_of_fit_size([1, float("nan")]), "two or more"),
        (lambda: cochran_q_size([0.3, 0.3], 0.5), "equal"),
        (lambda: cochran_q_size([0.3, 1.3], 0.5), "from 0 to 1"),
        (lambda: cochran_q_size([0.3, 0.4], 0), "discordance"),
        (lambda: rank_sum_size(0), "other than 0"),
    ],
)
def test_wrong_input_is_named(call: object, words: str) -> None:
    """Guards the errors: they say what is wrong with which number."""
    assert callable(call)
    with pytest.raises(ValueError, match=words):
        call()
