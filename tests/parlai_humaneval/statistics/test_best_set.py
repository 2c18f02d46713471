"""Who leads and who cannot be told from it: by hand, whatever order rows stand in, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from parlai_humaneval.statistics.core.clustered import cluster_sums, sign_flip_p
from parlai_humaneval.statistics.ranking import order as module
from parlai_humaneval.statistics.ranking.order import best_of_means, best_set


def _shares(chosen, shown):
    """Estimates and influence of shares: workers × models of what was chosen and of what was shown."""
    totals = shown.sum(axis=0)
    shares = chosen.sum(axis=0) / totals
    return shares, (chosen - shares * shown) / totals


def _study(rng, workers, models, *, heavy, ahead=0.0):
    """Picks of one of several replies by workers who differ in taste and, if ``heavy``, in how much they rate."""
    turns = np.full(workers, 24)
    if heavy:
        turns = 6 * np.minimum(np.ceil(np.exp(1.1 * rng.standard_normal(workers))), 25).astype(int)
    utility = 0.5 * rng.standard_normal((workers, models))
    utility[:, 0] += ahead
    odds = np.exp(utility)
    chosen = rng.multinomial(turns, odds / odds.sum(axis=1, keepdims=True)).astype(float)
    return chosen, np.repeat(turns[:, None], models, axis=1).astype(float)


def test_two_models_are_the_sign_flip_test_of_their_difference():
    """Ten workers, all signs: the same p as of the sums of each worker."""
    rng = np.random.default_rng(1)
    gaps = rng.normal(0.3, 0.5, 10)
    values = np.stack([gaps, np.zeros(10)], axis=1)
    estimates = values.mean(axis=0)
    found = best_set(estimates, (values - estimates) / 10, np.ones(10))
    (pair,) = found.pairs
    expected = sign_flip_p(cluster_sums(gaps, np.ones(10), range(10)), null=0)
    assert pair.p_value == pair.p_holm == pytest.approx(expected)
    assert pair.estimate == pytest.approx(gaps.mean())


def test_the_interval_is_the_test_turned_round():
    """Differences within the interval are not rejected by the test, those outside are: at its ends, |t| is critical."""
    rng = np.random.default_rng(2)
    chosen, shown = _study(rng, 30, 2, heavy=True, ahead=0.3)
    estimates, influence = _shares(chosen, shown)
    (pair,) = best_set(estimates, influence, shown).pairs
    weights = shown[:, 0] / shown[:, 0].sum()
    parts = influence[:, 0] - influence[:, 1]
    t = [
        abs(pair.estimate - end) / np.sqrt(((parts + weights * (pair.estimate - end)) ** 2).sum())
        for end in (pair.ci_low, pair.ci_high)
    ]
    assert t[0] == pytest.approx(t[1])
    assert (pair.p_value < 0.05) == (not pair.ci_low <= 0 <= pair.ci_high)


def test_rows_and_models_may_come_in_any_order():
    """Random signs belong to the workers, not to the place of their rows; models are only named."""
    chosen, shown = _study(np.random.default_rng(3), 40, 5, heavy=True, ahead=0.4)
    estimates, influence = _shares(chosen, shown)
    found = best_set(estimates, influence, shown, models=list("abcde"))
    rows, columns = np.random.default_rng(4).permutation(40), [3, 1, 4, 0, 2]
    names = [list("abcde")[i] for i in columns]
    again = best_set(estimates[columns], influence[rows][:, columns], shown[rows][:, columns], models=names)
    assert (again.leader, again.together, again.told) == (found.leader, found.together, found.told)
    p_values = {frozenset(pair.name.split(" over ")): pair.p_holm for pair in again.pairs}
    assert p_values == pytest.approx({frozenset(pair.name.split(" over ")): pair.p_holm for pair in found.pairs})


def test_a_family_is_stricter_than_each_test_and_its_steps_than_one():
    """p in the family is never below p alone, nor above Bonferroni's; intervals of pairs told apart leave out 0."""
    chosen, shown = _study(np.random.default_rng(5), 60, 4, heavy=False, ahead=0.6)
    found = best_set(*_shares(chosen, shown), shown, models=["tie", "1", "human", "b"])
    assert found.leader == "tie"
    assert found.told
    for pair in found.pairs:
        assert pair.p_value <= pair.p_holm <= min(1, len(found.pairs) * pair.p_value) + 1e-9
        if not pair.ci_low <= 0 <= pair.ci_high:
            assert pair.p_holm < 0.05
    assert {*found.together, *found.told} == {"tie", "1", "human", "b"}


def test_lower_may_be_better():
    """Mean places: 1 is the best."""
    places = np.tile([1.0, 2.0, 3.0], 30) + np.random.default_rng(6).normal(0, 0.2, 90)
    workers = np.repeat(np.arange(30), 3)
    found = best_of_means(places, list("abc") * 30, workers, lower_is_better=True)
    assert (found.leader, found.together, found.told) == ("a", ("a",), ("b", "c"))
    assert best_of_means(places, list("abc") * 30, workers).leader == "c"


def test_where_nothing_can_be_tested_nobody_is_left_out():
    """Two workers, all equal, no estimate: no claim, no error."""
    few = best_of_means([5, 1, 5, 1, 5, 1], list("abacbc"), list("xxxyyy"))
    assert few.pairs == ()
    assert few.told == ()
    assert "too few" in few.notes[-1]
    same = best_of_means([3] * 12, list("abc") * 4, np.repeat(range(4), 3))
    assert same.told == ()
    assert {pair.p_holm for pair in same.pairs} == {1.0}
    assert {pair.ci_low for pair in same.pairs} == {None}
    unknown = best_set([1.0, np.nan, 0.5], np.zeros((5, 3)), np.ones(5), models=list("abc"))
    assert unknown.unknown == ("b",)
    assert best_set([np.nan] * 2, np.zeros((5, 2)), np.ones(5)).leader == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1, 2], np.zeros((3, 3)), np.ones(3)), "a column for each estimate"),
        (([1, 2], np.zeros((3, 2)), np.ones(4)), "sizes must be"),
        (([1, 2], np.zeros((3, 2)), -np.ones(3)), "sizes must be"),
        (([1, np.inf], np.zeros((3, 2)), np.ones(3)), "not finite"),
        (([1, 2], np.full((3, 2), np.nan), np.ones(3)), "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, said):
    """Shapes and numbers."""
    with pytest.raises(ValueError, match=said):
        best_set(*arguments)


def test_more_that_does_not_fit():
    """Names that repeat; observations without a model."""
    with pytest.raises(ValueError, match="a different name for each estimate"):
        best_set([1, 2], np.zeros((3, 2)), np.ones(3), models=["a", "a"])
    with pytest.raises(ValueError, match="same length"):
        best_of_means([1], ["a", "b"], ["w"])
    with pytest.raises(ValueError, match="lacks its model"):
        best_of_means([1, 2], ["a", None], ["w", "w"])


@pytest.mark.parametrize(("workers", "heavy"), [(20, True), (50, False)])
def test_equal_models_are_seldom_left_out(workers, heavy, monkeypatch):
    """Six models that are all equally good: in at most about one study in twenty any of them is left out, and all
    intervals hold at once in at least nineteen of twenty."""
    monkeypatch.setattr(module, "DRAWS", 499)
    rng = np.random.default_rng(7)
    kept = covered = 0
    for _ in range(300):
        chosen, shown = _study(rng, workers, 6, heavy=heavy)
        found = best_set(*_shares(chosen, shown), shown)
        kept += not found.told
        covered += all(pair.ci_low is None or pair.ci_low <= 0 <= pair.ci_high for pair in found.pairs)
    assert kept / 300 >= 0.92
    assert covered / 300 >= 0.92


def test_a_clear_winner_is_found(monkeypatch):
    """One of six that is much better leads alone in most studies of 50 workers."""
    monkeypatch.setattr(module, "DRAWS", 499)
    rng = np.random.default_rng(8)
    studies = [_study(rng, 50, 6, heavy=False, ahead=0.9) for _ in range(40)]
    alone = [best_set(*_shares(chosen, shown), shown).together == ("model 1",) for chosen, shown in studies]
    assert np.mean(alone) > 0.8
