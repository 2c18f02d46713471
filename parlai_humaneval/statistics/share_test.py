"""The test of a clustered share: in the middle as sums are tested, near 0 and 1 as rates are there.

Which test a hypothesis gets depends on the hypothesis alone, not on what was observed: one from ``NEAR`` to 1 − ``NEAR``
is tested by the deviations of the clusters, one nearer to 0 or 1 by :mod:`~parlai_humaneval.statistics.extreme_rates`, one
at the border by both, of which the larger p counts. The interval goes from the observed share outwards, as far as the
first hypothesis that is rejected; one beyond it is rejected, too, whatever its own test says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parlai_humaneval.statistics.extreme_rates import NEAR, ClusteredRate, extreme_rate_test

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
