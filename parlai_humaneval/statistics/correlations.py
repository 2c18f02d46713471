"""Pearson's and Spearman's correlation, with intervals, of two lists and of all columns of a table.

For scores of systems (Ji et al. 2022, Tables 3, 4, 8 and 9). n is the number of systems, mostly small: see the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from parlai_humaneval.statistics.result import Result

Kind = Literal["pearson", "spearman"]
MIN_FOR_INTERVAL = 4
Scores = Mapping[str, Mapping[str, float | None]]
"""Model → criterion → score."""

_METHODS = {"pearson": "Pearson's r, Fisher's z interval", "spearman": "Spearman's ρ, Fisher's z interval"}


def correlation(
    x: Sequence[float | None] | npt.ArrayLike,
    y: Sequence[float | None] | npt.ArrayLike,
    kind: Kind = "pearson",
    *,
    name: str = "correlation",
    level: float = 0.95,
) -> Result:
    """Correlation of two equally long lists; pairs with a missing value (None) are left out.

    Fisher's z interval, for ``spearman`` with the variance 1.06 / (n − 3) of Fieller, Hartley & Pearson 1957. There is
    no p-value: that a correlation of two measurements of the same is not 0 tells little (Ji et al. 2022, §2).

    Returns:
        No estimate with fewer than two pairs, or where all values of a list are equal; no interval with fewer than four
        pairs, or where r is −1 or 1.

    Raises:
        ValueError: the lists differ in length, a value is infinite, or the kind is unknown.

    Assumes that the pairs are independent draws of what one wants to speak about: of other systems.
    """
    if kind not in _METHODS:
        raise ValueError(f"kind {kind!r}: expected pearson or spearman")
    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} against {b.size} values: both lists must be of the same things")
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[known], b[known]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a value is infinite")
    base = Result(
        name=name,
        n=a.size,
        level=level,
        method=_METHODS[kind],
        assumptions=("the pairs are independent draws",),
        source="Ji et al. 2022, §4.2 and Table 8; Fisher 1921",
    )
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        few = "fewer than two pairs" if a.size < 2 else "all values of one list are equal"
        return base.model_copy(update={"notes": (f"{few}: a correlation cannot be estimated",)})
    if kind == "spearman":
        from scipy.stats import rankdata

        a, b = rankdata(a), rankdata(b)
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    return base.model_copy(update={"estimate": r, **_interval(r, a.size, kind, level)})


def _interval(r: float, n: int, kind: Kind, level: float) -> dict[str, object]:
    if n < MIN_FOR_INTERVAL or abs(r) > 1 - 1e-12:
        return {"notes": (f"no interval from {n} pairs" if n < MIN_FOR_INTERVAL else "no interval where r is 1 or −1",)}
    variance = (1.06 if kind == "spearman" else 1.0) / (n - 3)
    half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return {"ci_low": float(np.tanh(np.arctanh(r) - half)), "ci_high": float(np.tanh(np.arctanh(r) + half))}


def criteria_correlations(scores: Scores, criteria: Sequence[str], kind: Kind = "pearson") -> list[list[float | None]]:
    """Correlation over models of each two criteria (Ji et al. 2022, Table 8); None where it cannot be estimated."""
    columns = [[own.get(name) for own in scores.values()] for name in criteria]
    matrix: list[list[float | None]] = [[None] * len(criteria) for _ in criteria]
    for i, x in enumerate(columns):
        for j, y in enumerate(columns[: i + 1]):
            matrix[i][j] = matrix[j][i] = correlation(x, y, kind).estimate
    return matrix
