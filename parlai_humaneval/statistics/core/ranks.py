"""Ranks: Wilcoxon's test, of many groups at once too, and ranks over resamples; correlations of scores, rankings and
raters.

Samples of up to ``MOST_EXACT`` values without ties have the exact distribution of U, all others the normal
approximation with correction for ties and for continuity, as the published checks of slider ratings do (Ji et al. 2022,
§3.2 and §4.2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.result import OBSERVATIONS_INDEPENDENT, Result
from parlai_humaneval.statistics.core.shares import wilson_interval

Alternative = Literal["two-sided", "less", "greater"]
ALTERNATIVES = ("two-sided", "less", "greater")
MOST_EXACT = 20  # Values of either sample up to which p is exact, where no two are equal


@dataclass(frozen=True)
class RankSums:
    """An entry a group: sizes of both samples, U of the first one, and its one-sided p that it is the lower one; 1
    where a sample is empty or all values of a group are equal."""

    n_first: Floats
    n_second: Floats
    u: Floats
    p_less: Floats


def rank_sum_test(
    x: npt.ArrayLike, y: npt.ArrayLike, alternative: Alternative = "two-sided", *, name: str = "x against y"
) -> Result:
    """Rank-sum test of ``x`` against ``y``: whether values of one tend to be lower or higher than those of the other.

    Args:
        x: one sample, any shape.
        y: the other.
        alternative: what p speaks of: that ``x`` differs, is ``less``, or is ``greater``.
        name: of the result.

    Returns:
        ``statistic`` is U of ``x``: pairs in which x is the higher one, ties counted half; ``estimate`` its share of all
        pairs, the chance that a value of ``x`` is above one of ``y``. p = 1 where a sample is empty (then there is no
        estimate) or all values are equal.

    Raises:
        ValueError: a value is nan or infinite, or the alternative is unknown.

    p is exact where no two values are equal and neither sample has more than ``MOST_EXACT``; ``method`` says so.

    Assumes independent observations. Source: Mann & Whitney 1947; Ji et al. 2022, §4.2.

    A small p says that values of the one sample tend to be higher.

    >>> print(rank_sum_test([3, 1, 2], [4, 6, 5], "less"))
    x against y: 0.000, statistic 0.000, p = .050, n = 6 [Wilcoxon rank-sum test (less), exact]
    >>> print(rank_sum_test([3, 4, 5, 5], [1, 2, 3, 3]))
    x against y: 0.938, statistic 15.000, p = .053, n = 8 [Wilcoxon rank-sum test (two-sided), corrected for ties
    and continuity]
    """
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative {alternative!r}: expected {', '.join(ALTERNATIVES)}")
    a, b = np.asarray(x, dtype=float).ravel(), np.asarray(y, dtype=float).ravel()
    together = np.concatenate([a, b])
    if not np.isfinite(together).all():
        raise ValueError("a value is nan or infinite: leave out missing values")
    untied = np.unique(together).size == together.size
    words = "exact" if untied and max(a.size, b.size) <= MOST_EXACT else "corrected for ties and continuity"
    how = f"Wilcoxon rank-sum test ({alternative}), {words}", "Mann & Whitney 1947; Ji et al. 2022, §4.2"
    sizes = {"n_x": a.size, "n_y": b.size}
    base = Result.by(*how, OBSERVATIONS_INDEPENDENT, name=name, n=together.size, details=sizes).but(p_value=1.0)
    if not a.size or not b.size:
        return base.but(notes=("a sample is empty: nothing can be tested",))
    if np.ptp(together) == 0:
        u = a.size * b.size / 2
        tied = ("all values are equal: nothing distinguishes the samples",)
        return base.but(statistic=u, estimate=0.5, notes=tied)
    is_x = np.arange(together.size) < a.size
    lower = rank_sums(np.tile(together, 2), np.concatenate([is_x, ~is_x]), np.repeat([0, 1], together.size), 2)
    less, greater = map(float, lower.p_less)
    p_values = {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}
    u = float(lower.u[0])
    return base.but(statistic=u, estimate=u / (a.size * b.size), p_value=p_values[alternative])


def rank_sums(values: npt.ArrayLike, is_first: npt.ArrayLike, groups: npt.ArrayLike, n_groups: int) -> RankSums:
    """Test whether the first sample is lower, in each of many groups at once."""
    y, code = np.asarray(values, dtype=float), np.asarray(groups, dtype=int)
    first = np.asarray(is_first, dtype=bool)
    if not np.isfinite(y).all():
        raise ValueError("a value is nan or infinite: leave out missing values")
    order = np.lexsort((y, code))
    y, code, first = y[order], code[order], first[order]
    ranks, ties = _ranks(y, code, n_groups)
    size = np.bincount(code, minlength=n_groups).astype(float)
    n = np.bincount(code, weights=first.astype(float), minlength=n_groups).astype(float)
    m = size - n
    u: Floats = np.bincount(code, weights=ranks * first, minlength=n_groups) - n * (n + 1) / 2
    total = np.maximum(size * (size - 1), 1)
    variance = n * m / 12 * ((size + 1) - ties / total)
    testable = (n > 0) & (m > 0) & (variance > 1e-12)
    z = (u - n * m / 2 + 0.5) / np.sqrt(np.where(testable, variance, 1.0))
    p_less: Floats = np.where(testable, ndtr(z), 1.0)
    exact = testable & (ties == 0) & (np.maximum(n, m) <= MOST_EXACT)
    # P(U ≤ u): groups of equal sizes share one distribution.
    for sizes in np.unique(np.stack([n[exact], m[exact]], axis=1).astype(int), axis=0):
        same = exact & (n == sizes[0]) & (m == sizes[1])
        p_less[same] = _distribution(int(sizes[0]), int(sizes[1]))[u[same].astype(int)]
    return RankSums(n, m, u, p_less)


@lru_cache(maxsize=MOST_EXACT**2)
def _distribution(n: int, m: int) -> Floats:
    """P(U ≤ u) for u = 0 … n·m without ties: all ranks of the first sample are equally likely (Mann & Whitney 1947)."""
    orders = np.zeros(n * m + 1, dtype=np.int64)
    orders[0] = 1
    for i in range(1, n + 1):
        orders[m + i :] -= orders[: -(m + i)].copy()
        for u in range(i, len(orders)):
            orders[u] += orders[u - i]
    return np.asarray(np.cumsum(orders) / orders.sum(), dtype=np.float64)


def _ranks(y: Floats, code: npt.NDArray[np.int_], n_groups: int) -> tuple[Floats, Floats]:
    """Mid-ranks within each group of sorted values, and Σ(t³ − t) over the ties of each group."""
    if not y.size:
        return np.zeros(0), np.zeros(n_groups)
    starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_groups))])[code]
    new = np.concatenate([[True], (np.diff(y) != 0) | (np.diff(code) != 0)])
    tie = np.cumsum(new) - 1
    first_place = np.flatnonzero(new)
    length = np.diff(np.concatenate([first_place, [y.size]])).astype(float)
    middle = first_place + (length + 1) / 2  # mean of the places of a tie, from 1 over the whole array
    sums = np.bincount(code[first_place], weights=length**3 - length, minlength=n_groups)
    return np.asarray(middle[tie] - starts), sums.astype(float)


Range = tuple[int, int]

_SLACK = 1e-9  # Takes rounding from shares: a cut of 1.0000000000000009 or 0.9999999999999998 ranks is a cut of one


def ranks_of(scores: npt.ArrayLike) -> Ints:
    """Rank of each model in each replicate, best 1, of scores of replicates × models; equal ones share the better
    rank."""
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2:
        raise ValueError("scores must be a table: one row per replicate, one column per model.")
    better: Ints = (values[:, None, :] > values[:, :, None]).sum(axis=2).astype(np.int64)
    return better + 1


def rank_range(ranks: npt.ArrayLike, level: float = 0.95) -> Range | None:
    """Central range of a model's bootstrap ``ranks``: floor(B(1 − level)/2) of the B ranks are cut from each end."""
    ordered = _ordered(ranks, level)
    if not ordered.size:
        return None
    cut = math.floor(ordered.size * (1 - level) / 2 + _SLACK)
    return int(ordered[cut]), int(ordered[ordered.size - 1 - cut])


def rank_range_shortest(ranks: npt.ArrayLike, level: float = 0.95) -> Range | None:
    """Shortest range that holds at least ``level`` of the bootstrap ``ranks``; of equally short ones the best."""
    ordered = _ordered(ranks, level)
    if not ordered.size:
        return None
    needed = max(1, math.ceil(ordered.size * level - _SLACK))
    # Every shortest range begins at a rank that occurs, and ends `needed` ranks later in the sorted list.
    starts, ends = ordered[: ordered.size - needed + 1], ordered[needed - 1 :]
    best = int(np.argmin(ends - starts))  # argmin takes the first, which begins lowest
    return int(starts[best]), int(ends[best])


def rank_clusters(ranges: Mapping[str, tuple[int, int]]) -> list[list[str]]:
    """Models whose rank ranges overlap, directly or through others, best cluster first; names sorted by range."""
    for name, (low, high) in ranges.items():
        if low > high:
            raise ValueError(f"The rank range of {name!r} ends before it begins: {low} to {high}.")
    found: list[list[str]] = []
    reach = -math.inf
    for name in sorted(ranges, key=lambda name: (*ranges[name], name)):
        low, high = ranges[name]
        if not found or low > reach:
            found.append([])
        found[-1].append(name)
        reach = max(reach, high)
    return found


def _ordered(ranks: npt.ArrayLike, level: float) -> Floats:
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1, such as .95.")
    values = np.asarray(ranks, dtype=float).ravel()
    if np.isnan(values).any():
        raise ValueError("`ranks` has missing values: leave out the replicates in which the model had no rank.")
    return np.sort(values)


Kind = Literal["pearson", "spearman"]
MIN_FOR_INTERVAL = 4
Scores = Mapping[str, Mapping[str, float | None]]  # Model → criterion → score

_METHODS = {"pearson": "Pearson's r, Fisher's z interval", "spearman": "Spearman's ρ, Fisher's z interval"}
MIN_MODELS = 3  # Models that two raters must have in common: with fewer, a correlation says little
_WORKERS_AT_ONCE = 2_000


def correlation(
    x: Sequence[float | None] | npt.ArrayLike,
    y: Sequence[float | None] | npt.ArrayLike,
    kind: Kind = "pearson",
    *,
    name: str = "correlation",
    level: float = 0.95,
) -> Result:
    """Correlation of two equally long lists; pairs with a missing value (None) are left out.

    Fisher's z interval, for ``spearman`` with the variance 1.06 / (n − 3) of Fieller, Hartley & Pearson 1957. There is
    no p-value: that a correlation of two measurements of the same is not 0 tells little (Ji et al. 2022, §2).

    Returns:
        No estimate with fewer than two pairs, or where all values of a list are equal; no interval with fewer than four
        pairs, or where r is −1 or 1.

    Raises:
        ValueError: the lists differ in length, a value is infinite, or the kind is unknown.

    Assumes that the pairs are independent draws of what one wants to speak about: of other systems.

    1 is a perfect rising line (of ranks: order), 0 none, −1 a perfect falling one.

    Source: Fisher 1921; Fieller, Hartley & Pearson 1957; Ji et al. 2022, §4.

    >>> print(correlation([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]))
    correlation: 0.800, 95% interval −0.280 to 0.986, n = 5 [Pearson's r, Fisher's z interval]
    """
    if kind not in _METHODS:
        raise ValueError(f"kind {kind!r}: expected pearson or spearman")
    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} against {b.size} values: both lists must be about the same items")
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[known], b[known]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a value is infinite")
    how = _METHODS[kind], "Ji et al. 2022, §4.2 and Table 8; Fisher 1921", "the pairs are independent draws"
    base = Result.by(*how, name=name, n=a.size, level=level)
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        few = "fewer than two pairs" if a.size < 2 else "all values of one list are equal"
        return base.but(notes=(f"{few}: a correlation cannot be estimated",))
    if kind == "spearman":
        a, b = (pd.Series(values).rank().to_numpy(dtype=float) for values in (a, b))
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    base = base.but(estimate=r)
    if a.size < MIN_FOR_INTERVAL or abs(r) > 1 - 1e-12:
        why = f"no interval from {a.size} pairs" if a.size < MIN_FOR_INTERVAL else "no interval where r is 1 or −1"
        return base.but(notes=(why,))
    half = float(ndtri(0.5 + level / 2)) * np.sqrt((1.06 if kind == "spearman" else 1.0) / (a.size - 3))
    return base.but(ci_low=float(np.tanh(np.arctanh(r) - half)), ci_high=float(np.tanh(np.arctanh(r) + half)))


def criteria_correlations(scores: Scores, criteria: Sequence[str], kind: Kind = "pearson") -> list[list[float | None]]:
    """Correlation over models of each two criteria (Ji et al. 2022, Table 8); None where it cannot be estimated."""
    columns = [[of_model.get(name) for of_model in scores.values()] for name in criteria]
    matrix: list[list[float | None]] = [[None] * len(criteria) for _ in criteria]
    for i, x in enumerate(columns):
        for j, y in enumerate(columns[: i + 1]):
            matrix[i][j] = matrix[j][i] = correlation(x, y, kind).estimate
    return matrix


def kendall_tau_b(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """τ-b of two equally long lists; None if all values of a list are tied."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pairs = np.array(list(combinations(range(a.size), 2)), dtype=int).reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    tau = tau_b_of_pairs(a[first] - a[second], b[first] - b[second], np.zeros(len(pairs), dtype=int))
    return float(tau[0]) if tau.size and not np.isnan(tau[0]) else None


def tau_b_of_pairs(lead_x: npt.ArrayLike, lead_y: npt.ArrayLike, groups: npt.ArrayLike) -> Floats:
    """τ-b of many small orders at once, from their pairs; nan where one of the two orders ties everything."""
    x, y = np.sign(np.asarray(lead_x, dtype=float)), np.sign(np.asarray(lead_y, dtype=float))
    codes, names = pd.factorize(np.asarray(groups, dtype=object))

    def total(values: Floats) -> Floats:
        return np.bincount(codes, weights=values, minlength=len(names)).astype(float)

    scale = np.sqrt(total(x**2) * total(y**2))
    tau: Floats = np.full(len(names), np.nan)
    np.divide(total(x * y), scale, out=tau, where=scale > 0)
    return tau


@dataclass(frozen=True)
class RaterPairs:
    """``r``: Pearson's r of each pair of raters; ``n_raters`` belong to such a pair."""

    r: Floats
    n_raters: int

    def median(self, name: str = "median agreement of two raters") -> Result:
        """The median r, and its quartiles in ``details``. No interval: pairs share raters, and are not independent."""
        how = "median over pairs of raters of Pearson's r of their ratings", "Ji et al. 2022, §4.1, Figure 2"
        base = Result.by(*how, name=name, n=self.r.size, details={"n_workers": self.n_raters})
        if not self.r.size:
            return base.but(notes=("no two raters rated the same models: it cannot be estimated",))
        low, middle, high = (float(q) for q in np.quantile(self.r, [0.25, 0.5, 0.75]))
        return base.but(estimate=middle, details={**base.details, "first_quartile": low, "third_quartile": high})


def rater_pairs(ratings: pd.DataFrame, *, min_models: int = MIN_MODELS, min_cells: int = 4) -> RaterPairs:
    """Pearson's r over what both raters rated, for each two raters of ``min_models`` of the same models."""
    table = ratings.pivot_table(index="worker_id", columns=["model", "criterion"], values="raw", aggfunc="mean")
    x = table.to_numpy(dtype=float)
    known = (~np.isnan(x)).astype(float)
    models = pd.factorize(table.columns.get_level_values("model"))[0]
    # Workers × models: 1 where the worker rated the model at all.
    columns = np.eye(int(models.max(initial=-1)) + 1)[models]
    met = np.asarray((known @ columns > 0).astype(float))
    x = np.where(known > 0, x - 50.0, 0.0)  # near the middle, so that sums of squares do not cancel
    correlations, paired = [], np.zeros(len(x), dtype=bool)
    for start in range(0, len(x), _WORKERS_AT_ONCE):
        rows = slice(start, start + _WORKERS_AT_ONCE)
        r = _correlations(x[rows], known[rows], x, known, min_cells)
        r[met[rows] @ met.T < min_models] = np.nan
        r[np.arange(len(x))[None, :] <= np.arange(start, start + len(r))[:, None]] = np.nan  # each pair once
        there = ~np.isnan(r)
        correlations.append(r[there])
        paired[rows] |= there.any(axis=1)
        paired |= there.any(axis=0)
    return RaterPairs(np.concatenate(correlations) if correlations else np.zeros(0), int(paired.sum()))


def _correlations(x: Floats, known_x: Floats, y: Floats, known_y: Floats, min_cells: int) -> Floats:
    """Correlate each row of ``x`` with each of ``y``, over the columns known in both; nan if that is impossible."""
    n = known_x @ known_y.T
    sum_x, sum_y, both = x @ known_y.T, known_x @ y.T, x @ y.T
    square_x, square_y = (x**2) @ known_y.T, known_x @ (y**2).T
    above = n * both - sum_x * sum_y
    spread_x, spread_y = n * square_x - sum_x**2, n * square_y - sum_y**2
    usable = (n >= min_cells) & (spread_x > 1e-6) & (spread_y > 1e-6)
    r: Floats = np.full(n.shape, np.nan)
    np.divide(above, np.sqrt(np.where(usable, spread_x * spread_y, 1.0)), out=r, where=usable)
    return np.clip(r, -1, 1)


PairP = Mapping[tuple[str, str], float | None]  # (A, B) → one-sided p that A is better than B
REPLICATION_SOURCE = "Ji et al. 2022, §4.2"


def replication(first: Scores, second: Scores, criteria: Sequence[str] | None = None) -> dict[str, Result]:
    """Pearson's r, for each criterion, of the scores that two runs gave the same models."""
    models = [model for model in first if model in second]
    if not models:
        raise ValueError(
            f"the runs have no model in common: {', '.join(first) or 'none'} against {', '.join(second) or 'none'}"
        )
    names = dict.fromkeys(c for scores in first.values() for c in scores) if criteria is None else criteria
    alone = len(set(first) ^ set(second))
    results = {}
    for name in names:
        x, y = ([run[model].get(name) for model in models] for run in (first, second))
        result = correlation(x, y, name=f"replication of {name}")
        results[name] = result.but(source=REPLICATION_SOURCE, details={"models_of_one_run_only": alone})
    return results


def same_conclusions(first: PairP, second: PairP, alpha: float = 0.05) -> Result:
    """Share of pairs of models with the same conclusion in both runs: A is better, B is better, or neither.

    ``first``, ``second``: one-sided p-values of both directions of every pair; pairs that both runs tested count.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha}: expected more than 0 and less than 1")
    concluded, concluded_again = _conclusions(first, alpha), _conclusions(second, alpha)
    pairs = sorted(set(concluded) & set(concluded_again))
    same = sum(concluded[pair] == concluded_again[pair] for pair in pairs)
    base = Result.by(
        "share of pairs, Wilson interval",
        REPLICATION_SOURCE,
        "pairs are independent of each other (they share models, so the interval is too narrow)",
        name=f"pairs with the same conclusion at p < {alpha:g}",
        n=len(pairs),
        details={"alpha": alpha, "same": same},
    )
    ends = wilson_interval(same, len(pairs))
    if ends is None:
        return base.but(notes=("no pair was tested in both runs: nothing can be estimated",))
    return base.but(estimate=same / len(pairs), ci_low=ends[0], ci_high=ends[1])


def _conclusions(matrix: PairP, alpha: float) -> dict[tuple[str, str], str]:
    """Unordered pair → the better model, or "" where neither is; pairs without a p-value are left out."""
    conclusions = {}
    for a, b in {(min(pair), max(pair)) for pair in matrix}:
        ps = [(p, name) for name, other in ((a, b), (b, a)) if (p := matrix.get((name, other))) is not None]
        if ps and a != b:
            p, better = min(ps)
            conclusions[a, b] = better if p < alpha else ""
    return conclusions
