"""How firm a ranking is: samples, orders, resamples, and agreement with other rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr

from parlai_humaneval.statistics.core.clustered import too_few_clusters
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.ranking.order import (
    ranking_agreement,
    same_ranking_share,
    score_ranges,
    stability_curves,
)
from parlai_humaneval.statistics.ranking.trueskill import free_for_all_ratings


def _study(dialogues, seed=0, shares=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    return rng.multinomial(5, shares, size=dialogues).astype(float), rng.integers(0, 10, dialogues)


def test_reference_matches(gold_cases):
    """Share of equal rankings."""
    found = [case for case in gold_cases if case["function"] == "rank_stability"]
    assert found
    for case in found:
        assert same_ranking_share(*case["args"]) == pytest.approx(case["expected"], abs=1e-9)


@given(rankings=st.lists(st.permutations([0, 1, 2]), min_size=1, max_size=8))
def test_stability_is_a_share(rankings):
    """Counted one by one; the order of rankings and the names of models do not matter."""
    expected = sum(list(r) == [0, 1, 2] for r in rankings) / len(rankings)
    assert same_ranking_share(rankings, [0, 1, 2]) == pytest.approx(expected)
    assert same_ranking_share([r[::-1] for r in reversed(rankings)], [2, 1, 0]) == pytest.approx(expected)


def test_stability_without_rankings_and_with_wrong_ones():
    """None, or a reason."""
    assert same_ranking_share([], [0, 1]) is None
    with pytest.raises(ValueError, match="as many models"):
        same_ranking_share([[0, 1, 2]], [0, 1])
    with pytest.raises(ValueError, match="missing"):
        same_ranking_share([[0, float("nan")]], [0, 1])


def test_agreement_is_that_of_scipy():
    """τ-b and ρ over the models that both have."""
    scores = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 0.5, "e": None}
    others = {"d": 1.0, "c": 1.5, "b": 4.0, "a": 3.0, "f": 9.0}
    x, y = [3.0, 2.0, 2.0, 0.5], [3.0, 4.0, 1.5, 1.0]
    found = ranking_agreement(scores, others)
    assert found["tau_b"].estimate == pytest.approx(kendalltau(x, y).statistic)
    assert found["pearson"].estimate == pytest.approx(pearsonr(x, y).statistic)
    assert found["tau_b"].n == found["pearson"].n == 4


@pytest.mark.parametrize("others", [{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}])
def test_agreement_that_cannot_be_estimated(others):
    """Too few shared models, or all tied."""
    found = ranking_agreement({"a": 3.0, "b": 2.0, "c": 1.0}, others)
    assert [r.estimate for r in found.values()] == [None, None]
    assert all(r.notes for r in found.values())


def test_curves_rise_to_the_whole():
    """More dialogues, the same ranking more often; samples of all dialogues are orders of the whole."""
    points, _ = _study(120)
    mu, sigma = free_for_all_ratings(points)
    scores = mu[0] - 3 * sigma[0]
    curve = stability_curves(points, scores, sizes=[2, 20, 120], samples=60, seed=1)
    assert [point.dialogues for point in curve] == [2, 20, 120]
    assert curve[0].same < curve[1].same < curve[2].same
    assert curve[0].tau_b < curve[2].tau_b
    assert curve == stability_curves(points, scores, sizes=[120, 2, 20], samples=60, seed=1)
    assert curve != stability_curves(points, scores, sizes=[2, 20, 120], samples=60, seed=2)


def test_a_sample_is_rated_as_the_package_of_dialogues_that_it_is():
    """By hand: the ranking of each seeded sample, one after the other."""
    points, _ = _study(12)
    reference = np.array([3.0, 2.0, 1.0])
    (found,) = stability_curves(points, reference, sizes=[4], samples=15, seed=5)
    rng = np.random.default_rng(5)
    orders = [rng.permutation(12)[:4] for _ in range(15)]
    scores = np.array([(lambda m, s: m[0] - 3 * s[0])(*free_for_all_ratings(points[order])) for order in orders])
    assert found.same == pytest.approx(np.mean([(row == [1, 2, 3]).all() for row in ranks_of(scores)]))
    taus = [kendalltau(row, reference).statistic for row in scores]
    assert found.tau_b == pytest.approx(np.nanmean(taus))


def test_limits_of_turns_are_samples_of_the_same_dialogues():
    """Points of the first turns are rated as if they were all; equal points of both limits give equal curves."""
    points, _ = _study(30)
    reference = [3.0, 2.0, 1.0]
    both = stability_curves(np.stack([points, points]), reference, turns=[1, None], sizes=[5, 30], samples=20)
    assert [(p.turns, p.dialogues) for p in both] == [(1, 5), (1, 30), (None, 5), (None, 30)]
    assert [p.same for p in both[:2]] == [p.same for p in both[2:]]
    none = stability_curves(np.stack([points * 0, points]), reference, turns=[1, None], sizes=[30], samples=20)
    assert none[0].same < none[1].same


def test_order_range_holds_the_score_and_does_not_need_workers():
    """Orders only: one worker has no bootstrap, and it is said; the same seed gives the same range."""
    points, workers = _study(60)
    ranges = score_ranges(points, workers, seed=3, draws=200)
    mu, sigma = free_for_all_ratings(points, orders=[np.random.default_rng(9).permutation(60)])
    for found, score in zip(ranges, (mu - 3 * sigma)[0], strict=True):
        assert found.order_low - 1 < score < found.order_high + 1
        assert found.bootstrap_low < found.bootstrap_high
        assert (found.draws, found.dialogues_played, found.seed) == (200, 60, 3)
    assert ranges == score_ranges(points, workers, seed=3, draws=200)
    alone = score_ranges(points, ["w"] * 60, seed=3, draws=200)
    assert [(r.order_low, r.order_high) for r in alone] == [(r.order_low, r.order_high) for r in ranges]
    assert all(r.bootstrap_low is None and r.rank_low is None and too_few_clusters() in r.notes[0] for r in alone)


def test_identical_dialogues_have_no_order():
    """Every order of equal dialogues is the same study: the range is a point."""
    found = score_ranges([[2.0, 1.0]] * 20, list("abcde") * 4, draws=50)
    for row in found:
        assert row.order_low == pytest.approx(row.order_high, abs=1e-6)
        assert row.bootstrap_low == pytest.approx(row.order_low, abs=1e-6)


def test_bootstrap_of_workers_is_wider_than_orders():
    """Workers of different tastes: resampling them adds to what the order does."""
    points = np.repeat([[5.0, 0.0], [0.0, 5.0], [5.0, 0.0], [0.0, 5.0]], 10, axis=0)
    found = score_ranges(points, np.repeat(np.arange(4), 10), draws=300)[0]
    assert found.bootstrap_high - found.bootstrap_low > 1.3 * (found.order_high - found.order_low)
    assert (found.rank_low, found.rank_high) == (1, 2)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99))
def test_models_in_other_columns_have_the_same_ranges(seed):
    """Names do not matter; ties are rare here, in which TrueSkill looks at the order of columns."""
    points = np.random.default_rng(seed).random((15, 3))
    workers = np.arange(15) % 5
    one = score_ranges(points, workers, draws=20, seed=seed)
    other = score_ranges(points[:, ::-1], workers, draws=20, seed=seed)
    for a, b in zip(one, reversed(other), strict=True):
        assert (a.order_low, a.bootstrap_high) == pytest.approx((b.order_low, b.bootstrap_high), abs=1e-5)


def test_what_cannot_be_used_is_refused():
    """No dialogues, workers of another number, sizes beyond the data, limits that do not fit."""
    with pytest.raises(ValueError, match="at least one dialogue"):
        score_ranges(np.zeros((0, 2)), [])
    with pytest.raises(ValueError, match="at least one dialogue"):
        score_ranges([[1, 0]], ["u", "v"])
    with pytest.raises(ValueError, match="between 1 and 1"):
        stability_curves([[1, 0]], [2, 1], sizes=[2])
    with pytest.raises(ValueError, match="turns × dialogues"):
        stability_curves([[1, 0]], [2, 1], turns=[1, None])


def test_rankings_may_be_names_in_order():
    """As they are printed: the same share as with places."""
    assert same_ranking_share([["a", "b"], ["b", "a"], ["a", "b"], ["a", "b"]], ["a", "b"]) == 0.75
    with pytest.raises(ValueError, match="missing"):
        same_ranking_share([["a", None]], ["a", "b"])


def test_ranges_are_those_of_the_score():
    """μ − 3σ, as of the points in the report: with one order, whatever it is, the range is the score of that order."""
    points = [[3.0, 1.0, 1.0]] * 12
    mu, sigma = free_for_all_ratings(points)
    found = score_ranges(points, list("abcd") * 3, draws=60)
    for row, score in zip(found, (mu - 3 * sigma)[0], strict=True):
        assert (row.order_low, row.order_high) == pytest.approx((score, score), abs=1e-3)
        assert (row.bootstrap_low, row.bootstrap_high) == pytest.approx((score, score), abs=1e-3)
