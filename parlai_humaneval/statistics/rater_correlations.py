"""How far two raters who rated the same models agree: a correlation for each pair of them (Ji et al. 2022, §4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.result import Result

Floats = npt.NDArray[np.float64]
MIN_MODELS = 3
"""Models that two raters must have in common: with fewer, a correlation says little."""
_WORKERS_AT_ONCE = 2_000


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
            return base.model_copy(update={"notes": ("no two raters rated the same models: it cannot be estimated",)})
        low, middle, high = (float(q) for q in np.quantile(self.r, [0.25, 0.5, 0.75]))
        return base.model_copy(
            update={"estimate": middle, "details": {**base.details, "first_quartile": low, "third_quartile": high}}
        )


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
    """
    table = ratings.pivot_table(index="worker_id", columns=["model", "criterion"], values="raw", aggfunc="mean")
    x = table.to_numpy(dtype=float)
    known = (~np.isnan(x)).astype(float)
    models = pd.factorize(table.columns.get_level_values("model"))[0]
    met = _met(known, models)
    x = np.where(known > 0, x - 50.0, 0.0)  # near the middle, so that sums of squares do not cancel
    found, paired = [], np.zeros(len(x), dtype=bool)
    for start in range(0, len(x), _WORKERS_AT_ONCE):
        rows = slice(start, start + _WORKERS_AT_ONCE)
        r = _correlations(x[rows], known[rows], x, known, min_cells)
        r[met[rows] @ met.T < min_models] = np.nan
        r[np.arange(len(x))[None, :] <= np.arange(start, start + len(r))[:, None]] = np.nan  # each pair once
        there = ~np.isnan(r)
        found.append(r[there])
        paired[rows] |= there.any(axis=1)
        paired |= there.any(axis=0)
    return RaterPairs(np.concatenate(found) if found else np.zeros(0), int(paired.sum()))


def _met(known: Floats, models: npt.NDArray[np.int_]) -> Floats:
    """Workers × models: 1 where the worker rated the model at all."""
    columns = np.eye(int(models.max(initial=-1)) + 1)[models]
    return np.asarray((known @ columns > 0).astype(float))


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
