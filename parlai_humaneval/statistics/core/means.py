"""Means, and differences of means, whose observations come in clusters, as the ratings of a worker do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr

from parlai_humaneval._util.arrays import Codes, Floats, Objects
from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.multiplicity import answer_weights
from parlai_humaneval.statistics.core.result import OBSERVATIONS_INDEPENDENT, Result, check_level, check_null
from parlai_humaneval.statistics.core.two_way import by_both


def clustered_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "mean",
    null: float | None = None,
    limits: clustered.Limits = None,
    level: float = 0.95,
    cluster: str = "worker",
    dialogues: npt.ArrayLike | None = None,
    once: bool = False,
) -> Result:
    """Clustered mean with its interval and, given ``null``, its two-sided test. nan does not count.

    The sums of each cluster's deviations from ``null`` are tested by flipping their signs
    (:func:`~parlai_humaneval.statistics.core.clustered.with_sign_flips`), and the interval holds the means that this test
    does not reject, cut to ``limits``, where the mean cannot be beyond them. With limits of 0 and 1 the values are those
    of a share, and it is :func:`~parlai_humaneval.statistics.core.clustered.clustered_share`. Below ``MIN_CLUSTERS``
    clusters there is no interval and no p-value. Where all clusters have the same mean there is no interval, and the
    p-value is that of the exact sign-flip test.

    ``dialogues`` of the observations: where several workers judged the same one, it is by rater and dialogue. With
    ``once`` every cluster counts once: it is the mean of the means of clusters.

    The interval holds the means that are in keeping with the data. Assumes that clusters are independent; of
    ``dialogues``, that observations without a common worker or dialogue are.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1, or a ``null`` that is not finite or beyond ``limits``.

    Source: Canay, Romano & Shaikh 2017; by dialogue, too, Cameron, Gelbach & Miller 2011, §2.1.

    >>> print(clustered_mean([4, 5, 3, 4, 2, 5], list('aabbcc'), null=3))
    mean: 3.833, 95% interval 2.399 to 5.268, statistic 2.500, p = .13, n = 6 [CR1 t, clustered by rater]
    """
    check_level(level)
    check_null(null, limits)
    y, owners, seen = _known(values, clusters, dialogues)
    each, whose = _mean_of_each(y, owners) if once else (y, owners)
    n = len(each)
    mean = float(each.mean()) if n else None
    if limits == clustered.SHARE_LIMITS and n and ((each >= 0) & (each <= 1)).all():
        sums, of_half = clustered.cluster_sums(each, np.ones(n), whose), 0.5 if null is None else null
        by_worker = clustered.clustered_share(sums, name=name, null=of_half, level=level, cluster=cluster)
        if null is None:
            by_worker = by_worker.but(p_value=None, statistic=None)
    else:
        by_worker = _by_worker(name, mean, *_parts(each), whose, null, limits, level, cluster)
    if seen is None:
        return by_worker
    sizes = answer_weights(owners, once=once)
    influence = sizes * (y - (by_worker.estimate or 0.0)) / max(1.0, sizes.sum())
    return by_both(by_worker, influence, owners, [seen], null=null, limits=limits, sizes=sizes)


def _parts(values: Floats) -> tuple[Floats, Floats]:
    """What each value adds to the error of their mean, and its share of what that rests on."""
    n = max(1, len(values))
    return (values - (float(values.mean()) if len(values) else 0.0)) / n, np.full(len(values), 1 / n)


def keep_means(samples: Iterable[tuple[Floats, Objects]], null: float, level: float) -> None:
    """:func:`~.clustered.keep_tests` of the means of values in clusters, also with every cluster counted once."""
    each = [
        mean for values, owners in samples if len(values) for mean in ((values, owners), _mean_of_each(values, owners))
    ]
    clustered.keep_tests((clustered.Clusters.of(float(y.mean()), *_parts(y), of) for y, of in each), null, level)


def clustered_difference(
    values_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    *,
    name: str = "difference",
    limits: clustered.Limits = None,
    level: float = 0.95,
    cluster: str = "worker",
    dialogues: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    once: bool = False,
) -> Result:
    """Mean of A minus mean of B, tested against 0 as :func:`clustered_mean` is. A cluster may have both or only one.

    ``limits``: what the difference cannot be beyond, such as −1 and 1 for shares; the interval is cut there. With
    ``once`` it is of the means of clusters, each of which counts once for each model.

    ``dialogues``: of the observations of A and of B, as for :func:`clustered_mean`.

    Above 0: A has the higher mean; an interval without 0 is a difference at its level. Assumes that clusters are
    independent.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1.

    Source: Cameron & Miller 2015, §II.

    >>> print(clustered_difference([4, 5, 4, 3], list('abcd'), [3, 3, 4, 2], list('abcd')))
    difference: 1.000, 95% interval −0.299 to 2.299, statistic 2.449, p = .092, n = 8 [CR1 t, clustered by rater]
    """
    check_level(level)
    of_a, of_b = dialogues or (None, None)
    sides = [_known(values_a, clusters_a, of_a), _known(values_b, clusters_b, of_b)]
    each = [_mean_of_each(y, owners) if once else (y, owners) for y, owners, _ in sides]
    (a, _), (b, _) = each
    total, whose = a.size + b.size, np.concatenate([owners for _, owners in each])
    models = np.repeat([0, 1], [a.size, b.size])
    difference, influence, rests_on = None, np.zeros(total), np.ones(total)
    if a.size and b.size:
        difference = float(a.mean() - b.mean())
        influence = np.concatenate([(a - a.mean()) / a.size, -(b - b.mean()) / b.size])
        # Were A lower by h, the mean of all would move too: how far one of A deviates from it is by B's share, and so of B.
        rests_on = np.where(models == 0, b.size / a.size, a.size / b.size)
    rests_on = rests_on / max(1, total)
    by_worker = _by_worker(name, difference, influence, rests_on, whose, 0.0, limits, level, cluster, models)
    if difference is None or dialogues is None:
        return by_worker
    weights = [answer_weights(owners, once=once) for _, owners, _ in sides]
    influence = np.concatenate(
        [
            sign * of * (y - np.average(y, weights=of)) / of.sum()
            for sign, of, (y, _, _) in zip((1.0, -1.0), weights, sides, strict=True)
        ]
    )
    owners, seen = (np.concatenate([side[place] for side in sides]) for place in (1, 2))
    models = np.repeat([0, 1], [len(of) for of in weights])
    sizes = np.concatenate(weights)
    return by_both(by_worker, influence, owners, [seen], null=0.0, limits=limits, sizes=sizes, models=models)


def crossed_mean(values: npt.ArrayLike, workers: npt.ArrayLike, dialogues: npt.ArrayLike, **named: Any) -> Result:
    """Former name of :func:`clustered_mean` by rater and dialogue."""
    return clustered_mean(values, workers, dialogues=dialogues, **named)


def crossed_difference(
    values_a: npt.ArrayLike,
    workers_a: npt.ArrayLike,
    dialogues_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    workers_b: npt.ArrayLike,
    dialogues_b: npt.ArrayLike,
    **named: Any,
) -> Result:
    """Former name of :func:`clustered_difference` by rater and dialogue."""
    return clustered_difference(values_a, workers_a, values_b, workers_b, dialogues=(dialogues_a, dialogues_b), **named)


def _known(
    values: npt.ArrayLike, clusters: npt.ArrayLike, dialogues: npt.ArrayLike | None
) -> tuple[Floats, Objects, Objects | None]:
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    owners, seen = (None if of is None else np.asarray(of, dtype=object)[known] for of in (clusters, dialogues))
    return y[known], np.asarray(owners, dtype=object), seen


def _mean_of_each(y: Floats, owners: Objects) -> tuple[Floats, Objects]:
    codes, names = pd.factorize(owners)
    sums = np.bincount(codes, weights=y, minlength=len(names))
    return sums / np.maximum(np.bincount(codes, minlength=len(names)), 1), np.asarray(names, dtype=object)


def _by_worker(
    name: str,
    estimate: float | None,
    influence: Floats,
    rests_on: Floats,
    owners: Objects,
    null: float | None,
    limits: clustered.Limits,
    level: float,
    cluster: str,
    models: Codes | None = None,
) -> Result:
    groups = len(pd.unique(owners))
    base = clustered.clustered_base(name, estimate, len(owners), groups, null, level, cluster)
    if estimate is None or groups < clustered.MIN_CLUSTERS:
        return base
    least = 0.0 if models is None else clustered.least_p(owners, models)
    observed = clustered.Clusters.of(estimate, influence, rests_on, owners, least)
    return clustered.with_sign_flips(base, observed, null, cluster, limits)


def t_test(values_a: npt.ArrayLike, values_b: npt.ArrayLike, *, name: str = "difference") -> Result:
    """The two-sided t test of two independent samples with equal variances (Smith et al. 2022, App. C.7).

    p = 1 with no observations. Where a sample is too small, or no value differs, to estimate a variance, p is that of the
    exact permutation test: one in the ways to deal the values out.

    A small p says that the means differ. Assumes independent, normal values: read a clustered test as well.

    Source: Smith et al. 2022, App. C.7.

    >>> print(t_test([4, 5, 4, 3, 5], [3, 3, 4, 2, 3]))
    difference: 1.200, statistic 2.449, p = .040, n = 10 [two-sided t test]
    """
    a, b = np.asarray(values_a, dtype=float), np.asarray(values_b, dtype=float)
    how = "two-sided t test", "Smith et al. 2022, App. C.7", OBSERVATIONS_INDEPENDENT
    difference = float(a.mean() - b.mean()) if a.size and b.size else None
    base = Result.by(*how, name=name, n=a.size + b.size, estimate=difference)
    df = a.size + b.size - 2
    if base.estimate is None:
        return base.but(p_value=1.0, notes=("no observations: nothing can be tested",))
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    if df < 1 or squares < 1e-12:
        dealt_out = clustered.least_p(np.arange(a.size + b.size), np.repeat([0, 1], [a.size, b.size]))
        p = 1.0 if abs(base.estimate) < 1e-12 else dealt_out
        return base.but(p_value=p, method="exact permutation test", notes=("the variance cannot be estimated",))
    t = base.estimate / float(np.sqrt(squares / df * (1 / a.size + 1 / b.size)))
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))), details={"df": df})
