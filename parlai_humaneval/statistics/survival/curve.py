"""How long a speaker passes for a person: the share not spotted within k exchanges (Deriu et al. 2020, §3.3).

A segment of k exchanges tells only whether its speaker was spotted in (0, k] or later: current-status data. Its
non-parametric maximum-likelihood estimate (Turnbull 1974) is isotonic regression of the spotted share, in closed form.
Bands around it come from resamples of whole clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, small_sample_notes, too_few_clusters
from parlai_humaneval.statistics.core.result import Result

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Seen:
    """What was seen at each length, in rising order: ``spotted`` of ``total`` (numbers, or sums of weights).

    ``place``: for each observation, the index of its length.
    """

    lengths: Ints
    spotted: Floats
    total: Floats
    place: Ints


def seen_by_length(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Seen:
    """Counts by length; lengths whose weights are all 0 are left out.

    Raises:
        ValueError: unequal lengths of the lists, a missing value, k that is not a whole number from 1, spotted that is
            neither 0 nor 1, a weight below 0.
    """
    exchanges, found = checked(k, spotted)
    weight = np.ones(found.size) if weights is None else np.asarray(weights, dtype=float).ravel()
    if weight.size != found.size:
        raise ValueError(f"{weight.size} weights for {found.size} observations: give one for each.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("weights must be numbers from 0, none missing.")
    counted = weight > 0
    lengths, place = np.unique(exchanges[counted], return_inverse=True)
    own, size = weight[counted], len(lengths)
    places = np.zeros(found.size, dtype=np.int64)
    places[counted] = place
    return Seen(
        lengths=lengths,
        spotted=np.bincount(place, weights=own * found[counted], minlength=size).astype(float),
        total=np.bincount(place, weights=own, minlength=size).astype(float),
        place=places,
    )


def checked(k: npt.ArrayLike, spotted: npt.ArrayLike) -> tuple[Ints, Floats]:
    """The two as arrays, or a ValueError that says what is wrong."""
    exchanges, found = np.asarray(k, dtype=float).ravel(), np.asarray(spotted, dtype=float).ravel()
    if exchanges.size != found.size:
        raise ValueError(f"{exchanges.size} lengths k, but {found.size} values of spotted: give one of each a segment.")
    if not (np.isfinite(exchanges).all() and (exchanges >= 1).all() and (exchanges % 1 == 0).all()):
        raise ValueError("k is the number of exchanges shown: whole numbers from 1, none missing.")
    if not np.isin(found, (0.0, 1.0)).all():
        raise ValueError("spotted is 1 where the speaker was taken for a bot, else 0; none may be missing.")
    return exchanges.astype(np.int64), found


def isotonic_shares(spotted: npt.ArrayLike, total: npt.ArrayLike) -> Floats:
    """Shares ``spotted`` / ``total`` along the last axis, pooled so that they never fall; any number of rows at once.

    The share at j is the greatest, over beginnings a ≤ j, of the least, over ends b ≥ j, of the pooled shares of a to
    b (the max–min formula of isotonic regression): the result of pool adjacent violators without its loop, at a cost of
    lengths² a row. A length at which nothing was seen takes the share of a neighbour; nan where a row has nothing.
    Source: Robertson, Wright & Dykstra 1988, Th. 1.4.4; Turnbull 1974 for what it estimates.
    """
    above, below = _cumulative(spotted), _cumulative(total)
    sums = above[..., None, 1:] - above[..., :-1, None]  # … × beginning × end
    weights = below[..., None, 1:] - below[..., :-1, None]
    shares: Floats = np.full(sums.shape, np.inf)
    np.divide(sums, weights, out=shares, where=weights > 0)
    size = shares.shape[-1]
    begins, ends = np.arange(size)[:, None], np.arange(size)[None, :]
    shares = np.where(ends >= begins, shares, np.inf)
    least = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
    least = np.where((begins <= ends) & np.isfinite(least), least, -np.inf)
    found = least.max(axis=-2, initial=-np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def survival_curve(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> dict[int, float]:
    """Exchanges → share not spotted by then, at the lengths that were shown; empty without observations.

    Where a longer segment was spotted less often than a shorter one, the two are pooled (pool adjacent violators): being
    spotted is for good.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        weights: how often each counts; None: once.

    Raises:
        ValueError: see :func:`seen_by_length`.

    Assumes that a speaker once spotted would stay so, and that who saw how much does not depend on the speaker.
    Source: Deriu et al. 2020, §3.3; Turnbull 1974.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> {length: round(share, 3) for length, share in survival_curve(k, spotted).items()}
    {2: 0.833, 3: 0.5, 5: 0.167}
    """
    seen = seen_by_length(k, spotted, weights)
    shares = isotonic_shares(seen.spotted, seen.total)
    return {int(length): 1 - float(share) for length, share in zip(seen.lengths, shares, strict=True)}


survival = survival_curve
"""The name by which the reports have it; the package has a module of that name, so that it offers the other."""


def _cumulative(values: npt.ArrayLike) -> Floats:
    rows = np.asarray(values, dtype=float)
    sums = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1))
    np.cumsum(rows, axis=-1, out=sums[..., 1:])
    return sums


def survival_with_bands(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "not spotted",
    level: float = 0.95,
    seed: int = 0,
    draws: int = 1_000,
    cluster: str = "worker",
) -> list[Result]:
    """The survival at each length with a pointwise percentile interval of a bootstrap over whole clusters.

    A resample is a vector of how often each cluster was drawn: all are one matrix product, and all curves are fitted at
    once. The band holds each point with chance ``level``, not the whole curve.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        clusters: who judged, or which dialogue it was.
        name: of the results, which end in "within k exchanges".
        level: coverage.
        seed: of the resamples.
        draws: resamples.
        cluster: what a cluster is.

    Returns:
        A result a length, in rising order; none without observations.

    Raises:
        ValueError: bad ``k`` or ``spotted``, or clusters of another length.

    Assumes independent clusters. Source: Deriu et al. 2020, §3.3, for the curve; Cameron, Gelbach & Miller 2008 for
    resampling clusters.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> for point in survival_with_bands(k, spotted, list('abcdef' * 3), draws=200):
    ...     print(point)
    not spotted within 2 exchanges: 0.833, 95% interval 0.500 to 1.000, n = 6 [isotonic regression, percentile
    bootstrap over workers]
    not spotted within 3 exchanges: 0.500, 95% interval 0.167 to 0.833, n = 6 [isotonic regression, percentile
    bootstrap over workers]
    not spotted within 5 exchanges: 0.167, 95% interval 0.000 to 0.500, n = 6 [isotonic regression, percentile
    bootstrap over workers]
    """
    seen = seen_by_length(k, spotted)
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    if codes.size != seen.place.size:
        raise ValueError(f"{codes.size} clusters for {seen.place.size} observations: give one for each.")
    groups, size = len(names), len(seen.lengths)
    cells = codes * size + seen.place
    found = np.bincount(cells, weights=np.asarray(spotted, dtype=float).ravel(), minlength=groups * size)
    total = np.bincount(cells, minlength=groups * size)
    sums = (found.reshape(groups, size).astype(float), total.reshape(groups, size).astype(float))
    shares = isotonic_shares(seen.spotted, seen.total)
    few = groups < MIN_CLUSTERS
    low, high = (np.full(size, np.nan),) * 2 if few or not size else _percentiles(*sums, level, seed, draws)
    return [
        _point(
            Result(
                name=f"{name} within {length} exchange{'' if length == 1 else 's'}",
                estimate=1 - float(share),
                level=level,
                n=int(of_length),
                method=f"isotonic regression, percentile bootstrap over {cluster}s",
                assumptions=(f"{cluster}s are independent of each other", "being spotted is for good"),
                source="Deriu et al. 2020, §3.3; Turnbull 1974",
                notes=(too_few_clusters(cluster).replace(" and a p-value", ""),)
                if few
                else small_sample_notes(groups, cluster),
                details={"k": int(length), f"n_{cluster}s": groups, "seed": seed, "draws": draws},
            ),
            (float(a), float(b)),
            cluster,
        )
        for length, share, of_length, a, b in zip(seen.lengths, shares, seen.total, low, high, strict=True)
    ]


def _point(result: Result, band: tuple[float, float], cluster: str) -> Result:
    low, high = band
    if np.isnan(low):
        return result
    if high - low < 1e-12:
        note = f"no resample of {cluster}s differs, so that a band cannot be estimated"
        return result.but(notes=(*result.notes, note))
    return result.but(ci_low=low, ci_high=high)


def _percentiles(found: Floats, total: Floats, level: float, seed: int, draws: int) -> tuple[Floats, Floats]:
    """Of 1 − the isotonic shares of each resample; one in which a length was not drawn takes its neighbour's share."""
    rng = np.random.default_rng(seed)
    groups, size = found.shape
    at_once = max(1, _CELLS_AT_ONCE // max(groups, size * size))
    curves = []
    for start in range(0, draws, at_once):
        drawn = rng.multinomial(groups, np.full(groups, 1 / groups), size=min(at_once, draws - start)).astype(float)
        curves.append(1 - isotonic_shares(drawn @ found, drawn @ total))
    low, high = np.nanquantile(np.concatenate(curves), [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high
