"""Ranks over bootstrap resamples: the range of a model's ranks, and clusters that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
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


def _ordered(ranks: npt.ArrayLike, level: float) -> npt.NDArray[np.float64]:
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a share between 0 and 1, such as .95.")
    values = np.asarray(ranks, dtype=float).ravel()
    if np.isnan(values).any():
        raise ValueError("ranks holds missing values: leave out the replicates in which the model had no rank.")
    return np.sort(values)
