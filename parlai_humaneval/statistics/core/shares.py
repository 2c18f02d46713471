"""Tests and intervals of one share, for independent observations: the papers' own."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, gammaln, ndtri, xlog1py, xlogy

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.result import Result, check_level

INDEPENDENT = "all turns are independent of each other, also those of one dialogue and one worker"
_AS_LIKELY = 1 + 1e-7  # as scipy's binomtest: outcomes that differ by rounding alone are equally likely


def binomial_p(k: int, n: int, p: float = 0.5) -> float:
    """Two-sided p of ``k`` successes in ``n`` against the chance ``p``; 1 when n = 0.

    It sums the chances of all outcomes that are no likelier than ``k``.

    A small p says that the share is not ``p``. Assumes independent trials.

    Source: Smith et al. 2022, App. C.7; the sum is that of scipy's ``binomtest``.

    >>> round(binomial_p(60, 100), 4)
    0.0569
    """
    _check(k, n)
    if n == 0:
        return 1.0
    if p in (0, 1):  # one outcome only is possible
        return float(k == n * p)
    return float(binomial_p_values([k], [n], p)[0])


def binomial_p_values(successes: npt.ArrayLike, trials: npt.ArrayLike, p0: float = 0.5) -> Floats:
    """The exact two-sided binomial p of each look: ``successes`` of ``trials``, equally long arrays.

    The chances of all outcomes that are no likelier than the one seen are summed, as by
    :func:`~parlai_humaneval.analysis.binomial_p`; all looks at once. 1 where nothing was tried.

    Raises:
        ValueError: not 0 ≤ successes ≤ trials, arrays of different length, or ``p0`` not between 0 and 1.

    Right for one look that was fixed beforehand; who looks again and again needs :func:`anytime_p_values`. Assumes
    independent outcomes.

    Source: Smith et al. 2022, App. C.7.

    >>> binomial_p_values([1, 3, 8], [1, 4, 9]).round(3).tolist()
    [1.0, 0.625, 0.039]
    """
    k, n = np.asarray(successes, dtype=np.int64), np.asarray(trials, dtype=np.int64)
    if k.shape != n.shape or k.ndim != 1:
        raise ValueError(f"successes and trials must be equally long lists: they are {k.shape} and {n.shape}")
    if ((k < 0) | (k > n)).any():
        raise ValueError("expected 0 ≤ successes ≤ trials at every look")
    if not 0 < p0 < 1:
        raise ValueError(f"p0 must lie between 0 and 1: {p0}")
    if p0 == 0.5:  # symmetric: the other tail is as heavy
        return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(k, n - k), n, 0.5)), dtype=float)
    p = np.where(k < p0 * n, _tails(k, n, p0), _tails(n - k, n, 1 - p0))
    return np.asarray(np.where(k == p0 * n, 1.0, np.minimum(1.0, p)), dtype=float)


def _tails(k: Ints, n: Ints, p: float) -> Floats:
    """P(X ≤ k) and of the outcomes from the mean on that are no likelier than ``k``, which lies below the mean.

    From the mean on the chances fall, so that halving finds the first such outcome, for all looks at once.
    """
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
    """p̂ ± z·√(p̂(1−p̂)/n), as in Liu et al. 2023, Table 6; None when n = 0.

    It may reach beyond 0–1, and shrinks to a point at k = 0 and k = n: prefer Wilson's.

    Assumes independent trials.

    Source: Liu et al. 2023, Table 6.

    >>> low, high = wald_interval(84, 100)
    >>> round(low, 3), round(high, 3)
    (0.768, 0.912)
    """
    _check(k, n)
    z = _z(level)
    if n == 0:
        return None
    share = k / n
    half = z * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def wilson_interval(k: float, n: float, level: float = 0.95) -> tuple[float, float] | None:
    """The shares that a score test does not reject (Wilson 1927); None when n = 0.

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

    Assumes independent trials: read a clustered test beside it where one person gave several.

    Source: Smith et al. 2022, App. C.7.

    >>> print(binomial_test(60, 100))
    share: 0.600, 95% interval 0.502 to 0.691, statistic 0.600, p = .057, n = 100 [two-sided binomial test, Wilson
    interval]
    """
    low, high = wilson_interval(k, n, level) or (None, None)
    return Result(
        name=name,
        estimate=k / n if n else None,
        ci_low=low,
        ci_high=high,
        level=level,
        statistic=k / n if n else None,
        p_value=binomial_p(k, n, p),
        n=n,
        method="two-sided binomial test, Wilson interval",
        assumptions=(INDEPENDENT,),
        source="Smith et al. 2022, App. C.7",
        notes=() if n else ("no observations: nothing can be estimated",),
    )


def _z(level: float) -> float:
    check_level(level)
    return float(ndtri(0.5 + level / 2))


def _check(k: float, n: float) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} successes in {n} trials: expected 0 ≤ successes ≤ trials")
