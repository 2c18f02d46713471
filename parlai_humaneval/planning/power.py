"""The power of a number of observations, and the number that a power requires.

The sample sizes are for independent observations (Liu et al. 2023, “Sample Size for Different Evaluations”): two-sided and
not rounded, so round up. ``variance`` is "both" for the textbook form, with the variance of the null hypothesis at the
critical value and that of the alternative around the truth; "null" takes that of the null hypothesis for both, as Liu et
al. did. Below them stands what judgements cost that share a worker or a dialogue, and are alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy import special

from parlai_humaneval._util.arrays import Flags, Floats

MAX_EXACT = 50_000  # Beyond it the binomial test's power is that of the normal test, which is then as good
Variance = Literal["both", "null"]
LEAST_CLUSTERS = 3  # with fewer, there is no clustered test
EXACT_CLUSTERS = 12
"""With at most this many, all assignments of signs are tried, and exact numbers count in full."""
_NODES = 400  # Values by which a mean over a distribution is taken


def binomial_power(n: int, p0: float, p1: float, alpha: float = 0.05) -> float:
    """Exact power of the two-sided binomial test of ``p0`` in ``n`` observations whose true share is ``p1``. The test
    is the one of :func:`~parlai_humaneval.statistics.core.shares.binomial_p`: p sums all outcomes that are at most as
    likely. 0 when n = 0. Above ``MAX_EXACT`` observations the normal test is used. Raises ValueError: a share outside
    0–1, or a negative n."""
    if n < 0 or not 0 < p0 < 1 or not 0 <= p1 <= 1:
        raise ValueError(f"n {n}, shares {p0} and {p1}: expected n ≥ 0, 0 < p0 < 1 and 0 ≤ p1 ≤ 1")
    if n > MAX_EXACT:
        return normal_power(n, abs(p1 - p0), p0 * (1 - p0), p1 * (1 - p1), alpha)
    return float(_chances(n, p1)[rejected_counts(n, p0, alpha)].sum())


def rejected_counts(n: int, p0: float, alpha: float) -> Flags:
    """For each number of successes from 0 to n: does the exact binomial test reject ``p0``?"""
    chances = _chances(n, p0)
    order = np.argsort(chances, kind="stable")
    ordered = chances[order]
    # Outcomes that are as likely count too, also where rounding tells them apart; as in scipy's binomtest.
    last_as_likely = np.searchsorted(ordered, ordered * (1 + 1e-7), side="right") - 1
    rejected = np.zeros(n + 1, dtype=bool)
    rejected[order] = np.cumsum(ordered)[last_as_likely] <= alpha
    return rejected


def exact_binomial_sizes(
    p0: float, p1: float, alpha: float = 0.05, power: float = 0.8, *, around: int
) -> tuple[int, int] | None:
    """The first n with which the exact binomial test has the ``power``, and the n from which on it always has it. The
    power of an exact test goes up and down with n, as its true level does. Searched are sizes around ``around``, the
    size of the normal test; None where the answer is not among them."""
    low, high = max(1, round(0.8 * around) - 10), round(1.25 * around) + 30
    holds = np.array([binomial_power(n, p0, p1, alpha) >= power for n in range(low, high + 1)])
    if holds[0] or not holds[-1]:
        return None
    return low + int(np.argmax(holds)), low + len(holds) - int(np.argmin(holds[::-1]))


def normal_power(n: float, difference: float, variance_null: float, variance_truth: float, alpha: float) -> float:
    """Power of a normal test: the probability of its far tail is left out, as in the sample sizes."""
    distance = difference * np.sqrt(n) - float(special.ndtri(1 - alpha / 2)) * np.sqrt(variance_null)
    if variance_truth <= 0:
        return float(distance > 0)
    return float(special.ndtr(distance / np.sqrt(variance_truth)))


def chi2_power(noncentrality: float, df: float, alpha: float = 0.05) -> float:
    """Power of a χ² test."""
    return float(1 - special.chndtr(special.chdtri(df, alpha), df, noncentrality))


def deciding_power(
    distance: float,
    *,
    df: float,
    df_spread: float,
    effect: float,
    paper: float = 1.0,
    step: float = 0.0,
    edge: float = 1.0,
    may_be_shown: bool = True,
    alpha: float = 0.05,
) -> float:
    """Power of the report's main test of two models: a t test by cluster, but where the paper's p is the larger, that
    one. ``distance``: the difference, in its true standard errors. ``df``: degrees of freedom of the t test.
    ``df_spread``: of the estimated variance, which is that of χ² by so many; infinite where it is known. ``effect``:
    the design effect, by which the true variance is that of independent observations. ``paper``: standard error of the
    paper's test, by that of independent observations. ``step``: by how much the paper's test asks for more, in those
    standard errors: a half of what one more success adds; so does the exact sign-flip test of few clusters. ``edge``:
    the standard error where the test is about to find the difference, by the true one: shares have another there.
    ``may_be_shown``: the clustered p decides all the same where the dispersion of the clusters is significantly below
    1. Sums of clusters are taken as normal."""
    if df < LEAST_CLUSTERS - 1:
        return 0.0
    spread = _spreads(df_spread)
    exact = step / math.sqrt(effect) if df < EXACT_CLUSTERS else 0.0
    by_worker = edge * float(special.stdtrit(df, 1 - alpha / 2)) * np.sqrt(spread) + exact
    by_paper = (float(special.ndtri(1 - alpha / 2)) * paper + step) / math.sqrt(effect)
    # Agreement is shown, at a level of .05, where the ratio of variances is below this.
    agreeing = float(special.chdtri(df_spread, 0.95) / df_spread) if may_be_shown and math.isfinite(df_spread) else 0.0
    shown = spread * effect < agreeing
    needed = np.where(shown, by_worker, np.maximum(by_worker, by_paper))
    return float((special.ndtr(distance - needed) + special.ndtr(-distance - needed)).mean())


@lru_cache(maxsize=4_000)
def _spreads(df: float) -> Floats:
    shares = (np.arange(_NODES) + 0.5) / _NODES
    return np.ones(1) if not math.isfinite(df) else np.asarray(special.chdtri(df, 1 - shares) / df)


def joint_power(noncentrality: float, df: int, clusters: float, alpha: float = 0.05) -> float:
    """Power of the joint sign-flip test of ``df`` contrasts by so many ``clusters``; 0 with fewer than three. The sum
    is held against sums with flipped signs, whose variance holds what the clusters have in common too: in the direction
    of the sum it is larger by the sum's own square by the number of clusters."""
    if clusters < LEAST_CLUSTERS:
        return 0.0
    critical = _joint_critical(df, round(clusters, 3), alpha)
    return float(1 - special.ncfdtr(df, df * (clusters - 1), noncentrality, critical / df))


@lru_cache(maxsize=4_000)
def _joint_critical(df: int, clusters: float, alpha: float) -> float:
    """The squared sum, in estimated standard errors, from which on the test rejects."""
    normal = special.ndtri((np.arange(_NODES) + 0.5) / _NODES) ** 2
    low, high = float(special.chdtri(df, alpha)) / 4, 1e6
    while high - low > 1e-4 * low:
        middle = math.sqrt(low * high)
        ahead = (1 - 1 / clusters + middle / clusters) * normal
        left = (middle - ahead) / (1 - 1 / clusters)
        share = float((1 - special.chdtr(df - 1, np.maximum(left, 0)) if df > 1 else (left < 0)).mean())
        low, high = (middle, high) if share > alpha else (low, middle)
    return high


def _chances(n: int, p: float) -> Floats:
    k = np.arange(n + 1)
    logs = (
        special.gammaln(n + 1)
        - special.gammaln(k + 1)
        - special.gammaln(n - k + 1)
        + special.xlogy(k, p)
        + special.xlog1py(n - k, -p)
    )
    chances: Floats = np.exp(logs)
    return chances


def one_proportion_size(
    p0: float, p1: float, alpha: float = 0.05, power: float = 0.8, variance: Variance = "both"
) -> float:
    """Turns after which the normal test of one share distinguishes a true share of ``p1`` from ``p0``.

    For two models of which one must be chosen, ``p0`` is .5. Assumes independent turns.

    Source: Fleiss, Levin & Paik 2003, section 2.5.

    >>> round(one_proportion_size(0.5, 0.6), 1)
    193.8

    Raises:
        ValueError: a share outside 0–1, equal shares, or a power that is not above alpha.
    """
    _check_rates(alpha, power)
    if not 0 < p0 < 1 or not 0 <= p1 <= 1:
        raise ValueError(f"shares {p0} and {p1}: expected 0 < p0 < 1 and 0 ≤ p1 ≤ 1")
    if p0 == p1:
        raise ValueError(f"both shares are {p0}: no number of turns finds a difference that is not there")
    under_null = math.sqrt(p0 * (1 - p0))
    under_truth = math.sqrt(p1 * (1 - p1)) if variance == "both" else under_null
    return _normal_size(under_null, under_truth, p1 - p0, alpha, power)


def two_proportions_size(p1: float, p2: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Turns of each of two models that are rated one at a time, for the χ² test of both shares.

    Assumes independent turns. Source: Fleiss, Levin & Paik 2003, section 4.2, without continuity correction.

    >>> round(two_proportions_size(0.6, 0.5), 1)
    387.3

    Raises:
        ValueError: a share outside 0–1, equal shares, or a power that is not above alpha.
    """
    _check_rates(alpha, power)
    if not (0 <= p1 <= 1 and 0 <= p2 <= 1):
        raise ValueError(f"shares {p1} and {p2}: expected 0 to 1")
    if p1 == p2:
        raise ValueError(f"both shares are {p1}: no number of turns finds a difference that is not there")
    mean = (p1 + p2) / 2
    under_null = math.sqrt(2 * mean * (1 - mean))
    return _normal_size(under_null, math.sqrt(p1 * (1 - p1) + p2 * (1 - p2)), p1 - p2, alpha, power)


def mcnemar_size(
    discordance: float, gap: float, alpha: float = 0.05, power: float = 0.8, variance: Variance = "both"
) -> float:
    """Turns in which two models are each chosen or not, for McNemar's test.

    ``discordance``: share of the turns in which just one of the two is chosen; ``gap``: how much more often the one is
    chosen than the other. Assumes independent turns. Source: Connor 1987 ("both"); Liu et al. 2023 ("null").

    >>> round(mcnemar_size(0.4, 0.1), 1)
    311.6

    Raises:
        ValueError: a gap of 0 or above the discordance, or a power that is not above alpha.
    """
    _check_rates(alpha, power)
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance {discordance}: expected more than 0 and at most 1")
    if gap == 0:
        raise ValueError("the gap is 0: no number of turns finds a difference that is not there")
    if abs(gap) > discordance + 1e-12:
        raise ValueError(
            f"gap {gap} with discordance {discordance}: the models cannot differ more often than the answers do"
        )
    under_null = math.sqrt(discordance)
    under_truth = math.sqrt(max(0.0, discordance - gap**2)) if variance == "both" else under_null
    return _normal_size(under_null, under_truth, gap, alpha, power)


def chi2_noncentrality(df: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Noncentrality at which a χ² test with ``df`` degrees of freedom has the ``power``. Raises ValueError: fewer than
    one degree of freedom, or a power that is not above alpha."""
    _check_rates(alpha, power)
    if df < 1:
        raise ValueError(f"{df} degrees of freedom: expected at least 1, that is two models")
    return float(special.chndtrinc(special.chdtri(df, alpha), df, 1 - power))


def goodness_of_fit_size(shares: Sequence[float], alpha: float = 0.05, power: float = 0.8) -> float:
    """Turns with one pick of several models, for Pearson's χ² against equal shares.

    ``shares``: how often each model is picked, as shares or as counts of a pilot. Assumes independent turns.

    Source: Cohen 1988, chapter 7.

    >>> round(goodness_of_fit_size([40, 30, 30]), 1)
    481.7

    Raises:
        ValueError: fewer than two models, negative or equal shares, or a power that is not above alpha.
    """
    picks = np.asarray(shares, dtype=float)
    if picks.size < 2 or not np.isfinite(picks).all() or (picks < 0).any() or picks.sum() <= 0:
        raise ValueError(f"shares {list(shares)}: expected two or more numbers that are not negative, nor all 0")
    k, p = picks.size, picks / picks.sum()
    spread = float(((p - 1 / k) ** 2).sum() * k)
    if spread < 1e-15:
        raise ValueError("all shares are equal: no number of turns finds a difference that is not there")
    return chi2_noncentrality(k - 1, alpha, power) / spread


def cochran_q_size(shares: Sequence[float], discordance: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Turns in which each of several models is chosen or not, for Cochran's Q.

    ``shares``: how often each model is chosen (0–1 each); ``discordance``: the share of turns in which just one of two
    models is chosen, as a mean over all pairs. With two models it is :func:`mcnemar_size` with the variance of the null
    hypothesis. Assumes independent turns. Source: Liu et al. 2023; the noncentrality is that of the quadratic form of Q.

    >>> round(cochran_q_size([0.5, 0.4, 0.4], discordance=0.4), 1)
    289.0

    Raises:
        ValueError: fewer than two models, shares outside 0–1 or all equal, a discordance outside 0–1, or a power that
            is not above alpha.
    """
    p = np.asarray(shares, dtype=float)
    if p.size < 2 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"shares {list(shares)}: expected two or more numbers from 0 to 1")
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance {discordance}: expected more than 0 and at most 1")
    spread = float(((p - p.mean()) ** 2).sum())
    if spread < 1e-15:
        raise ValueError("all shares are equal: no number of turns finds a difference that is not there")
    return chi2_noncentrality(p.size - 1, alpha, power) * discordance / (2 * spread)


def rank_sum_size(gap: float, alpha: float = 0.05, power: float = 0.8, *, likeness: float = 0.0) -> float:
    """Scores of each of two models, for the Wilcoxon–Mann–Whitney test. ``gap``: the chance that a score of the one is
    above one of the other, minus the chance that it is below; ``likeness``: how alike two scores are of one worker, who
    gives one of each. Source: Noether 1987, with two samples of equal size. Raises ValueError: a gap of 0 or beyond −1
    to 1, or a power that is not above alpha."""
    _check_rates(alpha, power)
    if not 0 < abs(gap) <= 1:
        raise ValueError(f"gap {gap}: expected other than 0, from −1 to 1")
    return _normal_size(1.0, math.sqrt(1 - likeness), gap / 2, alpha, power) / 6


def _normal_size(under_null: float, under_truth: float, difference: float, alpha: float, power: float) -> float:
    return float((special.ndtri(1 - alpha / 2) * under_null + special.ndtri(power) * under_truth) ** 2 / difference**2)


def _check_rates(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha {alpha} and power {power}: expected 0 < alpha < power < 1")


@dataclass(frozen=True)
class Clustering:
    """Facts about the judgements of a sample. ``per_worker``: judgements of a worker, as a mean over workers, and
    ``icc``: how alike those are; ``inequality``: the coefficient of variation of that number. ``per_dialogue``:
    judgements that share a dialogue, and ``dialogue_icc``: how alike those are; ``sides``: dialogues in each judgement,
    two where finished dialogues are compared."""

    per_worker: float
    icc: float
    inequality: float = 0.0
    per_dialogue: float = 1.0
    dialogue_icc: float = 0.0
    sides: int = 1

    @property
    def workers_an_effective_one(self) -> float:
        """Workers for each effective one; the effective number is (Σn)²/Σn². Single judgements cannot differ."""
        return 1 + self.inequality**2 if self.per_worker > 1 else 1.0

    @property
    def crowding(self) -> float:
        """Σn²/Σn: judgements of the worker who gave a judgement, which is more than the mean where workers are unequal."""
        return self.per_worker * self.workers_an_effective_one

    @property
    def reused(self) -> bool:
        """Is a dialogue judged several times?"""
        return self.per_dialogue > 1

    @property
    def effect(self) -> float:
        """The design effect, of workers and dialogues together: 1 + (m − 1)·ICC + sides·(r − 1)·ICC of dialogues."""
        of_dialogues = self.sides * (self.per_dialogue - 1) * self.dialogue_icc
        return 1 + (self.crowding - 1) * self.icc + of_dialogues

    def at(self, n: float) -> Clustering:
        """The most judgements that can share a dialogue: N dialogues of each model make N² pairs, so √n of ``n``."""
        if self.sides == 1:
            return self
        return replace(self, per_dialogue=max(1.0, min(self.per_dialogue, math.sqrt(n))))

    def caution(self, n: float) -> float:
        """How far the two-way test of ``n`` judgements overestimates the variance, on average. It is never below the
        variance by one kind of clusters alone, of each of which chance makes one or the other too large: by 2(m − 1)/n
        for m judgements a cluster, in units of the variance of independent ones, squared."""
        if not self.reused:
            return 1.0
        kinds = [(self.crowding, self.icc), *[(self.per_dialogue, self.dialogue_icc)] * self.sides]
        nodes, weights = normal_nodes(9)
        excess = [(m - 1) * icc + math.sqrt(2 * (m - 1) / n) * (1 + (m - 1) * icc) * nodes for m, icc in kinds]
        grid = np.stack(np.meshgrid(*excess, indexing="ij"))
        chances = math.prod(np.meshgrid(*[weights] * len(kinds), indexing="ij"))
        largest = 1 + np.maximum(grid.sum(axis=0), grid.max(axis=0))
        return float((chances * largest).sum()) / self.effect

    def fewest_clusters(self, workers: float, n: float) -> float:
        """Effective workers, or dialogues of a side where these are reused and fewer."""
        effective = workers / self.workers_an_effective_one
        return min(effective, n / self.per_dialogue) if self.reused else effective


def dialogue_icc(sd: float, *, sides: int = 2, discordance: float = 1.0) -> float:
    """How alike comparisons are that share a dialogue, where log-odds of winning differ between dialogues. ``sd``:
    standard deviation of a dialogue's quality between dialogues of one model, in log-odds; ``sides``: see
    :class:`Clustering`; ``discordance``: share of comparisons without a tie. Assumes normal qualities, models that
    are equally good, and ties that do not depend on them.

    >>> round(dialogue_icc(0.7), 3), round(dialogue_icc(0.7, sides=1), 3)
    (0.085, 0.1)
    """
    nodes, weights = normal_nodes()
    other = sd * nodes if sides == 2 else np.zeros(1)
    lead = np.tanh((sd * nodes[:, None] - other) / 2)
    known = lead @ weights if sides == 2 else lead[:, 0]
    return discordance * float(weights @ known**2)


@lru_cache
def normal_nodes(points: int = 40) -> tuple[Floats, Floats]:
    """Points and weights with which a mean over a standard normal distribution is a sum."""
    nodes, weights = hermegauss(points)  # scipy.special has them, too, and would load all of scipy.linalg
    return np.asarray(nodes), np.asarray(weights / weights.sum())
