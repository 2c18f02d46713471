"""Correlations: of models' scores, of rankings, and of pairs of raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.result import Result

Kind = Literal["pearson", "spearman"]
MIN_FOR_INTERVAL = 4
Scores = Mapping[str, Mapping[str, float | None]]
"""Model → criterion → score."""

_METHODS = {"pearson": "Pearson's r, Fisher's z interval", "spearman": "Spearman's ρ, Fisher's z interval"}
MIN_MODELS = 3
"""Models that two raters must have in common: with fewer, a correlation says little."""
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
        raise ValueError(f"{a.size} against {b.size} values: both lists must be of the same things")
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[known], b[known]
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a value is infinite")
    base = Result(
        name=name,
        n=a.size,
        level=level,
        method=_METHODS[kind],
        assumptions=("the pairs are independent draws",),
        source="Ji et al. 2022, §4.2 and Table 8; Fisher 1921",
    )
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        few = "fewer than two pairs" if a.size < 2 else "all values of one list are equal"
        return base.but(notes=(f"{few}: a correlation cannot be estimated",))
    if kind == "spearman":
        a, b = (pd.Series(values).rank().to_numpy(dtype=float) for values in (a, b))
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    return base.model_copy(update={"estimate": r, **_interval(r, a.size, kind, level)})


def _interval(r: float, n: int, kind: Kind, level: float) -> dict[str, object]:
    if n < MIN_FOR_INTERVAL or abs(r) > 1 - 1e-12:
        return {"notes": (f"no interval from {n} pairs" if n < MIN_FOR_INTERVAL else "no interval where r is 1 or −1",)}
    variance = (1.06 if kind == "spearman" else 1.0) / (n - 3)
    half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    return {"ci_low": float(np.tanh(np.arctanh(r) - half)), "ci_high": float(np.tanh(np.arctanh(r) + half))}


def criteria_correlations(scores: Scores, criteria: Sequence[str], kind: Kind = "pearson") -> list[list[float | None]]:
    """Correlation over models of each two criteria (Ji et al. 2022, Table 8); None where it cannot be estimated.

    Near 1: the two criteria order and space the models alike, so that one of them says little more.

    Assumes, where one speaks about other models, that these are independent draws of them.

    Source: Ji et al. 2022, Table 8.

    >>> scores = {'a': {'fun': 1, 'fluent': 2}, 'b': {'fun': 2, 'fluent': 2.5}, 'c': {'fun': 3, 'fluent': 2.6}}
    >>> [[round(r, 3) for r in row] for row in criteria_correlations(scores, ['fun', 'fluent'])]
    [[1.0, 0.933], [0.933, 1.0]]
    """
    columns = [[of_model.get(name) for of_model in scores.values()] for name in criteria]
    matrix: list[list[float | None]] = [[None] * len(criteria) for _ in criteria]
    for i, x in enumerate(columns):
        for j, y in enumerate(columns[: i + 1]):
            matrix[i][j] = matrix[j][i] = correlation(x, y, kind).estimate
    return matrix


def kendall_tau_b(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """τ-b of two equally long lists; None where one of them ties everything.

    1 is the same order, −1 the reverse, 0 none; pairs tied in one list count half-way between. Assumes nothing of
    the scale.

    Source: Kendall 1945.

    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 2, 4, 3]), 3)
    0.667
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pairs = np.array(list(combinations(range(a.size), 2)), dtype=int).reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    tau = tau_b_of_pairs(a[first] - a[second], b[first] - b[second], np.zeros(len(pairs), dtype=int))
    return float(tau[0]) if tau.size and not np.isnan(tau[0]) else None


def tau_b_of_pairs(lead_x: npt.ArrayLike, lead_y: npt.ArrayLike, groups: npt.ArrayLike) -> Floats:
    """τ-b of many small orders at once, from their pairs; nan where one of the two orders ties everything.

    Args:
        lead_x: by how much the first of a pair leads in the one order; only its sign counts.
        lead_y: the same in the other order.
        groups: what is ordered together; the results stand in the order in which they first appear.
    """
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
    """``r``: Pearson's r of each pair of raters; ``n_raters`` stand in such a pair."""

    r: Floats
    n_raters: int

    def median(self, name: str = "median agreement of two raters") -> Result:
        """The median r, and its quartiles in ``details``. No interval: pairs share raters, and are not independent."""
        base = Result(
            name=name,
            n=self.r.size,
            method="median over pairs of raters of Pearson's r of their ratings",
            source="Ji et al. 2022, §4.1, Figure 2",
            details={"n_workers": self.n_raters},
        )
        if not self.r.size:
            return base.but(notes=("no two raters rated the same models: it cannot be estimated",))
        low, middle, high = (float(q) for q in np.quantile(self.r, [0.25, 0.5, 0.75]))
        return base.but(estimate=middle, details={**base.details, "first_quartile": low, "third_quartile": high})


def rater_pairs(ratings: pd.DataFrame, *, min_models: int = MIN_MODELS, min_cells: int = 4) -> RaterPairs:
    """Pearson's r over what both raters rated, for each two raters of ``min_models`` of the same models.

    The paper pairs workers of the same HIT, who met the same models; tables do not say who shared one, so that all
    pairs with enough models in common are taken. A rating is that of a model on a criterion (the mean, where a worker
    rated a model more than once); the degraded model's count too. Pairs of which a rater gave equal ratings to all have
    no r and are left out.

    Args:
        ratings: columns ``worker_id``, ``model``, ``criterion`` and ``raw`` (turned so that more is better).
        min_models: models that both must have rated.
        min_cells: ratings that both must have given.

    The median of ``r`` says how alike two raters are; it is no significance test.

    Assumes that the ratings of two raters lie about a straight line: r measures no other likeness. Pairs share raters,
    so that they are not independent.

    Source: Ji et al. 2022, §4.1.

    >>> cells = [(m, c) for m in 'abc' for c in ('fun', 'fluent')]
    >>> rows = [(w, m, c, i + (w == 'w2') * (i % 2)) for w in ('w1', 'w2') for i, (m, c) in enumerate(cells)]
    >>> ratings = pd.DataFrame(rows, columns=['worker_id', 'model', 'criterion', 'raw'])
    >>> rater_pairs(ratings).r.round(3).tolist()
    [0.968]
    """
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
    """Of each row of ``x`` with each of ``y``, over the columns that both know; nan where it cannot be had."""
    n = known_x @ known_y.T
    sum_x, sum_y, both = x @ known_y.T, known_x @ y.T, x @ y.T
    square_x, square_y = (x**2) @ known_y.T, known_x @ (y**2).T
    above = n * both - sum_x * sum_y
    spread_x, spread_y = n * square_x - sum_x**2, n * square_y - sum_y**2
    usable = (n >= min_cells) & (spread_x > 1e-6) & (spread_y > 1e-6)
    r: Floats = np.full(n.shape, np.nan)
    np.divide(above, np.sqrt(np.where(usable, spread_x * spread_y, 1.0)), out=r, where=usable)
    return np.clip(r, -1, 1)
