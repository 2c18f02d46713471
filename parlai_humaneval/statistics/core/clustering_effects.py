"""How alike the answers of one worker or dialogue are, what that costs, and the gap that such data would find.

Sources: Kish 1965; Donner & Koval 1980. The smallest gap that would be found is the reverse of planning a study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, fdtri, nctdtr, ndtr, ndtri, stdtrit

from parlai_humaneval._util.arrays import Codes, Floats, Objects
from parlai_humaneval.statistics.core.result import Result, check_level

NEGATIVE = (
    "the estimate is negative: in these data answers of one {cluster} differ more than those of different ones; it may "
    "be chance"
)
ABOUT_EQUAL = 0.95
"""Clusters whose effective number is such a share of their number, or more, are not called unequal."""
_BEYOND = 1e6
_EXACT = 1e-13  # how far a root may be from the true one, as a share of it


def _codes(clusters: Objects) -> Codes:
    import pandas as pd  # planning takes the design effect from here, and would wait for pandas

    return pd.factorize(clusters)[0]


def design_effect(m: float, icc: float) -> float:
    """1 + (m − 1)·ICC: by how much the variance of a mean grows when ``m`` observations come from each cluster.

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
    """Σ n² / Σ n: the cluster size to put into :func:`design_effect` where clusters differ in size; None with no data.

    It is the mean size of the cluster that an observation stands in (Kish 1965).

    Assumes that observations are equally alike in clusters of any size.

    Source: Kish 1965.

    >>> observations_per_cluster(['w1', 'w1', 'w1', 'w2'])
    2.5
    """
    sizes = np.bincount(_codes(np.asarray(clusters, dtype=object))).astype(float)
    return float((sizes**2).sum() / sizes.sum()) if sizes.sum() else None


def effective_number(n: float, m: float, icc: float) -> float | None:
    """n / design effect: how many independent observations would say as much.

    None where the design effect comes out as 0 or less, which a strongly negative ICC can give. With a negative ICC the
    number is above ``n``.

    Assumes clusters of equal size, as the design effect does.

    Source: Kish 1965, §5.4.

    >>> round(effective_number(n=600, m=10, icc=0.1), 1)
    315.8
    """
    effect = design_effect(m, icc)
    return n / effect if effect > 1e-9 else None


@dataclass(frozen=True)
class Clustered:
    """Observations (nan does not count), what each belongs to, and how much all of them count beside other samples."""

    values: Floats
    clusters: Objects
    weight: float = 1

    def known(self) -> Clustered:
        """Without nan."""
        there = ~np.isnan(self.values)
        return replace(self, values=self.values[there], clusters=self.clusters[there])


@dataclass(frozen=True)
class _Squares:
    """What a one-way analysis of variance of one sample rests on; ``pairs``: Σ over clusters of n, less Σn²/N."""

    between: float
    within: float
    df: tuple[float, float]
    pairs: float


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
    worker, F interval]
    """
    alone = Clustered(np.asarray(values, dtype=float), np.asarray(clusters, dtype=object))
    return pooled_intraclass_correlation([alone], name=name, cluster=cluster, level=level)


def pooled_intraclass_correlation(
    samples: Sequence[Clustered],
    *,
    name: str = "intraclass correlation",
    cluster: str = "worker",
    level: float = 0.95,
) -> Result:
    """The ICC within several samples, each with a mean of its own: their sums of squares are added up.

    So a sample counts by what it tells: one of two clusters has one degree of freedom between them, whatever its own ICC
    would be. ``weight`` of a sample: below 1 where the same answers stand in others too, as the pairs of three models that
    are judged in one turn. Otherwise as :func:`intraclass_correlation`, which it is of one sample.

    Assumes the same likeness in all samples, and that a cluster leans in one as if it had not been in another.

    Source: Donner & Koval 1980; Searle 1971.

    >>> one = Clustered(np.array([5.0, 4, 5, 2, 1, 2]), np.array(list('aaabbb'), dtype=object))
    >>> two = Clustered(np.array([1.0, 2, 1, 2, 1, 2]), np.array(list('aaaccc'), dtype=object))
    >>> round(pooled_intraclass_correlation([one, two]).estimate, 2)
    0.87
    """
    check_level(level)
    counted = [sample.known() for sample in samples]
    codes = [_codes(sample.clusters) for sample in counted]
    sizes = [np.bincount(of).astype(float) for of in codes]
    n = sum(sample.values.size for sample in counted)
    everyone = np.concatenate([sample.clusters for sample in counted]) if counted else np.zeros(0, dtype=object)
    all_sizes = np.concatenate(sizes) if sizes else np.zeros(0)
    base = Result(
        name=name,
        n=n,
        level=level,
        method=f"one-way ANOVA by {cluster}, F interval",
        assumptions=(
            f"{cluster}s are independent of each other",
            "interval and p-value: normal, equally spread values",
        ),
        source="Donner & Koval 1980; Searle 1971",
        details={
            f"n_{cluster}s": len(set(everyone)),
            f"per_{cluster}": float((all_sizes**2).sum() / all_sizes.sum()) if n else None,
        },
    )
    reason = _impossible([sample.values for sample in counted], sizes, cluster)
    if reason:
        return base.but(p_value=None if n else 1.0, notes=(reason,))
    of_samples = [
        _squares(sample.values, of, of_cluster, sample.weight)
        for sample, of, of_cluster in zip(counted, codes, sizes, strict=True)
        if sample.values.size
    ]
    return _from_squares(base, of_samples, cluster)


def _impossible(values: Sequence[Floats], sizes: Sequence[Floats], cluster: str) -> str | None:
    if not any(y.size for y in values):
        return "no observations: nothing can be estimated"
    if max(of.size for of in sizes) < 2:
        return f"only one {cluster}: how alike the answers of one {cluster} are cannot be estimated"
    if max(of.max(initial=0) for of in sizes) < 2:
        return f"no {cluster} has two observations: how alike they are cannot be estimated"
    if max(np.ptp(y) for y in values if y.size) < 1e-12:
        return "all values are equal: how alike they are cannot be estimated"
    return None


def _squares(y: Floats, codes: Codes, sizes: Floats, weight: float) -> _Squares:
    n, groups = y.size, sizes.size
    means = np.bincount(codes, weights=y) / sizes
    return _Squares(
        between=weight * float((sizes * (means - y.mean()) ** 2).sum()),
        within=weight * float(((y - means[codes]) ** 2).sum()),
        df=(weight * (groups - 1), weight * (n - groups)),
        pairs=weight * (n - float((sizes**2).sum()) / n),
    )


def _from_squares(base: Result, samples: Sequence[_Squares], cluster: str) -> Result:
    """``size``: n₀, the mean group size, less where sizes differ."""
    df = (sum(one.df[0] for one in samples), sum(one.df[1] for one in samples))
    between, within = sum(one.between for one in samples) / df[0], sum(one.within for one in samples) / df[1]
    size = sum(one.pairs for one in samples) / df[0]
    estimate = max(-1.0, (between - within) / (between + (size - 1) * within))
    if within < 1e-12:
        note = f"all answers of one {cluster} are equal: no interval"
        return base.but(estimate=1.0, p_value=None, notes=(note,))
    f = between / within
    tail = 0.5 + base.level / 2
    low, high = (f / float(fdtri(*df, tail)), f * float(fdtri(df[1], df[0], tail)))
    ends = [max(-1.0, (ratio - 1) / (ratio + size - 1)) for ratio in (low, high)]
    return base.but(
        estimate=estimate,
        ci_low=ends[0],
        ci_high=ends[1],
        statistic=f,
        p_value=float(fdtrc(*df, f)),
        notes=(NEGATIVE.format(cluster=cluster),) if estimate < 0 else (),
        details={**base.details, "df_between": df[0], "df_within": df[1]},
    )


def detectable_gap(
    standard_error: float, *, df: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The true gap that a two-sided test at ``alpha`` would find with chance ``power``.

    Args:
        standard_error: of the estimated gap, on the scale of the gap.
        df: degrees of freedom of the t test (clusters − 1); None: the normal distribution.
        alpha: of the two-sided test.
        power: chance to find a gap of that size; more than ``alpha``.

    Returns:
        In units of ``standard_error``. With ``df`` the noncentral t distribution gives the power exactly (but for the
        chance of a significant result on the wrong side, which is nil at usual power). None where the error is 0 (it
        could not be estimated), or the noncentral distribution cannot be inverted.

    Raises:
        ValueError: an argument is out of range.

    Assumes that the standard error of new data is as in these. This says what the study *could* find; it is no power of
    the result that was found. Source: Bloom 1995.

    >>> round(detectable_gap(0.03, df=40), 4)
    0.0861
    """
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
    """Chance to find each true gap with a two-sided test at ``alpha``; ``alpha`` itself for a gap of 0.

    Args:
        gaps: true gaps, on the scale of ``standard_error``.
        standard_error: of the estimated gap; above 0.
        df: degrees of freedom of the t test (clusters − 1); None: the normal distribution.
        alpha: of the test.

    Raises:
        ValueError: a standard error that is not above 0.

    Assumes that the standard error of new data is as in these. Source: Bloom 1995.
    """
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
    """By how many standard errors the noncentral t must be shifted to be beyond the critical value that often."""
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
