"""Agreement of raters: percent, Cohen's κ, Fleiss' κ, Krippendorff's α, with intervals over clusters.

A measure is a ratio of sums over clusters, as the answers of one dialogue stand or fall together; so a resample is a
vector of how often each cluster was drawn, and all of them are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.result import Result, called

Level = Literal["nominal", "ordinal", "interval"]

DRAWS = 1_000
_CELLS_AT_ONCE = 2_000_000
_MOST_ORDERED = 20
ALIKE = "all answers are the same: agreement beyond chance cannot be estimated"
NOTHING = "nothing was rated twice: agreement cannot be estimated"


def percent_agreement(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "agreement",
    cluster: str,
    level: float = 0.95,
) -> Result:
    """Share of equal answers, with an interval but no test."""
    same = (np.asarray(first, dtype=object) == np.asarray(second, dtype=object)).astype(float)
    return _share(same, np.ones_like(same), clusters, name, cluster, level)


def _share(alike: Floats, of: Floats, clusters: npt.ArrayLike, name: str, cluster: str, level: float) -> Result:
    sums = clustered.cluster_sums(alike, of, clusters)
    found = clustered.clustered_share(sums, name=name, cluster=cluster, level=level)
    return found.but(p_value=None, statistic=None)


def pair_agreement(
    counts: npt.ArrayLike, clusters: npt.ArrayLike, *, name: str = "agreement", cluster: str, level: float = 0.95
) -> Result:
    """Share of pairs of raters of an item who agree, with an interval. ``counts`` as for κ."""
    table, groups = _rated_twice(counts, clusters)
    raters = table.sum(axis=1)
    alike, pairs = (table * (table - 1)).sum(axis=1) / 2, raters * (raters - 1) / 2
    return _share(alike, pairs, groups, name, cluster, level)


def label_agreement(
    given: npt.ArrayLike, raters: npt.ArrayLike, clusters: npt.ArrayLike, *, name: str = "both", level: float = 0.95
) -> Result:
    """Pairs of raters of an item who both gave one label, of those pairs of whom at least one did."""
    gave, asked = np.asarray(given, dtype=float), np.asarray(raters, dtype=float)
    others = asked - gave
    both, either = gave * (gave - 1) / 2, asked * (asked - 1) / 2 - others * (others - 1) / 2
    result = _share(both, either, clusters, name, "dialogue", level)
    return result.but(details={**result.details, "both": int(both.sum()), "either": int(either.sum())})


def cohen_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "Cohen's κ",
    cluster: str = "dialogue",
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Result:
    """κ = (p_o − p_e) / (1 − p_e) of two raters (Cohen 1960).

    Args:
        first: what the one said, an entry per thing rated; any labels.
        second: what the other said of the same.
        clusters: what is drawn as a whole in the bootstrap.
        name: of the result.
        cluster: what a cluster is.
        seed: of the bootstrap.
        draws: resamples.
        level: coverage of the interval.

    1 is full agreement, 0 what chance alone would give, below 0 less than that. Assumes that clusters are independent;
    rare labels make κ low though people agree.

    Source: Cohen 1960; Artstein & Poesio 2008, §2.

    >>> first, second = list('aabbabaabb'), list('aabbbbaaba')
    >>> dialogues = list('1122334455')
    >>> print(cohen_kappa(first, second, dialogues, draws=200))
    Cohen's κ: 0.600, 95% interval −0.154 to 1.000, n = 10 [Cohen's κ, percentile bootstrap over dialogues]
    """
    one, other = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
    codes, labels = pd.factorize(np.concatenate([one, other]))
    k, n = len(labels), len(one)
    cell = codes[:n] * k + codes[n:]
    tables = _sums_by_cluster(np.eye(k * k)[cell] if n else np.zeros((0, k * k)), clusters)

    def kappa(sums: Floats) -> Floats:
        table = sums.reshape(len(sums), k, k)
        total = table.sum(axis=(1, 2))
        observed = np.trace(table, axis1=1, axis2=2)
        expected = (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1)
        return _ratio(observed * total - expected, total**2 - expected)

    return _with_bootstrap(tables, kappa, n, name, "Cohen's κ", "Cohen 1960", cluster, seed, draws, level)


def fleiss_kappa(
    counts: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "Fleiss' κ",
    cluster: str = "dialogue",
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Result:
    """κ of items that several people labelled, whoever they are (Fleiss 1971).

    ``counts``: items × labels, how many gave each label; items of one rater are left out. Where items have different
    numbers of raters, the agreement of each item is averaged, and the labels are counted over all.

    1 is full agreement, 0 what chance alone would give. Assumes that clusters are independent.

    Source: Fleiss 1971.

    >>> counts = [[3, 0], [2, 1], [0, 3], [3, 0], [1, 2], [0, 3]]
    >>> print(fleiss_kappa(counts, range(6), draws=200))
    Fleiss' κ: 0.556, 95% interval −0.170 to 1.000, n = 6 [Fleiss' κ, percentile bootstrap over dialogues]
    """
    table, groups = _rated_twice(counts, clusters)
    raters = table.sum(axis=1)
    agreed = ((table**2).sum(axis=1) - raters) / np.maximum(raters * (raters - 1), 1)
    parts = _sums_by_cluster(np.column_stack([agreed, np.ones(len(table)), table]), groups)

    def kappa(sums: Floats) -> Floats:
        labels = sums[:, 2:]
        squared = labels.sum(axis=1) ** 2
        expected = (labels**2).sum(axis=1) * sums[:, 1]
        return _ratio(sums[:, 0] * squared - expected, sums[:, 1] * squared - expected)

    return _with_bootstrap(parts, kappa, len(table), name, "Fleiss' κ", "Fleiss 1971", cluster, seed, draws, level)


def krippendorff_alpha(
    counts: npt.ArrayLike,
    clusters: npt.ArrayLike,
    values: Sequence[float] | None = None,
    *,
    ordered: bool = False,
    name: str = "Krippendorff's α",
    cluster: str = "dialogue",
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Result:
    """α = 1 − D_o / D_e of items that several people rated (Krippendorff 2004).

    ``counts``: items × values, how many gave each; items of one rater are left out. ``values``: the numbers of the
    columns, then differences count by their square (interval level); None: labels. ``ordered``: labels are
    in order, and two of them are as far apart as there are answers between them (ordinal level); otherwise any two
    differ alike (nominal).

    Raises:
        ValueError: both ``values`` and ``ordered``, or more than 20 labels in order.

    1 is full agreement, 0 what chance alone would give; Krippendorff asks for .8, and .667 for tentative conclusions.
    Assumes that clusters are independent.

    Source: Krippendorff 2004, §11.

    >>> counts = [[3, 0], [2, 1], [0, 3], [3, 0], [1, 2], [0, 3]]
    >>> print(krippendorff_alpha(counts, range(6), draws=200))
    Krippendorff's α: 0.580, 95% interval −0.105 to 1.000, n = 6 [Krippendorff's α, nominal, percentile bootstrap
    over dialogues]
    """
    if ordered and values is not None:
        raise ValueError("give either values (interval level) or ordered labels (ordinal level)")
    table, groups = _rated_twice(counts, clusters)
    scale: Level = "interval" if values is not None else "ordinal" if ordered else "nominal"
    parts, alpha = _ordinal(table) if ordered else _by_distance(table, values)
    method = f"Krippendorff's α, {scale}"
    sums = _sums_by_cluster(parts, groups)
    return _with_bootstrap(sums, alpha, len(table), name, method, "Krippendorff 2004", cluster, seed, draws, level)


Measure = Callable[[Floats], Floats]


def _by_distance(table: Floats, values: Sequence[float] | None) -> tuple[Floats, Measure]:
    """What α sums up over items where the distance of two values is fixed; and α of such sums."""
    width = table.shape[1]
    distance = 1.0 - np.eye(width) if values is None else np.subtract.outer(values, values) ** 2.0
    apart = ((table @ distance) * table).sum(axis=1) / np.maximum(table.sum(axis=1) - 1, 1)

    def alpha(sums: Floats) -> Floats:
        given = sums[:, 1:]
        total = given.sum(axis=1)
        expected = ((given @ distance) * given).sum(axis=1)
        return 1 - _ratio(sums[:, 0] * (total - 1), expected)

    return np.column_stack([apart, table]), alpha


def _ordinal(table: Floats) -> tuple[Floats, Measure]:
    """The same at ordinal level, where the distance of two labels depends on how often all of them were given."""
    items, width = table.shape
    if width > _MOST_ORDERED:
        raise ValueError(f"{width} labels in order: at most {_MOST_ORDERED}; give values for a scale of many points")
    others = np.maximum(table.sum(axis=1) - 1, 1)[:, None, None]
    pairs = table[:, :, None] * (table[:, None, :] - np.eye(width)) / others

    def alpha(sums: Floats) -> Floats:
        given, observed = sums[:, :width], sums[:, width:].reshape(-1, width, width)
        middle = given.cumsum(axis=1) - given / 2
        distance = (middle[:, :, None] - middle[:, None, :]) ** 2
        expected = (distance * given[:, :, None] * given[:, None, :]).sum(axis=(1, 2))
        return 1 - _ratio((distance * observed).sum(axis=(1, 2)) * (given.sum(axis=1) - 1), expected)

    return np.column_stack([table, pairs.reshape(items, width * width)]), alpha


def rating_counts(items: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, list[object], Objects]:
    """Rater, item and label of each answer → how many gave each label to each item."""
    rows, items_found = pd.factorize(np.asarray(items, dtype=object))
    columns, labels_found = pd.factorize(np.asarray(labels, dtype=object), sort=True)
    counts = np.zeros((len(items_found), len(labels_found)))
    np.add.at(counts, (rows, columns), 1)
    return counts, list(labels_found), np.asarray(items_found, dtype=object)


def _rated_twice(counts: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Objects]:
    table = np.asarray(counts, dtype=float)
    several = table.sum(axis=1) > 1
    return table[several], np.asarray(clusters, dtype=object)[several]


def _sums_by_cluster(parts: Floats, clusters: npt.ArrayLike) -> Floats:
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    sums = np.zeros((len(names), parts.shape[1]))
    np.add.at(sums, codes, parts)
    return sums


def _ratio(above: Floats, below: Floats) -> Floats:
    found: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=found, where=np.abs(below) > 1e-9)
    return found


def _with_bootstrap(
    parts: Floats,
    measure: Measure,
    n: int,
    name: str,
    method: str,
    source: str,
    cluster: str,
    seed: int,
    draws: int,
    level: float,
) -> Result:
    """``parts``: cluster × sums; ``measure``: rows of sums → the measure of each."""
    groups = len(parts)
    how = f"{method}, percentile bootstrap over {called(cluster)}s", source, clustered.independent(cluster)
    details = {f"n_{cluster}s": groups, "seed": seed, "draws": draws}
    base = Result.by(*how, name=name, n=n, level=level, details=details)
    if not n:
        return base.but(notes=(NOTHING,))
    value = float(measure(parts.sum(axis=0)[None, :])[0])
    if np.isnan(value):
        return base.but(notes=(ALIKE,))
    base = base.but(estimate=value)
    if groups < clustered.MIN_CLUSTERS:
        return base.but(notes=(clustered.too_few_clusters(cluster).replace(" and a p-value", ""),))
    # Percentiles of resamples in which the measure is defined; the whole data have it defined, so that most have.
    rng, at_once, found = np.random.default_rng(seed), max(1, _CELLS_AT_ONCE // groups), []
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        drawn = rng.integers(0, groups, (size, groups)) + groups * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * groups).reshape(size, groups)
        found.append(measure(times @ parts))
    low, high = np.nanquantile(np.concatenate(found), [0.5 - level / 2, 0.5 + level / 2])
    return base.but(ci_low=float(low), ci_high=float(high))
