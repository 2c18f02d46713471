"""Rates near 0 or 1 whose observations come in clusters: the test of a rate, and the interval of all that it keeps.

There a sum of a worker's failures is not as likely too high as too low, most workers have none, and a variance that is
estimated from the few who have some is mostly too small: of 20 unequal workers with a true rate of .95 a clustered t test
rejects it in a seventh to a fifth of studies. Here the likeness within workers is estimated under the hypothesis instead:
if the rate were .95, how alike would answers have to be for so few workers to have failed? That gives the number of
independent answers that weigh as much, and the binomial distribution of so many (Korn & Graubard 1998 take the number from
the observed variance). The point estimate stays the plain share.

The test of a clustered share: in the middle as sums are tested, near 0 and 1 as rates are there.

Which test a hypothesis gets depends on the hypothesis alone, not on what was observed: one from ``NEAR`` to 1 − ``NEAR``
is tested by the deviations of the clusters, one nearer to 0 or 1 by :func:`extreme_rate_interval`, one
at the border by both, of which the larger p counts. The interval goes from the observed share outwards, as far as the
first hypothesis that is rejected; one beyond it is rejected, too, whatever its own test says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln, expit, logit

from parlai_humaneval._util.arrays import Codes, Floats
from parlai_humaneval.statistics.core.sign_flip import EXACT_CLUSTERS

NEAR = 0.18
"""Hypotheses nearer to 0 or 1 are tested here, others by the sign-flip test; no baseline that people choose is at it."""
SOURCE = "effective number of answers: Korn & Graubard 1998; likeness: beta-binomial, Williams 1975"
_LIKENESS = np.concatenate([[1e-3], np.geomspace(4e-3, 0.3, 14), [0.4, 0.5, 0.63, 0.77, 0.9, 0.97, 0.999]])
"""Intra-class correlations that are tried."""
_WORTH_A_PARAMETER = 1.0
"""So much log-likelihood must be gained for answers to be taken for alike at all (Akaike 1974)."""
_STEPS = np.geomspace(0.02, 12, 26)
"""Distances from the observed share, in log-odds, at which rates are tested; between two of them, ``_FINE`` more."""
_FINE = np.linspace(0, 1, 9)
_LEAST = 1e-6
"""Hypotheses of 0 and 1 are taken for this far from them."""


@dataclass(frozen=True)
class ClusteredRate:
    """Successes and trials of each cluster, kinds of clusters counted once: ``times`` clusters had that many."""

    successes: Floats
    trials: Floats
    times: Floats

    @classmethod
    def of(cls, successes: npt.ArrayLike, trials: npt.ArrayLike) -> ClusteredRate:
        """From one entry a cluster; successes may be halves, of ties."""
        pairs = np.column_stack([np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)])
        kinds, times = np.unique(pairs, axis=0, return_counts=True)
        return cls(kinds[:, 0], kinds[:, 1], times.astype(float))

    @property
    def clusters(self) -> float:
        return float(self.times.sum())

    @property
    def total(self) -> float:
        return float(self.times @ self.trials)

    @property
    def share(self) -> float:
        return float(self.times @ self.successes) / self.total

    def effective_numbers(self, rates: Floats) -> Floats:
        """As many independent answers weigh as much, if each of ``rates`` is the true one."""
        pairs_of_answers = float(self.times @ (self.trials * (self.trials - 1)))
        return np.asarray(self.total**2 / (self.total + pairs_of_answers * self._likeness(rates)))

    def _likeness(self, rates: Floats) -> Floats:
        """The intra-class correlations of greatest beta-binomial likelihood; 0 where they are not worth a parameter.

        Between, of a likelihood that gains half to one and a half of what a parameter costs, a part of them.
        """
        failures, strengths = self.trials - self.successes, (1 - _LIKENESS) / _LIKENESS
        a, b = (np.outer(side, strengths)[..., None] for side in (rates, 1 - rates))
        likelihoods = (betaln(self.successes + a, failures + b) - betaln(a, b)) @ self.times
        independent = float(self.times @ self.successes) * np.log(rates) + float(self.times @ failures) * np.log1p(
            -rates
        )
        best = likelihoods.argmax(axis=1)
        alike = _tops_of_parabolas(logit(_LIKENESS), likelihoods, best)
        gained = np.take_along_axis(likelihoods, best[:, None], axis=1)[:, 0] - independent
        return np.asarray(expit(alike) * np.clip(gained / _WORTH_A_PARAMETER - 0.5, 0.0, 1.0))


def _tops_of_parabolas(at: Floats, values: Floats, best: Codes) -> Floats:
    """Where the parabola through the best of the grid and its neighbours is highest, so that p has no steps."""
    middle = np.clip(best, 1, len(at) - 2)
    rows = np.arange(len(values))
    x0, x1, x2 = (at[middle + i] for i in (-1, 0, 1))
    y0, y1, y2 = (values[rows, middle + i] for i in (-1, 0, 1))
    above = (x1 - x0) ** 2 * (y1 - y2) - (x1 - x2) ** 2 * (y1 - y0)
    below = (x1 - x0) * (y1 - y2) - (x1 - x2) * (y1 - y0)
    # At an end of the grid, or where nothing bends down, the better of the two neighbours is as far as it goes.
    bends = np.abs(below) > 1e-12
    top = x1 - 0.5 * above / np.where(bends, below, 1.0)
    return np.where(bends, np.clip(top, x0, x2), at[best])


class RateTest(NamedTuple):
    """p-values of some hypotheses, and the ends of all that are kept."""

    p_values: Floats
    low: float
    high: float


def extreme_rate_test(observed: ClusteredRate, nulls: npt.ArrayLike, level: float = 0.95) -> RateTest:
    """Two-sided p-values that the true rate is each of ``nulls``, between 0 and 1, and the ends of the rates that are kept.

    A rate has twice the smaller tail of a binomial distribution of its effective number of answers. Up to
    ``EXACT_CLUSTERS`` clusters what was observed counts whole, beyond by half (mid-p: else the test would reject half as
    often as it may). A rate is kept if it and all between it and the observed share have a p of at least 1 − ``level``;
    p of a hypothesis is the smallest on that way, so that p and interval never disagree.

    A small p says that so extreme a share would be rare if the true rate were that one. Assumes independent clusters, and
    rates of workers that spread like a beta distribution.

    Source: Korn & Graubard 1998; Williams 1975.

    >>> twenty_workers = ClusteredRate.of([10] * 18 + [9, 8], [10] * 20)
    >>> found = extreme_rate_test(twenty_workers, [0.9])
    >>> round(float(found.p_values[0]), 3), round(found.low, 3), round(found.high, 3)
    (0.113, 0.861, 0.997)
    """
    share, at_nulls = observed.share, logit(np.clip(np.asarray(nulls, dtype=float), _LEAST, 1 - _LEAST))
    centre = float(logit(min(max(share, 0.5 / observed.total), 1 - 0.5 / observed.total)))
    tried = np.concatenate([at_nulls, centre - _STEPS, centre + _STEPS])
    p_values, below, above = np.split(_p_values(observed, expit(tried)), len(at_nulls) + np.array([0, len(_STEPS)]))
    ends = []
    for direction, at_steps in ((-1, below), (1, above)):
        distance, least = _reach(observed, centre, direction, at_steps, 1 - level)
        ahead = (at_nulls - centre) * direction
        # What lies between is tested on a grid: a hypothesis beyond one that is rejected is, too, and one before is not.
        beyond, before = ahead > distance, (ahead >= 0) & (ahead <= distance)
        p_values[beyond] = np.minimum(p_values, np.minimum(least(ahead), (1 - level) * (1 - 1e-9)))[beyond]
        p_values[before] = np.maximum(p_values, 1 - level)[before]
        ends.append(float(expit(centre + direction * distance)) if np.isfinite(distance) else (direction + 1) / 2)
    low, high = (0.0 if share <= 0 else min(share, ends[0])), (1.0 if share >= 1 else max(share, ends[1]))
    return RateTest(p_values, low, high)


def _reach(
    observed: ClusteredRate, centre: float, direction: int, at_steps: Floats, alpha: float
) -> tuple[float, Callable[[Floats], Floats]]:
    """How far from ``centre`` the first rejected rate lies; and the smallest p on the way to given distances.

    ``at_steps``: p at the distances ``_STEPS``.
    """
    p_values = np.minimum.accumulate(at_steps)

    def least(distances: Floats) -> Floats:
        passed = np.searchsorted(_STEPS, distances, side="right")
        return np.asarray(np.append(1.0, p_values)[np.clip(passed, 0, len(p_values))])

    rejected = int((p_values >= alpha).sum())
    if rejected == len(p_values):
        return np.inf, least
    near = _STEPS[rejected - 1] if rejected else 0.0
    fine = near + _FINE * (_STEPS[rejected] - near)
    at_fine = _p_values(observed, expit(centre + direction * fine))
    on_the_way = np.log(np.maximum(np.minimum.accumulate(at_fine), 1e-300))
    return float(np.interp(-np.log(alpha), -on_the_way, fine)), least


def _p_values(observed: ClusteredRate, rates: Floats) -> Floats:
    numbers = observed.effective_numbers(rates)
    wins, losses = observed.share * numbers, (1 - observed.share) * numbers
    none, all_won = wins < 1e-9, losses < 1e-9
    above_or_at = np.where(none, 1.0, betainc(np.where(none, 1.0, wins), losses + 1, rates))
    above = np.where(all_won, 0.0, betainc(wins + 1, np.where(all_won, 1.0, losses), rates))
    if observed.clusters > EXACT_CLUSTERS:
        middle = (above_or_at + above) / 2
        return np.asarray(2 * np.minimum(middle, 1 - middle))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(above_or_at, 1 - above)))


BORDERS = (NEAR, 1 - NEAR)


@dataclass(frozen=True)
class DeviationTest:
    """A test by the deviations of the clusters: p of any hypothesis, and the ends of those that it keeps."""

    p_of: Callable[[float], float]
    low: float
    high: float


@dataclass(frozen=True)
class ShareTest:
    """p of the hypothesis, the interval, and whether either rests on the test near 0 and 1."""

    p_value: float
    low: float
    high: float
    near_the_ends: bool


def share_test(by_deviations: DeviationTest, observed: ClusteredRate, null: float, level: float) -> ShareTest:
    """The test of the share of ``observed`` against ``null``, and its interval of coverage ``level``.

    A small p says that the share would be rare if the true one were ``null``. Assumes independent clusters.

    Source: Canay, Romano & Shaikh 2017; near 0 and 1 Korn & Graubard 1998.

    >>> by_deviations = DeviationTest(p_of=lambda share: 0.2 if share == 0.5 else 0.01, low=0.45, high=0.75)
    >>> share_test(by_deviations, ClusteredRate.of([3] * 10, [5] * 10), 0.5, 0.95)
    ShareTest(p_value=0.2, low=0.45, high=0.75, near_the_ends=False)
    """
    share, (near_0, near_1) = observed.share, BORDERS
    middle = all(near_0 < at < near_1 for at in (share, null, by_deviations.low, by_deviations.high))
    if middle:
        return ShareTest(by_deviations.p_of(null), by_deviations.low, by_deviations.high, near_the_ends=False)
    near_ends = extreme_rate_test(observed, [null], level)
    low = 1 - _upper_end(1 - share, 1 - by_deviations.low, 1 - near_ends.low)
    high = _upper_end(share, by_deviations.high, near_ends.high)
    tests = [float(near_ends.p_values[0])] if not near_0 < null < near_1 else []
    tests += [by_deviations.p_of(null)] if near_0 <= null <= near_1 else []
    p_value, alpha = max(tests), 1 - level
    inside = low <= null <= high
    p_value = max(p_value, alpha) if inside else min(p_value, alpha * (1 - 1e-9))
    return ShareTest(p_value, low, high, near_the_ends=True)


def _upper_end(share: float, of_deviations: float, of_extremes: float) -> float:
    """Upwards from ``share`` through low, middle and high shares, each by its own test, to where one is rejected."""
    near_0, near_1 = BORDERS
    if share < near_0 and of_extremes < near_0:
        return of_extremes
    if share < near_1 and of_deviations < near_1:
        return max(of_deviations, share, near_0 if share < near_0 else share)
    return max(of_extremes, share, near_1 if share < near_1 else share)
