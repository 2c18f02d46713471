"""Intervals and tests for shares whose observations come in clusters, as the turns of a worker do.

All work on the sums of each cluster: a share is Σ numerators / Σ denominators. For Lin these are turns won
and turns decided by a worker; for Sqr and WTA the scores and the number of a worker's dialogues.

Two rules hold for every clustered interval, here and in :mod:`~parlai_humaneval.statistics.means`. Below
``MIN_CLUSTERS`` clusters there is no interval and no p-value: with two, t has one degree of freedom and its
95 % interval is ±12.7 standard errors, one of which is itself estimated from two numbers. And no interval reaches
beyond what is possible, 0 to 1 for a share and −1 to 1 for a difference of two: :func:`limited` cuts it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr, stdtrit

from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import wilson_interval

Floats = npt.NDArray[np.float64]

MIN_CLUSTERS = 3
"""Below it there is no clustered interval and no p-value."""
FEW_CLUSTERS = 10
"""Below it the interval is remarked as a rough guide."""
SHARE_LIMITS, DIFFERENCE_LIMITS = (0.0, 1.0), (-1.0, 1.0)
"""The possible range of a share, and of the difference of two shares."""
_EXACT_CLUSTERS = 12
_CELLS_AT_ONCE = 4_000_000
CR1_SOURCE = "Cameron & Miller 2015, A Practitioner's Guide to Cluster-Robust Inference (CR1, t with G−1 df)"


def too_few(cluster: str = "worker") -> str:
    """Said in place of an interval and a p-value."""
    return f"too few {cluster}s for an interval and a p-value (at least {MIN_CLUSTERS} are needed)"


def limited(low: float, high: float, limits: tuple[float, float] | None) -> tuple[float, float, tuple[str, ...]]:
    """The interval cut to the possible range, and a note where it was cut; ``limits`` None: any value is possible."""
    if limits is None:
        return low, high, ()
    least, most = limits
    note = ("the interval was cut at the end of what is possible",) if low < least or high > most else ()
    return min(max(low, least), most), max(min(high, most), least), note


@dataclass(frozen=True)
class ClusterSums:
    """Per cluster: sums of numerator and denominator; clusters that hold nothing are left out."""

    numerators: Floats
    denominators: Floats

    @property
    def n_clusters(self) -> int:
        return len(self.denominators)

    @property
    def total(self) -> float:
        """Number of observations."""
        return float(self.denominators.sum())


def cluster_sums(numerators: npt.ArrayLike, denominators: npt.ArrayLike, clusters: npt.ArrayLike) -> ClusterSums:
    """Sums by cluster of three equally long arrays; an observation whose numerator is nan does not count.

    Assumes nothing by itself; what is computed from the sums takes clusters as independent.

    Source: Cameron & Miller 2015, §II.

    >>> sums = cluster_sums([1, 0, 1, 1], [1, 1, 1, 1], ['w1', 'w1', 'w2', 'w2'])
    >>> sums.numerators.tolist(), sums.denominators.tolist()
    ([1.0, 2.0], [2.0, 2.0])
    """
    x, n = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    counts = ~np.isnan(x) & (n > 0)
    codes, names = pd.factorize(np.asarray(clusters, dtype=object)[counts])
    return ClusterSums(
        numerators=np.bincount(codes, weights=x[counts], minlength=len(names)).astype(float),
        denominators=np.bincount(codes, weights=n[counts], minlength=len(names)).astype(float),
    )


def clustered_share(
    sums: ClusterSums,
    *,
    name: str = "share",
    null: float = 0.5,
    level: float = 0.95,
    cluster: str = "worker",
) -> Result:
    """Cluster-robust estimate, interval and two-sided test of a share against ``null``.

    The share is a ratio of cluster sums; its linearised residuals x − r·n give the CR1 variance,
    G/(G−1)·Σ(x − r·n)² / (Σn)², used with Student's t and G−1 degrees of freedom. With 66 workers of 10
    turns and worker log-odds of SD 1 the i.i.d. binomial test rejects a true null in a fifth of studies,
    this one in a twentieth.

    Nothing is invented where the data cannot say: below ``MIN_CLUSTERS`` clusters there is no interval and no
    p-value; where the clusters do not differ at all the variance cannot be estimated, and a Wilson interval and
    an exact sign-flip p stand in, named in ``notes``.

    The p-value says how surprising the share would be if the true one were ``null``; the interval holds the shares that
    are in keeping with the data. Assumes that clusters are independent; within one, answers may be as alike as they
    like.

    Source: Cameron & Miller 2015, §II.

    >>> won, workers = [1, 0, 1, 1, 1, 0, 1, 1, 0, 1], list('aabbccddee')
    >>> print(clustered_share(cluster_sums(won, [1] * 10, workers)))
    share: 0.700, 95% interval 0.360 to 1.000, statistic 1.633, p = .18, n = 10 [CR1 t, clustered by worker]
    """
    groups, total = sums.n_clusters, sums.total
    base = Result(
        name=name,
        level=level,
        n=round(total),
        method=f"CR1 t, clustered by {cluster}",
        assumptions=(f"{cluster}s are independent of each other", f"not too few {cluster}s, of similar size"),
        source=CR1_SOURCE,
        details={f"n_{cluster}s": groups, "null": null},
    )
    if groups == 0:
        return base.but(p_value=1.0, notes=("no observations: nothing can be estimated",))
    share = float(sums.numerators.sum()) / total
    base = base.but(estimate=share)
    if groups < MIN_CLUSTERS:
        return base.but(notes=(too_few(cluster),))
    residuals = sums.numerators - share * sums.denominators
    error = float(np.sqrt(groups / (groups - 1) * (residuals**2).sum()) / total)
    if error < 1e-9:
        return _without_variance(base, sums, share, null, cluster)
    return with_t(base, error, groups, null, cluster, sums.denominators)


def with_t(base: Result, error: float, groups: int, null: float, cluster: str, sizes: Floats) -> Result:
    """``base``, whose estimate is a share, with interval and test: Student's t of ``groups`` − 1 degrees of freedom.

    ``sizes``: number of observations of each cluster.
    """
    share = base.estimate or 0.0
    t = (share - null) / error
    half = float(stdtrit(groups - 1, 0.5 + base.level / 2)) * error
    low, high, cut = limited(share - half, share + half, SHARE_LIMITS)
    return base.but(
        ci_low=low,
        ci_high=high,
        statistic=t,
        p_value=float(2 * stdtr(groups - 1, -abs(t))),
        notes=(*few_notes(groups, cluster, sizes), *cut),
        details={**base.details, "df": groups - 1, "standard_error": error},
    )


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """How many clusters of equal size weigh like these: (Σn)² / Σn² (Kish 1965)."""
    n = np.asarray(sizes, dtype=float)
    squares = float((n**2).sum())
    return float(n.sum()) ** 2 / squares if squares else 0.0


def few_notes(groups: int, cluster: str, sizes: npt.ArrayLike | None = None) -> tuple[str, ...]:
    """What to say of an interval that rests on few clusters, or on few large ones; often nothing.

    ``sizes``: number of observations of each. Where they differ much, t with clusters − 1 degrees of freedom rejects a
    true null too often: in a tenth of studies instead of a twentieth where ten workers halve from one to the next.
    """
    if groups < FEW_CLUSTERS:
        return (f"fewer than {FEW_CLUSTERS} {cluster}s: take the interval as a rough guide",)
    effective = float(groups) if sizes is None else effective_clusters(sizes)
    if effective >= FEW_CLUSTERS - 1e-9:
        return ()
    return (
        f"the {cluster}s gave very unequal numbers of answers, so that {groups} weigh like {effective:.1f} equal ones: take "
        "the interval as a rough guide",
    )


def _without_variance(base: Result, sums: ClusterSums, share: float, null: float, cluster: str) -> Result:
    """Every cluster has the same share, so the variance between clusters shows as 0, which it is not."""
    extreme = share < 1e-9 or share > 1 - 1e-9
    # All won or all lost tells nothing of how alike a worker's answers are: each worker counts as one answer.
    # Equal shares in between show no likeness within workers: the observations are as good as independent.
    effective = sums.n_clusters if extreme else sums.total
    interval = wilson_interval(min(max(share, 0.0), 1.0) * effective, effective, base.level)
    low, high = interval or (None, None)
    unit = f"each {cluster} counted as one answer" if extreme else "observations counted as independent"
    no_effect = bool(np.allclose(sums.numerators, null * sums.denominators))
    return base.but(
        ci_low=low,
        ci_high=high,
        p_value=1.0 if no_effect else 2.0 ** (1 - sums.n_clusters),
        method=f"Wilson interval, {unit}; exact sign-flip test by {cluster}",
        source="Wilson 1927; Canay, Romano & Shaikh 2017",
        notes=(f"all {cluster}s have the same share, so a clustered variance cannot be estimated; {unit}",),
    )


def sign_flip_p(sums: ClusterSums, *, null: float = 0.5, seed: int = 0, draws: int = 9_999) -> float | None:
    """Two-sided randomisation test: under the null the signs of the clusters' deviations are arbitrary.

    Exact up to 12 clusters, else from ``draws`` random sign vectors of ``seed``; None below two clusters.
    Source: Canay, Romano & Shaikh 2017. Assumes independent clusters with deviations symmetric about 0.

    >>> sign_flip_p(cluster_sums([1, 1, 1, 1, 0], [1] * 5, list('abcde')))
    0.375
    """
    if sums.n_clusters < 2:
        return None
    deviations = sums.numerators - null * sums.denominators
    observed = abs(float(deviations.sum())) - 1e-9
    groups = sums.n_clusters
    if groups <= _EXACT_CLUSTERS:
        flips = (np.arange(2**groups)[:, None] >> np.arange(groups)) & 1
        return float((np.abs((1 - 2 * flips) @ deviations) >= observed).mean())
    rng = np.random.default_rng(seed)
    reached = sum(
        int((np.abs((1 - 2 * rng.integers(0, 2, (size, groups))) @ deviations) >= observed).sum())
        for size in _batches(draws, groups)
    )
    return (reached + 1) / (draws + 1)


def cluster_bootstrap(
    sums: ClusterSums, *, seed: int, draws: int = 2_000, level: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval over ``draws`` resamples of whole clusters; None below ``MIN_CLUSTERS`` clusters.

    A resample is a vector of how often each cluster was drawn, so that all of them are one matrix product. Clusters
    with the same two sums are drawn as one kind, which saves time; the order of clusters changes nothing.
    Somewhat too narrow with few clusters (Cameron, Gelbach & Miller 2008): a check of the t interval.

    Assumes that clusters are independent of each other.

    Source: Cameron, Gelbach & Miller 2008, §II.

    >>> sums = cluster_sums([1, 0, 1, 1, 1, 0, 1, 1, 0, 1], [1] * 10, list('aabbccddee'))
    >>> low, high = cluster_bootstrap(sums, seed=0)
    >>> round(low, 2), round(high, 2)
    (0.5, 0.9)
    """
    groups = sums.n_clusters
    if groups < MIN_CLUSTERS:
        return None
    kinds, sizes = np.unique(sums.numerators + 1j * sums.denominators, return_counts=True)
    rng = np.random.default_rng(seed)
    shares = []
    for size in _batches(draws, groups):
        weights = _times_drawn(rng, sizes, size)
        shares.append((weights @ kinds.real) / (weights @ kinds.imag))
    low, high = np.quantile(np.concatenate(shares), [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def _times_drawn(rng: np.random.Generator, sizes: npt.NDArray[np.intp], draws: int) -> Floats:
    """Resamples × kinds: how many clusters of each kind were drawn, of which there are ``sizes``.

    A multinomial draw of a kind takes about as long as ten clusters that are drawn one by one and counted.
    """
    groups, kinds = int(sizes.sum()), len(sizes)
    if 10 * kinds < groups:
        return rng.multinomial(groups, sizes / groups, size=draws).astype(float)
    drawn = np.repeat(np.arange(kinds), sizes)[rng.integers(0, groups, (draws, groups), dtype=np.uint32)]
    drawn += np.arange(draws)[:, None] * kinds
    return np.bincount(drawn.ravel(), minlength=draws * kinds).reshape(draws, kinds).astype(float)


def _batches(draws: int, groups: int) -> Iterator[int]:
    """Sizes that sum to ``draws``, so that no matrix of draws × groups fills the memory."""
    size = max(1, _CELLS_AT_ONCE // groups)
    while draws > 0:
        yield min(size, draws)
        draws -= size
