"""Statistics of slider ratings: rank sums, worker checks, scores and correlations, against libraries and by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import REFERENCE
from scipy.stats import mannwhitneyu, pearsonr, spearmanr

from parlai_humaneval.quality.answers import degraded_rated_lower
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.ranks import (
    correlation,
    criteria_correlations,
    rank_sum_test,
    rank_sums,
    rater_pairs,
)
from parlai_humaneval.statistics.ratings.sliders import (
    is_reversed,
    overall_parts,
    overall_score,
    reverse_scored,
    score_gaps,
    standardise,
    standardised,
    system_scores,
    worker_checks,
)
from parlai_humaneval.tables.columns import from_rows

SAMPLE = st.lists(st.integers(0, 9), min_size=1, max_size=25)


def ratings_table(rows):
    """Rows of (dialogue, worker, model, criterion, value, degraded, extras) with the exchange columns only."""
    names = ("dialogue_id", "worker_id", "model", "criterion", "value", "degraded")
    return from_rows("ratings", [dict(zip(names, row, strict=True)) for row in rows])


def scored(rows):
    """Rows of (dialogue, worker, model, criterion, z); raw is 50 + 10 z."""
    frame = pd.DataFrame(rows, columns=["dialogue_id", "worker_id", "model", "criterion", "z"])
    return frame.assign(raw=50 + 10 * frame["z"])


def random_scores(seed, missing=0.0, models=("a", "b"), workers=12):
    """Each worker rates each model on three criteria; some ratings are missing."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{w}{m}", f"w{w}", m, c, float(rng.normal(0.3 * (m == "b"), 1)))
        for w in range(workers)
        for m in models
        for c in ("x", "y", "v")
        if rng.random() >= missing
    ]
    return scored(rows)


def test_rank_sum_reference_cases(gold_cases):
    """U and p of all reference cases."""
    cases = [case for case in gold_cases if case["function"] == "rank_sum"]
    assert cases
    for case in cases:
        result = rank_sum_test(*case["args"], **case["kwargs"])
        assert result.statistic == pytest.approx(case["expected"]["U"], abs=1e-9)
        assert result.p_value == pytest.approx(case["expected"]["p"], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(SAMPLE, SAMPLE)
def test_rank_sums_of_many_groups_are_those_of_scipy(x, y):
    """Without a loop over groups the same comes out as with one call each; a constant group has p = 1."""
    second = np.array([*y, *x]) + 1.0
    values = np.concatenate([x, y, second])
    first = [1] * len(x) + [0] * len(y) + [1] * len(y) + [0] * len(x)
    groups = [0] * (len(x) + len(y)) + [2] * (len(x) + len(y))
    order = np.random.default_rng(len(x)).permutation(len(values))
    found = rank_sums(values[order], np.array(first)[order], np.array(groups)[order], 3)
    for group, (a, b) in {0: (x, y), 2: (y, x)}.items():
        alike = len({*x, *y}) == 1
        untied = len({*a, *b}) == len(a) + len(b) and max(len(a), len(b)) <= 20
        method = "exact" if untied else "asymptotic"
        expected = 1.0 if alike else mannwhitneyu(a, b, alternative="less", method=method).pvalue
        assert found.p_less[group] == pytest.approx(expected, abs=1e-12)
        assert found.u[group] == mannwhitneyu(a, b, method="asymptotic").statistic
        assert found.p_less[group] == pytest.approx(degraded_rated_lower(a, b).p, abs=1e-12)
    assert (found.n_first[1], found.n_second[1], found.p_less[1]) == (0, 0, 1)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 20), (2, 3), (7, 5), (20, 20)])
def test_small_untied_samples_are_exact(n, m):
    """One sample and many groups of one size or another agree with scipy's exact p."""
    shuffles = [np.random.default_rng(seed).permutation(n + m) for seed in range(8)]
    groups = np.repeat(np.arange(8), n + m)
    found = rank_sums(np.concatenate(shuffles), np.tile([True] * n + [False] * m, 8), groups, 8)
    expected = [mannwhitneyu(x[:n], x[n:], alternative="less", method="exact").pvalue for x in shuffles]
    assert found.p_less == pytest.approx(expected, abs=1e-12)
    assert [rank_sum_test(x[:n], x[n:], "less").p_value for x in shuffles] == pytest.approx(expected, abs=1e-12)


def test_what_is_exact_and_what_is_not():
    """1 of 20 orders puts three values below three others; a tie, or a 21st value, and p is an approximation."""
    small = rank_sum_test([3, 1, 2], [4, 6, 5], "less")
    assert (small.p_value, small.method.endswith("exact")) == (pytest.approx(1 / 20), True)
    assert rank_sum_test([3, 1, 2], [4, 6, 5]).p_value == pytest.approx(1 / 10)
    assert rank_sums([3, 1, 2, 4, 6, 5], [1, 1, 1, 0, 0, 0], [0] * 6, 1).p_less[0] == pytest.approx(1 / 20)
    assert degraded_rated_lower([3, 1, 2], [4, 6, 5]) == (False, pytest.approx(1 / 20))
    for x, y in (([3, 1, 2], [4, 6, 3]), (range(21), range(30, 33))):
        found = rank_sum_test(x, y, "less")
        assert "corrected for ties" in found.method
        assert found.p_value == mannwhitneyu(x, y, alternative="less", method="asymptotic").pvalue


@settings(max_examples=60, deadline=None)
@given(SAMPLE, SAMPLE)
def test_rank_sum_is_symmetric(x, y):
    """Samples exchanged: less becomes greater, and U the other pairs; the two-sided p stays."""
    there, back = rank_sum_test(x, y, "less"), rank_sum_test(y, x, "greater")
    assert there.p_value == pytest.approx(back.p_value)
    assert there.statistic + back.statistic == len(x) * len(y)
    assert rank_sum_test(x, y).p_value == pytest.approx(rank_sum_test(y, x).p_value)
    assert there.estimate == pytest.approx(1 - back.estimate)


def test_rank_sum_edges():
    """Nothing to test, nothing that differs, what cannot be meant."""
    empty = rank_sum_test([], [1, 2])
    assert (empty.p_value, empty.estimate, empty.statistic) == (1, None, None)
    tied = rank_sum_test([3, 3], [3, 3, 3])
    assert (tied.p_value, tied.estimate, tied.statistic) == (1, 0.5, 3)
    with pytest.raises(ValueError, match="nan"):
        rank_sum_test([1, np.nan], [2])
    with pytest.raises(ValueError, match="alternative"):
        rank_sum_test([1], [2], "lower")
    with pytest.raises(ValueError, match="nan"):
        rank_sums([np.inf], [1], [0], 1)


def test_reversed_criteria_go_by_column_then_by_name():
    """Where ``reversed`` is said it wins, also over the name; where it is empty robotic and repetitive are reversed."""
    rows = [("d", "w", "m", name, 30, 0) for name in ("robotic", "repetitive", "fluent")]
    table = ratings_table(rows)
    assert is_reversed(table).tolist() == [True, True, False]
    assert reverse_scored(table).tolist() == [70, 70, 30]
    said = table.assign(reversed=pd.array([0, None, 1], dtype="Int64"))
    assert is_reversed(said).tolist() == [False, True, True]
    assert is_reversed(table.drop(columns="reversed")).tolist() == [True, True, False]
    short = table.assign(minimum=pd.array([1.0] * 3, dtype="Float64"), maximum=pd.array([7.0] * 3, dtype="Float64"))
    assert reverse_scored(short.assign(value=2.0)).tolist() == [6, 6, 2]


def test_the_worker_check_leaves_reversed_criteria_out():
    """A worker who says that the degraded model is robotic and repetitive passes by the positive criteria alone."""
    positive = [
        (f"d{i}", "w", m, "fluent", v + i, int(m == "qc")) for i in range(5) for m, v in (("qc", 10), ("a", 60))
    ]
    robotic = [(f"d{i}", "w", m, "robotic", v, int(m == "qc")) for i in range(5) for m, v in (("qc", 99), ("a", 1))]
    alone = worker_checks(ratings_table(positive)).iloc[0]
    both = worker_checks(ratings_table([*positive, *robotic])).iloc[0]
    assert alone["passed"]
    assert (
        both["p"]
        == alone["p"]
        == pytest.approx(mannwhitneyu(range(10, 15), range(60, 65), alternative="less", method="exact").pvalue)
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=60))
def test_z_of_a_table_is_that_of_each_worker(rows):
    """The vectorised z is the plain one worker by worker; constant workers have none."""
    table = ratings_table([(f"d{i}", f"w{w}", "m", "fluent", v, 0) for i, (w, v) in enumerate(rows)])
    z = standardised(table)
    for worker in table["worker_id"].unique():
        own = (table["worker_id"] == worker).to_numpy()
        expected = standardise(table["value"].to_numpy(dtype=float)[own])
        assert np.isnan(z[own]).all() if expected is None else np.allclose(z[own], expected, atol=1e-12)


def test_z_refuses_a_missing_rating():
    """nan would make all of the worker's ratings nan."""
    with pytest.raises(ValueError, match="nan"):
        standardise([1, np.nan])


def test_overall_score_by_hand():
    """The mean of the criteria; one without a score does not count."""
    assert overall_score([1, 2, 6]) == 3
    assert overall_score([1, None, 3]) == 2
    assert overall_score([None]) is None


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_overall_score_is_the_mean_of_the_criteria(missing):
    """Also where ratings are missing; its parts by dialogue have that mean."""
    data = random_scores(3, missing)
    for score in system_scores(data, ["x", "y", "v"]):
        for overall, means in ((score.z_overall, score.z), (score.raw_overall, score.raw)):
            assert overall.estimate == pytest.approx(overall_score([means[n].estimate for n in "xyv"]))
            assert overall.ci_low < overall.estimate < overall.ci_high
        own = data[data["model"] == score.model]
        assert overall_parts(own, "z")[0].mean() == pytest.approx(score.z_overall.estimate)
        assert score.n_ratings == len(own)


def test_with_all_ratings_the_overall_interval_is_that_of_dialogue_means():
    """The linearisation is exact: a dialogue's part is the mean of its ratings."""
    data = random_scores(4)
    (a, _) = system_scores(data, ["x", "y", "v"])
    means = data[data["model"] == "a"].groupby(["dialogue_id", "worker_id"])["z"].mean().reset_index()
    plain = clustered_mean(means["z"], means["worker_id"])
    assert (a.z_overall.ci_low, a.z_overall.ci_high) == pytest.approx((plain.ci_low, plain.ci_high))


def test_with_missing_ratings_the_interval_is_that_of_a_jackknife():
    """CR1 of the linearised score against leaving out a worker at a time, which knows nothing of it."""
    data = random_scores(5, missing=0.25, models=("a",), workers=200)

    def overall(rows):
        return rows.groupby("criterion")["z"].mean().mean()

    workers = data["worker_id"].unique()
    left_out = np.array([overall(data[data["worker_id"] != worker]) for worker in workers])
    jackknife = np.sqrt((len(workers) - 1) / len(workers) * ((left_out - left_out.mean()) ** 2).sum())
    (score,) = system_scores(data, ["x", "y", "v"])
    assert score.z_overall.details["standard_error"] == pytest.approx(jackknife, rel=0.02)


def test_pairs_of_models_have_both_tests():
    """The clustered difference with Holm, and the paper's one-sided tests on the means of dialogues."""
    data = random_scores(6, models=("a", "b", "c"))
    gaps = score_gaps(data, ["a", "b", "c"])
    assert [(gap.model_a, gap.model_b) for gap in gaps] == [("a", "b"), ("a", "c"), ("b", "c")]
    means = data.groupby(["model", "dialogue_id"])["z"].mean()
    expected = mannwhitneyu(means["a"], means["b"], alternative="greater", method="exact").pvalue
    assert gaps[0].a_higher.p_value == pytest.approx(expected)
    assert gaps[0].paper.p_value == pytest.approx(min(1, 2 * gaps[0].b_higher.p_value))
    assert gaps[0].difference.estimate == pytest.approx(means["a"].mean() - means["b"].mean())
    assert all(gap.difference.p_holm >= gap.difference.p_value for gap in gaps)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=4, max_size=15))
def test_correlations_are_those_of_scipy(pairs):
    """r, ρ and Fisher's interval; none where a list does not vary."""
    x, y = zip(*pairs, strict=True)
    found = {kind: correlation(x, y, kind) for kind in ("pearson", "spearman")}
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert all(result.estimate is None and result.notes for result in found.values())
        return
    expected = pearsonr(x, y)
    assert found["pearson"].estimate == pytest.approx(expected.statistic, abs=1e-9)
    assert found["spearman"].estimate == pytest.approx(spearmanr(x, y).statistic, abs=1e-9)
    if abs(expected.statistic) < 0.999:
        ends = expected.confidence_interval(0.95)
        assert (found["pearson"].ci_low, found["pearson"].ci_high) == pytest.approx((ends.low, ends.high))


def test_correlation_edges():
    """Missing pairs are left out; three pairs have no interval; what does not fit is refused."""
    few = correlation([1, 2, None, 4], [1, 3, 9, 2])
    assert (few.n, few.ci_low) == (3, None)
    assert few.estimate == pytest.approx(pearsonr([1, 2, 4], [1, 3, 2]).statistic)
    assert correlation([1, 2, 3, 4], [2, 4, 6, 8]).ci_low is None
    assert correlation([], []).estimate is None
    with pytest.raises(ValueError, match="2 against 3"):
        correlation([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="kind"):
        correlation([1, 2], [1, 2], "kendall")
    with pytest.raises(ValueError, match="infinite"):
        correlation([1, np.inf], [1, 2])


def test_the_interval_of_spearman_is_a_little_wider():
    """tanh(artanh ρ ± 1.96·√(1.06/(n − 3))), by hand for ρ = .8 of five pairs."""
    found = correlation([1, 2, 3, 4, 5], [2, 1, 3, 5, 4], "spearman")
    half = 1.959964 * np.sqrt(1.06 / 2)
    expected = (np.tanh(np.arctanh(0.8) - half), np.tanh(np.arctanh(0.8) + half))
    assert found.estimate == pytest.approx(0.8)
    assert (found.ci_low, found.ci_high) == pytest.approx(expected, abs=1e-6)


def test_criteria_correlations_are_symmetric():
    """Both halves are the same, the diagonal is 1, and a criterion without scores has none."""
    scores = {m: {"x": i, "y": i * i - 3 * i, "v": None} for i, m in enumerate("abcd")}
    matrix = criteria_correlations(scores, ["x", "y", "v"])
    assert matrix[0][0] == pytest.approx(1)
    assert matrix[0][1] == matrix[1][0] == pytest.approx(pearsonr([0, 1, 2, 3], [0, -2, -2, 0]).statistic, abs=1e-9)
    assert matrix[2] == [None, None, None]


def test_published_correlations_of_criteria_and_of_runs():
    """Every printed correlation of Ji et al. 2022 that can be recomputed from printed scores; and overall scores."""
    path = REFERENCE / "paper_figures.json"
    if not path.is_file():
        pytest.skip("the printed figures are not beside this checkout")
    checked = {"r": 0, "overall": 0}
    for figure in json.loads(path.read_text(encoding="utf-8")):
        inputs = figure["inputs"]
        if "ji2022" not in figure["paper"]:
            continue
        if "x" in inputs:
            kind = "spearman" if "Spearman" in figure["cell"] else "pearson"
            found, key = correlation(inputs["x"], inputs["y"], kind).estimate, "r"
        elif "criteria" in inputs:
            found, key = overall_score(inputs["criteria"]), "overall"
        else:
            continue
        assert found == pytest.approx(figure["expected"], abs=figure["tolerance"]), figure["cell"]
        checked[key] += 1
    assert checked["r"] >= 20
    assert checked["overall"] >= 10


def test_rater_pairs_are_plain_correlations_of_what_both_rated():
    """Against a loop over pairs, with ratings missing; pairs with few models in common are left out."""
    rng = np.random.default_rng(1)
    rows = [
        (f"{w}{m}", f"w{w}", m, c, float(rng.integers(0, 101)))
        for w in range(9)
        for m in "abcdef"
        if rng.random() < 0.7
        for c in ("x", "y")
        if rng.random() < 0.9
    ]
    frame = pd.DataFrame(rows, columns=["dialogue_id", "worker_id", "model", "criterion", "raw"])
    table = frame.pivot_table(index="worker_id", columns=["model", "criterion"], values="raw")
    expected, raters = [], set()
    for i, one in enumerate(table.index):
        for other in table.index[i + 1 :]:
            both = table.loc[[one, other]].dropna(axis=1)
            models = set(table.loc[one].dropna().index.get_level_values(0))
            models &= set(table.loc[other].dropna().index.get_level_values(0))
            if len(models) >= 3 and both.shape[1] >= 4:
                expected.append(np.corrcoef(both.to_numpy())[0, 1])
                raters |= {one, other}
    found = rater_pairs(frame)
    assert 0 < len(expected) < 36
    assert sorted(found.r) == pytest.approx(sorted(expected))
    assert found.n_raters == len(raters)
    assert found.median().estimate == pytest.approx(np.median(expected))


def test_raters_without_a_partner_have_no_agreement():
    """One rater, no common models, or constant ratings: said, not nan."""
    alone = pd.DataFrame(
        [("d", "w", m, "x", 1.0 * i) for i, m in enumerate("abcd")],
        columns=["dialogue_id", "worker_id", "model", "criterion", "raw"],
    )
    found = rater_pairs(alone)
    assert (found.r.size, found.n_raters, found.median().estimate) == (0, 0, None)
    constant = pd.concat([alone, alone.assign(worker_id="v", raw=5.0)])
    assert rater_pairs(constant).r.size == 0
    assert rater_pairs(pd.concat([alone, alone.assign(worker_id="v")])).r.tolist() == pytest.approx([1.0])


@pytest.mark.slow
def test_the_clustered_difference_rejects_a_true_null_as_often_as_it_says():
    """Workers differ in level, spread and in which model they like, the models are equal: about .05 of studies.

    The paper's test, which takes dialogues as independent, rejects far more often.
    """
    rng = np.random.default_rng(11)
    workers, dialogues, criteria = 50, 3, 3
    worker = np.repeat(np.arange(workers), 2 * dialogues * criteria)
    dialogue = np.repeat(np.arange(workers * 2 * dialogues), criteria)
    model = (dialogue // dialogues) % 2
    frame = pd.DataFrame(
        {
            "dialogue_id": dialogue,
            "worker_id": worker,
            "model": np.where(model == 1, "b", "a"),
            "criterion": np.tile(np.array([f"c{i}" for i in range(criteria)]), workers * 2 * dialogues),
            "reversed": 0,
            "minimum": 0.0,
            "maximum": 100.0,
        }
    )
    rejected = []
    for _ in range(80):  # .05 with an error of .024
        level, spread = rng.normal(0, 10, workers), rng.uniform(0.5, 1.5, workers)
        taste, mood = rng.normal(0, 12, (workers, 2)), rng.normal(0, 10, workers * 2 * dialogues)
        noise = rng.normal(0, 12, worker.size)
        value = 50 + level[worker] + taste[worker, model] + mood[dialogue] + spread[worker] * noise
        rated = frame.assign(value=np.clip(value, 0, 100))
        (gap,) = score_gaps(rated.assign(z=standardised(rated)), ["a", "b"])
        rejected.append((gap.difference.p_value < 0.05, gap.paper.p_value < 0.05))
    clustered, independent = np.mean(rejected, axis=0)
    assert 0 < clustered <= 0.1
    assert independent > 0.15
