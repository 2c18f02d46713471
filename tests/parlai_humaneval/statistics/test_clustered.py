"""Worker-clustered inference: right error rates, honest edges, agreement with plain references."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from parlai_humaneval.statistics.core.clustered import (
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
    effective_clusters,
    limited,
    sign_flip_p,
    small_sample_notes,
)
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.shares import binomial_p, wilson_interval
from parlai_humaneval.statistics.core.two_way import two_way_share

sums_of = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8)), min_size=3, max_size=10).map(
    lambda pairs: [(min(x, n), n) for x, n in pairs]
)


def sums(pairs):
    return cluster_sums([x for x, _ in pairs], [n for _, n in pairs], range(len(pairs)))


def test_cluster_sums_add_up_and_leave_out_what_does_not_count():
    """nan (undefined Sqr) and empty denominators count for nothing; a worker left with nothing is no worker."""
    got = cluster_sums([1, 0, np.nan, 3, 0], [1, 1, 1, 4, 0], ["a", "b", "b", "a", "c"])
    assert got.numerators.tolist() == [4, 0]
    assert got.denominators.tolist() == [5, 1]


def test_the_standard_error_is_that_of_statsmodels():
    """The closed form is the cluster covariance of an intercept-only regression with CR1."""
    rng = np.random.default_rng(1)
    workers = rng.integers(0, 12, 150)
    wins = (rng.random(150) < 0.4 + 0.03 * workers).astype(float)
    fit = OLS(wins - 0.5, np.ones(150)).fit(
        cov_type="cluster",
        cov_kwds={"groups": workers, "use_correction": True, "df_correction": True},
        use_t=True,
    )
    got = clustered_share(cluster_sums(wins, np.ones(150), workers))
    assert got.estimate == pytest.approx(fit.params[0] + 0.5)
    assert got.details["standard_error"] == pytest.approx(fit.bse[0], rel=1e-9)
    assert got.statistic == pytest.approx(fit.tvalues[0])


def test_false_positives_under_worker_heterogeneity():
    """66 workers of 10 turns, log-odds SD 1, no model better: clustered tests hold 5 %, the binomial does not."""
    rng = np.random.default_rng(7)
    runs, workers, turns = 300, 66, 10
    chance = 1 / (1 + np.exp(-rng.normal(0, 1, (runs, workers))))
    wins = rng.binomial(turns, chance)
    of_run = [cluster_sums(row, np.full(workers, turns), np.arange(workers)) for row in wins]
    robust = np.mean([clustered_share(one).p_value < 0.05 for one in of_run])
    p_of = {k: binomial_p(k, workers * turns) for k in np.unique(wins.sum(axis=1)).tolist()}
    independent = np.mean([p_of[k] < 0.05 for k in wins.sum(axis=1).tolist()])
    assert 0.025 <= robust <= 0.075
    assert independent > 0.12


def test_coverage_of_the_interval_with_few_workers():
    """15 workers of 6 turns: the interval covers the truth in about 95 %, the bootstrap in a little less."""
    rng = np.random.default_rng(11)
    runs, workers, turns, spread = 250, 15, 6, 1.0
    truth = float((1 / (1 + np.exp(-rng.normal(0.7, spread, 200_000)))).mean())
    chance = 1 / (1 + np.exp(-rng.normal(0.7, spread, (runs, workers))))
    covered, resampled = [], []
    for row in rng.binomial(turns, chance):
        one = cluster_sums(row, np.full(workers, turns), np.arange(workers))
        got = clustered_share(one)
        covered.append(got.ci_low <= truth <= got.ci_high)
        low, high = cluster_bootstrap(one, seed=1, draws=400)
        resampled.append(low <= truth <= high)
    assert 0.92 <= np.mean(covered) <= 0.98
    assert 0.87 <= np.mean(resampled) <= np.mean(covered) + 0.01


@given(sums_of)
def test_swapping_the_models_mirrors_everything(pairs):
    """Which model is called the first changes neither p nor the width of the interval."""
    got = clustered_share(sums(pairs))
    other = clustered_share(sums([(n - x, n) for x, n in pairs]))
    assert got.p_value == pytest.approx(other.p_value)
    assert (got.estimate, got.ci_low, got.ci_high) == pytest.approx(
        (1 - other.estimate, 1 - other.ci_high, 1 - other.ci_low)
    )
    assert 0 <= got.ci_low <= got.estimate + 1e-9
    assert got.estimate - 1e-9 <= got.ci_high <= 1


@given(sums_of, st.integers(2, 5))
def test_the_same_answers_again_from_the_same_workers_tell_nothing_new(pairs, times):
    """Repeating each worker's answers narrows the independent interval, and not the clustered one."""
    answers = [(1.0, worker) for worker, (x, _) in enumerate(pairs) for _ in range(x)]
    answers += [(0.0, worker) for worker, (x, n) in enumerate(pairs) for _ in range(n - x)]
    values, workers = zip(*answers, strict=True)
    once = clustered_mean(values, workers, null=0.5)
    repeated = clustered_mean(values * times, workers * times, null=0.5)
    if once.ci_low is not None:
        assert (repeated.ci_low, repeated.ci_high) == pytest.approx((once.ci_low, once.ci_high))
    k, n = sum(x for x, _ in pairs), sum(n for _, n in pairs)
    narrow, wide = wilson_interval(k * times, n * times), wilson_interval(k, n)
    assert narrow[1] - narrow[0] < wide[1] - wide[0]


def test_likeness_within_workers_widens_the_interval():
    """The same 60 turns won of 120, once spread evenly and once as whole workers, are not equally sure."""
    mixed = clustered_share(sums([(5, 10), (7, 10), (4, 10), (6, 10), (3, 10), (5, 10)] * 2))
    alike = clustered_share(sums([(10, 10), (0, 10)] * 6))
    assert alike.estimate == mixed.estimate == 0.5
    assert alike.ci_high - alike.ci_low > 2 * (mixed.ci_high - mixed.ci_low)


def test_no_observations():
    """n = 0: no estimate, p = 1, and it says so."""
    got = clustered_share(sums([]))
    assert (got.estimate, got.ci_low, got.p_value, got.n) == (None, None, 1, 0)
    assert "nothing can be estimated" in got.notes[0]
    assert cluster_bootstrap(sums([]), seed=0) is None
    assert sign_flip_p(sums([])) is None


@pytest.mark.parametrize("pairs", [[(9, 12)], [(2, 6), (5, 6)], [(6, 6), (6, 6)], [(3, 6), (3, 6)]])
def test_fewer_than_three_workers_have_no_interval_and_no_p(pairs):
    """With two, t has one degree of freedom: words instead, also where both agree."""
    got = clustered_share(sums(pairs))
    assert got.estimate == sum(x for x, _ in pairs) / sum(n for _, n in pairs)
    assert (got.ci_low, got.ci_high, got.p_value, got.statistic) == (None, None, None, None)
    assert got.notes == ("too few raters for an interval and a p-value (at least 3 are needed)",)
    assert cluster_bootstrap(sums(pairs), seed=0) is None


def test_one_worker_has_no_sign_to_flip():
    """The exact test needs two."""
    assert sign_flip_p(sums([(9, 12)])) is None


def test_three_workers_by_hand():
    """0, 3 and 6 of 6: share 1/2, residuals −3, 0, 3; error √(3/2 · 18)/18 = .2887; four answers of effect, two won."""
    got = clustered_share(sums([(0, 6), (3, 6), (6, 6)]))
    assert got.details["standard_error"] == pytest.approx(27**0.5 / 18)
    assert got.p_value == 1
    assert (got.ci_low, got.ci_high) == pytest.approx(proportion_confint(2, 4, method="beta"), abs=0.01)
    assert "fewer than 10 raters: take the interval as a rough guide" in got.notes


@pytest.mark.parametrize(
    ("interval", "limits", "expected"),
    [
        ((-8.14, 8.80), (-1, 1), (-1, 1)),
        ((0.2, 1.3), (0, 1), (0.2, 1)),
        ((-0.1, 0.4), (0, 1), (0, 0.4)),
        ((-8.14, 8.80), None, (-8.14, 8.80)),
        ((0, 1), (0, 1), (0, 1)),
    ],
)
def test_intervals_are_cut_at_the_possible(interval, limits, expected):
    """And only there; that one was cut is said."""
    low, high, notes = limited(*interval, limits)
    assert (low, high) == expected
    assert bool(notes) == ((low, high) != interval)


def test_every_worker_split_evenly():
    """All ties: no difference at all, p = 1, and an interval that is no point."""
    got = clustered_share(sums([(3, 6)] * 8))
    assert (got.estimate, got.p_value) == (0.5, 1)
    assert (got.ci_low, got.ci_high) == pytest.approx(proportion_confint(24, 48, method="beta"), abs=2e-4)


def test_about_equal_workers_are_not_called_unequal():
    """Ten workers who weigh like 9.9 are ten equal ones; nine are few, whatever they gave; ten like 9.4 are unequal."""
    assert small_sample_notes(10, "worker", [10] * 9 + [8]) == ()
    assert "fewer than 10 raters" in small_sample_notes(9, "worker", [10] * 8 + [8])[0]
    unequal = [12, 12, 12, 12, 12, 8, 8, 8, 8, 4]
    assert effective_clusters(unequal) < 9.5
    assert "10 weigh like 9.3 equal ones" in small_sample_notes(10, "worker", unequal)[0]


def test_few_workers_are_remarked():
    """A t interval from four workers is a rough guide."""
    assert "fewer than 10 raters" in clustered_share(sums([(3, 6), (5, 6), (4, 6), (2, 6)])).notes[0]


@given(sums_of)
def test_sign_flip_agrees_with_enumeration(pairs):
    """Against the plainest reference: every assignment of signs, one after the other."""
    deviations = [x - n / 2 for x, n in pairs]
    flips = [
        abs(sum(s * d for s, d in zip(signs, deviations, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(pairs))
    ]
    expected = np.mean([value >= abs(sum(deviations)) - 1e-9 for value in flips])
    assert sign_flip_p(sums(pairs)) == pytest.approx(expected)


def test_bootstrap_agrees_with_a_plain_loop_and_repeats_with_its_seed():
    """The matrix product is the same as drawing workers one by one."""
    one = sums([(x, 6) for x in (1, 2, 3, 4, 5, 6, 3, 4, 2, 5)] * 3)
    rng = np.random.default_rng(5)
    plain = []
    for _ in range(4000):
        drawn = rng.integers(0, one.n_clusters, one.n_clusters)
        plain.append(one.numerators[drawn].sum() / one.denominators[drawn].sum())
    got = cluster_bootstrap(one, seed=3, draws=4000)
    assert got == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.012)
    few = [cluster_bootstrap(one, seed=seed, draws=20) for seed in (3, 3, 4)]
    assert few[0] == few[1] != few[2]


@given(st.lists(st.floats(0, 1) | st.none(), max_size=12))
@settings(max_examples=20, deadline=None)
def test_holm_agrees_with_statsmodels(p_values):
    """A missing test stays missing, and counts as one of p = 1: it makes no other test easier."""
    got = holm(p_values)
    assert [p is None for p in got] == [p is None for p in p_values]
    if p_values:
        filled = [1.0 if p is None else p for p in p_values]
        with patch("gc.collect"):  # statsmodels calls it each time: a second, with all that tests load
            expected = list(multipletests(filled, method="holm")[1])
        made = [place for place, p in enumerate(p_values) if p is not None]
        assert [got[place] for place in made] == pytest.approx([expected[place] for place in made])


def test_few_large_workers_are_remarked():
    """Ten workers of geometric sizes weigh like three, where t rejects too often; ten equal ones need no remark."""
    sizes = 2 ** np.arange(10)
    workers = np.repeat(np.arange(10), sizes)
    won = np.random.default_rng(0).integers(0, 2, len(workers)).astype(float)
    uneven = clustered_share(cluster_sums(won, np.ones(len(won)), workers))
    assert effective_clusters(sizes) == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())
    assert any("10 weigh like 3.0 equal ones" in note for note in uneven.notes)
    assert any("10 weigh like 3.0 equal ones" in note for note in clustered_mean(won, workers, null=0.5).notes)
    half = np.arange(len(won)) % 2 == 0
    gap = clustered_difference(won[half], workers[half], won[~half], workers[~half])
    assert any("weigh like" in note for note in gap.notes)
    both = two_way_share(won, np.ones(len(won)), workers, np.arange(len(won)) % 20)
    assert any("10 weigh like 3.0 equal ones" in note for note in both.notes)
    even = clustered_share(cluster_sums(won[:1000], np.ones(1000), np.arange(1000) % 10))
    assert not any("weigh" in note for note in even.notes)
