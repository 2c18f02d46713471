"""Correlation of answers by one worker or about one dialogue, its cost, and detectable gaps (Kish 1965; Donner & Koval
1980)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, fdtrc, fdtri, nctdtr, ndtr, ndtri, stdtrit

from parlai_humaneval._util.arrays import Codes, Floats, Objects
from parlai_humaneval.statistics.core.result import Result, called, check_level

NEGATIVE = (
    "the estimate is negative: in these data answers of one {cluster} differ more than those of different {cluster}s, "
    "possibly by chance"
)
ABOUT_EQUAL = 0.95  # Clusters whose effective number is such a share of their number, or more, are not called unequal
_BEYOND = 1e6
_EXACT = 1e-13  # how far a root may be from the true one, as a share of it


def _codes(clusters: Objects | Codes) -> Codes:
    import pandas as pd  # planning takes the design effect from here, and would wait for pandas

    return pd.factorize(clusters)[0]


def design_effect(m: float, icc: float) -> float:
    """1 + (m − 1)·ICC: the factor on the variance of a mean if each cluster gives ``m`` observations.

    Args:
        m: observations per cluster, at least 1; where clusters differ in size see :func:`observations_per_cluster`.
        icc: intraclass correlation, −1 to 1.

    Raises:
        ValueError: an argument is out of range.

    Source: Kish 1965, §5.4. Assumes clusters of equal size.

    A design effect of 2 says that the study is worth half as many independent answers.

    >>> design_effect(m=10, icc=0.1)
    1.9
    """
    if not m >= 1:
        raise ValueError(f"{m} observations per cluster: expected at least 1")
    if not -1 <= icc <= 1:
        raise ValueError(f"intraclass correlation {icc}: expected −1 to 1")
    return 1 + (m - 1) * icc


def observations_per_cluster(clusters: npt.ArrayLike) -> float | None:
    """Σ n² / Σ n: the cluster size for :func:`design_effect` if clusters differ in size; None without data."""
    named = np.asarray(clusters)
    sizes = np.bincount(_codes(named if named.dtype.kind == "i" else np.asarray(clusters, dtype=object))).astype(float)
    return float((sizes**2).sum() / sizes.sum()) if sizes.sum() else None


def effective_number(n: float, m: float, icc: float) -> float | None:
    """n / design effect: the equivalent number of independent observations."""
    effect = design_effect(m, icc)
    return n / effect if effect > 1e-9 else None


@dataclass(frozen=True)
class Clustered:
    """Observations (nan does not count), the cluster of each, and their total weight relative to other samples."""

    values: Floats
    clusters: Objects | Codes
    weight: float = 1


def intraclass_correlation(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "intraclass correlation",
    cluster: str = "worker",
    level: float = 0.95,
) -> Result:
    """ICC(1) of one-way analysis of variance: the share of the variance that lies between clusters.

    (MSB − MSW) / (MSB + (n₀ − 1)·MSW) with n₀ = (N − Σn²/N)/(G − 1) for clusters of different sizes, not below −1; for
    0/1 answers the same (Ridout, Demétrio & Firth 1999). The interval inverts the F test (Searle 1971), p is that of the
    F test that clusters do not differ.

    Args:
        values: an observation each; nan does not count.
        clusters: what each belongs to.
        name: of the result.
        cluster: what a cluster is.
        level: of the interval.

    Returns:
        ``n`` observations; ``details``: number of clusters and observations per cluster. No estimate with fewer than two
        clusters, where no cluster has two observations, or where all values are equal. It can be negative, which
        ``notes`` says.

    Assumes clusters drawn independently; interval and p-value besides that values are normal with equal variance within
    clusters: for 0/1 answers and different sizes they are rough.

    0: answers of one cluster are no more alike than any; 1: they are all the same.

    Source: Donner & Koval 1980; Searle 1971.

    >>> print(intraclass_correlation([5, 4, 5, 2, 1, 2, 4, 4, 3], list('aaabbbccc')))
    intraclass correlation: 0.870, 95% interval 0.387 to 0.996, statistic 21.000, p = .002, n = 9 [one-way ANOVA by
    rater, F interval]
    """
    alone = Clustered(np.asarray(values, dtype=float), np.asarray(clusters, dtype=object))
    return pooled_intraclass_correlation([alone], name=name, cluster=cluster, level=level)


def pooled_intraclass_correlation(
    samples: Sequence[Clustered], *, name: str = "intraclass correlation", cluster: str = "worker", level: float = 0.95
) -> Result:
    """The ICC within several samples, each with its own mean; their sums of squares are added."""
    check_level(level)
    there = [~np.isnan(sample.values) for sample in samples]
    counted = [
        replace(sample, values=sample.values[known], clusters=sample.clusters[known])
        for sample, known in zip(samples, there, strict=True)
    ]
    codes = [_codes(sample.clusters) for sample in counted]
    sizes = [np.bincount(of).astype(float) for of in codes]
    n = sum(sample.values.size for sample in counted)
    everyone = np.concatenate([sample.clusters for sample in counted]) if counted else np.zeros(0, dtype=object)
    all_sizes = np.concatenate(sizes) if sizes else np.zeros(0)
    base = Result.by(
        f"one-way ANOVA by {called(cluster)}, F interval",
        "Donner & Koval 1980; Searle 1971",
        *(f"{called(cluster)}s are independent of each other", "interval and p-value: normal, equally spread values"),
        name=name,
        n=n,
        level=level,
        details={
            f"n_{cluster}s": int(_codes(everyone).max(initial=-1)) + 1,
            f"per_{cluster}": float((all_sizes**2).sum() / all_sizes.sum()) if n else None,
        },
    )
    if not n:
        return base.but(p_value=1.0, notes=("no observations: nothing can be estimated",))
    why = ""
    if max(of.size for of in sizes) < 2:
        why = f"only one {called(cluster)}: the correlation of answers of one {called(cluster)} cannot be estimated"
    elif all_sizes.max() < 2:
        why = f"no {called(cluster)} has two observations: their correlation cannot be estimated"
    elif max(np.ptp(sample.values) for sample in counted if sample.values.size) < 1e-12:
        why = "all values are equal: their correlation cannot be estimated"
    if why:
        return base.but(notes=(why,))
    sums = np.zeros(5)  # squares between and within, degrees of freedom of both, and Σ over clusters of n, less Σn²/N
    for sample, of, of_cluster in zip(counted, codes, sizes, strict=True):
        y, size = sample.values, sample.values.size
        if size:
            means = np.bincount(of, weights=y) / of_cluster
            squares = ((of_cluster * (means - y.mean()) ** 2).sum(), ((y - means[of]) ** 2).sum())
            df = (of_cluster.size - 1, size - of_cluster.size)
            sums += sample.weight * np.array([*squares, *df, size - float((of_cluster**2).sum()) / size])
    between, within, df_between, df_within, pairs = map(float, sums)
    between, within, mean_size = between / df_between, within / df_within, pairs / df_between
    if within < 1e-12:
        return base.but(estimate=1.0, notes=(f"all answers of one {called(cluster)} are equal: no interval",))
    f, tail = between / within, 0.5 + level / 2
    ratios = f / float(fdtri(df_between, df_within, tail)), f * float(fdtri(df_within, df_between, tail))
    estimate = max(-1.0, (between - within) / (between + (mean_size - 1) * within))
    low, high = (max(-1.0, (ratio - 1) / (ratio + mean_size - 1)) for ratio in ratios)
    return base.but(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        statistic=f,
        p_value=float(fdtrc(df_between, df_within, f)),
        notes=(NEGATIVE.format(cluster=called(cluster)),) if estimate < 0 else (),
        details={**base.details, "df_between": df_between, "df_within": df_within},
    )


def variance_components(ratings: Floats, raters: Codes, models: Codes) -> dict[str, float]:
    """Standard deviations of one rater's ratings of a model, and of raters' levels, with 95 % intervals, by the method of
    moments: squares of the residuals of models and raters, and what raters take off those of models alone (Henderson's
    method 3; intervals by Williams 1962). ``ratings``: (n,), in any unit, which is that of the result; ``raters``,
    ``models``: (n,) codes from 0. Empty where nothing varies. Where each rater rated one model, once, the first
    holds both."""
    n = len(ratings)
    of_models, of_raters = (np.eye(int(codes.max(initial=-1)) + 1)[codes] for codes in (models, raters))

    def left(columns: Floats) -> tuple[float, int]:
        fitted, _, rank, _ = np.linalg.lstsq(columns, ratings, rcond=None)
        return float(((ratings - columns @ fitted) ** 2).sum()), n - int(rank)

    (alone, df_alone), (within, df) = left(of_models), left(np.hstack([of_models, of_raters]))
    if not df:
        within, df, df_alone = alone, df_alone, 0
    if not df or within < 1e-12:
        return {}
    tails, df_raters = np.array([0.025, 0.975]), df_alone - df
    low, high = np.sqrt(within / chdtri(df, tails))
    found = {"rating_sd": math.sqrt(within / df), "rating_sd_low": float(low), "rating_sd_high": float(high)}
    if df_raters <= 0:
        return {**found, "rater_sd": 0.0}
    counts = of_models.T @ of_raters
    each = (n - float(((counts**2).sum(axis=1) / counts.sum(axis=1)).sum())) / df_raters
    ratio = (alone - within) / df_raters / (within / df)
    by_chance = fdtri(df_raters, df, 1 - tails) * df_raters * within / df
    squares = (alone - within - by_chance) / each / chdtri(df_raters, tails)
    low, high = np.sqrt(squares.clip(min=0))
    between = math.sqrt(max(0.0, (ratio - 1) * within / df / each))
    return {**found, "rater_sd": between, "rater_sd_low": float(low), "rater_sd_high": float(high)}


def detectable_gap(
    standard_error: float, *, df: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The true gap that a two-sided test at ``alpha`` detects with probability ``power``."""
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha {alpha} and power {power}: expected 0 < alpha < power < 1")
    if standard_error < 0:
        raise ValueError(f"standard error {standard_error}: expected 0 or more")
    if df is not None and df < 1:
        raise ValueError(f"{df} degrees of freedom: expected at least 1")
    if standard_error == 0:
        return None
    factor = float(ndtri(1 - alpha / 2) + ndtri(power)) if df is None else _noncentrality(float(df), alpha, power)
    return None if factor is None else factor * standard_error


def power_of_gaps(
    gaps: npt.ArrayLike, standard_error: float, *, df: float | None = None, alpha: float = 0.05
) -> Floats:
    """The probability of detecting each true gap with a two-sided test at ``alpha``; ``alpha`` itself for a gap of
    0."""
    if not standard_error > 0:
        raise ValueError(f"standard error {standard_error}: expected more than 0")
    shifts = np.abs(np.asarray(gaps, dtype=float)) / standard_error
    if df is None:
        critical = float(ndtri(1 - alpha / 2))
        return np.asarray(ndtr(shifts - critical) + ndtr(-shifts - critical))
    critical = float(stdtrit(df, 1 - alpha / 2))
    return np.asarray(2 - nctdtr(df, shifts, critical) - nctdtr(df, -shifts, critical))


@lru_cache(maxsize=1_000)
def _noncentrality(df: float, alpha: float, power: float) -> float | None:
    """The shift, in standard errors, at which the noncentral t exceeds the critical value with this power."""
    critical = float(stdtrit(df, 1 - alpha / 2))

    def lacking(shift: float) -> float:
        return 1 - float(nctdtr(df, shift, critical)) - power

    lower, upper = 0.0, critical + 10.0
    while lacking(upper) < 0:
        upper *= 2
        if upper > _BEYOND:
            return None
    # Halving, as scipy.optimize takes longer to import than a report of one study.
    while upper - lower > _EXACT * upper:
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if lacking(middle) < 0 else (lower, middle)
    return upper
