"""Bands around the share not spotted within k exchanges, from resamples of whole clusters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, few_notes, too_few
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.survival.curve import Floats, isotonic_shares, seen_by_length

_CELLS_AT_ONCE = 4_000_000


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
                notes=(too_few(cluster).replace(" and a p-value", ""),) if few else few_notes(groups, cluster),
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
        return result.model_copy(update={"notes": (*result.notes, note)})
    return result.model_copy(update={"ci_low": low, "ci_high": high})


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
