"""The smallest gap that data like those at hand would find: the reverse of planning a study."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

Floats = npt.NDArray[np.float64]

_BEYOND = 1e6
SOURCE = "Bloom 1995, Minimum detectable effects"


def detectable_gap(
    standard_error: float, *, df: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The true gap that a two-sided test at ``alpha`` would find with chance ``power``.

    Args:
        standard_error: of the estimated gap, on the scale of the gap.
        df: degrees of freedom of the t test (clusters − 1); None: the normal distribution.
        alpha: of the two-sided test.
        power: chance to find a gap of that size; more than ``alpha``.

    Returns:
        In units of ``standard_error``. With ``df`` the noncentral t distribution gives the power exactly (but for the
        chance of a significant result on the wrong side, which is nil at usual power). None where the error is 0 (it
        could not be estimated), or the noncentral distribution cannot be inverted.

    Raises:
        ValueError: an argument is out of range.

    Assumes that the standard error of new data is as in these. This says what the study *could* find; it is no power of
    the result that was found. Source: Bloom 1995.
    """
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha {alpha} and power {power}: expected 0 < alpha < power < 1")
    if standard_error < 0:
        raise ValueError(f"standard error {standard_error}: expected 0 or more")
    if df is not None and df < 1:
        raise ValueError(f"{df} degrees of freedom: expected at least 1")
    if standard_error == 0:
        return None
    factor = float(ndtri(1 - alpha / 2) + ndtri(power)) if df is None else _noncentrality(float(df), alpha, power)
    return None if factor is None else factor * standard_error


def power_of_gaps(
    gaps: npt.ArrayLike, standard_error: float, *, df: float | None = None, alpha: float = 0.05
) -> Floats:
    """Chance to find each true gap with a two-sided test at ``alpha``; ``alpha`` itself for a gap of 0.

    Args:
        gaps: true gaps, on the scale of ``standard_error``.
        standard_error: of the estimated gap; above 0.
        df: degrees of freedom of the t test (clusters − 1); None: the normal distribution.
        alpha: of the test.

    Raises:
        ValueError: a standard error that is not above 0.

    Assumes that the standard error of new data is as in these. Source: Bloom 1995.
    """
    if not standard_error > 0:
        raise ValueError(f"standard error {standard_error}: expected more than 0")
    shifts = np.abs(np.asarray(gaps, dtype=float)) / standard_error
    if df is None:
        critical = float(ndtri(1 - alpha / 2))
        return np.asarray(ndtr(shifts - critical) + ndtr(-shifts - critical))
    from scipy.stats import nct

    critical = float(stdtrit(df, 1 - alpha / 2))
    return np.asarray(nct.sf(critical, df, shifts) + nct.sf(critical, df, -shifts))


@lru_cache(maxsize=1_000)
def _noncentrality(df: float, alpha: float, power: float) -> float | None:
    """By how many standard errors the noncentral t must be shifted to be beyond the critical value that often."""
    from scipy.optimize import brentq
    from scipy.stats import nct

    critical = float(stdtrit(df, 1 - alpha / 2))

    def lacking(shift: float) -> float:
        return float(nct.sf(critical, df, shift)) - power

    upper = critical + 10.0
    while lacking(upper) < 0:
        upper *= 2
        if upper > _BEYOND:
            return None
    return float(brentq(lacking, 0.0, upper))
