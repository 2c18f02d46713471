"""Intervals and tests for shares whose observations come in clusters, as the turns of a worker do.

The rules of every clustered interval, here and in :mod:`~parlai_humaneval.statistics.core.means`:

- p and interval are one statement: the interval holds the hypotheses that the same test does not reject.
- The signs of the clusters' sums are flipped; shares near 0 or 1 have a test of their own (:mod:`.shares`). Below
  ``FLIPPED_CLUSTERS`` clusters it is Student's t of the CR1 variance, with the effective number of clusters − 1 df.
- Clusters that all agree leave no variance, so the interval is unknown. Their p is that of the signs, also of three to five:
  what t tends to, 0, would find a difference in .11 of studies of equal models with three workers who pick three times.
- No p is below what the randomisation of the clusters can reach (:func:`least_p`).
- Below ``MIN_CLUSTERS`` clusters there is neither interval nor p, and no interval reaches beyond what is possible.

Where workers differ less from each other than independent answers would (:func:`with_dispersion`), a clustered p is the
smaller one. By chance alone it is smaller in half of all studies, so that this has to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtr, stdtr, stdtrit

from parlai_humaneval._util.arrays import Codes, Floats
from parlai_humaneval.statistics.core import sign_flip
from parlai_humaneval.statistics.core.result import Result, called, check_level, check_null, check_share
from parlai_humaneval.statistics.core.shares import EXTREME_SOURCE, ClusteredRate, extreme_rate_test, share_test

MIN_CLUSTERS = 3  # Below it there is no clustered interval and no p-value
FLIPPED_CLUSTERS = 6  # From so many on a sign-flip test can have a p-value below .05
FEW_CLUSTERS = 10  # Below it the interval is remarked as a rough guide
SHARE_LIMITS, DIFFERENCE_LIMITS = (0.0, 1.0), (-1.0, 1.0)
"""The possible range of a share, and of the difference of two shares."""
_CELLS_AT_ONCE = 4_000_000
_BEYOND_COUNTING = 1_000  # So many clusters can be dealt out in so many ways that the smallest p is 0 to any digit
NO_VARIANCE = 1e-9  # A smaller standard error is none
FLIPPED, EXACT_FLIPS = "sign-flip test", "exact sign-flip test"
AGREE = "agree, so there is no variance between them to estimate an interval from"
"""How the note ends of a result without an interval."""
BINOMIAL = "binomial of the effective number of answers"
Limits = tuple[float, float] | None  # Least and greatest possible value of an estimate; None where there is none
CR1_SOURCE = "Cameron & Miller 2015, A Practitioner's Guide to Cluster-Robust Inference (CR1, t with G−1 df)"


def too_few_clusters(cluster: str = "worker") -> str:
    """Said in place of an interval and a p-value."""
    return f"too few {called(cluster)}s for an interval and a p-value (at least {MIN_CLUSTERS} are needed)"


def independent(cluster: str = "worker") -> str:
    """What every test by clusters assumes."""
    return f"{called(cluster)}s are independent of each other"


def limited(low: float, high: float, limits: tuple[float, float] | None) -> tuple[float, float, tuple[str, ...]]:
    """The interval cut to the possible range, and a note where it was cut; ``limits`` None: any value is possible."""
    if limits is None:
        return low, high, ()
    least, most = limits
    note = ("the interval was cut at the end of the possible range",) if low < least or high > most else ()
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

    @property
    def observed(self) -> Clusters:
        """The share, and what each cluster adds to its error."""
        total, share = self.total, float(self.numerators.sum()) / self.total
        return Clusters(share, (self.numerators - share * self.denominators) / total, self.denominators / total)


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
    sums: ClusterSums, *, name: str = "share", null: float = 0.5, level: float = 0.95, cluster: str = "worker"
) -> Result:
    """Estimate, interval and two-sided test of a share against ``null``, clustered.

    The share is a ratio of cluster sums, x of n. A hypothesis h between .18 and .82 is tested by flipping the signs of
    the deviations x − h·n (:func:`with_sign_flips`); one nearer to 0 or 1, or where the clusters do not differ at all,
    by :func:`~parlai_humaneval.statistics.core.shares.extreme_rate_test`. With 66 workers of 10 turns and worker
    log-odds of SD 1 the i.i.d. binomial test rejects a true null in a fifth of studies, this one in a twentieth.

    The p-value says how surprising the share would be if the true one were ``null``; the interval holds the shares that
    are in keeping with the data. Assumes that clusters are independent; within one, answers may be as alike as they
    like, and one may hold many more than another.

    Raises:
        ValueError: a ``level`` that is not between 0 and 1, a ``null`` that no share can be, or sums that form none.

    Source: Canay, Romano & Shaikh 2017; near 0 and 1 Korn & Graubard 1998.

    >>> won, workers = [1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1], list('aabbccddeeff')
    >>> print(clustered_share(cluster_sums(won, [1] * 12, workers)))
    share: 0.750, 95% interval 0.500 to 0.945, statistic 2.236, p = .25, n = 12 [sign-flip test, clustered by rater;
    near 0 and 1 binomial of the effective number of answers]
    """
    check_level(level)
    check_null(null, SHARE_LIMITS)
    x, n, total = sums.numerators, sums.denominators, sums.total
    check_share(float(x.sum()), total)
    share = float(x.sum()) / total if sums.n_clusters else None
    base = clustered_base(name, share, round(total), sums.n_clusters, null, level, cluster)
    if share is None or sums.n_clusters < MIN_CLUSTERS:
        return base
    observed = sums.observed
    if (x < 0).any() or (x > n + 1e-9).any():  # weighted sums: together a share, one by one none
        return with_sign_flips(base, observed, null, cluster, SHARE_LIMITS)
    rates = ClusteredRate.of(np.minimum(x, n), n)
    if not observed.varies:
        # The interval is that of a binomial, as no variance between clusters is known. That two models are equal, a share
        # of one half, is tested by the signs, and where they reject what the binomial would keep there is no interval.
        # Another hypothesis has no such symmetry, and is tested by the binomial.
        exact = extreme_rate_test(rates, [null], base.level)
        p, method, source = float(exact.p_values[0]), f"{BINOMIAL}, clustered by {called(cluster)}", EXTREME_SOURCE
        if observed.are_flipped and null == 0.5:
            p, method, source = (
                observed.p_value(null),
                f"{EXACT_FLIPS}, clustered by {called(cluster)}",
                sign_flip.SOURCE,
            )
        note = f"all {called(cluster)}s have the same share, so a clustered variance cannot be estimated"
        result = base.but(p_value=p, method=method, source=source, notes=(note,))
        if p >= 1 - base.level:
            return result.but(ci_low=min(exact.low, null), ci_high=max(exact.high, null))
        return result if exact.low <= null <= exact.high else result.but(ci_low=exact.low, ci_high=exact.high)
    by_signs = with_sign_flips(base, observed, null, cluster, SHARE_LIMITS)
    ends = by_signs.ci_low or 0.0, 1.0 if by_signs.ci_high is None else by_signs.ci_high
    tested = share_test(observed.p_value, ends, rates, null, level)
    if tested is None:
        return by_signs
    return by_signs.but(
        ci_low=tested.low,
        ci_high=tested.high,
        p_value=float(tested.p_values[0]),
        method=f"{by_signs.method}; near 0 and 1 {BINOMIAL}",
        source=f"{by_signs.source}; {EXTREME_SOURCE}",
        notes=small_sample_notes(sums.n_clusters, cluster, observed.weights),
    )


def clustered_base(
    name: str, estimate: float | None, n: int, groups: int, null: float | None, level: float, cluster: str
) -> Result:
    """A result by clusters, ready where there are too few observations or clusters for an interval."""
    details = {f"n_{cluster}s": groups, **({} if null is None else {"null": null})}
    how = f"{FLIPPED}, clustered by {called(cluster)}", sign_flip.SOURCE, independent(cluster)
    base = Result.by(*how, name=name, n=n, level=level, estimate=estimate, details=details)
    if estimate is None:
        return base.but(p_value=None if null is None else 1.0, notes=("no observations: nothing can be estimated",))
    return base if groups >= MIN_CLUSTERS else base.but(notes=(too_few_clusters(cluster),))


def least_p(clusters: npt.ArrayLike, sides: npt.ArrayLike | None = None) -> float:
    """The smallest two-sided p that any randomisation of the clusters reaches, whatever they answered."""
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    if len(names) > _BEYOND_COUNTING:
        return 0.0
    if sides is None:
        return min(1.0, 2.0 ** (1 - len(names)))
    of_second = pd.factorize(np.asarray(sides, dtype=object))[0] > 0
    first, second = (np.bincount(codes[of], minlength=len(names)) > 0 for of in (~of_second, of_second))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    ways = 2 ** int((first & second).sum()) * comb(only_first + only_second, only_first)
    # The mirror of what was seen is as far, too.
    return min(1.0, float((2 if only_first == only_second else 1) / ways))


def standard_error(parts: Floats) -> float:
    """The root of CR1's G/(G−1)·Σ parts², of what each of G clusters adds to the error of an estimate."""
    return float(np.sqrt(len(parts) / (len(parts) - 1) * (parts**2).sum()))


@dataclass(frozen=True)
class Clusters:
    """An estimate, what each cluster adds to its error (``parts``, summing to 0), and its share of what the estimate
    rests on (``weights``, summing to 1). ``least``: no p is smaller, as :func:`least_p` has it."""

    estimate: float
    parts: Floats
    weights: Floats
    least: float = 0.0

    @classmethod
    def of(
        cls, estimate: float, influence: Floats, weights: Floats, clusters: npt.ArrayLike, least: float = 0.0
    ) -> Clusters:
        """From what each observation adds to the error, and its share of what the estimate rests on."""
        codes, names = pd.factorize(np.asarray(clusters, dtype=object))
        sums = [np.bincount(codes, weights=each, minlength=len(names)).astype(float) for each in (influence, weights)]
        return cls(estimate, sums[0], sums[1], least)

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
        """p of ``null`` (None: no test), and the interval."""
        low, high = self.interval(level)
        if null is None:
            return None, low, high
        # Sums of whole numbers tie at some hypotheses and not beside them, so that p may jump there: the larger p and the
        # longer interval are given, and both say the same.
        p = self.p_value(null)
        if p >= 1 - level:
            return p, min(low, null), max(high, null)
        return (max(p, 1 - level) if low <= null <= high else p), low, high


def keep_tests(observed: Iterable[Clusters], null: float, level: float) -> None:
    """Test many estimates at once, at a fraction of what each costs alone: later tests of them have that at hand."""
    flipped = (one for one in observed if one.are_flipped and one.varies)
    sign_flip.keep_tests(((one.parts, one.weights, one.estimate - null) for one in flipped), level)


def keep_shares(sums: Iterable[ClusterSums], level: float) -> None:
    """Test many shares against one half at once, so that :func:`clustered_share` has the tests at hand."""
    keep_tests((each.observed for each in sums if each.total), 0.5, level)


def with_sign_flips(base: Result, observed: Clusters, null: float | None, cluster: str, limits: Limits) -> Result:
    """``base``, whose estimate the clusters make up, with interval and (where there is a ``null``) test.

    ``limits``: between which the estimate must lie. ``statistic`` and ``standard_error`` are those of the CR1 variance.
    """
    if not observed.varies:
        # All clusters say the same: no interval can be estimated, but their signs can be flipped.
        agreed = base.but(notes=(*base.notes, f"all {called(cluster)}s {AGREE}"))
        if null is None:
            return agreed
        return agreed.but(p_value=observed.p_value(null), method=base.method.replace(FLIPPED, EXACT_FLIPS))
    groups, error = len(observed.parts), standard_error(observed.parts)
    p, low, high = observed.test(null, base.level)
    unbounded = limits is None and not np.isfinite([low, high]).all()
    notes = (
        (f"too few {called(cluster)}s, or one with too many of the answers, to exclude any value",) if unbounded else ()
    )
    low, high, cut = limited(low, high, limits)
    by_t = {} if observed.are_flipped else {"df": observed.df}
    if by_t:
        base = base.but(method=f"CR1 t, clustered by {called(cluster)}", source=CR1_SOURCE)
    return base.but(
        ci_low=None if unbounded else low,
        ci_high=None if unbounded else high,
        statistic=None if null is None else (observed.estimate - null) / error,
        p_value=p,
        notes=(*base.notes, *small_sample_notes(groups, cluster, observed.weights), *notes, *cut),
        details={**base.details, "standard_error": error, **by_t},
    )


def t_ends(estimate: float, error: float, df: float, level: float) -> dict[str, float]:
    """The ends of an interval by Student's t."""
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return {"ci_low": estimate - half, "ci_high": estimate + half}


def with_t(base: Result, error: float, df: float, null: float | None = 0.0) -> Result:
    """``base`` with interval and (where there is a ``null``) test by Student's t, of a standard error with ``df``."""
    estimate = base.estimate or 0.0
    base = base.but(**t_ends(estimate, error, df, base.level))
    if null is None:
        return base
    t = (estimate - null) / error
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))))


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
    """What to say of an interval that rests on few clusters, or on few large ones of such ``sizes``; often nothing."""
    if groups < FEW_CLUSTERS:
        return (f"fewer than {FEW_CLUSTERS} {called(cluster)}s: take the interval as a rough guide",)
    effective = float(groups) if sizes is None else effective_clusters(sizes)
    if round(effective) >= FEW_CLUSTERS:
        return ()
    return (
        f"the {called(cluster)}s gave unequal numbers of answers, so {groups} weigh like {effective:.1f} equal ones: take "
        "the interval as a rough guide",
    )


def sign_flip_p(
    sums: ClusterSums, *, null: float = 0.5, seed: int | None = None, draws: int | None = None
) -> float | None:
    """Two-sided randomisation test: under the null the signs of the clusters' deviations are arbitrary."""
    if sums.n_clusters < 2:
        return None
    return sign_flip.sign_flip_p_value(sums.numerators - null * sums.denominators)


def cluster_bootstrap(
    sums: ClusterSums, *, seed: int, draws: int = 2_000, level: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval over ``draws`` resamples of whole clusters; None below ``MIN_CLUSTERS`` clusters."""
    check_level(level)
    groups = sums.n_clusters
    if groups < MIN_CLUSTERS:
        return None
    kinds, sizes = np.unique(sums.numerators + 1j * sums.denominators, return_counts=True)
    rng = np.random.default_rng(seed)
    shares = []
    at_once = max(1, _CELLS_AT_ONCE // groups)
    for done in range(0, draws, at_once):
        weights = _times_drawn(rng, sizes, min(at_once, draws - done))
        shares.append((weights @ kinds.real) / (weights @ kinds.imag))
    low, high = np.quantile(np.concatenate(shares), [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def _times_drawn(rng: np.random.Generator, sizes: Codes, draws: int) -> Floats:
    """Resamples × kinds: how many clusters of each kind were drawn, of which there are ``sizes``."""
    groups, kinds = int(sizes.sum()), len(sizes)
    if 10 * kinds < groups:
        return rng.multinomial(groups, sizes / groups, size=draws).astype(float)
    drawn = np.repeat(np.arange(kinds), sizes)[rng.integers(0, groups, (draws, groups), dtype=np.uint32)]
    drawn += np.arange(draws)[:, None] * kinds
    return np.bincount(drawn.ravel(), minlength=draws * kinds).reshape(draws, kinds).astype(float)


RATIO, P_LESS = "dispersion", "p_dispersion"  # Names in the details of a result
ALPHA = 0.05


def with_dispersion(
    result: Result,
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    others: npt.ArrayLike = (),
    clusters_of_others: npt.ArrayLike = (),
) -> Result:
    """``result``, whose details say how much the sums of clusters vary, for independent observations 1."""
    influence, owners = np.zeros(0), np.zeros(0, dtype=object)
    for sign, given, of in ((1.0, values, clusters), (-1.0, others, clusters_of_others)):
        y = np.asarray(given, dtype=float)
        known = ~np.isnan(y)
        y = y[known]
        parts = sign * (y - y.mean()) / y.size if y.size else y
        influence = np.concatenate([influence, parts])
        owners = np.concatenate([owners, np.asarray(of, dtype=object)[known]])
    codes, names = pd.factorize(owners)
    groups, single = len(names), float((influence**2).sum())
    if groups < MIN_CLUSTERS or single < 1e-18:
        return result
    sums = np.bincount(codes, weights=influence, minlength=groups)
    variances = np.bincount(codes, weights=influence**2, minlength=groups)
    ratio = groups / (groups - 1) * float((sums**2).sum()) / single
    df = effective_clusters(variances) * (groups - 1) / groups
    return result.but(details={**result.details, RATIO: ratio, P_LESS: float(chdtr(df, ratio * df))})


def agreement_shown(result: Result) -> bool:
    """Whether its details say that clusters differ less from each other than independent observations would."""
    p = result.details.get(P_LESS)
    return p is not None and float(p) < ALPHA
