"""Intraclass correlation, design effects and detectable gaps, against other packages, by hand and by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway
from statsmodels.stats.power import TTestPower

from parlai_humaneval.statistics.core.clustering_effects import (
    Clustered,
    design_effect,
    detectable_gap,
    effective_number,
    intraclass_correlation,
    observations_per_cluster,
    pooled_intraclass_correlation,
    power_of_gaps,
)
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.ratings.correlations import (
    GapData,
    Measure,
    paired_gaps,
    planning_dialogue_icc,
    planning_icc,
    pooled_gaps,
    separate_gaps,
)
from parlai_humaneval.statistics.ratings.likert import ModelRatings

GROUPED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=3, max_size=60)


def objects(values):
    return np.asarray(values, dtype=object)


def test_reference_cases(gold_cases):
    """1 + (m − 1)·ICC."""
    cases = [case for case in gold_cases if case["function"] == "design_effect"]
    assert cases
    for case in cases:
        assert design_effect(*case["args"], **case["kwargs"]) == pytest.approx(case["expected"], abs=1e-9)


@given(st.floats(1, 100), st.floats(0, 1), st.floats(0, 1))
def test_the_design_effect_grows_with_likeness_and_size(m, low, high):
    """Monotone in both; 1 with one observation a cluster or no likeness."""
    low, high = sorted((low, high))
    assert design_effect(m, low) <= design_effect(m, high)
    assert design_effect(m, low) <= design_effect(m + 1, low)
    assert design_effect(1, high) == design_effect(m, 0) == 1
    assert effective_number(100, m, high) <= effective_number(100, m, low) <= 100


@pytest.mark.parametrize(("m", "icc"), [(0.5, 0.1), (float("nan"), 0.1), (10, 1.1), (10, -2), (10, float("nan"))])
def test_impossible_designs_are_refused(m, icc):
    """What cannot be is named."""
    with pytest.raises(ValueError, match="expected"):
        design_effect(m, icc)


def test_a_negative_likeness_can_leave_no_effective_number():
    """1 + 9·(−.2) is below 0: no number; a mild one gives more than n."""
    assert effective_number(100, 10, -0.2) is None
    assert effective_number(100, 10, -0.05) == pytest.approx(100 / 0.55)


def test_observations_per_cluster_by_hand():
    """Σn²/Σn: clusters of 1 and 3 give 10/4; no data gives none."""
    assert observations_per_cluster(["a", "b", "b", "b"]) == 2.5
    assert observations_per_cluster([]) is None


def test_icc_of_a_published_example():
    """Shrout & Fleiss 1979, Table 2: six targets, four judges; ICC(1,1) = .17, F = 1.79, p = .16."""
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    values, groups = np.ravel(table), np.repeat(np.arange(6), 4)
    result = intraclass_correlation(values, groups)
    assert result.estimate == pytest.approx(0.166, abs=5e-4)
    assert result.statistic == pytest.approx(1.79, abs=5e-3)
    assert result.p_value == pytest.approx(0.165, abs=1e-3)
    assert (result.ci_low, result.ci_high) == pytest.approx((-0.13, 0.72), abs=5e-3)


@settings(max_examples=80, deadline=None)
@given(GROUPED)
def test_icc_is_that_of_a_plain_analysis_of_variance(rows):
    """F and p of scipy; the formula written out; between −1 and 1; order of rows does not matter."""
    groups, values = (list(column) for column in zip(*rows, strict=True))
    result = intraclass_correlation(values, groups)
    own = [np.array([v for g, v in rows if g == group], dtype=float) for group in sorted(set(groups))]
    sizes = np.array([len(part) for part in own])
    n, k = len(values), len(own)
    if k < 2 or sizes.max() < 2 or len(set(values)) == 1:
        assert result.estimate is None
        assert result.notes
        return
    within = sum(((part - part.mean()) ** 2).sum() for part in own) / (n - k)
    between = sum(len(part) * (part.mean() - np.mean(values)) ** 2 for part in own) / (k - 1)
    size = (n - (sizes**2).sum() / n) / (k - 1)
    expected_icc = max(-1, (between - within) / (between + (size - 1) * within))
    assert result.estimate == pytest.approx(expected_icc, abs=1e-9)
    assert -1 <= result.estimate <= 1
    assert ("negative" in " ".join(result.notes)) == (result.estimate < 0)
    if within > 1e-9:
        expected = f_oneway(*own)
        assert result.statistic == pytest.approx(expected.statistic)
        assert result.p_value == pytest.approx(expected.pvalue, abs=1e-9)
        assert result.ci_low <= result.estimate + 1e-9
        assert result.estimate <= result.ci_high + 1e-9
    order = np.random.default_rng(n).permutation(n)
    shuffled = intraclass_correlation(np.array(values)[order], np.array(groups)[order])
    assert shuffled.estimate == pytest.approx(result.estimate, abs=1e-9)


def test_icc_finds_what_was_simulated():
    """Scores and 0/1 answers of a known likeness; clusters of different sizes."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 25, 1_500)
    worker = np.repeat(np.arange(1_500), sizes)
    scores = rng.normal(0, np.sqrt(0.2), 1_500)[worker] + rng.normal(0, np.sqrt(0.8), worker.size)
    found = intraclass_correlation(scores, worker)
    assert found.estimate == pytest.approx(0.2, abs=0.015)
    assert found.ci_low < 0.2 < found.ci_high
    chance = rng.beta(4.5, 4.5, 1_500)[worker]  # ICC of a beta-binomial: 1/(4.5 + 4.5 + 1)
    answers = (rng.random(worker.size) < chance).astype(float)
    assert intraclass_correlation(answers, worker).estimate == pytest.approx(0.1, abs=0.015)


def test_the_design_effect_is_what_clustering_costs():
    """The clustered variance of a mean over the independent one is 1 + (m − 1)·ICC."""
    rng = np.random.default_rng(1)
    worker = np.repeat(np.arange(3_000), 10)
    y = rng.normal(0, 0.5, 3_000)[worker] + rng.normal(0, 1, worker.size)
    error = clustered_mean(y, worker).details["standard_error"]
    ratio = error**2 / (y.var(ddof=1) / y.size)
    icc = intraclass_correlation(y, worker).estimate
    assert ratio == pytest.approx(design_effect(10, icc), rel=0.01)


def test_constant_answers_of_workers_are_wholly_alike():
    """No variance within: ICC 1, without an interval; nothing to go by: none, and why."""
    result = intraclass_correlation([1, 1, 0, 0], ["a", "a", "b", "b"])
    assert (result.estimate, result.ci_low, result.p_value) == (1, None, None)
    for values, groups, why in (
        ([], [], "no observations"),
        ([1, 2], ["a", "a"], "only one rater"),
        ([1, 2], ["a", "b"], "no rater has two"),
        ([1, 1, 1], ["a", "a", "b"], "equal"),
        ([np.nan, np.nan], ["a", "b"], "no observations"),
    ):
        result = intraclass_correlation(values, groups)
        assert result.estimate is None
        assert why in result.notes[0]


@pytest.mark.parametrize("workers", [5, 31, 200])
def test_the_detectable_gap_is_that_of_statsmodels(workers):
    """A one-sample t test with W − 1 degrees of freedom; without them that of the normal distribution, 2.80 errors."""
    expected = TTestPower().solve_power(nobs=workers, alpha=0.05, power=0.8) * np.sqrt(workers)
    assert detectable_gap(1, df=workers - 1) == pytest.approx(expected, rel=1e-4)
    assert detectable_gap(0.02) == pytest.approx(0.02 * 2.8016, rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.001, 5), st.floats(0.55, 0.97), st.integers(2, 500))
def test_the_detectable_gap_is_monotone(error, power, df):
    """More error, more power, a stricter test or fewer workers: a larger gap."""
    gap = detectable_gap(error, df=df, power=power)
    assert detectable_gap(2 * error, df=df, power=power) == pytest.approx(2 * gap)
    assert detectable_gap(error, df=df, power=power + 0.02) > gap
    assert detectable_gap(error, df=df, power=power, alpha=0.01) > gap
    assert detectable_gap(error, df=df + 1, power=power) < gap
    assert gap > detectable_gap(error, power=power)


def test_the_detectable_gap_refuses_nonsense():
    """What cannot be asked; and no gap where the error could not be estimated."""
    assert detectable_gap(0, df=5) is None
    for wrong in ({"alpha": 0}, {"power": 1}, {"alpha": 0.5, "power": 0.4}, {"df": 0}):
        with pytest.raises(ValueError, match="expected"):
            detectable_gap(1, **wrong)
    with pytest.raises(ValueError, match="standard error"):
        detectable_gap(-1)


def test_a_gap_as_large_as_detectable_is_found_as_often_as_promised():
    """Simulated studies of 40 workers with alike answers, judged by the clustered test: power .8."""
    rng = np.random.default_rng(3)
    worker = np.repeat(np.arange(40), 10)
    spread = np.sqrt(0.3**2 + 1 / 10)
    gap = detectable_gap(spread / np.sqrt(40), df=39)
    found = [
        clustered_mean(gap + rng.normal(0, 0.3, 40)[worker] + rng.normal(0, 1, worker.size), worker, null=0.0).p_value
        < 0.05
        for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.046)  # two errors of .8


def test_gaps_of_models_judged_one_at_a_time_are_differences_of_means():
    """Value, error and degrees of freedom are those of the clustered difference."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(3, 1, 30), rng.normal(2, 1, 45)
    workers_a, workers_b = (objects(rng.integers(0, 9, n)) for n in (30, 45))
    (gap,), alike = separate_gaps(
        [ModelRatings("a", a, workers_a, workers_a), ModelRatings("b", b, workers_b, workers_b)]
    )
    expected = clustered_difference(a, workers_a, b, workers_b)
    got = clustered_mean(gap.values, gap.workers, null=0.0)
    assert (got.estimate, got.p_value) == pytest.approx((expected.estimate, expected.p_value))
    assert got.details["standard_error"] == pytest.approx(expected.details["standard_error"])
    assert alike.n == 75
    assert pd.Series(alike.values).groupby([0] * 30 + [1] * 45).mean().tolist() == pytest.approx([0, 0])


def test_gaps_of_models_judged_together_are_paired():
    """A turn without one of the models does not count for the pair; a model that was never shown has no pair."""
    chosen = np.array([[1, 0, np.nan], [1, 1, np.nan], [np.nan, 1, np.nan]])
    gaps, alike = paired_gaps(["a", "b", "c"], chosen, ["w", "w", "v"], ["d", "d", "e"])
    assert [(gap.model_a, gap.model_b, gap.values.tolist()) for gap in gaps] == [("a", "b", [1, 0])]
    assert (alike.n, alike.values.tolist()) == (3, [0.5, -0.5])


def test_answers_of_a_worker_to_each_sample():
    """Of models judged one at a time those on one model count, of paired answers all of the pair."""
    a, b = (
        ModelRatings("a", np.ones(4), objects([1, 1, 2, 2]), objects(range(4))),
        ModelRatings("b", np.ones(3), objects([1, 1, 3]), objects(range(3))),
    )
    (gap,), alike = separate_gaps([a, b])
    assert gap.per_worker == pytest.approx((4 + 4 + 4 + 1) / 7)
    assert gap.judged_both == pytest.approx(1 / 3)
    (paired,), together = paired_gaps(["a", "b"], np.array([[1, 0], [0, 1], [1, 1]]), ["w", "w", "v"], ["d", "d", "e"])
    assert paired.per_worker == pytest.approx(5 / 3)
    assert (paired.judged_both, alike.levels, together.levels) == (1, True, False)


def leads(workers, each, spread, seed, *, reuse=None):
    """±1 of workers who lean to a model, and (``reuse``) of dialogues that differ; a gap of two models."""
    rng = np.random.default_rng(seed)
    worker = np.repeat(np.arange(workers), each)
    lean = rng.normal(0, spread, workers)[worker]
    pair = np.arange(worker.size) if reuse is None else rng.permutation(worker.size) // reuse
    lean = lean if reuse is None else lean + rng.normal(0, 1.0, worker.size)[pair]
    values = np.where(rng.random(worker.size) < 1 / (1 + np.exp(-lean)), 1.0, -1.0)
    return GapData("a", "b", values, worker.astype(object), pair.astype(object))


@pytest.mark.parametrize("sizes", [np.full(60, 6), np.arange(1, 61) // 5 + 1])
def test_planning_icc_is_on_the_scale_of_the_plan(sizes):
    """The design effect of a plan with it is the variance of a clustered mean, over many studies; the interval covers."""
    found = [leads(60, sizes, 0.8, seed) for seed in range(200)]
    icc = [planning_icc([gap]) for gap in found]
    m = found[0].per_worker
    assert m == pytest.approx((sizes**2).sum() / sizes.sum())
    effect = np.var([gap.values.mean() for gap in found], ddof=1) * sizes.sum()
    assert design_effect(m, np.mean([one.estimate for one in icc])) == pytest.approx(effect, rel=0.35)
    true = np.mean([planning_icc([leads(3_000, 6, 0.8, 99)]).estimate])
    assert np.mean([one.ci_low <= true <= one.ci_high for one in icc]) > 0.88
    assert found[0].effective_workers == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())


def test_planning_icc_of_one_answer_a_worker():
    """Any ICC gives the same plan: there is none, and a note says why."""
    found = planning_icc([leads(20, 1, 0.5, 0)])
    assert (found.estimate, found.ci_low, found.notes) == (None, None, ("one answer per rater and sample",))


def test_planning_icc_of_models_judged_alone_counts_both_samples():
    """Levels of workers who judge both models cancel: below 0, by as much as the variance of the difference is less."""
    rng = np.random.default_rng(3)
    worker = np.tile(np.repeat(np.arange(300), 4), 2)
    values = rng.normal(0, 1, 300)[worker] + rng.normal(0, 1, worker.size)
    half = worker.size // 2
    ((gap,), _) = separate_gaps(
        [
            ModelRatings("a", values[:half], objects(worker[:half]), objects(worker[:half])),
            ModelRatings("b", values[half:], objects(worker[half:]), objects(worker[half:])),
        ]
    )
    # Of the variance 2 a difference of means keeps 1, within workers: 1 + (4 − 1)·ICC = ½.
    assert planning_icc([gap]).estimate == pytest.approx(-0.5 / 3, abs=0.02)


def test_dialogue_icc_of_leads():
    """Found where several workers judge a dialogue, None where none is shared; half of it where dialogues come in pairs."""
    shared = leads(400, 5, 0.0, 1, reuse=5)
    found = planning_dialogue_icc([shared])
    assert found.ci_low < 0.17 < found.ci_high  # of 0/1 answers with log-odds of SD 1: .174
    assert (found.details["per_dialogue"], found.details["n_dialogues"]) == (5, 400)
    pairs = planning_dialogue_icc([replace(shared, dialogues_b=shared.dialogues)])
    assert pairs.estimate == pytest.approx(found.estimate / 2)
    crossed = planning_dialogue_icc([replace(shared, dialogues_b=np.roll(shared.dialogues, 2))])
    assert crossed.estimate != pytest.approx(found.estimate / 2)
    assert planning_dialogue_icc([leads(20, 3, 0.5, 0)]) is None


@pytest.mark.parametrize("df", [None, 5, 40])
def test_power_undoes_the_detectable_gap(df):
    """At the gap that is found with power .8 the power is .8, on either side; without a gap it is α."""
    gap = detectable_gap(0.03, df=df)
    assert power_of_gaps([gap, -gap, 0], 0.03, df=df) == pytest.approx([0.8, 0.8, 0.05], abs=1e-4)
    with pytest.raises(ValueError, match="expected more than 0"):
        power_of_gaps([0.1], 0.0)


def test_pooled_samples_count_by_what_they_tell():
    """The same sample twice has its own ICC and a narrower interval; of weight ½ each, they are one sample again."""
    rng = np.random.default_rng(5)
    workers = np.repeat(np.arange(20), 5).astype(object)
    values = rng.normal(0, 0.6, 20)[workers.astype(int)] + rng.normal(size=100)
    one = intraclass_correlation(values, workers)
    twice = pooled_intraclass_correlation([Clustered(values, workers), Clustered(values + 9, workers)])
    halves = pooled_intraclass_correlation([Clustered(values, workers, 0.5)] * 2)
    for found in (twice, halves):
        assert found.estimate == pytest.approx(one.estimate)
    assert twice.ci_high - twice.ci_low < 0.8 * (one.ci_high - one.ci_low)
    assert (halves.ci_low, halves.ci_high) == pytest.approx((one.ci_low, one.ci_high))
    tiny = Clustered(np.array([1.0, 1, 1, -1, -1, -1]), np.array(list("aaabbb"), dtype=object))
    with_tiny = pooled_intraclass_correlation([Clustered(values, workers), tiny])
    assert abs(with_tiny.estimate - one.estimate) < 0.1


def test_answers_in_several_pairs_count_once():
    """Three models in each turn make three pairs of the same turns: together they tell as much as one of them."""
    chosen = np.random.default_rng(1).multinomial(1, [0.4, 0.3, 0.3], 120).astype(float)
    workers = np.repeat(np.arange(20), 6)
    gaps, alike = paired_gaps(["x", "y", "z"], chosen, workers, workers)
    measure = Measure("turns", "sata", "soba", "appropriate", "turn", "share", alike, gaps)
    assert [pair.weight for pair in pooled_gaps([measure])] == pytest.approx([1 / 3] * 3)
    found = planning_icc(pooled_gaps([measure, measure]))
    assert found.details["df_between"] == pytest.approx(2 * 19)
