"""Power of the tests of a plan, against scipy and against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, ncf, nct, ncx2, t

from parlai_humaneval.planning.designs import (
    Contest,
    OneShare,
    TwoScores,
    TwoShares,
    greatest_discordance,
    patterns,
)
from parlai_humaneval.planning.power import (
    binomial_power,
    chi2_power,
    exact_binomial_sizes,
    f_power,
    normal_power,
    rejected_counts,
)

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


@given(nc=st.floats(0.01, 60), df=st.integers(1, 6), error=st.floats(1, 400), alpha=st.floats(0.001, 0.2))
def test_f_and_chi2_agree_with_scipy(nc: float, df: int, error: float, alpha: float) -> None:
    """Guards both power functions against scipy's noncentral distributions, and the level where there is no effect."""
    from scipy.stats import chi2, f

    assert f_power(nc, df, error, alpha) == pytest.approx(ncf.sf(f.isf(alpha, df, error), df, error, nc), abs=1e-5)
    assert chi2_power(nc, df, alpha) == pytest.approx(ncx2.sf(chi2.isf(alpha, df), df, nc), abs=1e-6)
    assert f_power(0, df, error, alpha) == pytest.approx(alpha, abs=1e-6)
    assert f_power(nc, df, 0, alpha) == 0


def test_f_of_one_difference_is_t() -> None:
    """Guards that the F test's power with one degree of freedom is that of the two-sided t test."""
    critical = t.isf(0.025, 19)
    expected = nct.sf(critical, 19, 2.5) + nct.cdf(-critical, 19, 2.5)
    assert f_power(2.5**2, 1, 19, 0.05) == pytest.approx(expected, abs=1e-9)


@given(data=st.data())
def test_patterns_have_the_shares_and_the_discordance(data: st.DataObject) -> None:
    """Guards the made-up world: its chances sum to 1, its differences and mean discordance are those asked for."""
    k = data.draw(st.integers(2, 7))
    discordance = data.draw(st.floats(0.05, greatest_discordance(k)))
    gap = data.draw(st.floats(0.001, discordance))
    contest = Contest((0.5 + gap / 2, *[0.5] * (k - 2), 0.5 - gap / 2), discordance)
    chosen, chances = patterns(contest)
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()
    shares = chances @ chosen
    assert shares - shares.mean() == pytest.approx(np.array(contest.shares) - 0.5, abs=1e-9)
    pairs = [chances @ (chosen[:, i] != chosen[:, j]) for i in range(k) for j in range(i)]
    assert np.mean(pairs) == pytest.approx(discordance)


def test_information_by_hand() -> None:
    """Guards what one observation adds, for each design: squared difference over the true variance."""
    assert Contest((0.55, 0.45), 1.0).information == pytest.approx(0.01 / 0.99)
    assert Contest((0.55, 0.45), 0.85).information == pytest.approx(0.01 / (0.85 - 0.01))
    assert OneShare(0.8, 0.9).information == pytest.approx(0.01 / 0.09)
    assert TwoShares(0.85, 0.75).information == pytest.approx(0.01 / (0.85 * 0.15 + 0.75 * 0.25))
    assert TwoScores(0.1).distance == pytest.approx(0.17772, abs=1e-5)
    picks = Contest((0.3, 0.2, 0.25, 0.25), 0.5)
    # one pick of four: D/(1 − D) with D = 1 − 16/Σ(1/p), the least Σ (p − c)²/p
    assert picks.information == pytest.approx((49 / 3) / 16 - 1)


@pytest.mark.parametrize(
    "design",
    [
        Contest((0.55, 0.45), 1.0),
        Contest((0.6, 0.4), 0.6),
        Contest((0.35, 0.25, 0.3, 0.3), 0.49),
        Contest((0.3, 0.2, 0.25, 0.25), 0.5),
        OneShare(0.8, 0.7),
        TwoShares(0.8, 0.7),
        TwoScores(0.2),
    ],
)
def test_sizes_buy_their_power(design: Contest | OneShare | TwoShares | TwoScores) -> None:
    """Guards each design: the power of the size that it gives is what was asked for, but for a test's steps."""
    steps = 0.06 if isinstance(design, OneShare) else 0.03  # an exact test of a share near 1 is far below its level
    for power in (0.6, 0.8, 0.95):
        assert design.iid_power(round(design.size(0.05, power)), 0.05) == pytest.approx(power, abs=steps)


def test_impossible_worlds() -> None:
    """Guards the checks of a contest: too much discordance, or models that differ more than the answers."""
    with pytest.raises(ValueError, match=r"at most 0\.667"):
        Contest((0.5, 0.5, 0.4, 0.6), 0.8)
    with pytest.raises(ValueError, match="more often than the answers do"):
        Contest((0.6, 0.4), 0.1)
    with pytest.raises(ValueError, match="more often than the answers do"):
        Contest((0.9, 0.9, 0.9, 0.55), 0.49)
