"""Which model leads, and which cannot be told from it: all pairs at once, with at most 5 % of any mistake.

Everything rests on how much each worker adds to each estimate, so that shares, means, win rates and strengths are
compared alike. Under the null hypothesis that two models are equal the signs of the workers' parts are arbitrary. They
are flipped for all pairs together, which keeps how the pairs hang together, and the largest difference of each flip is
what the observed ones have to exceed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, small_sample_notes, too_few_clusters
from parlai_humaneval.statistics.core.result import Result, check_level
from parlai_humaneval.statistics.core.sign_flip import all_signs

METHOD = "step-down max-t over all pairs, signs flipped"
SOURCE = "Romano & Wolf 2005; Canay, Romano & Shaikh 2017; sets of the best: Hsu 1981; Hansen, Lunde & Nason 2011"
NO_INTERVAL = "no simultaneous interval: too few effective clusters, or they do not differ"
DRAWS = 4_999
EXACT_CLUSTERS = DRAWS.bit_length()
"""Of up to so many there are fewer assignments of signs than draws, so that all are tried."""
_CELLS = 4_000_000
_SMALL = 1e-9


class BestSet(BaseModel):
    """The model that leads, and those that cannot be told from it.

    Attributes:
        leader: the model with the best estimate; "" where none has one.
        together: the leader and the models that cannot be told from it, best first. In at least 95 of 100 studies
            (``level``) none is left out that is as good as any. A model that is not among them is significantly worse
            than some other one.
        told: the models that are not the best, best first.
        unknown: models without an estimate, of which nothing is said.
        models: the estimate of each model with an interval; all these intervals hold together.
        pairs: per two models, the first minus the second: simultaneous interval, p by itself and (``p_holm``) as one of
            the family, by the step-down test.
        notes: what to beware of.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    leader: str
    together: tuple[str, ...]
    told: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    models: tuple[Result, ...]
    pairs: tuple[Result, ...]
    level: float
    notes: tuple[str, ...] = ()


def best_set(
    estimates: npt.ArrayLike,
    influence: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    models: Sequence[str] | None = None,
    n: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    cluster: str = "worker",
    lower_is_better: bool = False,
) -> BestSet:
    """The best of several models and those that cannot be told from it, from what each worker adds to the estimates.

    Args:
        estimates: per model; nan where there is none.
        influence: clusters × models: the part of each cluster in the error of each estimate; columns sum to 0. Of a
            share: (chosen − share · shown) of the cluster, over all shown.
        sizes: clusters × models, or per cluster: how many answers each estimate has from each cluster.
        models: their names.
        n: number of observations; None: as many as ``sizes`` sum to.
        level: 1 − the chance of any mistake.
        seed: of the random signs; with up to 13 clusters all are tried.
        cluster: what the clusters are called.
        lower_is_better: as of mean places.

    Raises:
        ValueError: arrays that do not fit together, or a ``level`` that is not between 0 and 1.

    With two models it is the sign-flip test of their difference. ``together`` is what to report as “the best”: a model
    outside of it is worse than another one, a model inside may be the best. Assumes that workers are independent, with
    errors about as likely to one side as to the other.

    Source: Romano & Wolf 2005 (step-down); Canay, Romano & Shaikh 2017 (signs of clusters); Hsu 1981 (the set).

    >>> rng = np.random.default_rng(0)
    >>> of_workers = np.array([0.6, 0.55, 0.2]) + rng.normal(0, 0.1, (30, 3))
    >>> found = best_set(of_workers.mean(axis=0), (of_workers - of_workers.mean(axis=0)) / 30, np.ones(30))
    >>> found.leader, found.together, found.told
    ('model 1', ('model 1', 'model 2'), ('model 3',))
    """
    check_level(level)
    values, parts, weights, names = _checked(estimates, influence, sizes, models)
    known = np.flatnonzero(~np.isnan(values))
    order = sorted(known.tolist(), key=lambda i: (values[i] if lower_is_better else -values[i], names[i]))
    total = round(float(np.nansum(weights))) if n is None else n
    base = Result(
        name="",
        level=level,
        n=total,
        method=f"{METHOD} by {cluster}",
        assumptions=(f"{cluster}s are independent of each other", "their errors are symmetric about 0"),
        source=SOURCE,
        details={f"n_{cluster}s": len(parts)},
    )
    notes = small_sample_notes(len(parts), cluster, weights[:, known].sum(axis=1)) if len(known) else ()
    enough = len(parts) >= MIN_CLUSTERS
    shares = weights / np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), 1)
    ends = [(i, j) for i, j in combinations(known.tolist(), 2)]
    family = _Family(
        np.array([values[i] - values[j] for i, j in ends]),
        np.stack([parts[:, i] - parts[:, j] for i, j in ends], axis=1) if ends else np.zeros((len(parts), 0)),
        np.stack([(shares[:, i] + shares[:, j]) / 2 for i, j in ends], axis=1) if ends else np.zeros((len(parts), 0)),
        seed,
    )
    pairs = _pairs(family, [f"{names[i]} over {names[j]}" for i, j in ends], base) if enough and ends else []
    alone = _Family(values[known], parts[:, known], shares[:, known], seed)
    of_models = _with_intervals(alone, [names[i] for i in known], base) if enough and len(known) else []
    worse = {
        j if (gap > 0) != lower_is_better else i
        for (i, j), gap, pair in zip(ends, family.estimates, pairs, strict=False)
        if pair.p_holm is not None and pair.p_holm < 1 - level - _SMALL
    }
    return BestSet(
        leader=names[order[0]] if order else "",
        together=tuple(names[i] for i in order if i not in worse),
        told=tuple(names[i] for i in order if i in worse),
        unknown=tuple(name for i, name in enumerate(names) if i not in known),
        models=tuple(of_models),
        pairs=tuple(pairs),
        level=level,
        notes=(*notes, *(() if enough else (too_few_clusters(cluster),))),
    )


def best_of_means(
    values: npt.ArrayLike,
    models: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    cluster: str = "worker",
    lower_is_better: bool = False,
) -> BestSet:
    """The same of the means of observations: ratings, scores, or 1 and 0 of what was chosen and what was not.

    ``values``, ``models``, ``clusters``: per observation its value (nan does not count), its model, who gave it. Models
    are named in alphabetical order.

    Raises:
        ValueError: lists of unequal length, a missing model or cluster.

    Read ``together`` as in :func:`best_set`. Assumes that workers are independent.

    Source: as :func:`best_set`.

    >>> ratings = [5, 4, 1, 4, 5, 2, 5, 5, 1, 4, 4, 2, 5, 3, 1, 4, 4, 1]
    >>> found = best_of_means(ratings, ['ada', 'bob', 'cyd'] * 6, [i // 3 for i in range(18)])
    >>> found.leader, found.together, found.told
    ('ada', ('ada', 'bob'), ('cyd',))
    """
    y = np.asarray(values, dtype=float)
    of_model, owners = np.asarray(models, dtype=object), np.asarray(clusters, dtype=object)
    if not y.shape == of_model.shape == owners.shape == (len(y),):
        raise ValueError("values, models and clusters must be lists of the same length, an entry an observation.")
    counts = ~np.isnan(y)
    if pd.isna(of_model[counts]).any() or pd.isna(owners[counts]).any():
        raise ValueError(f"An observation lacks its model or its {cluster}: leave it out.")
    columns, names = pd.factorize(of_model[counts], sort=True)
    rows, groups = pd.factorize(owners[counts])
    shape, flat = (len(groups), len(names)), rows * max(1, len(names)) + columns
    sums = np.bincount(flat, weights=y[counts], minlength=shape[0] * shape[1]).reshape(shape)
    sizes = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    totals = sizes.sum(axis=0)
    means = sums.sum(axis=0) / totals
    return best_set(
        means,
        (sums - means * sizes) / totals,
        sizes,
        models=[str(name) for name in names],
        level=level,
        seed=seed,
        cluster=cluster,
        lower_is_better=lower_is_better,
    )


def _checked(
    estimates: npt.ArrayLike, influence: npt.ArrayLike, sizes: npt.ArrayLike, models: Sequence[str] | None
) -> tuple[Floats, Floats, Floats, list[str]]:
    values, parts = np.asarray(estimates, dtype=float), np.asarray(influence, dtype=float)
    weights = np.asarray(sizes, dtype=float)
    if values.ndim != 1 or parts.ndim != 2 or parts.shape[1] != len(values):
        raise ValueError("influence must be a table of clusters × models, with a column for each estimate.")
    if weights.shape == (len(parts),):
        weights = np.repeat(weights[:, None], len(values), axis=1)
    if weights.shape != parts.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sizes must be numbers from 0, one a cluster or one a cluster and model.")
    if np.isinf(values).any() or not np.isfinite(parts[:, ~np.isnan(values)]).all():
        raise ValueError("An estimate or an influence is not finite: give nan as the estimate of what is not known.")
    names = [f"model {i + 1}" for i in range(len(values))] if models is None else [str(name) for name in models]
    if len(names) != len(values) or len(set(names)) < len(names):
        raise ValueError("models must name each estimate once.")
    return values, parts, weights, names


class _Family:
    """Differences that are tested, or estimates that get intervals, together.

    ``estimates``; ``influence`` and ``shares``: clusters × estimates, what each cluster adds to the error, and its share
    of the answers. At an assumed difference d the part of a cluster is its influence + share · (estimate − d).
    """

    def __init__(self, estimates: Floats, influence: Floats, shares: Floats, seed: int) -> None:
        self.estimates, self.influence, self.shares, self.seed = estimates, influence, shares, seed

    def flipped(self, parts: Floats) -> tuple[Floats, Floats]:
        """|t| of each estimate, and of each after each flip of the signs (flips × estimates); 0 where nothing varies."""
        norms = np.sqrt((parts**2).sum(axis=0))
        scaled = parts / np.where(norms > _SMALL * np.abs(parts).max(initial=0), np.maximum(norms, 1e-300), np.inf)
        # Workers in an order of their own: rows may come in any.
        scaled = scaled[np.argsort((scaled**2).sum(axis=1), kind="stable")]
        flips = np.concatenate([np.abs(signs @ scaled) for signs in _signs(len(parts), self.seed)])
        return np.abs(scaled.sum(axis=0)), flips

    @property
    def exact(self) -> bool:
        return len(self.influence) <= EXACT_CLUSTERS

    def p_values(self, observed: Floats, flips: Floats) -> Floats:
        """Share of flips, the data among them, that reach each of ``observed``; ``flips`` has as many columns, or one."""
        reached = (flips >= observed * (1 - _SMALL) - 1e-12).sum(axis=0)
        return np.asarray(reached / len(flips) if self.exact else (reached + 1) / (len(flips) + 1), dtype=float)

    def critical(self, flips: Floats, level: float) -> float:
        """The largest |t| that does not reject, of the largest of each flip."""
        whole = len(flips) + (not self.exact)
        place = max(1, int(np.ceil((1 - level) * whole - _SMALL)) - (not self.exact))
        return float(np.sort(flips.max(axis=1))[-place])

    def intervals(self, critical: float) -> list[tuple[float, float] | None]:
        """All differences that a test with this critical value would not reject; None where that is all of them."""
        squares, crossed = (self.influence**2).sum(axis=0), (self.influence * self.shares).sum(axis=0)
        leading = 1 - critical**2 * (self.shares**2).sum(axis=0)
        c = critical**2
        found: list[tuple[float, float] | None] = []
        for estimate, a, b, s in zip(self.estimates, leading, crossed, squares, strict=True):
            if a <= _SMALL or s <= _SMALL**2:  # few effective clusters, or clusters that all say the same
                found.append(None)
                continue
            middle, half = c * b / a, np.sqrt((c * b) ** 2 + a * c * s) / a
            found.append((float(estimate - middle - half), float(estimate - middle + half)))
        return found


def _signs(groups: int, seed: int) -> Iterator[Floats]:
    """Rows of signs, a column a cluster: all there are of few clusters, up to a change of all signs, else random ones."""
    if groups <= EXACT_CLUSTERS:
        yield all_signs(groups)[: 2 ** max(0, groups - 1)]
        return
    rng = np.random.default_rng(seed)
    left, size = DRAWS, max(1, _CELLS // groups)
    while left > 0:
        yield np.asarray(1.0 - 2.0 * rng.integers(0, 2, (min(size, left), groups)))
        left -= size


def _pairs(family: _Family, names: Sequence[str], base: Result) -> list[Result]:
    observed, flips = family.flipped(family.influence + family.shares * family.estimates)
    ends = family.intervals(family.critical(flips, base.level))
    alone = family.p_values(observed, flips)
    # From the clearest on: each has to exceed the largest of those that are not clearer.
    order = np.argsort(-observed, kind="stable")
    largest = np.maximum.accumulate(flips[:, order[::-1]], axis=1)[:, ::-1]
    stepped = np.empty(len(order))
    stepped[order] = np.maximum.accumulate(family.p_values(observed[order], largest))
    return [
        base.but(
            name=name,
            estimate=float(estimate),
            ci_low=None if end is None else end[0],
            ci_high=None if end is None else end[1],
            statistic=float(t),
            p_value=float(p),
            p_holm=float(p_stepped),
            notes=() if end is not None else (NO_INTERVAL,),
            details={**base.details, "family_tests": len(order), "correction": METHOD},
        )
        for name, estimate, end, t, p, p_stepped in zip(
            names, family.estimates, ends, observed, alone, stepped, strict=True
        )
    ]


def _with_intervals(family: _Family, names: Sequence[str], base: Result) -> list[Result]:
    _, flips = family.flipped(family.influence)
    ends = family.intervals(family.critical(flips, base.level))
    return [
        base.but(
            name=name,
            estimate=float(estimate),
            ci_low=None if end is None else end[0],
            ci_high=None if end is None else end[1],
            method=base.method.replace(METHOD, "simultaneous interval, max-t, signs flipped"),
            notes=() if end is not None else (NO_INTERVAL,),
        )
        for name, estimate, end in zip(names, family.estimates, ends, strict=True)
    ]
