"""Wilcoxon's rank-sum test (Mann–Whitney U) of two samples, and of the two samples of many groups at once.

Both use the normal approximation with correction for ties and for continuity, as the published checks of slider ratings
do (Ji et al. 2022, §3.2 and §4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from parlai_humaneval.statistics.result import Result

Floats = npt.NDArray[np.float64]
Alternative = Literal["two-sided", "less", "greater"]
ALTERNATIVES = ("two-sided", "less", "greater")


@dataclass(frozen=True)
class RankSums:
    """An entry a group: sizes of both samples, U of the first one, and its one-sided p that it is the lower one.

    p = 1 where a sample is empty or all values of a group are equal.
    """

    n_first: Floats
    n_second: Floats
    u: Floats
    p_less: Floats


def rank_sum_test(
    x: npt.ArrayLike, y: npt.ArrayLike, alternative: Alternative = "two-sided", *, name: str = "x against y"
) -> Result:
    """Rank-sum test of ``x`` against ``y``: whether values of the one tend to be lower or higher than of the other.

    Args:
        x: one sample, any shape.
        y: the other.
        alternative: what p speaks of: that ``x`` differs, is ``less``, or is ``greater``.
        name: of the result.

    Returns:
        ``statistic`` is U of ``x``: pairs in which x is the higher one, ties counted half; ``estimate`` its share of all
        pairs, the chance that a value of ``x`` is above one of ``y``. p = 1 where a sample is empty (then there is no
        estimate) or all values are equal.

    Raises:
        ValueError: a value is nan or infinite, or the alternative is unknown.

    Assumes independent observations. Source: Mann & Whitney 1947; Ji et al. 2022, §4.2.

    A small p says that values of the one sample tend to be higher.

    >>> print(rank_sum_test([3, 4, 5, 5], [1, 2, 3, 3]))
    x against y: 0.938, statistic 15.000, p = .053, n = 8 [Wilcoxon rank-sum test (two-sided), corrected for ties
    and continuity]
    """
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative {alternative!r}: expected {', '.join(ALTERNATIVES)}")
    a, b = np.asarray(x, dtype=float).ravel(), np.asarray(y, dtype=float).ravel()
    together = np.concatenate([a, b])
    if not np.isfinite(together).all():
        raise ValueError("a value is nan or infinite: leave missing ones out")
    base = Result(
        name=name,
        n=together.size,
        p_value=1.0,
        method=f"Wilcoxon rank-sum test ({alternative}), corrected for ties and continuity",
        assumptions=("all observations are independent of each other, also those of one worker",),
        source="Mann & Whitney 1947; Ji et al. 2022, §4.2",
        details={"n_x": a.size, "n_y": b.size},
    )
    if not a.size or not b.size:
        return base.but(notes=("a sample is empty: nothing can be tested",))
    if np.ptp(together) == 0:
        u = a.size * b.size / 2
        tied = ("all values are equal: nothing tells the samples apart",)
        return base.but(statistic=u, estimate=0.5, notes=tied)
    is_x, one_group = np.arange(together.size) < a.size, np.zeros(together.size, dtype=int)
    x_lower, y_lower = (rank_sums(together, lower, one_group, 1) for lower in (is_x, ~is_x))
    less, greater = float(x_lower.p_less[0]), float(y_lower.p_less[0])
    p_values = {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}
    u = float(x_lower.u[0])
    return base.but(statistic=u, estimate=u / (a.size * b.size), p_value=p_values[alternative])


def rank_sums(values: npt.ArrayLike, is_first: npt.ArrayLike, groups: npt.ArrayLike, n_groups: int) -> RankSums:
    """The test that the first sample is the lower one, in each of many groups, without a loop over them.

    Args:
        values: all observations.
        is_first: which of them belong to the first sample of their group.
        groups: the group of each, from 0.
        n_groups: how many groups there are; one may be empty.
    """
    y, code = np.asarray(values, dtype=float), np.asarray(groups, dtype=int)
    first = np.asarray(is_first, dtype=bool)
    if not np.isfinite(y).all():
        raise ValueError("a value is nan or infinite: leave missing ones out")
    order = np.lexsort((y, code))
    y, code, first = y[order], code[order], first[order]
    ranks, ties = _ranks(y, code, n_groups)
    size = np.bincount(code, minlength=n_groups).astype(float)
    n = np.bincount(code, weights=first.astype(float), minlength=n_groups).astype(float)
    m = size - n
    u: Floats = np.bincount(code, weights=ranks * first, minlength=n_groups) - n * (n + 1) / 2
    total = np.maximum(size * (size - 1), 1)
    variance = n * m / 12 * ((size + 1) - ties / total)
    testable = (n > 0) & (m > 0) & (variance > 1e-12)
    z = (u - n * m / 2 + 0.5) / np.sqrt(np.where(testable, variance, 1.0))
    return RankSums(n, m, u, np.where(testable, ndtr(z), 1.0))


def _ranks(y: Floats, code: npt.NDArray[np.int_], n_groups: int) -> tuple[Floats, Floats]:
    """Mid-ranks within each group of sorted values, and Σ(t³ − t) over the ties of each group."""
    if not y.size:
        return np.zeros(0), np.zeros(n_groups)
    starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_groups))])[code]
    new = np.concatenate([[True], (np.diff(y) != 0) | (np.diff(code) != 0)])
    tie = np.cumsum(new) - 1
    first_place = np.flatnonzero(new)
    length = np.diff(np.concatenate([first_place, [y.size]])).astype(float)
    middle = first_place + (length + 1) / 2  # mean of the places of a tie, from 1 over the whole array
    sums = np.bincount(code[first_place], weights=length**3 - length, minlength=n_groups)
    return np.asarray(middle[tie] - starts), sums.astype(float)
