"""Means, and differences of means, whose observations come in clusters, as the ratings of a worker do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import sign_flip
from parlai_humaneval.statistics.core.clustered import (
    FLIPPED,
    MIN_CLUSTERS,
    SHARE_LIMITS,
    Deviations,
    Limits,
    cluster_sums,
    clustered_share,
    least_p,
    too_few_clusters,
    with_sign_flips,
)
from parlai_humaneval.statistics.core.once_each import once_each
from parlai_humaneval.statistics.core.result import Result, check_level, check_null


def clustered_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "mean",
    null: float | None = None,
    limits: Limits = None,
    level: float = 0.95,
    cluster: str = "worker",
    once: bool = False,
) -> Result:
    """Mean with an interval, clustered; with ``null`` also its two-sided test. nan does not count.

    The sums of each cluster's deviations from ``null`` are tested by flipping their signs
    (:func:`~parlai_humaneval.statistics.core.clustered.with_sign_flips`), and the interval holds the means that this test
    does not reject, cut to ``limits``, where the mean cannot be beyond them. With limits of 0 and 1 the values are those
    of a share, and it is :func:`~parlai_humaneval.statistics.core.clustered.clustered_share`. Below ``MIN_CLUSTERS``
    clusters there is no interval and no p-value. Where all clusters have the same mean there is no interval, and the
    p-value is that of the exact sign-flip test.

    With ``once`` every cluster counts once: it is the mean of the means of clusters.

    The interval holds the means that are in keeping with the data. Assumes that clusters are independent.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1, or a ``null`` that is not finite or beyond ``limits``.

    Source: Canay, Romano & Shaikh 2017.

    >>> print(clustered_mean([4, 5, 3, 4, 2, 5], list('aabbcc'), null=3))
    mean: 3.833, 95% interval 2.399 to 5.268, statistic 2.500, p = .13, n = 6 [CR1 t, clustered by worker]
    """
    check_level(level)
    check_null(null, limits)
    y, groups = once_each(values, clusters) if once else _counted(values, clusters)
    if limits == SHARE_LIMITS and y.size and ((y >= 0) & (y <= 1)).all():
        sums = cluster_sums(y, np.ones_like(y), groups)
        share = clustered_share(sums, name=name, null=0.5 if null is None else null, level=level, cluster=cluster)
        return share if null is not None else share.but(p_value=None, statistic=None)
    mean = float(y.mean()) if y.size else None
    parts = _by_cluster((y - (mean or 0.0)) / max(1, y.size), groups)
    weights = _by_cluster(np.full(y.size, 1 / max(1, y.size)), groups)
    return _with_interval(mean, parts, weights, y.size, name, null, limits, level, cluster)


def clustered_difference(
    values_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    *,
    name: str = "difference",
    limits: Limits = None,
    level: float = 0.95,
    cluster: str = "worker",
    once: bool = False,
) -> Result:
    """Mean of A minus mean of B, tested against 0 as :func:`clustered_mean` is. A cluster may hold both, or one only.

    ``limits``: what the difference cannot be beyond, such as −1 and 1 for shares; the interval is cut there. With ``once``
    it is of the means of clusters, each of which counts once for each model.

    Above 0: A has the higher mean; an interval without 0 is a difference at its level. Assumes that clusters are
    independent.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1.

    Source: Cameron & Miller 2015, §II.

    >>> print(clustered_difference([4, 5, 4, 3], list('abcd'), [3, 3, 4, 2], list('abcd')))
    difference: 1.000, 95% interval −0.299 to 2.299, statistic 2.449, p = .092, n = 8 [CR1 t, clustered by worker]
    """
    check_level(level)
    counted = once_each if once else _counted
    a, groups_a = counted(values_a, clusters_a)
    b, groups_b = counted(values_b, clusters_b)
    both = bool(a.size and b.size)
    difference = float(a.mean() - b.mean()) if both else None
    influence = (
        np.concatenate([(a - a.mean()) / a.size, -(b - b.mean()) / b.size]) if both else np.zeros(a.size + b.size)
    )
    groups = np.concatenate([groups_a, groups_b])
    total = a.size + b.size
    # Were A lower by h, the mean of all would move too: how far one of A deviates from it is by B's share, and so of B.
    rests_on = (
        np.concatenate([np.full(a.size, b.size / a.size), np.full(b.size, a.size / b.size)]) if both else np.ones(total)
    )
    parts, weights = _by_cluster(influence, groups), _by_cluster(rests_on / max(1, total), groups)
    least = least_p(groups, np.repeat([0, 1], [a.size, b.size]))
    return _with_interval(difference, parts, weights, total, name, 0.0, limits, level, cluster, least)


def _counted(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Objects]:
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    return y[known], np.asarray(clusters, dtype=object)[known]


def _by_cluster(influence: Floats, clusters: Objects) -> Floats:
    codes, names = pd.factorize(clusters)
    return np.bincount(codes, weights=influence, minlength=len(names)).astype(float)


def _with_interval(
    estimate: float | None,
    parts: Floats,
    weights: Floats,
    n: int,
    name: str,
    null: float | None,
    limits: Limits,
    level: float,
    cluster: str,
    least: float = 0.0,
) -> Result:
    """``parts``: what each cluster adds to the error of the estimate; ``weights``: its share of the observations.

    ``least``: the smallest p there can be.
    """
    groups = len(parts)
    base = Result(
        name=name,
        estimate=estimate,
        level=level,
        n=n,
        method=f"{FLIPPED}, clustered by {cluster}",
        assumptions=(f"{cluster}s are independent of each other",),
        source=sign_flip.SOURCE,
        details={f"n_{cluster}s": groups, **({} if null is None else {"null": null})},
    )
    if estimate is None:
        p = None if null is None else 1.0
        return base.but(p_value=p, notes=("no observations: nothing can be estimated",))
    if groups < MIN_CLUSTERS:
        return base.but(notes=(too_few_clusters(cluster),))
    return with_sign_flips(base, Deviations(estimate, parts, weights, least), null, cluster, limits)


def t_test(values_a: npt.ArrayLike, values_b: npt.ArrayLike, *, name: str = "difference") -> Result:
    """The two-sided t test of two independent samples with equal variances (Smith et al. 2022, App. C.7).

    p = 1 with no observations. Where a sample is too small, or no value differs, to estimate a variance, p is that of the
    exact permutation test: one in the ways to deal the values out.

    A small p says that the means differ. Assumes independent, normal values: read a clustered test beside it.

    Source: Smith et al. 2022, App. C.7.

    >>> print(t_test([4, 5, 4, 3, 5], [3, 3, 4, 2, 3]))
    difference: 1.200, statistic 2.449, p = .040, n = 10 [two-sided t test]
    """
    a, b = np.asarray(values_a, dtype=float), np.asarray(values_b, dtype=float)
    base = Result(
        name=name,
        estimate=float(a.mean() - b.mean()) if a.size and b.size else None,
        n=a.size + b.size,
        method="two-sided t test",
        assumptions=("all observations are independent of each other, also those of one worker",),
        source="Smith et al. 2022, App. C.7",
    )
    df = a.size + b.size - 2
    if base.estimate is None:
        return base.but(p_value=1.0, notes=("no observations: nothing can be tested",))
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    if df < 1 or squares < 1e-12:
        dealt_out = least_p(np.arange(a.size + b.size), np.repeat([0, 1], [a.size, b.size]))
        p = 1.0 if abs(base.estimate) < 1e-12 else dealt_out
        return base.but(p_value=p, method="exact permutation test", notes=("the variance cannot be estimated",))
    t = base.estimate / float(np.sqrt(squares / df * (1 / a.size + 1 / b.size)))
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))), details={"df": df})
