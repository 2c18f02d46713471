"""What a number of observations buys: the chance that a test finds a difference that is truly there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, chndtr, fdtri, gammaln, ncfdtr, ndtr, ndtri, xlog1py, xlogy

Floats = npt.NDArray[np.float64]

MAX_EXACT = 50_000
"""Beyond it the binomial test's power is that of the normal test, which is then as good."""


def binomial_power(n: int, p0: float, p1: float, alpha: float = 0.05) -> float:
    """Exact power of the two-sided binomial test of ``p0`` in ``n`` observations whose true share is ``p1``.

    The test is the one of :func:`~parlai_humaneval.statistics.shares.binomial_p`: p sums all outcomes that are no
    likelier. 0 when n = 0. Above ``MAX_EXACT`` observations the normal test stands in.

    Raises:
        ValueError: a share outside 0–1, or a negative n.
    """
    if n < 0 or not 0 < p0 < 1 or not 0 <= p1 <= 1:
        raise ValueError(f"n {n}, shares {p0} and {p1}: expected n ≥ 0, 0 < p0 < 1 and 0 ≤ p1 ≤ 1")
    if n > MAX_EXACT:
        return normal_power(n, abs(p1 - p0), p0 * (1 - p0), p1 * (1 - p1), alpha)
    return float(_chances(n, p1)[rejected_counts(n, p0, alpha)].sum())


def rejected_counts(n: int, p0: float, alpha: float) -> npt.NDArray[np.bool_]:
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
    """The first n with which the exact binomial test has the ``power``, and the n from which on it always has it.

    The power of an exact test goes up and down with n, as its true level does. Searched are sizes around ``around``,
    the size of the normal test; None where the answer is not among them.
    """
    low, high = max(1, round(0.8 * around) - 10), round(1.25 * around) + 30
    holds = np.array([binomial_power(n, p0, p1, alpha) >= power for n in range(low, high + 1)])
    if holds[0] or not holds[-1]:
        return None
    return low + int(np.argmax(holds)), low + len(holds) - int(np.argmin(holds[::-1]))


def normal_power(n: float, difference: float, variance_null: float, variance_truth: float, alpha: float) -> float:
    """Power of a normal test: the probability of its far tail is left out, as in the sample sizes."""
    distance = difference * np.sqrt(n) - float(ndtri(1 - alpha / 2)) * np.sqrt(variance_null)
    if variance_truth <= 0:
        return float(distance > 0)
    return float(ndtr(distance / np.sqrt(variance_truth)))


def chi2_power(noncentrality: float, df: float, alpha: float = 0.05) -> float:
    """Power of a χ² test."""
    return float(1 - chndtr(chdtri(df, alpha), df, noncentrality))


def f_power(noncentrality: float, df: float, df_error: float, alpha: float = 0.05) -> float:
    """Power of an F test, which is the clustered t test where ``df`` is 1; 0 without degrees of freedom for the error.

    ``df_error`` need not be whole.
    """
    if df_error <= 0:
        return 0.0
    return float(1 - ncfdtr(df, df_error, noncentrality, fdtri(df, df_error, 1 - alpha)))


def _chances(n: int, p: float) -> Floats:
    """Of each number of successes."""
    k = np.arange(n + 1)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    chances: Floats = np.exp(logs)
    return chances
