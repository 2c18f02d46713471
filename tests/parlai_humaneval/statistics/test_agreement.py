"""Agreement of raters, against other packages and by hand."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from parlai_humaneval.statistics.raters.agreement import (
    ALIKE,
    NOTHING,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
    percent_agreement,
    rating_counts,
)

FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""Fourteen raters of ten subjects, five labels: κ = .210."""

LABELS = st.sampled_from(["human", "unsure", "bot"])
TWICE = st.lists(st.tuples(LABELS, LABELS), min_size=2, max_size=40)


def pairs(both):
    """Lists of the two raters, and a cluster of each three items."""
    first, second = zip(*both, strict=True)
    return list(first), list(second), [f"d{i // 3}" for i in range(len(both))]


def test_cohens_kappa_by_hand():
    """20 yes–yes, 5 yes–no, 10 no–yes, 15 no–no: p_o = .7, p_e = .5, κ = .4."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    result = cohen_kappa(first, second, range(50))
    assert result.estimate == pytest.approx(0.4)
    assert result.ci_low < 0.4 < result.ci_high
    assert percent_agreement(first, second, range(50), cluster="item").estimate == pytest.approx(0.7)


@settings(max_examples=60, deadline=None)
@given(TWICE)
def test_cohens_kappa_is_that_of_scikit_learn(both):
    """And does not change when the raters change places, or the labels their names."""
    first, second, clusters = pairs(both)
    result = cohen_kappa(first, second, clusters, draws=20)
    swapped = cohen_kappa(second, first, clusters, draws=20)
    renamed = cohen_kappa([name[::-1] for name in first], [name[::-1] for name in second], clusters, draws=20)
    if len({*first, *second}) == 1:
        assert result.estimate is None
        assert result.notes == (ALIKE,)
        return
    assert result.estimate == pytest.approx(cohen_kappa_score(first, second))
    assert result.estimate == pytest.approx(swapped.estimate) == pytest.approx(renamed.estimate)


def test_fleiss_kappa_by_its_textbook():
    """The example that everybody prints."""
    assert fleiss_kappa(FLEISS, range(10)).estimate == pytest.approx(0.210, abs=5e-4)


@settings(max_examples=40, deadline=None)
@given(TWICE)
def test_fleiss_kappa_is_that_of_statsmodels(both):
    """With two raters of each item."""
    first, second, _ = pairs(both)
    assume(len({*first, *second}) > 1)
    items = [*range(len(first)), *range(len(second))]
    counts, _, _ = rating_counts(items, [*first, *second])
    result = fleiss_kappa(counts, range(len(counts)), draws=20)
    assert result.estimate == pytest.approx(fleiss_of_statsmodels(counts))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=3, max_size=15), st.booleans())
def test_alpha_and_its_bootstrap_rest_on_the_same_formula(ratings, is_interval):
    """Clusters that are all the same: every resample is the data, so that both ends are the estimate itself."""
    items = [(copy, i) for copy in range(4) for i, given_to in enumerate(ratings) for _ in given_to]
    values = [value for _ in range(4) for given_to in ratings for value in given_to]
    counts, found, names = rating_counts([f"{copy}-{i}" for copy, i in items], values)
    several = counts.sum(axis=1) > 1
    assume((counts[several].sum(axis=0) > 0).sum() > 1)
    scale = [float(value) for value in found] if is_interval else None
    result = krippendorff_alpha(counts, [name.split("-")[0] for name in names], scale, draws=5)
    level = "interval" if is_interval else "nominal"
    expected = krippendorff.alpha(
        value_counts=counts.astype(int), value_domain=sorted(found), level_of_measurement=level
    )
    assert result.estimate == pytest.approx(expected)
    assert result.ci_low == pytest.approx(expected)
    assert result.ci_high == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=12))
def test_ordinal_alpha_is_that_of_another_package(ratings):
    """Labels in order, some perhaps never given; a bootstrap of four equal clusters gives the same number each time."""
    counts = np.zeros((4 * len(ratings), 4))
    for i, given_to in enumerate(4 * ratings):
        np.add.at(counts[i], given_to, 1)
    used = counts[counts.sum(axis=1) > 1].sum(axis=0) > 0
    assume(used.sum() > 1)
    result = krippendorff_alpha(counts, np.repeat(range(4), len(ratings)), ordered=True, draws=5)
    expected = krippendorff.alpha(
        value_counts=counts[:, used].astype(int), value_domain=list(range(used.sum())), level_of_measurement="ordinal"
    )
    assert result.estimate == pytest.approx(expected)
    assert (result.ci_low, result.ci_high) == pytest.approx((expected, expected))
    assert "ordinal" in result.method


def test_order_matters_only_at_ordinal_level():
    """Confusing neighbours is less than confusing ends; turned round, the order is the same."""
    near, far = [[3, 0, 0], [1, 1, 0], [0, 3, 0], [0, 0, 3]], [[3, 0, 0], [1, 0, 1], [0, 3, 0], [0, 0, 3]]
    one, other = (krippendorff_alpha(counts, range(4), ordered=True).estimate for counts in (near, far))
    assert one > other
    turned = krippendorff_alpha(np.array(far)[:, ::-1], range(4), ordered=True).estimate
    assert turned == pytest.approx(other)
    plain = [krippendorff_alpha(counts, range(4)).estimate for counts in (near, far)]
    assert plain[0] == pytest.approx(plain[1])


def test_levels_of_alpha_are_not_mixed_up():
    """Numbers and order at once, or more labels than can be meant."""
    with pytest.raises(ValueError, match="either"):
        krippendorff_alpha([[1, 1]], ["d"], [1, 2], ordered=True)
    with pytest.raises(ValueError, match="21 labels"):
        krippendorff_alpha(np.ones((2, 21)), ["d", "e"], ordered=True)


def test_pairs_of_raters_are_counted_not_items():
    """Three alike: three pairs of three. Two against one: one of three. Two apart: none of one."""
    result = pair_agreement([[3, 0], [2, 1], [1, 1], [1, 0]], ["a", "b", "c", "d"], cluster="item")
    assert result.estimate == pytest.approx(4 / 7)
    assert result.n == 7


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_alpha])
def test_what_cannot_be_estimated_is_none_with_the_reason(measure):
    """Nobody judged twice; or all said the same."""
    nothing = measure([[1, 0], [0, 1]], ["a", "b"])
    assert (nothing.estimate, nothing.n, nothing.notes) == (None, 0, (NOTHING,))
    alike = measure([[2, 0], [2, 0], [3, 0]], ["a", "b", "c"])
    assert (alike.estimate, alike.ci_low, alike.notes) == (None, None, (ALIKE,))
    assert cohen_kappa([], [], []).notes == (NOTHING,)


def test_there_is_no_interval_from_two_dialogues():
    """The estimate stands alone and says why."""
    result = cohen_kappa(["a", "b", "a"], ["a", "b", "b"], ["d1", "d1", "d2"])
    assert result.estimate is not None
    assert (result.ci_low, result.ci_high) == (None, None)
    assert result.notes == ("too few dialogues for an interval (at least 3 are needed)",)


def test_answers_of_one_dialogue_stand_and_fall_together():
    """Each answer twenty times over is no more information: the interval by dialogue stays, that by answer shrinks."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 40)
    second = np.where(rng.random(40) < 0.75, first, 1 - first)
    once = cohen_kappa(first, second, range(40))
    often = cohen_kappa(np.repeat(first, 20), np.repeat(second, 20), np.repeat(range(40), 20))
    alone = cohen_kappa(np.repeat(first, 20), np.repeat(second, 20), range(800))
    assert once.estimate == pytest.approx(often.estimate)
    assert (once.ci_low, once.ci_high) == pytest.approx((often.ci_low, often.ci_high))
    assert alone.ci_high - alone.ci_low < 0.5 * (often.ci_high - often.ci_low)


def test_the_same_seed_gives_the_same_interval():
    """Reports can be made again."""
    counts = np.random.default_rng(0).multinomial(3, [0.5, 0.3, 0.2], 30)
    one, again, other = (fleiss_kappa(counts, range(30), seed=seed) for seed in (1, 1, 2))
    assert (one.ci_low, one.ci_high) == (again.ci_low, again.ci_high) != (other.ci_low, other.ci_high)


def test_the_interval_is_the_middle_of_resampled_dialogues():
    """2.5 and 97.5 % of plain resamples of whole dialogues."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 120)
    second = np.where(rng.random(120) < 0.8, first, 1 - first)
    drawn = rng.integers(0, 40, (2000, 40))[:, :, None] * 3 + np.arange(3)
    x, y = (labels[drawn.reshape(2000, 120)] for labels in (first, second))
    same, by_chance = (
        (x == y).mean(axis=1),
        x.mean(axis=1) * y.mean(axis=1) + (1 - x.mean(axis=1)) * (1 - y.mean(axis=1)),
    )
    kappas = (same - by_chance) / (1 - by_chance)
    found = cohen_kappa(first, second, np.arange(120) // 3)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(np.quantile(kappas, [0.025, 0.975])), abs=0.015)
