"""From a design to a number of observations, for independent and for clustered answers."""

from __future__ import annotations

import math
from functools import lru_cache

from parlai_humaneval.planning.designs import Design
from parlai_humaneval.planning.power import exact_binomial_sizes, f_power
from parlai_humaneval.planning.sample_sizes import Variance
from parlai_humaneval.statistics.design_effects import design_effect

EXACT_SEARCH = 3_000
"""Beyond it the exact test's power is nearly that of the normal one."""
SHORT = 0.005
"""The formula's n is kept where its power is the asked one in whole percents."""
MIN_WORKERS = 10
"""Fewer give a clustered interval that is a rough guide only; the plan never asks for fewer."""
TOLERANCE = 0.01
"""So much may the power without ``SPARE_WORKERS`` be below the asked one; with them it never is."""
SPARE_WORKERS = 2
"""Simulated studies of 20 to 100 workers fall short of the F test's power by about what so many workers add: sums of few
turns are not normal."""


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


def clustered_size(design: Design, alpha: float, power: float, *, per_worker: float, icc: float) -> int:
    """Observations of each sample that the clustered t (or F) test needs.

    The size for independent observations times the design effect 1 + (m−1)·ICC, for m observations a worker. Where that
    makes few workers, t is wider than the normal distribution of the formulas, and more are added until the power is
    reached, and all but ``TOLERANCE`` of it without a few of them; fewer than ``MIN_WORKERS`` are never planned.
    """
    effect = design_effect(per_worker, icc)
    low = max(_ceil(design.mean_size(alpha, power) * effect), _ceil(MIN_WORKERS / design.groups(1, per_worker)))
    spare = round(SPARE_WORKERS / design.groups(1, per_worker))

    def reached(n: int) -> float:
        return clustered_power(design, n, alpha, per_worker=per_worker, icc=icc) if n > 0 else 0.0

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


def clustered_power(design: Design, n: int, alpha: float, *, per_worker: float, icc: float) -> float:
    """Power of the clustered test with ``n`` observations of each sample, ``per_worker`` of each worker."""
    noncentrality = n * design.information / design_effect(per_worker, icc)
    return f_power(noncentrality, design.df, design.groups(n, per_worker) - design.df, alpha)


def _ceil(size: float) -> int:
    """Rounded up, forgiving what floating point adds to a whole number."""
    return max(1, math.ceil(size - 1e-9))
