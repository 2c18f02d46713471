"""Ranks over bootstrap resamples: the range of a model's ranks, and clusters that cannot be told apart.

Wilcoxon's rank-sum test (Mann–Whitney U) of two samples, and of the two samples of many groups at once.

Samples of up to ``MOST_EXACT`` values without ties have the exact distribution of U. All others have the normal
approximation with correction for ties and for continuity, as the published checks of slider ratings do (Ji et al. 2022,
§3.2 and §4.2). The two differ where samples are small: three values below three others have the one-sided p 1/20 = .050
exactly and .040 by the approximation, two below two 1/6 = .167 and .123, so that the approximation passes the first at .05
and the exact test does not. From ten values a side on they differ by less than .005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.statistics.core.result import Result

Alternative = Literal["two-sided", "less", "greater"]
Method = Literal["exact", "asymptotic"]
ALTERNATIVES = ("two-sided", "less", "greater")
MOST_EXACT = 20
"""Values of either sample up to which p is exact, where no two are equal."""


@dataclass(frozen=True)
class RankSums:
    """An entry a group: sizes of both samples, U of the first one, and its one-sided p that it is the lower one.

    p = 1 where a sample is empty or all values of a group are equal. It is exact where the group has no ties and neither
    sample more than ``MOST_EXACT`` values.
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

    p is exact where no two values are equal and neither sample has more than ``MOST_EXACT``; ``method`` says so.

    Assumes independent observations. Source: Mann & Whitney 1947; Ji et al. 2022, §4.2.

    A small p says that values of the one sample tend to be higher.

    >>> print(rank_sum_test([3, 1, 2], [4, 6, 5], "less"))
    x against y: 0.000, statistic 0.000, p = .050, n = 6 [Wilcoxon rank-sum test (less), exact]
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
    method = _method(a, b)
    base = Result(
        name=name,
        n=together.size,
        p_value=1.0,
        method=f"Wilcoxon rank-sum test ({alternative}), {_WORDS[method]}",
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


_WORDS: Mapping[Method, str] = {"exact": "exact", "asymptotic": "corrected for ties and continuity"}


def _method(x: Floats, y: Floats) -> Method:
    untied = np.unique(np.concatenate([x, y])).size == x.size + y.size
    return "exact" if untied and max(x.size, y.size) <= MOST_EXACT else "asymptotic"


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
    p_less: Floats = np.where(testable, ndtr(z), 1.0)
    exact = testable & (ties == 0) & (np.maximum(n, m) <= MOST_EXACT)
    _make_exact(p_less, exact, n.astype(int), m.astype(int), u)
    return RankSums(n, m, u, p_less)


def _make_exact(p_less: Floats, exact: Flags, n: Ints, m: Ints, u: Floats) -> None:
    """Put P(U ≤ u) into the groups that are ``exact``: those of equal sizes share one distribution."""
    for first, second in np.unique(np.stack([n[exact], m[exact]], axis=1), axis=0):
        same = exact & (n == first) & (m == second)
        p_less[same] = _distribution(int(first), int(second))[u[same].astype(int)]


@lru_cache(maxsize=MOST_EXACT**2)
def _distribution(n: int, m: int) -> Floats:
    """P(U ≤ u) for u = 0 … n·m without ties: all ranks of the first sample are equally likely (Mann & Whitney 1947).

    The orders with a given U are the coefficients of a Gaussian binomial, ∏ (1 − q^(m+i)) / (1 − q^i).
    """
    orders = np.zeros(n * m + 1, dtype=np.int64)
    orders[0] = 1
    for i in range(1, n + 1):
        orders[m + i :] -= orders[: -(m + i)].copy()
        for u in range(i, len(orders)):
            orders[u] += orders[u - i]
    return np.asarray(np.cumsum(orders) / orders.sum(), dtype=np.float64)


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


Range = tuple[int, int]

_SLACK = 1e-9
"""Takes rounding from shares: a cut of 1.0000000000000009 or 0.9999999999999998 ranks is a cut of one."""


def ranks_of(scores: npt.ArrayLike) -> Ints:
    """Rank of each model in each replicate, best 1; equal scores share the better rank.

    ``scores``: replicates × models, more is better.
    """
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2:
        raise ValueError("scores must be a table: a row a replicate, a column a model.")
    better: Ints = (values[:, None, :] > values[:, :, None]).sum(axis=2).astype(np.int64)
    return better + 1


def rank_range(ranks: npt.ArrayLike, level: float = 0.95) -> Range | None:
    """Central range of a model's bootstrap ``ranks``: floor(B(1 − level)/2) of the B ranks are cut from each end.

    None where there are no ranks. Assumes that resamples vary as new data would. Source: Deriu et al. 2020, §3.2, after
    Dušek et al. 2018; Bojar et al. 2013.

    A model with the range 1 to 2 is the best or second best.

    >>> rank_range([1] * 90 + [2] * 9 + [3])
    (1, 2)
    """
    ordered = _ordered(ranks, level)
    if not ordered.size:
        return None
    cut = math.floor(ordered.size * (1 - level) / 2 + _SLACK)
    return int(ordered[cut]), int(ordered[ordered.size - 1 - cut])


def rank_range_shortest(ranks: npt.ArrayLike, level: float = 0.95) -> Range | None:
    """Shortest range that holds at least ``level`` of the bootstrap ``ranks``; of equally short ones the best.

    None where there are no ranks. The authors' own program takes a range of this kind. Source: Deriu et al. 2020, §3.2.

    Assumes that the resamples drew units that are independent of each other.

    >>> rank_range_shortest([1] * 96 + [2] * 4)
    (1, 1)
    """
    ordered = _ordered(ranks, level)
    if not ordered.size:
        return None
    needed = max(1, math.ceil(ordered.size * level - _SLACK))
    # Every shortest range begins at a rank that occurs, and ends `needed` ranks later in the sorted list.
    starts, ends = ordered[: ordered.size - needed + 1], ordered[needed - 1 :]
    best = int(np.argmin(ends - starts))  # argmin takes the first, which begins lowest
    return int(starts[best]), int(ends[best])


def rank_clusters(ranges: Mapping[str, tuple[int, int]]) -> list[list[str]]:
    """Models whose rank ranges overlap, directly or through others, best cluster first; names sorted by range.

    Ranges that share one rank overlap. Two models of a cluster may have ranges apart from each other, where a third
    one lies between them. Source: Deriu et al. 2020, §3.2; Bojar et al. 2013.

    Models of one cluster cannot be told apart.

    Assumes that each range is right; it tests nothing by itself.

    >>> rank_clusters({'a': (1, 2), 'b': (2, 3), 'c': (4, 4)})
    [['a', 'b'], ['c']]
    """
    for name, (low, high) in ranges.items():
        if low > high:
            raise ValueError(f"The rank range of {name!r} ends before it begins: {low} to {high}.")
    found: list[list[str]] = []
    reach = -math.inf
    for name in sorted(ranges, key=lambda name: (*ranges[name], name)):
        low, high = ranges[name]
        if not found or low > reach:
            found.append([])
        found[-1].append(name)
        reach = max(reach, high)
    return found


def _ordered(ranks: npt.ArrayLike, level: float) -> Floats:
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a share between 0 and 1, such as .95.")
    values = np.asarray(ranks, dtype=float).ravel()
    if np.isnan(values).any():
        raise ValueError("ranks holds missing values: leave out the replicates in which the model had no rank.")
    return np.sort(values)
