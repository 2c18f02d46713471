"""Tests of equal survival: the reference, other packages, plain counterparts, hand-made and degenerate cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines.statistics import multivariate_logrank_test
from scipy.stats import chi2, chi2_contingency

from parlai_humaneval.statistics.core.clustered import too_few_clusters
from parlai_humaneval.statistics.survival.curve import survival_curve
from parlai_humaneval.statistics.survival.tests import (
    clustered_score_test,
    logrank_scores,
    logrank_test,
    permutation_logrank_test,
    sun_scores,
    survival_score_test,
    zhao_sun_scores,
    zhao_sun_test,
)

SEEN = st.lists(st.tuples(st.sampled_from([1, 2, 3, 5]), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)
PLAIN = [survival_score_test, permutation_logrank_test, zhao_sun_test]


def columns(seen):
    return [np.array(values) for values in zip(*seen, strict=True)]


def study(seed, *, n=200, lengths=((2, 3, 5), (2, 3, 5)), hazards=(0.3, 0.3)):
    """Judgements of two groups with constant hazards of being spotted."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    k = np.where(group == 0, rng.choice(lengths[0], n), rng.choice(lengths[1], n))
    spotted = rng.random(n) < 1 - np.exp(-np.array(hazards)[group] * k)
    return k, spotted.astype(int), group


def test_reference(gold_cases):
    """The published cases of every test here, degenerate ones as well; those with imputations loosely."""
    tested = 0
    for case in gold_cases:
        args, expected = case["args"], case["expected"]
        if case["function"] == "zhao_sun_U":
            groups, u = zhao_sun_scores(*args)
            assert groups == expected[0]
            assert u == pytest.approx(expected[1], abs=1e-9)
        elif case["function"] == "logrank":
            found = logrank_scores(*args)
            assert found.u == pytest.approx(np.array(expected[0]), abs=1e-9)
            assert found.v == pytest.approx(np.array(expected[1]), abs=1e-9)
        elif case["function"] in ("finkelstein_score_test", "permutation_logrank"):
            test = survival_score_test if case["function"].startswith("f") else permutation_logrank_test
            result = test(*args)
            values = {"U": result.details["U"], "V": result.details["V"], "chi2": result.statistic, "p": result.p_value}
            assert values == pytest.approx(expected, abs=1e-9)
        elif case["function"] == "zhao_sun_test":
            result = zhao_sun_test(*args, imputations=case["kwargs"].get("M", 50))
            assert zhao_sun_scores(*args)[1] == pytest.approx(expected["U"], abs=1e-9)
            assert (result.statistic, result.details["df"]) == (
                pytest.approx(expected["chi2"], rel=0.05),
                expected["df"],
            )
            assert result.p_value == pytest.approx(expected["p"], rel=0.2)
        else:
            continue
        tested += 1
    assert tested >= 7


def plain_scores(k, spotted):
    """Sun's scores, one judgement after the other."""
    curve = survival_curve(k, spotted)
    scores = []
    for length, found in zip(k, spotted, strict=True):
        s = curve[int(length)]
        if s <= 1e-12 or s >= 1 - 1e-12:
            scores.append(0.0)
        else:
            scores.append(-np.log(s) * s / (1 - s) if found else np.log(s))
    return np.array(scores)


@settings(max_examples=120, deadline=None)
@given(SEEN)
def test_scores_are_those_of_the_plain_loop(seen):
    """Scores, and their sum over all judgements, which is 0: the pooled survival fits as it is."""
    k, spotted, group = columns(seen)
    found = sun_scores(k, spotted, group)
    assert found.score == pytest.approx(plain_scores(k, spotted), abs=1e-12)
    assert found.score.sum() == pytest.approx(0, abs=1e-9)


def plain_zhao_sun(k, spotted, group):
    """U by loops over judgements and moments (Zhao & Sun 2004, §2)."""
    curve = survival_curve(k, spotted)
    moments, mass, before = [], [], 1.0
    for length, left in curve.items():
        if before - left > 1e-12:
            moments.append(length)
            mass.append(before - left)
        before = left
    names = sorted(set(group))
    events, at_risk = np.zeros((len(names), len(moments))), np.zeros((len(names), len(moments)))
    for length, found, own in zip(k, spotted, group, strict=True):
        row = names.index(own)
        if found:
            possible = np.array([m if moment <= length else 0.0 for moment, m in zip(moments, mass, strict=True)])
            weight = possible / possible.sum()
            events[row] += weight
            at_risk[row] += weight[::-1].cumsum()[::-1]
        else:
            at_risk[row] += [1.0 if moment <= length else 0.0 for moment in moments]
    u = np.zeros(len(names))
    for j in range(len(moments)):
        u += events[:, j] - at_risk[:, j] * events[:, j].sum() / at_risk[:, j].sum()
    return u


@settings(max_examples=120, deadline=None)
@given(SEEN)
def test_grouped_counts_are_those_of_the_plain_loops(seen):
    """Zhao and Sun's U; they sum to 0 over groups."""
    k, spotted, group = columns(seen)
    names, u = zhao_sun_scores(k, spotted, group)
    assert names == sorted(set(group))
    assert u == pytest.approx(plain_zhao_sun(k, spotted, group), abs=1e-9)
    assert u.sum() == pytest.approx(0, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SEEN, st.randoms())
def test_names_and_order_change_nothing(seen, random):
    """Swapped groups turn U and the estimate round; the order of rows, and texts as names, change neither."""
    k, spotted, group = columns(seen)
    for test in (survival_score_test, permutation_logrank_test):
        one, swapped = test(k, spotted, group), test(k, spotted, 1 - group)
        assert one.p_value == pytest.approx(swapped.p_value, abs=1e-9)
        if len(set(group)) == 2:
            assert one.details["U"] == pytest.approx(-swapped.details["U"], abs=1e-9)
        shuffled = list(seen)
        random.shuffle(shuffled)
        moved = [np.array(values) for values in zip(*shuffled, strict=True)]
        again = test(moved[0], moved[1], np.array(["a", "b"])[moved[2]])
        assert again.statistic == pytest.approx(one.statistic, abs=1e-9)


@pytest.mark.parametrize("test", PLAIN)
@pytest.mark.parametrize(
    ("k", "spotted", "group", "why"),
    [
        ([], [], [], "no observations"),
        ([2, 2, 3, 3], [0, 0, 0, 0], [0, 1, 0, 1], "the groups do not differ"),
        ([2, 2, 3, 3], [1, 1, 1, 1], [0, 1, 0, 1], "the groups do not differ"),
        ([2, 2, 3], [1, 0, 1], [1, 1, 1], "only one group"),
        ([2], [1], ["a"], "only one group"),
    ],
)
def test_where_nothing_can_be_compared_p_is_1(test, k, spotted, group, why):
    """No data, nobody spotted, everybody spotted, one group: p = 1, no estimate, and the reason."""
    result = test(k, spotted, group)
    assert (result.p_value, result.statistic, result.estimate) == (1.0, 0.0, None)
    assert any(why in note for note in result.notes)
    assert clustered_score_test(k, spotted, group, group).p_value == 1.0


def test_groups_at_different_lengths_are_not_compared_by_the_score_test():
    """One seen at 2 only, the other at 5 only: any difference may be that of the lengths."""
    result = survival_score_test([2] * 6 + [5] * 6, [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1], [0] * 6 + [1] * 6)
    assert result.p_value == 1.0
    assert any("comparable lengths" in note for note in result.notes)


def test_at_a_single_length_the_score_test_is_pearsons():
    """One k: whether they are spotted by then, 2 × 2; U²/V is Pearson's χ², the permutation's (n − 1)/n of it."""
    counts = np.array([[12, 8], [5, 15]])
    spotted = np.concatenate([np.repeat([1, 0], row) for row in counts])
    group = np.repeat([0, 1], counts.sum(axis=1))
    pearson = chi2_contingency(counts, correction=False).statistic
    assert survival_score_test([3] * 40, spotted, group).statistic == pytest.approx(pearson)
    assert permutation_logrank_test([3] * 40, spotted, group).statistic == pytest.approx(pearson * 39 / 40)


def test_the_permutation_variance_is_that_of_all_permutations():
    """V is the variance of U over random regroupings of the same scores."""
    k, spotted, group = study(1, n=60)
    result, scores = permutation_logrank_test(k, spotted, group), sun_scores(k, spotted, group).score
    rng = np.random.default_rng(0)
    drawn = np.array([scores[rng.permutation(group) == 1].sum() for _ in range(20_000)])
    assert result.details["V"] == pytest.approx(drawn.var(), rel=0.05)
    assert result.p_value == pytest.approx((np.abs(drawn) >= abs(result.details["U"])).mean(), abs=0.03)


def rejections(test, studies=400, **design):
    return np.mean([test(*study(seed, **design)).p_value < 0.05 for seed in range(studies)])


def test_the_score_test_holds_its_level_where_lengths_differ():
    """Equal hazards, one system shown at 2 and 3, the other at 3 and 5: rejected in 5 %, and a real difference found."""
    lengths = ((2, 3), (3, 5))
    assert 0.02 <= rejections(survival_score_test, lengths=lengths) <= 0.085
    assert rejections(survival_score_test, studies=60, hazards=(0.15, 0.45)) > 0.9
    naive = [logrank_test(*study(seed, lengths=lengths)).p_value < 0.05 for seed in range(60)]
    assert np.mean(naive) > 0.3, "why the log-rank test of times is not for segments"


def test_zhao_and_sun_hold_their_level():
    """Equal hazards at the same lengths: no more than 5 %, give or take."""
    size = rejections(lambda *seen: zhao_sun_test(*seen, imputations=50), studies=300)
    assert 0.01 <= size <= 0.08


def test_the_clustered_test_holds_its_level_where_workers_differ():
    """Workers of different suspicion, each judging one group only: the plain test rejects far too often."""
    plain, clustered = [], []
    for seed in range(100):  # .05 with an error of .022
        rng = np.random.default_rng(seed)
        worker = np.repeat(np.arange(30), 12)
        k = rng.choice([2, 3, 5], worker.size)
        hazard = 0.25 * np.exp(rng.normal(0, 0.8, 30))[worker]
        spotted = (rng.random(worker.size) < 1 - np.exp(-hazard * k)).astype(int)
        group = worker % 2
        plain.append(survival_score_test(k, spotted, group).p_value < 0.05)
        clustered.append(clustered_score_test(k, spotted, group, worker).p_value < 0.05)
    assert np.mean(plain) > 0.15
    assert 0.01 <= np.mean(clustered) <= 0.09


def test_the_clustered_estimate_is_the_plain_one():
    """The same step U/V; each judgement a cluster, nearly the same p; too few clusters, no interval."""
    k, spotted, group = study(3, n=400, hazards=(0.2, 0.3))
    plain, clustered = survival_score_test(k, spotted, group), clustered_score_test(k, spotted, group, np.arange(400))
    assert clustered.estimate == pytest.approx(plain.estimate)
    assert clustered.p_value == pytest.approx(plain.p_value, rel=0.3)
    assert plain.ci_low < plain.estimate < plain.ci_high
    few = clustered_score_test(k, spotted, group, np.arange(400) % 2)
    assert (few.ci_low, few.p_value) == (None, None)
    assert any(too_few_clusters() in note for note in few.notes)


def test_the_clustered_variance_is_of_the_same_lengths():
    """Shown at different lengths, each judgement a cluster: t² is the χ² of the plain test, as V is of one length."""
    seen = study(11, n=3_000, lengths=((2, 2, 3), (3, 5, 5)))
    plain, clustered = survival_score_test(*seen), clustered_score_test(*seen, np.arange(3_000))
    assert clustered.statistic**2 == pytest.approx(plain.statistic, rel=0.1)
    assert clustered.ci_high - clustered.ci_low == pytest.approx(plain.ci_high - plain.ci_low, rel=0.05)


TIMES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 1), st.sampled_from("abc")), min_size=4, max_size=50
).filter(lambda rows: len({row[2] for row in rows}) > 1 and any(row[1] for row in rows))


@settings(max_examples=25, deadline=None)
@given(TIMES)
def test_the_log_rank_test_is_that_of_lifelines(rows):
    """Two or three groups, ties and censoring."""
    time, event, group = columns(rows)
    found = logrank_test(time, event, group)
    if np.linalg.matrix_rank(logrank_scores(time, event, group).v, tol=1e-9) == len(set(group)) - 1:
        expected = multivariate_logrank_test(time, group, event)
        assert found.statistic == pytest.approx(expected.test_statistic, abs=1e-6)
        assert found.p_value == pytest.approx(expected.p_value, abs=1e-6)
    assert logrank_scores(time, event, group).u.sum() == pytest.approx(0, abs=1e-9)


def test_log_rank_of_nothing():
    """No events and one group: U = V = 0 and p = 1."""
    found = logrank_scores([1, 2], [0, 0], ["a", "b"])
    assert (found.u.tolist(), np.abs(found.v).max()) == ([0, 0], 0)
    assert logrank_test([1, 2], [1, 1], ["a", "a"]).p_value == 1.0
    assert logrank_test([], [], []).p_value == 1.0
    with pytest.raises(ValueError, match="0 or 1"):
        logrank_test([1, 2], [1, 2], ["a", "b"])


def test_the_covariance_of_zhao_and_sun_is_that_of_imputed_rows():
    """Times drawn row by row, the log-rank variance of each data set, and the variance of U between them added."""
    k, spotted, group = study(13, n=120, hazards=(0.2, 0.35))
    curve = survival_curve(k, spotted)
    lengths, mass = np.array(list(curve)), -np.diff([1.0, *curve.values()])
    rng = np.random.default_rng(0)
    each, within = [], []
    for _ in range(400):
        times = k.astype(float)
        for row in np.flatnonzero(spotted):
            chances = np.where(lengths <= k[row], mass, 0.0)
            times[row] = rng.choice(lengths, p=chances / chances.sum())
        scores = logrank_scores(times, spotted, group)
        each.append(scores.u[1])
        within.append(scores.v[1, 1])
    expected = zhao_sun_scores(k, spotted, group)[1][1] ** 2 / (np.mean(within) + (1 + 1 / 400) * np.var(each, ddof=1))
    assert np.var(each) > 0.05 * np.mean(within), "or the two parts could not be told apart"
    assert zhao_sun_test(k, spotted, group).statistic == pytest.approx(expected, rel=0.05)


def test_zhao_sun_of_three_groups():
    """Two degrees of freedom; the same seed gives the same result, and the seed is told."""
    k, spotted, group = study(5, n=300)
    group = np.where(np.arange(300) % 3 == 0, 2, group)
    one, again = zhao_sun_test(k, spotted, group, seed=7), zhao_sun_test(k, spotted, group, seed=7)
    assert (one.details["df"], one.details["seed"]) == (2, 7)
    assert one.p_value == again.p_value == pytest.approx(float(chi2.sf(one.statistic, 2)))


@pytest.mark.parametrize(
    ("k", "spotted", "group", "words"),
    [
        ([2, 3], [1], [0, 1], "2 lengths k, but 1"),
        ([0, 3], [1, 0], [0, 1], "whole number, 1 or more"),
        ([2.5, 3], [1, 0], [0, 1], "whole number, 1 or more"),
        ([2, 3], [1, 2], [0, 1], "1 if the speaker"),
        ([2, 3], [1, float("nan")], [0, 1], "none missing"),
        ([2, 3], [1, 0], [0, None], "missing values"),
        ([2, 3], [1, 0], [0], "1 groups for 2"),
    ],
)
def test_bad_input_is_named(k, spotted, group, words):
    """What is wrong, in words that say what to give."""
    for test in PLAIN:
        with pytest.raises(ValueError, match=words):
            test(k, spotted, group)


def test_more_than_two_groups_are_for_pairs():
    """The score test compares two at a time."""
    with pytest.raises(ValueError, match="two at a time"):
        survival_score_test([2, 2, 2], [0, 1, 0], ["a", "b", "c"])
    with pytest.raises(ValueError, match="at least 2"):
        zhao_sun_test([2, 2], [0, 1], [0, 1], imputations=1)


def test_variance_with_lengths_apart():
    """Without pooling both are one; where lengths are pooled it is the sum over lengths, by hand."""
    k, spotted, group = [2] * 4 + [3] * 4, [1, 0, 0, 0, 1, 1, 0, 0], [0, 1, 0, 1] * 2
    apart, one = (survival_score_test(k, spotted, group, lengths_apart=flag) for flag in (True, False))
    assert apart.details["V"] == pytest.approx(one.details["V"])
    # Pooled S = .5 at both lengths; two of the second group among four at length 2, one among four at length 3.
    k, spotted, group = [2] * 4 + [3] * 4, [1, 1, 1, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 1, 0, 0]
    information = math.log(0.5) ** 2 * 0.5 / 0.5
    result = survival_score_test(k, spotted, group, lengths_apart=True)
    assert result.details["V"] == pytest.approx(information * (4 * 0.5 * 0.5 + 4 * 0.25 * 0.75))
    pooled = survival_score_test(k, spotted, group)
    assert pooled.details["V"] == pytest.approx(information * 8 * (3 / 8) * (5 / 8))
    assert pooled.details["U"] == result.details["U"]


def test_dialogues_that_several_workers_judged_count():
    """Bots that are told by which dialogue was shown: by worker they differ, by worker and dialogue they do not."""
    rng = np.random.default_rng(12)
    group, dialogue = np.tile([0, 1], 300), np.tile(np.arange(10), 60)
    spotted = (rng.random(600) < np.where(np.isin(dialogue, (0, 2)), 0.1, 0.5)).astype(int)
    seen, workers = (np.tile([2, 3, 5], 200), spotted, group), np.repeat(np.arange(60), 10)
    alone = clustered_score_test(*seen, workers)
    both = clustered_score_test(*seen, workers, dialogues=dialogue)
    assert alone.p_value < 0.05 < both.p_value
    assert both.details["p_by_worker"] == alone.p_value
    assert clustered_score_test(*seen, workers, dialogues=np.arange(600)) == alone
