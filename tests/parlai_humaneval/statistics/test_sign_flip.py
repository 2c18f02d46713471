"""The sign-flip engine: against enumeration and random signs, one statement with its interval, right error rates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.core.sign_flip import joint_sign_flip_p, sign_flip_interval, sign_flip_p_value
from parlai_humaneval.statistics.preference.tests import equal_rates_test

loads = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), min_size=4, max_size=30).map(
    lambda pairs: [(min(x, n), n) for x, n in pairs]
)


def unequal_loads(rng, workers):
    """Dialogues of 6 turns: lognormal, cut at 25, as crowds give them."""
    return 6 * np.clip(np.ceil(3.2 * np.exp(rng.normal(0, 1.1, workers))), 1, 25).astype(int)


def beta_binomial(rng, trials, rate, alike):
    strength = (1 - alike) / alike
    return rng.binomial(trials, rng.beta(rate * strength, (1 - rate) * strength, len(trials))).astype(float)


@pytest.mark.parametrize("groups", [13, 17, 20])
def test_the_approximation_is_that_of_all_signs(groups):
    """Beyond where signs are tried: within a tenth of the p-value, also with one cluster as heavy as half of the rest."""
    rng = np.random.default_rng(groups)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=groups - 1)))
    for heavy in (1.0, 6.0):
        d = rng.normal(0.25, 1, groups) * np.r_[heavy, np.ones(groups - 1)]
        sums = np.abs(d[0] + signs @ d[1:])
        assert sign_flip_p_value(d) == pytest.approx((sums >= abs(d.sum()) - 1e-9).mean(), rel=0.1)


def test_sums_of_whole_numbers_count_half_of_what_is_as_far():
    """Beyond exact counts p is mid-p: counting all that is as far would lose power to no gain."""
    d = np.array([1.0] * 14 + [-1.0] * 6)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(d) - 1)))
    sums = np.abs(d[0] + signs @ d[1:])
    mid = (sums > 8 + 1e-9).mean() + (np.abs(sums - 8) < 1e-9).mean() / 2
    assert sign_flip_p_value(d) == pytest.approx(mid, rel=0.1)
    assert sign_flip_p_value(d) < (sums >= 8 - 1e-9).mean()


@pytest.mark.parametrize("groups", [5, 12, 40])
def test_the_least_p_is_that_of_all_signs_equal(groups):
    """However large the sum: two assignments of 2^groups."""
    assert sign_flip_p_value(np.arange(1, groups + 1)) == pytest.approx(2.0 ** (1 - groups))
    assert sign_flip_p_value(np.zeros(groups)) == 1
    assert sign_flip_p_value(np.r_[np.ones(groups), -np.ones(groups)]) == 1


def one_statement(result, null):
    """p is below 1 − level exactly where the interval leaves the hypothesis out."""
    return (result.p_value < 1 - result.level) == (not result.ci_low <= null <= result.ci_high)


@settings(max_examples=150, deadline=None)
@given(loads, st.sampled_from([0.2, 0.5, 0.65, 0.8, 0.82, 0.95]))
def test_p_and_interval_are_one_statement(pairs, null):
    """However unequal the workers, also where the test of rates near 0 and 1 takes over."""
    got = clustered_share(cluster_sums([x for x, _ in pairs], [n for _, n in pairs], range(len(pairs))), null=null)
    assert got.ci_low - 1e-9 <= got.estimate <= got.ci_high + 1e-9
    assert one_statement(got, null)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-1, 1), min_size=26, max_size=60), st.sampled_from([0.9, 0.95]))
def test_differences_of_few_kinds_are_one_statement(gaps, level):
    """Sums of whole numbers tie at 0 and not beside it: p jumps there, and the interval with it."""
    got = clustered_mean(gaps, np.arange(len(gaps)) // 4, null=0, limits=(-1, 1), level=level)
    if got.ci_low is not None:
        assert one_statement(got, 0)


def test_a_rate_high_above_the_usual_baseline_is_out_of_it():
    """20 unequal workers, nine tenths good: .8 is rejected, and the interval begins above it."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        trials = unequal_loads(rng, 20)
        got = clustered_share(cluster_sums(beta_binomial(rng, trials, 0.92, 0.05), trials, range(20)), null=0.8)
        assert one_statement(got, 0.8)


def test_a_worker_who_outweighs_the_others_proves_nothing():
    """One with 500 answers, most for A, and twelve who are divided: whose sign the large one has is a coin's throw."""
    wins, trials = [400] + [4, 6] * 6, [500] + [10] * 12
    got = clustered_share(cluster_sums(wins, trials, range(13)))
    assert got.p_value > 0.3
    assert got.ci_low < 0.5 < got.estimate


def test_without_clusters_nothing_is_excluded():
    """No deviation speaks against any value."""
    assert sign_flip_interval(0.5, [], []) == (-np.inf, np.inf)
    assert sign_flip_p_value([]) == 1


def test_a_joint_test_of_two_mirrored_sums_is_the_test_of_one():
    """And of more values, by enumeration."""
    rng = np.random.default_rng(3)
    d = rng.normal(0.3, 1, 9)
    assert joint_sign_flip_p(np.column_stack([d, -d])) == pytest.approx(sign_flip_p_value(d))
    several = rng.normal(0.2, 1, (8, 3))
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=8)))
    lengths = ((signs @ several) ** 2).sum(axis=1)
    expected = (lengths >= (several.sum(axis=0) ** 2).sum() - 1e-9).mean()
    assert joint_sign_flip_p(several) == pytest.approx(expected)


def test_drawn_signs_agree_with_all_signs():
    """13 clusters, whose signs are drawn: within four standard errors of the exact share."""
    rng = np.random.default_rng(4)
    several = rng.normal(0.35, 1, (13, 3))
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=13)))
    lengths = ((signs @ several) ** 2).sum(axis=1)
    exact = (lengths >= (several.sum(axis=0) ** 2).sum() - 1e-9).mean()
    assert joint_sign_flip_p(several) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9_999))


@pytest.mark.parametrize("workers", [20, 50])
def test_unequal_workers_of_equal_models_are_not_told_apart_too_often(workers):
    """Loads as in crowds, answers alike (ICC .17): the t test of workers finds a difference in a tenth of null studies."""
    rng = np.random.default_rng(workers)
    p_values = []
    for _ in range(300):
        trials = unequal_loads(rng, workers)
        wins = beta_binomial(rng, trials, 0.5, 0.17)
        p_values.append(clustered_share(cluster_sums(wins, trials, range(workers))).p_value)
    # .05 and two of its errors (.0126): a tenth is one and a half of its own (.0173) above.
    assert 0.025 <= np.mean(np.array(p_values) < 0.05) <= 0.075


def test_unequal_workers_and_two_models_seen_apart():
    """Single-model turns: 20 unequal workers, each dialogue with one of two equal models."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(250):
        trials = unequal_loads(rng, 20)
        of_a = rng.binomial(trials, 0.5)
        values, who = [], []
        for mine in (of_a, trials - of_a):
            liked = beta_binomial(rng, mine, 0.8, 0.17).astype(int)
            values.append(
                np.concatenate([np.r_[np.ones(k), np.zeros(n - k)] for k, n in zip(liked, mine, strict=True)])
            )
            who.append(np.repeat(np.arange(20), mine))
        p_values.append(clustered_difference(values[0], who[0], values[1], who[1]).p_value)
    assert 0.022 <= np.mean(np.array(p_values) < 0.05) <= 0.078


def test_unequal_workers_and_four_equal_models():
    """The joint test: Hotelling's T² of workers rejects in a fifth of such studies."""
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(300):
        trials = unequal_loads(rng, 20)
        tastes = rng.dirichlet(np.full(4, 0.25 * (1 - 0.17) / 0.17), 20)
        picked = np.concatenate([rng.choice(4, n, p=p) for n, p in zip(trials, tastes, strict=True)])
        p_values.append(equal_rates_test(np.eye(4)[picked], np.repeat(np.arange(20), trials)).p_value)
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.082
