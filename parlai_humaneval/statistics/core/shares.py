"""Tests and intervals of one share: for independent observations, as in the papers; and for clusters near 0 or 1.

In clusters a variance that is estimated from the few workers who failed is mostly too small: of 20 unequal workers with
a true rate of .95 a clustered t test rejects it in a seventh to a fifth of studies. Here the likeness within workers is
estimated under the hypothesis: how alike would answers have to be for so few workers to have failed? That gives the
number of independent answers that weigh as much, and the binomial distribution of so many (Korn & Graubard 1998).

A hypothesis from ``NEAR`` to 1 − ``NEAR`` is tested by the deviations of the clusters, one nearer to 0 or 1 here, one
at the border by both, of which the larger p counts. The interval goes outwards to the first hypothesis that is
rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, betainc, expit, gammaln, logit, ndtri, xlog1py, xlogy

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.result import Result, check_level
from parlai_humaneval.statistics.core.sign_flip import EXACT_CLUSTERS

INDEPENDENT = "all turns are independent of each other, also those of one dialogue and one rater"
_AS_LIKELY = 1 + 1e-7  # as scipy's binomtest: outcomes that differ by rounding alone are equally likely


def binomial_p(k: int, n: int, p: float = 0.5) -> float:
    """Two-sided p of ``k`` successes in ``n`` against the chance ``p``; 1 when n = 0."""
    _check(k, n)
    if n == 0:
        return 1.0
    if p in (0, 1):  # one outcome only is possible
        return float(k == n * p)
    return float(binomial_p_values([k], [n], p)[0])


def binomial_p_values(successes: npt.ArrayLike, trials: npt.ArrayLike, p0: float = 0.5) -> Floats:
    """The exact two-sided binomial p of each look: ``successes`` of ``trials``, equally long arrays."""
    k, n = np.asarray(successes, dtype=np.int64), np.asarray(trials, dtype=np.int64)
    if k.shape != n.shape or k.ndim != 1:
        raise ValueError(f"successes and trials must be equally long lists: they are {k.shape} and {n.shape}")
    if ((k < 0) | (k > n)).any():
        raise ValueError("expected 0 ≤ successes ≤ trials at every look")
    if not 0 < p0 < 1:
        raise ValueError(f"p0 must be between 0 and 1: {p0}")
    if p0 == 0.5:  # symmetric: the other tail is as heavy
        return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(k, n - k), n, 0.5)), dtype=float)
    p = np.where(k < p0 * n, _tails(k, n, p0), _tails(n - k, n, 1 - p0))
    return np.asarray(np.where(k == p0 * n, 1.0, np.minimum(1.0, p)), dtype=float)


def _tails(k: Ints, n: Ints, p: float) -> Floats:
    """P(X ≤ k) for ``k`` below the mean, plus the outcomes from the mean on that are at most as likely as ``k``."""
    limit = _log_chance(k, n, p) + np.log(_AS_LIKELY)
    low, high = np.ceil(p * n).astype(np.int64), n + 1
    low = np.minimum(low, high)
    while (low < high).any():
        middle = (low + high) // 2
        found = _log_chance(np.minimum(middle, n), n, p) <= limit
        low, high = np.where((low < high) & ~found, middle + 1, low), np.where((low < high) & found, middle, high)
    beyond = np.where(low > n, 0.0, bdtrc(np.minimum(low, n) - 1, n, p))
    return np.asarray(bdtr(k, n, p) + beyond, dtype=float)


def _log_chance(k: Ints, n: Ints, p: float) -> Floats:
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(ways + xlogy(k, p) + xlog1py(n - k, -p), dtype=float)


def wald_interval(k: float, n: float, level: float = 0.95) -> tuple[float, float] | None:
    """p̂ ± z·√(p̂(1−p̂)/n), as in Liu et al. 2023, Table 6; None when n = 0."""
    _check(k, n)
    z = _z(level)
    if n == 0:
        return None
    share = k / n
    half = z * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def wilson_interval(k: float, n: float, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's interval, the shares that a score test does not reject (Wilson 1927); None when n = 0.

    It stays within 0–1 and holds its coverage near both ends. Assumes independent trials.

    Source: Wilson 1927.

    >>> low, high = wilson_interval(84, 100)
    >>> round(low, 3), round(high, 3)
    (0.756, 0.899)
    """
    _check(k, n)
    z = _z(level)
    if n == 0:
        return None
    share = k / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def binomial_test(k: int, n: int, p: float = 0.5, *, name: str = "share", level: float = 0.95) -> Result:
    """Two-sided binomial test of ``k`` of ``n`` against ``p`` (Smith et al. 2022, App. C.7); its statistic is k/n.

    Assumes independent trials: read a clustered test as well if one person gave several.

    Source: Smith et al. 2022, App. C.7.

    >>> print(binomial_test(60, 100))
    share: 0.600, 95% interval 0.502 to 0.691, statistic 0.600, p = .057, n = 100 [two-sided binomial test, Wilson
    interval]
    """
    ends, how = wilson_interval(k, n, level), "two-sided binomial test, Wilson interval"
    base = Result.by(how, "Smith et al. 2022, App. C.7", INDEPENDENT, name=name, n=n, level=level)
    base = base.but(p_value=binomial_p(k, n, p))
    if ends is None:
        return base.but(notes=("no observations: nothing can be estimated",))
    return base.but(estimate=k / n, statistic=k / n, ci_low=ends[0], ci_high=ends[1])


def _z(level: float) -> float:
    check_level(level)
    return float(ndtri(0.5 + level / 2))


def _check(k: float, n: float) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials: expected 0 ≤ successes ≤ trials")


NEAR = 0.18
"""Hypotheses nearer to 0 or 1 are tested here, others by the sign-flip test; no baseline that people choose is at it."""
EXTREME_SOURCE = "effective number of answers: Korn & Graubard 1998; likeness: beta-binomial, Williams 1975"
_LIKENESS = np.concatenate([[1e-3], np.geomspace(4e-3, 0.3, 14), [0.4, 0.5, 0.63, 0.77, 0.9, 0.97, 0.999]])
"""Intra-class correlations that are tried."""
_FEW_ANSWERS = 15  # Times as many as kinds of clusters: then products are faster than gamma functions
_WORTH_A_PARAMETER = 1.0  # So much log-likelihood must be gained for answers to be taken for alike at all (Akaike 1974)
_STEPS = np.geomspace(0.02, 12, 26)
"""Distances from the observed share, in log-odds, at which rates are tested; between two of them, ``_FINE`` more."""
_FINE = np.linspace(0, 1, 9)
_LEAST = 1e-6  # Hypotheses of 0 and 1 are taken for this far from them


@dataclass(frozen=True)
class ClusteredRate:
    """Successes and trials of each cluster, kinds of clusters counted once: ``times`` clusters had that many."""

    successes: Floats
    trials: Floats
    times: Floats

    @classmethod
    def of(cls, successes: npt.ArrayLike, trials: npt.ArrayLike) -> ClusteredRate:
        """Build from one entry per cluster; successes may be halves for ties."""
        pairs = np.asarray(successes, dtype=float) + 1j * np.asarray(trials, dtype=float)
        kinds, times = np.unique(pairs, return_counts=True)
        return cls(kinds.real.copy(), kinds.imag.copy(), times.astype(float))

    @property
    def clusters(self) -> float:
        return float(self.times.sum())

    @property
    def total(self) -> float:
        return float(self.times @ self.trials)

    @property
    def share(self) -> float:
        return float(self.times @ self.successes) / self.total

    def _more_than(self, answers: Floats) -> Floats:
        """How many clusters have more of these ``answers`` than 0, than 1, and so on."""
        of_each = np.bincount(answers.astype(np.int64), weights=self.times)
        return np.asarray(of_each[::-1].cumsum()[-2::-1])

    def effective_numbers(self, rates: Floats) -> Floats:
        """The equivalent number of independent answers if each of ``rates`` is the true one."""
        pairs_of_answers = float(self.times @ (self.trials * (self.trials - 1)))
        return np.asarray(self.total**2 / (self.total + pairs_of_answers * self._likeness(rates)))

    def _likeness(self, rates: Floats) -> Floats:
        """The intra-class correlations of greatest beta-binomial likelihood; 0 where they are not worth a parameter."""
        failures, strengths = self.trials - self.successes, (1 - _LIKENESS) / _LIKENESS
        a, b = (np.outer(side, strengths)[..., None] for side in (rates, 1 - rates))
        sides = ((1, a, self.successes), (1, b, failures), (-1, strengths[:, None], self.trials))
        if self.trials.max() < _FEW_ANSWERS * len(self.times) and not (self.successes % 1).any():
            # A quotient of gamma functions of whole numbers is a product, with one factor for each answer.
            parts = [sign * np.log(of + np.arange(n.max())) @ self._more_than(n) for sign, of, n in sides]
        else:
            parts = [sign * (gammaln(of + n) - gammaln(of)) @ self.times for sign, of, n in sides]
        likelihoods = parts[0] + parts[1] + parts[2]
        independent = float(self.times @ self.successes) * np.log(rates) + float(self.times @ failures) * np.log1p(
            -rates
        )
        best = likelihoods.argmax(axis=1)
        # Where the parabola through the best of the grid and its neighbours is highest, so that p has no steps.
        at = logit(_LIKENESS)
        middle = np.clip(best, 1, len(at) - 2)
        rows = np.arange(len(likelihoods))
        x0, x1, x2 = (at[middle + i] for i in (-1, 0, 1))
        y0, y1, y2 = (likelihoods[rows, middle + i] for i in (-1, 0, 1))
        above = (x1 - x0) ** 2 * (y1 - y2) - (x1 - x2) ** 2 * (y1 - y0)
        below = (x1 - x0) * (y1 - y2) - (x1 - x2) * (y1 - y0)
        # At an end of the grid, or where nothing bends down, the better of the two neighbours is as far as it goes.
        bends = np.abs(below) > 1e-12
        top = x1 - 0.5 * above / np.where(bends, below, 1.0)
        alike = np.where(bends, np.clip(top, x0, x2), at[best])
        gained = np.take_along_axis(likelihoods, best[:, None], axis=1)[:, 0] - independent
        return np.asarray(expit(alike) * np.clip(gained / _WORTH_A_PARAMETER - 0.5, 0.0, 1.0))


class RateTest(NamedTuple):
    """p-values of some hypotheses, and the ends of the range that is not rejected."""

    p_values: Floats
    low: float
    high: float


def extreme_rate_test(observed: ClusteredRate, nulls: npt.ArrayLike, level: float = 0.95) -> RateTest:
    """Two-sided p-values that the true rate is each of ``nulls``, and the ends of the rates that are kept; beyond
    ``EXACT_CLUSTERS`` clusters by mid-p."""
    kinds = (part.tobytes() for part in (observed.successes, observed.trials, observed.times))
    return _extreme_rate_test(*kinds, np.asarray(nulls, dtype=float).tobytes(), level)


@lru_cache(maxsize=1_024)
def _extreme_rate_test(successes: bytes, trials: bytes, times: bytes, nulls: bytes, level: float) -> RateTest:
    """Kept, as a report asks for every second one again."""
    observed = ClusteredRate(*map(np.frombuffer, (successes, trials, times)))
    share, at_nulls = observed.share, logit(np.clip(np.frombuffer(nulls), _LEAST, 1 - _LEAST))
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
    """How far from ``centre`` the first rejected rate lies; and the smallest p on the way to given distances."""
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


def share_test(
    p_of: Callable[[float], float], ends: tuple[float, float], observed: ClusteredRate, null: float, level: float
) -> RateTest | None:
    """The test of a share against ``null`` near 0 and 1; None where the share, ``null`` and the interval lie between.

    ``p_of``, ``ends``: p of any hypothesis by the deviations of the clusters, and the interval of those that it keeps.
    """
    share, (near_0, near_1) = observed.share, BORDERS
    if all(near_0 < at < near_1 for at in (share, null, *ends)):
        return None
    near_ends = extreme_rate_test(observed, [null], level)
    low = 1 - _upper_end(1 - share, 1 - ends[0], 1 - near_ends.low)
    high = _upper_end(share, ends[1], near_ends.high)
    tests = [float(near_ends.p_values[0])] if not near_0 < null < near_1 else []
    tests += [p_of(null)] if near_0 <= null <= near_1 else []
    p_value, alpha = max(tests), 1 - level
    p_value = max(p_value, alpha) if low <= null <= high else min(p_value, alpha * (1 - 1e-9))
    return RateTest(np.array([p_value]), low, high)


def _upper_end(share: float, of_deviations: float, of_extremes: float) -> float:
    """Upwards from ``share`` through low, middle and high shares, each by its own test, to where one is rejected."""
    near_0, near_1 = BORDERS
    if share < near_0 and of_extremes < near_0:
        return of_extremes
    if share < near_1 and of_deviations < near_1:
        return max(of_deviations, share, near_0 if share < near_0 else share)
    return max(of_extremes, share, near_1 if share < near_1 else share)
