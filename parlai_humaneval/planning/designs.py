"""What is compared with what, for one test: the size for independent observations, and what clustering asks for.

A design knows its true difference. ``size`` is the number of observations of each sample under independence,
``information`` the noncentrality that one observation of each sample adds to a test with the true variance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from parlai_humaneval.planning.likeness import Likeness
from parlai_humaneval.planning.power import (
    Variance,
    binomial_power,
    chi2_power,
    cochran_q_size,
    exact_binomial_sizes,
    f_power,
    mcnemar_size,
    normal_power,
    one_proportion_size,
    rank_sum_size,
    two_proportions_size,
)

Floats = npt.NDArray[np.float64]
EXACT_SEARCH = 3_000
"""Beyond it the exact test's power is nearly that of the normal one."""
SHORT = 0.005
"""The formula's n is kept where its power is the asked one in whole percents."""
MIN_WORKERS = 10
"""Fewer give a clustered interval that is a rough guide only; the plan never asks for fewer."""
TOLERANCE = 0.01
"""So much may the power without ``SPARE_WORKERS`` be below the asked one; with them it never is."""
SPARE_WORKERS = 2.0
"""Simulated studies of 20 to 100 workers fall short of the formula's power by about what so many workers add: sums of few
turns are not normal."""
JOINT_SPARE = 15.0
"""So many more, times the ICC, in a test of several models: the more alike a worker's answers, the less normal their
sums."""


class Design(ABC):
    """One test of a study."""

    samples: int = 1
    """Sets of observations that are compared, each of the planned size."""
    df: int = 1
    """Degrees of freedom of what is tested."""
    crossed: bool = False
    """Does each worker give observations of all samples?"""

    @abstractmethod
    def size(self, alpha: float, power: float, variance: Variance = "both") -> float:
        """Observations of each sample, not rounded, when they are independent."""

    def mean_size(self, alpha: float, power: float) -> float:
        """The same for the clustered test, which is one of means."""
        return self.size(alpha, power)

    @property
    def exact_shares(self) -> tuple[float, float] | None:
        """The share under the null hypothesis and the true one, where the papers' test is the exact binomial one."""
        return None

    def groups(self, n: float, per_worker: float) -> float:
        """Workers of the test, who give ``per_worker`` observations of a sample each; not rounded."""
        return n / per_worker * (1 if self.crossed else self.samples)

    @abstractmethod
    def iid_power(self, n: int, alpha: float) -> float:
        """Power of the papers' test with ``n`` independent observations of each sample."""

    @property
    @abstractmethod
    def information(self) -> float:
        """Noncentrality per observation."""

    @property
    @abstractmethod
    def test(self) -> str:
        """The papers' test, in words."""


@dataclass(frozen=True)
class Contest(Design):
    """Models of one turn (or of one comparison), of which one, some or none is chosen.

    Attributes:
        shares: how often each is chosen.
        discordance: share of turns in which just one of two is chosen, as a mean over the pairs.
    """

    shares: tuple[float, ...]
    discordance: float

    def __post_init__(self) -> None:
        most = greatest_discordance(len(self.shares))
        if self.discordance > most + 1e-12:
            raise ValueError(
                f"discordance {self.discordance:g}: with {len(self.shares)} models it can be at most {most:.3g}, "
                "as a mean over the pairs"
            )
        if self.gap > self.discordance + 1e-12 or min(_tilts(self)[1]) < -1e-9:
            raise ValueError(
                f"the worst model is {self.gap:g} below the best, which a discordance of {self.discordance:g} does "
                "not allow: models cannot differ more often than the answers do"
            )

    @property
    def gap(self) -> float:
        return max(self.shares) - min(self.shares)

    @property
    def df(self) -> int:  # type: ignore[override]  # of most designs it is a constant
        return len(self.shares) - 1

    @property
    def picks_one(self) -> bool:
        """Is exactly one model chosen each time?"""
        return abs(self.discordance - 2 / len(self.shares)) < 1e-9 and abs(sum(self.shares) - 1) < 1e-9

    @property
    def test(self) -> str:
        if self.df == 1:
            return "two-sided binomial test" if self.picks_one else "McNemar's χ²"
        return "Pearson's χ² against equal shares" if self.picks_one else "Cochran's Q"

    def size(self, alpha: float, power: float, variance: Variance = "both") -> float:
        if self.df == 1:
            return mcnemar_size(self.discordance, self.gap, alpha, power, variance)
        return cochran_q_size(self.shares, self.discordance, alpha, power)

    @property
    def exact_shares(self) -> tuple[float, float] | None:
        return (0.5, 0.5 + self.gap / 2) if self.df == 1 and self.picks_one else None

    def iid_power(self, n: int, alpha: float) -> float:
        if self.df > 1:
            spread = float(np.var(self.shares) * len(self.shares))
            return chi2_power(2 * n * spread / self.discordance, self.df, alpha)
        if self.exact_shares:
            return binomial_power(n, *self.exact_shares, alpha)
        return normal_power(n, self.gap, self.discordance, self.discordance - self.gap**2, alpha)

    @property
    def information(self) -> float:
        chosen, chances = patterns(self)
        contrasts = chosen[:, :-1] - chosen[:, -1:]
        mean = chances @ contrasts
        covariance = (contrasts * chances[:, None]).T @ contrasts - np.outer(mean, mean)
        # The little on the diagonal: at the greatest possible gap nothing varies, and any study finds it.
        return float(mean @ np.linalg.solve(covariance + 1e-12 * np.eye(self.df), mean))


@dataclass(frozen=True)
class OneShare(Design):
    """One model alone, against a share that is known."""

    baseline: float
    share: float

    test = "two-sided binomial test"

    def size(self, alpha: float, power: float, variance: Variance = "both") -> float:
        return one_proportion_size(self.baseline, self.share, alpha, power, variance)

    @property
    def exact_shares(self) -> tuple[float, float] | None:
        return self.baseline, self.share

    def iid_power(self, n: int, alpha: float) -> float:
        return binomial_power(n, self.baseline, self.share, alpha)

    @property
    def information(self) -> float:
        return (self.share - self.baseline) ** 2 / max(self.share * (1 - self.share), 1e-12)


@dataclass(frozen=True)
class TwoShares(Design):
    """Two models that are rated one at a time."""

    share_a: float
    share_b: float

    samples = 2
    test = "χ² of two shares"

    def size(self, alpha: float, power: float, variance: Variance = "both") -> float:
        return two_proportions_size(self.share_a, self.share_b, alpha, power)

    def iid_power(self, n: int, alpha: float) -> float:
        mean = (self.share_a + self.share_b) / 2
        return normal_power(n, abs(self.share_a - self.share_b), 2 * mean * (1 - mean), self._variance, alpha)

    @property
    def information(self) -> float:
        return (self.share_a - self.share_b) ** 2 / max(self._variance, 1e-12)

    @property
    def _variance(self) -> float:
        return self.share_a * (1 - self.share_a) + self.share_b * (1 - self.share_b)


@dataclass(frozen=True)
class TwoScores(Design):
    """Scores of two models on a scale; ``gap``: chance that a score of the one is above one of the other, less below."""

    gap: float

    samples = 2
    crossed = True
    test = "rank-sum test"

    @property
    def distance(self) -> float:
        """In standard deviations, were the scores normal."""
        return math.sqrt(2) * float(ndtri((1 + self.gap) / 2))

    def size(self, alpha: float, power: float, variance: Variance = "both") -> float:
        return rank_sum_size(self.gap, alpha, power)

    def mean_size(self, alpha: float, power: float) -> float:
        """Of normal scores: the rank-sum test would need 5 % more, as it only sees their order."""
        return float(2 * (ndtri(1 - alpha / 2) + ndtri(power)) ** 2 / self.distance**2)

    def iid_power(self, n: int, alpha: float) -> float:
        return normal_power(6 * n, self.gap / 2, 1.0, 1.0, alpha)

    @property
    def information(self) -> float:
        return self.distance**2 / 2


def greatest_discordance(models: int) -> float:
    """Were half of the models chosen each time."""
    half = models // 2
    return 2 * half * (models - half) / (models * (models - 1))


def patterns(contest: Contest) -> tuple[Floats, Floats]:
    """Which models may be chosen together, and how likely: patterns × models of 0 and 1, and their chances.

    The simplest world with the shares and the discordance of the contest: in a tie, the first pattern, no model is
    told from another; else as many are chosen together as the discordance asks for, at least one. A set of them is
    the likelier the better its models are, linearly, which gives exactly the wanted differences.
    """
    k = len(contest.shares)
    chosen, weights = _tilts(contest)
    together = chosen[0].sum()
    decided = min(1.0, contest.discordance * k * (k - 1) / (2 * together * (k - together)))
    weights = np.clip(weights, 0, None)
    return np.vstack([np.zeros(k), chosen]), np.concatenate([[1 - decided], decided * weights / weights.sum()])


def _tilts(contest: Contest) -> tuple[Floats, Floats]:
    """The sets that may be chosen together, and their chances in relation to that of a set of average models."""
    k = len(contest.shares)
    together = next(s for s in range(1, k) if 2 * s * (k - s) / (k * (k - 1)) >= contest.discordance - 1e-12)
    sets = np.array(list(combinations(range(k), together)))
    chosen = np.zeros((len(sets), k))
    np.put_along_axis(chosen, sets, 1.0, axis=1)
    better = 2 * (np.asarray(contest.shares) - np.mean(contest.shares)) / contest.discordance
    return chosen, 1 + chosen @ better


def independent_size(design: Design, alpha: float, power: float, variance: Variance = "both") -> int:
    """Observations of each sample by the formula, rounded up."""
    return _ceil(design.size(alpha, power, variance))


def exact_sizes(design: Design, alpha: float, power: float, *, around: int) -> tuple[int, int] | None:
    """The first n with which the exact binomial test has the power, and the n from which on it always has it."""
    shares = design.exact_shares
    return None if shares is None or around > EXACT_SEARCH else _exact_sizes(*shares, alpha, power, around)


@lru_cache(maxsize=200)
def _exact_sizes(p0: float, p1: float, alpha: float, power: float, around: int) -> tuple[int, int] | None:
    return exact_binomial_sizes(p0, p1, alpha, power, around=around)


def clustered_size(design: Design, alpha: float, power: float, likeness: Likeness) -> int:
    """Observations of each sample that the clustered test needs.

    The size for independent observations times the design effect. Where that makes few workers, the test is as wide as
    Student's t, wider than the normal distribution of the formulas, and more are added until the power is reached, and
    all but ``TOLERANCE`` of it without a few of them; fewer than ``MIN_WORKERS`` effective ones are never planned.
    """
    workers = design.groups(1, likeness.per_worker) / likeness.workers_an_effective_one
    independent = design.mean_size(alpha, power)
    low = max(_ceil(independent * likeness.at(independent).effect), _ceil(MIN_WORKERS / workers))
    spare = round((SPARE_WORKERS + (JOINT_SPARE * likeness.icc if design.df > 1 else 0.0)) / workers)

    def reached(n: int) -> float:
        return clustered_power(design, n, alpha, likeness) if n > 0 else 0.0

    def enough(n: int) -> bool:
        return reached(n) >= power - SHORT and reached(n - spare) >= power - TOLERANCE

    if enough(low):
        return low
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def clustered_power(design: Design, n: int, alpha: float, likeness: Likeness) -> float:
    """Power of the clustered test with ``n`` observations of each sample, as of an F test.

    The sign-flip test has the power of the clustered t, and the joint one of an F test that does not spend degrees of
    freedom on a covariance, each within a point or two (simulated). Degrees of freedom are those of the effective
    workers, or of the dialogues, where these are fewer.
    """
    likeness = likeness.at(n)
    noncentrality = n * design.information / (likeness.effect * likeness.caution(n))
    clusters = likeness.fewest_clusters(design.groups(n, likeness.per_worker), n)
    return f_power(noncentrality, design.df, clusters - 1, alpha)


def _ceil(size: float) -> int:
    """Rounded up, forgiving what floating point adds to a whole number."""
    return max(1, math.ceil(size - 1e-9))
