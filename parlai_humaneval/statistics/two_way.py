"""A share whose observations come in clusters of two kinds, as comparisons of two dialogues that are both used again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.clustered import (
    MIN_CLUSTERS,
    cluster_sums,
    clustered_share,
    effective_clusters,
    too_few,
    with_t,
)
from parlai_humaneval.statistics.result import Result

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

TWO_WAY_SOURCE = "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering"


def two_way_share(
    won: npt.ArrayLike,
    counted: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    name: str = "share",
    null: float = 0.5,
    level: float = 0.95,
    cluster: str = "dialogue",
) -> Result:
    """Σ won / Σ counted, with an interval and test that allow for likeness within ``first`` and within ``second``.

    The variance is that of clustering by ``first``, plus by ``second``, minus by both together, each CR1; t has the
    smaller number of clusters − 1 degrees of freedom. Where the sum is not above the larger of the two, as can be with
    few clusters, that one stands in. Where ``first`` and ``second`` are the same it is
    :func:`~parlai_humaneval.analysis.clustered_share`.

    Assumes that observations which share neither cluster are independent. Arrays are equally long; ``won`` is 0 where
    ``counted`` is 0.
    """
    x, n = np.asarray(won, dtype=float), np.asarray(counted, dtype=float)
    used = n > 0
    x, n = x[used], n[used]
    one, n_one = _codes(first, used)
    two, n_two = _codes(second, used)
    if bool((one == two).all()):
        sums = cluster_sums(x, n, np.asarray(first, dtype=object)[used])
        return clustered_share(sums, name=name, null=null, level=level, cluster=cluster)
    groups, total = min(n_one, n_two), float(n.sum())
    share = float(x.sum()) / total
    base = Result(
        name=name,
        estimate=share,
        level=level,
        n=round(total),
        method=f"CR1 t, clustered by {cluster}, two-way",
        assumptions=(
            f"comparisons without a common {cluster} are independent",
            f"not too few {cluster}s on either side",
        ),
        source=TWO_WAY_SOURCE,
        details={"n_first": n_one, "n_second": n_two, "null": null},
    )
    if groups < MIN_CLUSTERS:
        return base.model_copy(update={"notes": (too_few(cluster),)})
    residuals = (x - share * n) / total
    both, n_both = _codes(one * (n_two + 1) + two, np.ones(len(x), dtype=bool))
    by_one, by_two = _variance(residuals, one, n_one), _variance(residuals, two, n_two)
    error = float(np.sqrt(max(by_one + by_two - _variance(residuals, both, n_both), by_one, by_two)))
    if error < 1e-9:
        note = f"all {cluster}s agree, so the variance between them cannot be estimated"
        return base.model_copy(update={"notes": (note,)})
    sizes = [np.bincount(x, weights=n, minlength=size).astype(float) for x, size in ((one, n_one), (two, n_two))]
    return with_t(base, error, groups, null, cluster, min(sizes, key=effective_clusters))


def _codes(clusters: npt.ArrayLike, used: npt.NDArray[np.bool_]) -> tuple[Codes, int]:
    codes, names = pd.factorize(np.asarray(clusters)[used])
    return np.asarray(codes, dtype=np.intp), len(names)


def _variance(residuals: Floats, codes: Codes, groups: int) -> float:
    sums = np.bincount(codes, weights=residuals, minlength=groups)
    return groups / (groups - 1) * float((sums**2).sum())
