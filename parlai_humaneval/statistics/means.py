"""Means, and differences of means, whose observations come in clusters, as the ratings of a worker do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr, stdtrit

from parlai_humaneval.statistics.clustered import CR1_SOURCE, MIN_CLUSTERS, few_notes, limited, too_few
from parlai_humaneval.statistics.result import Result

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float] | None
"""Least and greatest possible value of an estimate; None where there is none."""


def clustered_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "mean",
    null: float | None = None,
    limits: Limits = None,
    level: float = 0.95,
    cluster: str = "worker",
) -> Result:
    """Mean with a CR1 t interval, clustered; with ``null`` also its two-sided test. nan does not count.

    The deviations of each cluster from the mean are summed; G/(G−1)·Σ sums² / n² is the variance, with G−1
    degrees of freedom; cut to ``limits``, where the mean cannot be beyond them. Below ``MIN_CLUSTERS`` clusters there
    is no interval and no p-value. Where all clusters have the same mean, the variance cannot be estimated: there is no
    interval, and the p-value is that of the exact sign-flip test.

    The interval holds the means that are in keeping with the data. Assumes that clusters are independent.

    Source: Cameron & Miller 2015, §II.

    >>> print(clustered_mean([4, 5, 3, 4, 2, 5], list('aabbcc'), null=3))
    mean: 3.833, 95% interval 2.399 to 5.268, statistic 2.500, p = .13, n = 6 [CR1 t, clustered by worker]
    """
    y, groups = _counted(values, clusters)
    mean = float(y.mean()) if y.size else None
    parts = _by_cluster((y - (mean or 0.0)) / max(1, y.size), groups)
    result = _with_interval(mean, parts, _sizes(groups), y.size, name, null, limits, level, cluster)
    clusters_agree = result.ci_low is None and len(parts) >= MIN_CLUSTERS and null is not None
    if clusters_agree and result.p_value is None:
        p = 2.0 ** (1 - len(parts))
        return result.but(p_value=p, method=f"exact sign-flip test by {cluster}")
    return result


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
) -> Result:
    """Mean of A minus mean of B, tested against 0. A cluster may hold observations of both, or of one only.

    ``limits``: what the difference cannot be beyond, such as −1 and 1 for shares; the interval is cut there.

    Above 0: A has the higher mean; an interval without 0 is a difference at its level. Assumes that clusters are
    independent.

    Source: Cameron & Miller 2015, §II.

    >>> print(clustered_difference([4, 5, 4, 3], list('abcd'), [3, 3, 4, 2], list('abcd')))
    difference: 1.000, 95% interval -0.299 to 2.299, statistic 2.449, p = .092, n = 8 [CR1 t, clustered by worker]
    """
    a, groups_a = _counted(values_a, clusters_a)
    b, groups_b = _counted(values_b, clusters_b)
    both = bool(a.size and b.size)
    difference = float(a.mean() - b.mean()) if both else None
    influence = (
        np.concatenate([(a - a.mean()) / a.size, -(b - b.mean()) / b.size]) if both else np.zeros(a.size + b.size)
    )
    groups = np.concatenate([groups_a, groups_b])
    parts = _by_cluster(influence, groups)
    return _with_interval(difference, parts, _sizes(groups), a.size + b.size, name, 0.0, limits, level, cluster)


def _counted(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.object_]]:
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    return y[known], np.asarray(clusters, dtype=object)[known]


def _by_cluster(influence: Floats, clusters: npt.NDArray[np.object_]) -> Floats:
    codes, names = pd.factorize(clusters)
    return np.bincount(codes, weights=influence, minlength=len(names)).astype(float)


def _sizes(clusters: npt.NDArray[np.object_]) -> Floats:
    codes, names = pd.factorize(clusters)
    return np.bincount(codes, minlength=len(names)).astype(float)


def _with_interval(
    estimate: float | None,
    parts: Floats,
    sizes: Floats,
    n: int,
    name: str,
    null: float | None,
    limits: Limits,
    level: float,
    cluster: str,
) -> Result:
    """``parts``: what each cluster adds to the error of the estimate; ``sizes``: its number of observations."""
    groups = len(parts)
    base = Result(
        name=name,
        estimate=estimate,
        level=level,
        n=n,
        method=f"CR1 t, clustered by {cluster}",
        assumptions=(f"{cluster}s are independent of each other", f"not too few {cluster}s, of similar size"),
        source=CR1_SOURCE,
        details={f"n_{cluster}s": groups, **({} if null is None else {"null": null})},
    )
    if estimate is None:
        p = None if null is None else 1.0
        return base.but(p_value=p, notes=("no observations: nothing can be estimated",))
    if groups < MIN_CLUSTERS:
        return base.but(notes=(too_few(cluster),))
    error = float(np.sqrt(groups / (groups - 1) * (parts**2).sum()))
    if error < 1e-9:
        no_effect = null is not None and abs(estimate - null) < 1e-9
        note = f"all {cluster}s agree, so the variance between them cannot be estimated"
        return base.but(p_value=1.0 if no_effect else None, notes=(note,))
    half = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
    low, high, cut = limited(estimate - half, estimate + half, limits)
    t = None if null is None else (estimate - null) / error
    return base.but(
        ci_low=low,
        ci_high=high,
        statistic=t,
        p_value=None if t is None else float(2 * stdtr(groups - 1, -abs(t))),
        notes=(*few_notes(groups, cluster, sizes), *cut),
        details={**base.details, "df": groups - 1, "standard_error": error},
    )


def t_test(values_a: npt.ArrayLike, values_b: npt.ArrayLike, *, name: str = "difference") -> Result:
    """The two-sided t test of two independent samples with equal variances (Smith et al. 2022, App. C.7).

    p = 1 with no observations; none where a sample is too small, or no value differs, to estimate a variance.

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
        p = 1.0 if abs(base.estimate) < 1e-12 else None
        return base.but(p_value=p, notes=("the variance cannot be estimated",))
    t = base.estimate / float(np.sqrt(squares / df * (1 / a.size + 1 / b.size)))
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))), details={"df": df})
