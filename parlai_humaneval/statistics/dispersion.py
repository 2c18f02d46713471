"""Do workers differ less from each other than they would if every answer were independent?

Then a clustered p is the smaller one, and rightly so: as where everybody rates both models, and strict raters are strict
with both. By chance alone it is smaller in about half of all studies, so that this has to be shown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtr

from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, effective_clusters
from parlai_humaneval.statistics.result import Result

RATIO, P_LESS = "dispersion", "p_dispersion"
"""Names in the details of a result."""
ALPHA = 0.05


def with_dispersion(
    result: Result,
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    others: npt.ArrayLike = (),
    clusters_of_others: npt.ArrayLike = (),
) -> Result:
    """``result``, whose details say how much the sums of clusters vary, for independent observations 1.

    ``details["dispersion"]`` is the design effect: Σ of the squared sums of clusters by Σ of the squared deviations.
    ``details["p_dispersion"]`` is one-sided: were observations independent, the ratio would be that of χ² to its degrees of
    freedom, of which there are as many as clusters less one, and fewer where they are of unequal size. A small one says
    that the sums vary less than that. Nothing is added where it cannot be told: below three clusters, or where nothing
    varies.

    Args:
        result: a mean of ``values``, or their mean minus that of ``others``.
        values, others: observations; nan does not count.
        clusters, clusters_of_others: of each observation.

    Assumes independent clusters, whose sums are about normal.

    Source: Kish 1965, §5.4 (design effect); Satterthwaite 1946 (degrees of freedom).

    >>> mean = Result(name='mean', n=8, method='by hand')
    >>> told = with_dispersion(mean, [1, 0] * 4, list('aabbccdd'))  # everybody says yes once and no once
    >>> told.details
    {'dispersion': 0.0, 'p_dispersion': 0.0}
    """
    parts = [_influence(values, clusters, 1.0), _influence(others, clusters_of_others, -1.0)]
    influence, owners = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    codes, names = pd.factorize(owners)
    groups, single = len(names), float((influence**2).sum())
    if groups < MIN_CLUSTERS or single < 1e-18:
        return result
    sums = np.bincount(codes, weights=influence, minlength=groups)
    variances = np.bincount(codes, weights=influence**2, minlength=groups)
    ratio = groups / (groups - 1) * float((sums**2).sum()) / single
    df = effective_clusters(variances) * (groups - 1) / groups
    return result.but(details={**result.details, RATIO: ratio, P_LESS: float(chdtr(df, ratio * df))})


def decided_wins(
    outcomes: npt.ArrayLike, clusters: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
    """1 where the first of two models won and 0 where the second did, without ties; and the clusters of these."""
    signs = np.asarray(outcomes, dtype=float)
    decided = signs != 0
    return (signs[decided] > 0).astype(float), np.asarray(clusters, dtype=object)[decided]


def _influence(
    values: npt.ArrayLike, clusters: npt.ArrayLike, sign: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
    """What each observation adds to the error of a mean, or of a difference of two."""
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    y = y[known]
    return sign * (y - y.mean() if y.size else y) / max(1, y.size), np.asarray(clusters, dtype=object)[known]


def agreement_shown(result: Result) -> bool:
    """Whether its details say that clusters differ less from each other than independent observations would."""
    p = result.details.get(P_LESS)
    return p is not None and float(p) < ALPHA
