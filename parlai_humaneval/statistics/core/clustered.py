"""Intervals and tests for shares whose observations come in clusters, as the turns of a worker do.

All work on the sums of each cluster: a share is Σ numerators / Σ denominators. For Lin these are turns won
and turns decided by a worker; for Sqr and WTA the scores and the number of a worker's dialogues.

The rules of every clustered interval, here and in :mod:`~parlai_humaneval.statistics.core.means`:

- p and interval are one statement: the interval holds the hypotheses that the same test does not reject.
- The test flips the signs of the clusters' sums (:mod:`~parlai_humaneval.statistics.core.sign_flip`), which holds its level
  also where few workers gave most of the answers; shares near 0 or 1 have a test of their own
  (:mod:`~parlai_humaneval.statistics.core.proportions`). ``python -m benchmarks false_positives`` is why.
- Below ``FLIPPED_CLUSTERS`` clusters signs can never show a difference at .05: there it is Student's t of the CR1
  variance, with the effective number of clusters − 1 degrees of freedom, and it is said to be a rough guide.
- Clusters that all agree leave no variance, so the interval is unknown. The p-value is not: flipping signs needs no
  variance, and agreement of G clusters has p = 2/2^G (:func:`with_sign_flips`). So have three to five: what t tends to, 0,
  would find a difference in .11 of studies of equal models with three workers who pick three times, in .07 with four.
- No p-value is below what the randomisation of the clusters can reach (:func:`least_p`): 2/2^G where each saw both
  models, one in the number of ways to deal the clusters out where each saw one.
- Below ``MIN_CLUSTERS`` clusters there is no interval and no p-value: with two, t has one degree of freedom and its
  95 % interval is ±12.7 standard errors, one of which is itself estimated from two numbers.
- No interval reaches beyond what is possible, 0 to 1 for a share and −1 to 1 for a difference of two:
  :func:`limited` cuts it there.

Do workers differ less from each other than they would if every answer were independent?

Then a clustered p is the smaller one, and rightly so: as where everybody rates both models, and strict raters are strict
with both. By chance alone it is smaller in about half of all studies, so that this has to be shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtr, stdtr, stdtrit

from parlai_humaneval._util.arrays import Codes, Floats, Objects
from parlai_humaneval.statistics.core import proportions as extreme_rates
from parlai_humaneval.statistics.core import sign_flip
from parlai_humaneval.statistics.core.proportions import ClusteredRate, DeviationTest, share_test
from parlai_humaneval.statistics.core.result import Result, check_level, check_null, check_share

MIN_CLUSTERS = 3
"""Below it there is no clustered interval and no p-value."""
FLIPPED_CLUSTERS = 6
"""From so many on a sign-flip test can have a p-value below .05."""
FEW_CLUSTERS = 10
"""Below it the interval is remarked as a rough guide."""
SHARE_LIMITS, DIFFERENCE_LIMITS = (0.0, 1.0), (-1.0, 1.0)
"""The possible range of a share, and of the difference of two shares."""
_CELLS_AT_ONCE = 4_000_000
_BEYOND_COUNTING = 1_000
"""So many clusters can be dealt out in so many ways that the smallest p is 0 to any digit."""
NO_VARIANCE = 1e-9
"""A smaller standard error is none."""
FLIPPED, EXACT_FLIPS = "sign-flip test", "exact sign-flip test"
AGREE = "agree, so there is no variance between them to estimate an interval from"
"""How the note ends of a result without an interval."""
BINOMIAL = "binomial of the effective number of answers"
Limits = tuple[float, float] | None
"""Least and greatest possible value of an estimate; None where there is none."""
CR1_SOURCE = "Cameron & Miller 2015, A Practitioner's Guide to Cluster-Robust Inference (CR1, t with G−1 df)"


def too_few_clusters(cluster: str = "worker") -> str:
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
    """Estimate, interval and two-sided test of a share against ``null``, clustered.

    The share is a ratio of cluster sums, x of n. A hypothesis h between .18 and .82 is tested by flipping the signs of the
    deviations x − h·n (:func:`with_sign_flips`); one nearer to 0 or 1, or where the clusters do not differ at all, by
    :func:`~parlai_humaneval.statistics.core.proportions.extreme_rate_test`. With 66 workers of 10 turns and worker log-odds
    of SD 1 the i.i.d. binomial test rejects a true null in a fifth of studies, this one in a twentieth.

    The p-value says how surprising the share would be if the true one were ``null``; the interval holds the shares that
    are in keeping with the data. Assumes that clusters are independent; within one, answers may be as alike as they
    like, and one may hold many more than another.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1, a ``null`` that no share can be, or sums that are no share.

    Source: Canay, Romano & Shaikh 2017; near 0 and 1 Korn & Graubard 1998.

    >>> won, workers = [1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1], list('aabbccddeeff')
    >>> print(clustered_share(cluster_sums(won, [1] * 12, workers)))
    share: 0.750, 95% interval 0.500 to 0.945, statistic 2.236, p = .25, n = 12 [sign-flip test, clustered by worker;
    near 0 and 1 binomial of the effective number of answers]
    """
    check_level(level)
    check_null(null, SHARE_LIMITS)
    groups, total = sums.n_clusters, sums.total
    check_share(float(sums.numerators.sum()), total)
    base = Result(
        name=name,
        level=level,
        n=round(total),
        method=f"{FLIPPED}, clustered by {cluster}",
        assumptions=(f"{cluster}s are independent of each other",),
        source=sign_flip.SOURCE,
        details={f"n_{cluster}s": groups, "null": null},
    )
    if groups == 0:
        return base.but(p_value=1.0, notes=("no observations: nothing can be estimated",))
    share = float(sums.numerators.sum()) / total
    base = base.but(estimate=share)
    if groups < MIN_CLUSTERS:
        return base.but(notes=(too_few_clusters(cluster),))
    observed = Deviations(share, (sums.numerators - share * sums.denominators) / total, sums.denominators / total)
    of_rates = bool((sums.numerators >= 0).all() and (sums.numerators <= sums.denominators + 1e-9).all())
    counts = ClusteredRate.of(np.minimum(sums.numerators, sums.denominators), sums.denominators) if of_rates else None
    if not observed.varies and counts is not None:
        return _of_alike_clusters(base, observed, counts, null, cluster)
    by_signs = with_sign_flips(base, observed, null, cluster, SHARE_LIMITS)
    return by_signs if counts is None else _as_share(by_signs, observed, counts, null, cluster)


def _as_share(by_signs: Result, observed: Deviations, counts: ClusteredRate, null: float, cluster: str) -> Result:
    """``by_signs`` with the test for near 0 and 1 where a hypothesis or an end of the interval is there."""
    low, high = by_signs.ci_low or 0.0, 1.0 if by_signs.ci_high is None else by_signs.ci_high
    tested = share_test(DeviationTest(observed.p_value, low, high), counts, null, by_signs.level)
    if not tested.near_the_ends:
        return by_signs
    return by_signs.but(
        ci_low=tested.low,
        ci_high=tested.high,
        p_value=tested.p_value,
        method=f"{by_signs.method}; near 0 and 1 {BINOMIAL}",
        source=f"{by_signs.source}; {extreme_rates.SOURCE}",
        notes=small_sample_notes(len(observed.parts), cluster, observed.weights),
    )


def _of_alike_clusters(base: Result, observed: Deviations, counts: ClusteredRate, null: float, cluster: str) -> Result:
    """Every cluster has the same share: the interval is that of a binomial, as no variance between clusters is known.

    That two models are equal, a share of one half, is tested by the signs: then each cluster's share is as likely to be the
    other model's. Where they reject what the binomial would keep, as of clusters that are more alike than chance would have
    it, there is no interval. Another hypothesis has no such symmetry, and is tested by the binomial.
    """
    tested = extreme_rates.extreme_rate_test(counts, [null], base.level)
    p, method, source = float(tested.p_values[0]), f"{BINOMIAL}, clustered by {cluster}", extreme_rates.SOURCE
    if observed.are_flipped and null == 0.5:
        p, method, source = observed.p_value(null), f"{EXACT_FLIPS}, clustered by {cluster}", sign_flip.SOURCE
    note = f"all {cluster}s have the same share, so a clustered variance cannot be estimated"
    kept = p >= 1 - base.level
    known = kept or not tested.low <= null <= tested.high
    return base.but(
        ci_low=(min(tested.low, null) if kept else tested.low) if known else None,
        ci_high=(max(tested.high, null) if kept else tested.high) if known else None,
        p_value=p,
        method=method,
        source=source,
        notes=(note,),
    )


def least_p(clusters: npt.ArrayLike, sides: npt.ArrayLike | None = None) -> float:
    """The smallest two-sided p that any randomisation of the clusters reaches, whatever they answered.

    Under the null hypothesis a cluster that holds both sides may as well have them the other way round, and those that
    hold one side may as well be dealt out to the sides in any other way.

    Args:
        clusters: of each observation.
        sides: which of two things each observation is about; None: all are about both.

    >>> least_p(list('abcdef')), round(least_p(list('abcdef'), [0, 0, 0, 1, 1, 1]), 3)
    (0.03125, 0.1)
    """
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    if len(names) > _BEYOND_COUNTING:
        return 0.0
    of_second = (
        np.ones(len(codes), dtype=bool) if sides is None else pd.factorize(np.asarray(sides, dtype=object))[0] > 0
    )
    of_first = np.ones(len(codes), dtype=bool) if sides is None else ~of_second
    first, second = (np.bincount(codes[of], minlength=len(names)) > 0 for of in (of_first, of_second))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    ways = 2 ** int((first & second).sum()) * comb(only_first + only_second, only_first)
    # The mirror of what was seen is as far, too.
    return min(1.0, float((2 if only_first == only_second else 1) / ways))


def standard_error(parts: Floats) -> float:
    """The root of CR1's G/(G−1)·Σ parts², of what each of G clusters adds to the error of an estimate."""
    return float(np.sqrt(len(parts) / (len(parts) - 1) * (parts**2).sum()))


@dataclass(frozen=True)
class Deviations:
    """An estimate, and how the clusters deviate from any hypothesis about it.

    ``parts``: what each cluster adds to the error of the ``estimate``, summing to 0; ``weights``: its share of what the
    estimate rests on, summing to 1. Signs are flipped; below ``FLIPPED_CLUSTERS`` it is Student's t, unless there is no
    variance. ``least``: no p is smaller, as :func:`least_p` has it; of signs that are flipped none can be below 2/2^G.
    """

    estimate: float
    parts: Floats
    weights: Floats
    least: float = 0.0

    @property
    def are_flipped(self) -> bool:
        return len(self.parts) >= FLIPPED_CLUSTERS

    @property
    def varies(self) -> bool:
        """Whether the clusters differ, so that an interval can be estimated."""
        return standard_error(self.parts) >= NO_VARIANCE

    @property
    def df(self) -> float:
        """Of Student's t."""
        return max(1.0, effective_clusters(self.weights) - 1)

    def p_value(self, null: float) -> float:
        """Of the hypothesis that the true value is ``null``."""
        gap = self.estimate - null
        if not self.varies:
            agree = sign_flip.sign_flip_p_value(self.weights)
            return 1.0 if abs(gap) < NO_VARIANCE else max(self.least, agree)
        if self.are_flipped:
            return max(self.least, sign_flip.sign_flip_p_value(self.parts + gap * self.weights))
        return float(2 * stdtr(self.df, -abs(gap) / standard_error(self.parts)))

    def interval(self, level: float) -> tuple[float, float]:
        """Ends of what is not rejected; infinite where nothing can be."""
        if self.are_flipped:
            return sign_flip.sign_flip_interval(self.estimate, self.parts, self.weights, level)
        half = float(stdtrit(self.df, 0.5 + level / 2)) * standard_error(self.parts)
        return self.estimate - half, self.estimate + half

    def test(self, null: float | None, level: float) -> tuple[float | None, float, float]:
        """p of ``null`` (None: no test), and the interval.

        Sums of whole numbers tie at some hypotheses and not beside them, so that p may jump there: the larger p and the
        longer interval are given, and both say the same.
        """
        low, high = self.interval(level)
        if null is None:
            return None, low, high
        p = self.p_value(null)
        if p >= 1 - level:
            return p, min(low, null), max(high, null)
        return (max(p, 1 - level) if low <= null <= high else p), low, high


def with_sign_flips(base: Result, observed: Deviations, null: float | None, cluster: str, limits: Limits) -> Result:
    """``base``, whose estimate the clusters make up, with interval and (where there is a ``null``) test.

    ``limits``: between which the estimate must lie. ``statistic`` and ``standard_error`` are those of the CR1 variance.
    """
    if not observed.varies:
        # All clusters say the same: no interval can be estimated, but their signs can be flipped.
        agreed = base.but(notes=(*base.notes, f"all {cluster}s {AGREE}"))
        if null is None:
            return agreed
        return agreed.but(p_value=observed.p_value(null), method=base.method.replace(FLIPPED, EXACT_FLIPS))
    groups, error = len(observed.parts), standard_error(observed.parts)
    p, low, high = observed.test(null, base.level)
    unbounded = limits is None and not np.isfinite([low, high]).all()
    notes = (f"too few {cluster}s, or one with too many of the answers, to exclude any value",) if unbounded else ()
    low, high, cut = limited(low, high, limits)
    by_t = {} if observed.are_flipped else {"df": observed.df}
    if by_t:
        base = base.but(method=f"CR1 t, clustered by {cluster}", source=CR1_SOURCE)
    return base.but(
        ci_low=None if unbounded else low,
        ci_high=None if unbounded else high,
        statistic=None if null is None else (observed.estimate - null) / error,
        p_value=p,
        notes=(*base.notes, *small_sample_notes(groups, cluster, observed.weights), *notes, *cut),
        details={**base.details, "standard_error": error, **by_t},
    )


def not_below(result: Result, least: float, null: float | None) -> Result:
    """``result`` with a p of at least ``least``, and an interval that keeps ``null`` where that p does."""
    if null is None or result.p_value is None or result.p_value >= least:
        return result
    raised = result.but(p_value=least)
    if least < 1 - result.level or result.ci_low is None or result.ci_high is None:
        return raised
    return raised.but(ci_low=min(result.ci_low, null), ci_high=max(result.ci_high, null))


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """How many clusters of equal size weigh like these: (Σn)² / Σn² (Kish 1965)."""
    n = np.asarray(sizes, dtype=float)
    squares = float((n**2).sum())
    return float(n.sum()) ** 2 / squares if squares else 0.0


def small_sample_notes(groups: int, cluster: str, sizes: npt.ArrayLike | None = None) -> tuple[str, ...]:
    """What to say of an interval that rests on few clusters, or on few large ones; often nothing.

    ``sizes``: number of observations of each. Where they differ much, the interval rests on a few of them, however many
    there are: what counts is the effective number. Of clusters that are about equal nothing is said.
    """
    if groups < FEW_CLUSTERS:
        return (f"fewer than {FEW_CLUSTERS} {cluster}s: take the interval as a rough guide",)
    effective = float(groups) if sizes is None else effective_clusters(sizes)
    if round(effective) >= FEW_CLUSTERS:
        return ()
    return (
        f"the {cluster}s gave unequal numbers of answers, so that {groups} weigh like {effective:.1f} equal ones: take the "
        "interval as a rough guide",
    )


def sign_flip_p(
    sums: ClusterSums, *, null: float = 0.5, seed: int | None = None, draws: int | None = None
) -> float | None:
    """Two-sided randomisation test: under the null the signs of the clusters' deviations are arbitrary.

    None below two clusters. ``seed`` and ``draws`` may still be given, and change nothing: no signs are drawn any more. A
    small p says that so many clusters would rarely lean to one side. Assumes independent clusters with deviations
    symmetric about 0.

    Source: Canay, Romano & Shaikh 2017.

    >>> sign_flip_p(cluster_sums([1, 1, 1, 1, 0], [1] * 5, list('abcde')))
    0.375
    """
    if sums.n_clusters < 2:
        return None
    return sign_flip.sign_flip_p_value(sums.numerators - null * sums.denominators)


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
    check_level(level)
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


def _times_drawn(rng: np.random.Generator, sizes: Codes, draws: int) -> Floats:
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


def decided_wins(outcomes: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Objects]:
    """1 where the first of two models won and 0 where the second did, without ties; and the clusters of these."""
    signs = np.asarray(outcomes, dtype=float)
    decided = signs != 0
    return (signs[decided] > 0).astype(float), np.asarray(clusters, dtype=object)[decided]


def _influence(values: npt.ArrayLike, clusters: npt.ArrayLike, sign: float) -> tuple[Floats, Objects]:
    """What each observation adds to the error of a mean, or of a difference of two."""
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    y = y[known]
    return sign * (y - y.mean() if y.size else y) / max(1, y.size), np.asarray(clusters, dtype=object)[known]


def agreement_shown(result: Result) -> bool:
    """Whether its details say that clusters differ less from each other than independent observations would."""
    p = result.details.get(P_LESS)
    return p is not None and float(p) < ALPHA
