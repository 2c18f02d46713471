"""The design of one test: the size for independent observations, and the extra size for clustering."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy.special import expit, ndtri

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.planning import power as sizes

EXACT_SEARCH = 3_000  # Beyond it the exact test's power is nearly that of the normal one
SHORT = 0.005  # The formula's n is kept where its power is the asked one in whole percents
MIN_WORKERS = 10  # Fewer give a clustered interval that is a rough guide only; the plan never asks for fewer
EDGE = 0.7
"""Part of a difference that is found with a power of .8, at which the test is about to find it: 1.96 / (1.96 + .84)."""
RANKS = math.sqrt(math.pi / 3)  # Standard error of the rank-sum test of normal scores, by that of their means
OF_DEGRADED = 0.22
"""Variance of the degraded model's standardised score by that of the others, of simulated workers who pass the check."""


class Design(ABC):
    """One test of a study, whose true difference is known. ``kind``, ``test``: what is compared; the papers' test, in
    words. ``samples``: sets of observations that are compared, each of the planned size. ``crossed``: does each worker
    give observations of all samples? ``df``: degrees of freedom of what is tested. ``information``: noncentrality that
    an observation of each sample adds to a test with the true variance. ``excess``: kurtosis of an observation above
    that of the normal distribution: how well a few tell their variance. ``edge``: standard error at ``EDGE`` of the
    difference, where the test is about to find it, by that at the whole. ``paper_error``: standard error of the paper's
    test by that of independent observations. ``paper_decides``: does the paper's p decide where it is the larger?
    ``exact_shares``: the share under the null hypothesis and the true one, where the papers' test is the exact
    binomial."""

    kind: str
    test: str
    samples: int = 1
    crossed: bool = False
    df: int = 1
    information: float
    excess: float = 0.0
    edge: float = 1.0
    paper_error: float = 1.0
    paper_decides: bool = True
    by_strength: bool = False
    exact_shares: tuple[float, float] | None = None

    @abstractmethod
    def size(self, alpha: float, power: float, variance: sizes.Variance = "both") -> float:
        """Observations of each sample, not rounded, when they are independent."""

    def mean_size(self, alpha: float, power: float) -> float:
        """Observations of each sample for the clustered test, which compares means."""
        return self.size(alpha, power)

    @abstractmethod
    def iid_power(self, n: int, alpha: float) -> float:
        """Power of the papers' test with ``n`` independent observations of each sample."""

    def paper_step(self, n: float) -> float:
        """How many more standard errors the paper's test requires than a normal test."""
        return 0.0

    def groups(self, n: float, per_worker: float) -> float:
        """Workers of the test, who give ``per_worker`` observations of a sample each; not rounded."""
        return n / per_worker * (1 if self.crossed else self.samples)


@dataclass
class ChoiceDesign(Design):
    """Models of one turn (or of one comparison), of which one, some or none is chosen. ``shares``: how often each is
    chosen; ``gap``: of the best, above the worst. ``discordance``: share of turns in which just one of two is chosen,
    as a mean over the pairs. ``binomial``: is the paper's test of two models the binomial one of the turns that tell
    them apart? ``by_strength``: are models told by strengths (Plackett–Luce) rather than by shares? ``ranked``: models
    that one ranking holds, each two of which meet in as many turns; of them these two are furthest apart.
    ``picks_one``: is exactly one model chosen each time?"""

    shares: tuple[float, ...]
    discordance: float
    binomial: bool = False
    by_strength: bool = False
    ranked: int = 2

    kind = "choice"

    def __post_init__(self) -> None:
        discordance, models = self.discordance, len(self.shares)
        gap = self.gap = max(self.shares) - min(self.shares)
        most = greatest_discordance(models)
        if discordance > most + 1e-12:
            what = f"with {models} models it can be at most {most:.3g}, as a mean over the pairs"
            raise InvalidValue(what, where=f"discordance {discordance:g}", try_="choose a lower one")
        if gap > discordance + 1e-12 or min(_tilts(self)[1]) < -1e-9:
            raise InvalidValue(
                f"the worst model is {gap:g} below the best, which a discordance of {discordance:g} does "
                "not allow: models cannot differ more often than the answers do",
                try_="choose a smaller gap or a higher discordance",
            )
        self.df, self.excess = models - 1, 1 / discordance - 3
        self.picks_one = abs(discordance - 2 / models) < 1e-9 and abs(sum(self.shares) - 1) < 1e-9
        self.exact_shares = (0.5, 0.5 + gap / 2) if self.df == 1 and self.picks_one else None
        self.test = _TESTS[self.df == 1, self.picks_one]
        if self.by_strength:
            # Wald's test takes the variance of what was found, the other papers' tests that of equal models.
            if self.df == 1:  # of two models the lead is in log-odds
                lead = math.log((discordance + gap) / max(discordance - gap, 1e-9))
                there, whole = self._variance_of(EDGE * lead), self._variance_of(lead)
                self.information, self.edge = lead**2 / whole, math.sqrt(there / whole)
            else:  # Wald's statistic takes the information of strengths that are less far apart, which is larger
                self.information = self._spread_of_logs(1.0)
                self.edge = math.sqrt(EDGE**2 * self.information / self._spread_of_logs(EDGE))
            self.paper_error = self.edge
            return
        self.paper_error = math.sqrt(discordance / max(discordance - gap**2, 1e-9))
        if self.df == 1:
            self.information = gap**2 / max(discordance - gap**2, 1e-12)
            self.edge = math.sqrt((discordance - (EDGE * gap) ** 2) / max(discordance - gap**2, 1e-9))
            return
        # With several picks, compare the sums of models, whatever their covariance, in units of its mean.
        chosen, chances = patterns(self)
        contrasts = chosen - chosen.mean(axis=1, keepdims=True)
        mean = chances @ contrasts
        squared = float(mean @ mean)
        self.information = squared * self.df / max(float(chances @ (contrasts**2).sum(axis=1)) - squared, 1e-12)

    def size(self, alpha: float, power: float, variance: sizes.Variance = "both") -> float:
        if self.df == 1:
            return sizes.mcnemar_size(self.discordance, self.gap, alpha, power, variance)
        return sizes.cochran_q_size(self.shares, self.discordance, alpha, power)

    def iid_power(self, n: int, alpha: float) -> float:
        if self.df > 1:
            spread = float(np.var(self.shares) * len(self.shares))
            return sizes.chi2_power(2 * n * spread / self.discordance, self.df, alpha)
        if self.exact_shares:
            return sizes.binomial_power(n, *self.exact_shares, alpha)
        return sizes.normal_power(n, self.gap, self.discordance, self.discordance - self.gap**2, alpha)

    def paper_step(self, n: float) -> float:
        return 1 / math.sqrt(n * self.discordance) if self.binomial and not self.by_strength else 0.0

    def groups(self, n: float, per_worker: float) -> float:
        """For a single ranking, workers of all pairs inform this pair: as many as for half of the models' pairs."""
        return n / per_worker * self.ranked / 2

    def _spread_of_logs(self, part: float) -> float:
        """Variance of the log-odds of what is picked, where models are such a ``part`` as far apart."""
        logs = part * np.log(np.clip(np.asarray(self.shares) / sum(self.shares), 1e-9, 1))
        shares = np.exp(logs) / np.exp(logs).sum()
        return float(shares @ logs**2 - (shares @ logs) ** 2)

    def _variance_of(self, lead: float) -> float:
        """Variance of a lead (in log-odds), for one turn of each two models. In a single ranking, the first model leads
        the last by it, and the others are in the middle (Bradley & Terry 1952)."""
        if self.ranked == 2:
            won = self.discordance * expit(lead)
            return float(1 / won + 1 / (self.discordance - won))
        place = lead * np.array([0.5, *[0.0] * (self.ranked - 2), -0.5])
        chance = expit(place[:, None] - place)
        weights = chance * (1 - chance) * (1 - np.eye(self.ranked))
        of_places = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
        return float(of_places[0, 0] + of_places[-1, -1] - 2 * of_places[0, -1])


_TESTS = {
    (True, True): "two-sided binomial test",
    (True, False): "McNemar's χ²",
    (False, True): "Pearson's χ² against equal shares",
    (False, False): "Cochran's Q",
}
"""Are there two models, and is one of them chosen each time? → test."""


@dataclass
class OneProportion(Design):
    """One model alone, against a share that is known."""

    baseline: float
    share: float

    kind = "one_share"
    test = "two-sided binomial test"
    paper_decides = False

    def __post_init__(self) -> None:
        variance, gap = self.share * (1 - self.share), self.share - self.baseline
        there = self.baseline + EDGE * gap
        self.exact_shares = self.baseline, self.share
        self.information = gap**2 / max(variance, 1e-12)
        self.edge = math.sqrt(there * (1 - there) / max(variance, 1e-9))

    def size(self, alpha: float, power: float, variance: sizes.Variance = "both") -> float:
        return sizes.one_proportion_size(self.baseline, self.share, alpha, power, variance)

    def iid_power(self, n: int, alpha: float) -> float:
        return sizes.binomial_power(n, self.baseline, self.share, alpha)


@dataclass
class TwoProportions(Design):
    """Two models that are rated one at a time."""

    share_a: float
    share_b: float

    kind = "two_shares"
    samples = 2
    test = "χ² of two shares"

    def __post_init__(self) -> None:
        squared = (self.share_a - self.share_b) ** 2
        variance = self._variance = self.share_a * (1 - self.share_a) + self.share_b * (1 - self.share_b)
        self.information = squared / max(variance, 1e-12)
        self.excess = 2 / max(variance, 1e-12) - 6
        self.edge = self.paper_error = math.sqrt(1 + (1 - EDGE**2) * squared / 2 / max(variance, 1e-9))

    def size(self, alpha: float, power: float, variance: sizes.Variance = "both") -> float:
        return sizes.two_proportions_size(self.share_a, self.share_b, alpha, power)

    def iid_power(self, n: int, alpha: float) -> float:
        mean = (self.share_a + self.share_b) / 2
        return sizes.normal_power(n, abs(self.share_a - self.share_b), 2 * mean * (1 - mean), self._variance, alpha)


@dataclass
class TwoScores(Design):
    """Scores of two models on a scale. ``gap``: chance that a score of the one is above one of the other, less below.
    ``models``: that each worker rates, ``each`` dialogues of each, and of a degraded one. ``distance``: the gap in
    standard deviations, were the scores normal. ``likeness``: how alike two dialogues of a worker score: below 0, as
    all that a worker gives is standardised together, so that it sums to 0. The fewer there are, and the more alike the
    degraded model's scores, the more so."""

    gap: float
    models: int = 2
    each: float = 1.0

    kind = "two_scores"
    samples = 2
    crossed = True
    test = "rank-sum test"
    paper_error = RANKS

    def __post_init__(self) -> None:
        self.distance = math.sqrt(2) * float(ndtri((1 + self.gap) / 2))
        self.likeness = -(1 - OF_DEGRADED / self.models) / max(1.0, self.models * self.each - 1)
        self.information = self.distance**2 / 2 / (1 - self.likeness)

    def size(self, alpha: float, power: float, variance: sizes.Variance = "both") -> float:
        return sizes.rank_sum_size(self.gap, alpha, power, likeness=self.likeness)

    def mean_size(self, alpha: float, power: float) -> float:
        """Uses normal scores: the rank-sum test would need 5 % more, as it only sees their order."""
        return float((ndtri(1 - alpha / 2) + ndtri(power)) ** 2 / self.information)

    def iid_power(self, n: int, alpha: float) -> float:
        return sizes.normal_power(6 * n, self.gap / 2, 1.0, 1 - self.likeness, alpha)


def greatest_discordance(models: int) -> float:
    """The largest possible discordance, reached if half of the models are chosen each time."""
    half = models // 2
    return 2 * half * (models - half) / (models * (models - 1))


def patterns(design: ChoiceDesign) -> tuple[Floats, Floats]:
    """Which models may be chosen together, and how likely: patterns × models of 0 and 1, and their chances. The
    simplest world with the shares and the discordance of the design: in a tie, the first pattern, all models are
    equal; else as many are chosen together as the discordance asks for, at least one. A set of them is the
    likelier the better its models are, linearly, which gives exactly the wanted differences."""
    k = len(design.shares)
    chosen, weights = _tilts(design)
    together = chosen[0].sum()
    decided = min(1.0, design.discordance * k * (k - 1) / (2 * together * (k - together)))
    weights = np.clip(weights, 0, None)
    return np.vstack([np.zeros(k), chosen]), np.concatenate([[1 - decided], decided * weights / weights.sum()])


def _tilts(design: ChoiceDesign) -> tuple[Floats, Floats]:
    """The sets that may be chosen together, and their chances in relation to that of a set of average models."""
    k = len(design.shares)
    together = next(s for s in range(1, k) if 2 * s * (k - s) / (k * (k - 1)) >= design.discordance - 1e-12)
    sets = np.array(list(combinations(range(k), together)))
    chosen = np.zeros((len(sets), k))
    np.put_along_axis(chosen, sets, 1.0, axis=1)
    better = 2 * (np.asarray(design.shares) - np.mean(design.shares)) / design.discordance
    return chosen, 1 + chosen @ better


def independent_size(design: Design, alpha: float, power: float, variance: sizes.Variance = "both") -> int:
    """Observations of each sample by the formula, rounded up."""
    return _ceil(design.size(alpha, power, variance))


def exact_sizes(design: Design, alpha: float, power: float, *, around: int) -> tuple[int, int] | None:
    """The first n at which the exact binomial test has the power, and the n from which on it always does."""
    shares = design.exact_shares
    return None if shares is None or around > EXACT_SEARCH else _exact_sizes(*shares, alpha, power, around=around)


_exact_sizes = lru_cache(maxsize=200)(sizes.exact_binomial_sizes)


def clustered_size(design: Design, alpha: float, power: float, likeness: sizes.Clustering) -> int:
    """Observations of each sample with which the report's main test has the power; fewer than ``MIN_WORKERS`` effective
    workers are never planned."""
    workers = design.groups(1, likeness.per_worker) / likeness.workers_an_effective_one
    low = max(1, _ceil(MIN_WORKERS / workers))

    def enough(n: int) -> bool:
        return clustered_power(design, n, alpha, likeness) >= power

    if enough(low):
        return low
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def clustered_power(design: Design, n: int, alpha: float, likeness: sizes.Clustering) -> float:
    """Power of the report's main test with ``n`` observations of each sample: the clustered test, or the paper's where
    that has the larger p; of several models at once the joint sign-flip test. Degrees of freedom are those of the
    effective workers, or of the dialogues, where these are fewer."""
    likeness = likeness.at(n)
    effect = likeness.effect * likeness.caution(n)
    noncentrality = n * design.information / effect
    clusters = likeness.fewest_clusters(design.groups(n, likeness.per_worker), n)
    if design.df > 1:
        return sizes.joint_power(noncentrality / design.edge**2, design.df, clusters, alpha)
    # Sums of m answers, of which each has an excess of kurtosis, have the m-th part of it.
    spread = 1 + design.excess / likeness.crowding / 2
    return sizes.deciding_power(
        math.sqrt(noncentrality),
        df=clusters - 1,
        df_spread=(clusters - 1) / spread if spread > 1e-9 else math.inf,
        effect=effect,
        paper=design.paper_error if design.paper_decides else 0.0,
        step=design.paper_step(n),
        edge=design.edge,
        may_be_shown=not likeness.reused,
        alpha=alpha,
    )


def _ceil(size: float) -> int:
    return max(1, math.ceil(size - 1e-9))
