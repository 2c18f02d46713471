"""Power of the tests of a plan, against scipy and against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chi2, nct, ncx2, norm, t

from parlai_humaneval.planning.designs import (
    ChoiceDesign,
    OneProportion,
    TwoProportions,
    TwoScores,
    greatest_discordance,
    patterns,
)
from parlai_humaneval.planning.power import (
    binomial_power,
    chi2_power,
    deciding_power,
    exact_binomial_sizes,
    joint_power,
    normal_power,
    rejected_counts,
)
from parlai_humaneval.statistics.core.sign_flip import joint_sign_flip_p

P1 = st.sampled_from([0.0, 1.0]) | st.floats(1e-6, 1 - 1e-6)  # scipy's own pmf overflows at 1e-308


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 60), p0=st.floats(0.05, 0.95), p1=P1, alpha=st.floats(0.001, 0.2))
def test_exact_power_by_enumeration(n: int, p0: float, p1: float, alpha: float) -> None:
    """Guards the exact power: the chance of all outcomes that scipy's binomial test rejects."""
    p_values = [1.0 if n == 0 else binomtest(k, n, p0).pvalue for k in range(n + 1)]
    # an outcome whose p is alpha up to rounding may fall on either side
    surely = [p <= alpha * (1 - 1e-6) for p in p_values]
    perhaps = [p <= alpha * (1 + 1e-6) for p in p_values]
    chances = binom.pmf(np.arange(n + 1), n, p1)
    assert chances[surely].sum() - 1e-9 <= binomial_power(n, p0, p1, alpha) <= chances[perhaps].sum() + 1e-9
    assert all(got or not must for got, must in zip(rejected_counts(n, p0, alpha), surely, strict=True))


def test_exact_sizes_of_the_paper() -> None:
    """Guards what 196 turns buy: power .77; .80 is first reached with 199, and always from 210 on."""
    assert binomial_power(196, 0.5, 0.6) == pytest.approx(0.772, abs=5e-4)
    assert exact_binomial_sizes(0.5, 0.6, around=196) == (199, 210)
    powers = {n: binomial_power(n, 0.5, 0.6) for n in range(150, 400)}
    assert min(n for n, power in powers.items() if power >= 0.8) == 199
    assert max(n for n, power in powers.items() if power < 0.8) == 209
    assert 0.25 < binomial_power(196, 0.5, 0.55) < 0.30
    assert exact_binomial_sizes(0.5, 0.6, around=1_000) is None, "the answer is not near 1,000"


def test_large_samples_and_errors() -> None:
    """Guards the normal stand-in beyond the exact limit, which must join the exact power, and the checks of input."""
    exact, normal = binomial_power(50_000, 0.5, 0.506), normal_power(50_000, 0.006, 0.25, 0.249964, 0.05)
    assert exact == pytest.approx(normal, abs=0.01)
    assert binomial_power(50_001, 0.5, 0.506) == pytest.approx(exact, abs=0.01)
    with pytest.raises(ValueError, match="0 < p0 < 1"):
        binomial_power(10, 0, 0.5)


@given(nc=st.floats(0.01, 60), df=st.integers(1, 6), alpha=st.floats(0.001, 0.2))
def test_chi2_agrees_with_scipy(nc: float, df: int, alpha: float) -> None:
    """Guards the power of χ² tests against scipy's noncentral distribution, and the level where there is no effect."""
    assert chi2_power(nc, df, alpha) == pytest.approx(ncx2.sf(chi2.isf(alpha, df), df, nc), abs=1e-6)


@pytest.mark.parametrize(("clusters", "distance"), [(20, 2.5), (60, 3.0), (300, 2.8)])
def test_alone_the_clustered_test_is_t(clusters: int, distance: float) -> None:
    """Guards the power of what decides where the paper's p never does: it is that of the two-sided t test."""
    critical = t.isf(0.025, clusters - 1)
    expected = nct.sf(critical, clusters - 1, distance) + nct.cdf(-critical, clusters - 1, distance)
    found = deciding_power(distance, df=clusters - 1, df_spread=clusters - 1, effect=1.0, paper=0.0)
    assert found == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize(("effect", "step"), [(1.0, 0.0), (1.0, 0.1), (1.3, 0.06), (0.9, 0.0)])
def test_the_larger_of_two_p_decides(effect: float, step: float) -> None:
    """Guards the power of what a report goes by against 200,000 drawn studies: the clustered t test finds the gap, and so
    does the paper's, or the clusters' sums vary significantly less than those of independent answers."""
    rng = np.random.default_rng(8)
    ahead, spread = 2.8 + rng.standard_normal(200_000), rng.chisquare(39, 200_000) / 39
    by_worker = abs(ahead) > t.isf(0.025, 39) * np.sqrt(spread)
    by_paper = abs(ahead) * np.sqrt(effect) > norm.isf(0.025) + step
    shown = chi2.cdf(39 * spread * effect, 39) < 0.05
    found = deciding_power(2.8, df=39, df_spread=39, effect=effect, step=step)
    assert found == pytest.approx((by_worker & (by_paper | shown)).mean(), abs=0.004)


@pytest.mark.parametrize(("df", "clusters"), [(1, 15), (3, 20), (3, 60), (5, 40)])
def test_joint_sign_flips_have_their_power(df: int, clusters: int) -> None:
    """Guards the power of the joint sign-flip test against drawn studies, of clusters whose values are normal."""
    rng = np.random.default_rng(9)
    lead = np.append(np.sqrt(12 / clusters), np.zeros(df - 1))
    p = [joint_sign_flip_p(rng.standard_normal((clusters, df)) + lead, draws=999) for _ in range(600)]
    assert joint_power(12.0, df, clusters) == pytest.approx(np.mean(np.array(p) < 0.05), abs=0.05)
    assert joint_power(0.0, df, clusters) == pytest.approx(0.05, abs=0.02)
    assert joint_power(12.0, df, 1) == 0


@given(data=st.data())
def test_patterns_have_the_shares_and_the_discordance(data: st.DataObject) -> None:
    """Guards the made-up world: its chances sum to 1, its differences and mean discordance are those asked for."""
    k = data.draw(st.integers(2, 7))
    discordance = data.draw(st.floats(0.05, greatest_discordance(k)))
    gap = data.draw(st.floats(0.001, discordance))
    design = ChoiceDesign((0.5 + gap / 2, *[0.5] * (k - 2), 0.5 - gap / 2), discordance)
    chosen, chances = patterns(design)
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()
    shares = chances @ chosen
    assert shares - shares.mean() == pytest.approx(np.array(design.shares) - 0.5, abs=1e-9)
    pairs = [chances @ (chosen[:, i] != chosen[:, j]) for i in range(k) for j in range(i)]
    assert np.mean(pairs) == pytest.approx(discordance)


def test_information_by_hand() -> None:
    """Guards what one observation adds, for each design: squared difference over the true variance."""
    assert ChoiceDesign((0.55, 0.45), 1.0).information == pytest.approx(0.01 / 0.99)
    assert ChoiceDesign((0.55, 0.45), 0.85).information == pytest.approx(0.01 / (0.85 - 0.01))
    assert OneProportion(0.8, 0.9).information == pytest.approx(0.01 / 0.09)
    assert TwoProportions(0.85, 0.75).information == pytest.approx(0.01 / (0.85 * 0.15 + 0.75 * 0.25))
    assert TwoScores(0.1).distance == pytest.approx(0.17772, abs=1e-5)
    # two of five scores of a worker, with the degraded one's, sum to a number that hardly varies
    assert TwoScores(0.1, 5).information == pytest.approx(0.17772**2 / 2 / (1 + (1 - 0.22 / 5) / 4), abs=1e-5)
    picks = ChoiceDesign((0.3, 0.2, 0.25, 0.25), 0.5)
    # one pick of four: Σ (p − ¼)² by the mean variance of a share, of which three are free
    assert picks.information == pytest.approx(3 * 0.005 / (1 - (0.3**2 + 0.2**2 + 2 * 0.25**2)))
    logs = np.log([0.3, 0.2, 0.25, 0.25])
    strengths = np.average(logs**2, weights=np.exp(logs)) - np.average(logs, weights=np.exp(logs)) ** 2
    assert replace(picks, by_strength=True).information == pytest.approx(strengths)
    pair = ChoiceDesign((0.55, 0.45), 0.5, by_strength=True)
    assert pair.information == pytest.approx(np.log(0.3 / 0.2) ** 2 / (1 / 0.3 + 1 / 0.2))


@given(models=st.integers(3, 8), gap=st.floats(0.02, 0.3))
def test_one_ranking_tells_pairs_by_all_turns(models: int, gap: float) -> None:
    """Guards one ranking: with as many turns of each two, models that are close are told apart as by K/2 times as many."""
    alone = ChoiceDesign(((1 + gap) / 2, (1 - gap) / 2), 1.0, by_strength=True)
    ranked = replace(alone, ranked=models)
    assert ranked.information / alone.information == pytest.approx(models / 2, rel=0.6 * gap)
    assert ranked.groups(60, 6) == pytest.approx(10 * models / 2)


@pytest.mark.parametrize(
    "design",
    [
        ChoiceDesign((0.55, 0.45), 1.0),
        ChoiceDesign((0.6, 0.4), 0.6),
        ChoiceDesign((0.35, 0.25, 0.3, 0.3), 0.49),
        ChoiceDesign((0.3, 0.2, 0.25, 0.25), 0.5),
        OneProportion(0.8, 0.7),
        TwoProportions(0.8, 0.7),
        TwoScores(0.2),
    ],
)
def test_sizes_buy_their_power(design: ChoiceDesign | OneProportion | TwoProportions | TwoScores) -> None:
    """Guards each design: the power of the size that it gives is what was asked for, but for a test's steps."""
    steps = (
        0.06 if isinstance(design, OneProportion) else 0.03
    )  # an exact test of a share near 1 is far below its level
    for power in (0.6, 0.8, 0.95):
        assert design.iid_power(round(design.size(0.05, power)), 0.05) == pytest.approx(power, abs=steps)


def test_impossible_worlds() -> None:
    """Guards the checks of a design: too much discordance, or models that differ more than the answers."""
    with pytest.raises(ValueError, match=r"at most 0\.667"):
        ChoiceDesign((0.5, 0.5, 0.4, 0.6), 0.8)
    with pytest.raises(ValueError, match="more often than the answers do"):
        ChoiceDesign((0.6, 0.4), 0.1)
    with pytest.raises(ValueError, match="more often than the answers do"):
        ChoiceDesign((0.9, 0.9, 0.9, 0.55), 0.49)
