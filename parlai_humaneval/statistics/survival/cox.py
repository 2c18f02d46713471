"""What makes a speaker be spotted sooner: Cox's model for current-status data (Deriu et al. 2020, §3.3 and §4.2).

P(spotted within k | x) = 1 − exp(−Λ(k)·exp(βx)). The likelihood is that of a binomial model with a complementary
log-log link and an intercept for each k, which gives the same estimates as programs for interval-censored Cox models. The
baseline Λ is held from falling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import CR1_SOURCE, MIN_CLUSTERS, small_sample_notes, too_few_clusters
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.survival.curve import checked

_MOST_STEPS = 200
COLLINEAR = "the covariates determine each other, or the length: their effects cannot be told apart"
NO_EVENTS = "all or none were spotted at every length: no effect can be estimated"
SOURCE = "Deriu et al. 2020, §4.2; Cox 1972"
METHOD = "Cox model of current-status data (binomial, complementary log-log link, an intercept for each k)"
CONSTANT = "it is the same in all observations: its effect cannot be estimated"
SEPARATED = "it separates who was spotted from who was not: its effect is beyond all bounds and cannot be estimated"
_PREDICTORS = (-36.0, 3.6)
"""Beyond these the chance to be spotted is 0 or 1 to the last digit."""
_TOO_FAR = 25.0
"""A standard error of that many standard deviations of a covariate: the likelihood is flat, as under separation."""


@dataclass(frozen=True)
class Likelihood:
    """At the maximum: coefficients (covariates, then blocks of lengths), inverse information, and scores.

    ``inverse``: of the expected information; ``observed``: of the observed one, which the sandwich takes, as it need not
    trust the model. ``scores``: for each observation the derivative by the linear predictor; ``design``: observations ×
    coefficients; ``used``: which observations say something of the coefficients.
    """

    beta: Floats
    inverse: Floats
    observed: Floats
    scores: Floats
    design: Floats
    used: npt.NDArray[np.bool_]

    def sandwich(self, clusters: npt.ArrayLike) -> tuple[int, Floats]:
        """Number of clusters, and the CR1 covariance of the coefficients: G/(G − 1) times the sandwich."""
        ids = np.asarray(clusters, dtype=object).ravel()
        if ids.size != self.used.size:
            raise ValueError(f"{ids.size} clusters for {self.used.size} observations: give one for each.")
        codes, names = pd.factorize(ids[self.used])
        groups, parts = len(names), self.scores[:, None] * self.design
        sums = np.column_stack([np.bincount(codes, weights=part, minlength=groups) for part in parts.T])
        middle = sums.T @ sums
        return groups, groups / max(1, groups - 1) * self.observed @ middle @ self.observed


@dataclass(frozen=True)
class BlockFit:
    """``why``: why there is no likelihood of coefficients; ``baseline``: Λ by length, None where it has no bound."""

    likelihood: Likelihood | None
    loglik: float | None
    baseline: dict[int, float | None]
    why: str = ""


def fit_blocks(k: Ints, spotted: Floats, table: Floats) -> BlockFit:
    """The fit with one intercept a block of neighbouring lengths, as many blocks as the data and monotony allow.

    Neighbours whose intercepts would fall are pooled; where the likelihood would rise by parting a block again, it is
    parted (its multipliers tell), so that the end satisfies the conditions of a maximum, which is the only one.
    """
    lengths, place = np.unique(k, return_inverse=True)
    if not lengths.size:
        return BlockFit(None, None, {}, NO_EVENTS)
    first, last, joined = _sure(place, spotted, len(lengths))
    baseline: dict[int, float | None] = {int(x): 0.0 for x in lengths[:first]}
    used = (place >= first) & (place <= last)
    if not used.any():
        return BlockFit(None, 0.0, _with(baseline, lengths, np.zeros(0), first, last), NO_EVENTS)
    own, y, x = place[used] - first, spotted[used], table[used]
    if _rank(own, x) < x.shape[1]:
        return BlockFit(None, None, dict.fromkeys(map(int, lengths)), COLLINEAR)
    borders = ~joined[first:last]  # between a length and the next: True where a new block begins
    seen: set[bytes] = set()
    for _ in range(_MOST_STEPS):
        blocks = np.concatenate([[0], np.cumsum(borders)]).astype(np.int64)
        fitted = _fit(blocks[own], y, x)
        steps = np.diff(fitted.beta[x.shape[1] :])
        seen.add(borders.tobytes())
        if (steps < -1e-9).any():
            borders[np.flatnonzero(borders)[np.argmin(steps)]] = False
            continue
        by_length = np.bincount(own, weights=fitted.scores, minlength=len(blocks)).astype(float)
        parted = _to_part(by_length, borders, joined[first:last])
        if parted is None or parted.tobytes() in seen:
            break
        borders = parted
    intercepts = fitted.beta[x.shape[1] :][blocks]
    likelihood = replace(fitted, used=used)
    loglik = _loglik(fitted.design @ fitted.beta, y)
    return BlockFit(likelihood, loglik, _with(baseline, lengths, np.exp(intercepts), first, last))


def _sure(place: Ints, spotted: Floats, size: int) -> tuple[int, int, npt.NDArray[np.bool_]]:
    """First and last length that say something, and which lengths must be pooled with the next.

    Before the first spotted speaker Λ = 0 fits exactly, and infinity after the last that was not. In between, a length
    at which none was spotted pulls the baseline down to that before it, and one at which all were up to the next.
    """
    found = np.bincount(place, weights=spotted, minlength=size)
    left = np.bincount(place, minlength=size) - found
    if not found.any() or not left.any():
        return (size, size - 1, np.zeros(size, dtype=bool)) if not found.any() else (0, -1, np.zeros(size, dtype=bool))
    first, last = int(np.flatnonzero(found)[0]), int(np.flatnonzero(left)[-1])
    joined = np.zeros(size, dtype=bool)
    inside = np.arange(size)
    joined[:-1] |= (found[1:] == 0) & (inside[1:] > first)
    joined |= (left == 0) & (inside < last)
    return first, last, joined


def _rank(own: Ints, x: Floats) -> int:
    if not x.shape[1]:
        return 0
    centred = x - (pd.DataFrame(x).groupby(own).transform("mean").to_numpy(dtype=float))
    return int(np.linalg.matrix_rank(centred))


def _with(
    baseline: dict[int, float | None], lengths: Ints, inner: Floats, first: int, last: int
) -> dict[int, float | None]:
    found = {**baseline, **{int(k): float(value) for k, value in zip(lengths[first : last + 1], inner, strict=True)}}
    return {**found, **{int(k): None for k in lengths[max(last + 1, first) :]}}


def _fit(block: Ints, y: Floats, x: Floats) -> Likelihood:
    """Binomial model on the distinct rows, which are few where covariates are answers."""
    design = np.column_stack([x, np.eye(int(block.max()) + 1)[block]])
    frame: pd.DataFrame = pd.DataFrame(design)
    which = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy(dtype=np.int64)
    rows = design[np.unique(which, return_index=True)[1]]
    found, total = (np.bincount(which, weights=w, minlength=len(rows)).astype(float) for w in (y, np.ones(len(y))))
    beta, inverse = _reweighted(rows, found, total)
    scores, curvature = _derivatives(design @ beta, y)
    observed = np.linalg.pinv(design.T @ (curvature[:, None] * design), hermitian=True)
    return Likelihood(beta, inverse, observed, scores, design, np.ones(len(y), dtype=bool))


def _reweighted(rows: Floats, found: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Coefficients and inverse expected information, by iteratively reweighted least squares (Nelder & Wedderburn 1972).

    Where covariates separate who was spotted, the steps go on until no chance changes.
    """
    predictor = np.log(-np.log1p(-(found / total + 0.5) / 2))
    for _ in range(_MOST_STEPS):
        hazard = np.exp(predictor)
        root = np.sqrt(total * hazard**2 / np.expm1(hazard))
        scores = found * hazard / np.expm1(hazard) - (total - found) * hazard
        solver = np.linalg.pinv(root[:, None] * rows)
        beta = solver @ (root * predictor + scores / root)
        before, predictor = predictor, np.clip(rows @ beta, *_PREDICTORS)
        if np.abs(predictor - before).max() < 1e-10:
            break
    return beta, np.asarray(solver @ solver.T, dtype=float)


def _derivatives(predictor: Floats, y: Floats) -> tuple[Floats, Floats]:
    hazard = np.clip(np.exp(np.clip(predictor, -500, 500)), 1e-300, 300.0)
    odds = hazard / np.expm1(hazard)
    first, second = np.where(y == 1, odds, -hazard), np.where(y == 1, odds * (odds + hazard - 1), hazard)
    return first, second


def _to_part(
    by_length: Floats, borders: npt.NDArray[np.bool_], fixed: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_] | None:
    """The borders with one more where parting a block gains most; None where no parting gains.

    ``by_length``: the score of an intercept of each length alone. Summed from the beginning of a block, it must not fall
    below 0: it is the multiplier of "the next intercept is not lower".
    """
    starts = np.concatenate([[0], np.flatnonzero(borders) + 1])
    sums = np.cumsum(by_length)
    before = np.concatenate([[0.0], sums])[np.repeat(starts, np.diff([*starts, len(by_length)]))]
    multipliers = np.where(borders | fixed, 0.0, (sums - before)[:-1])
    if not multipliers.size or multipliers.min() > -1e-7:
        return None
    parted = borders.copy()
    parted[int(np.argmin(multipliers))] = True
    return parted


def _loglik(predictor: Floats, y: Floats) -> float:
    hazard = np.exp(np.clip(predictor, -500, 500))
    return float(np.where(y == 1, np.log(-np.expm1(-np.maximum(hazard, 1e-300))), -hazard).sum())


@dataclass(frozen=True)
class CoxFit:
    """The maximum-likelihood fit.

    Attributes:
        beta: log hazard ratio of each covariate, None where it cannot be estimated; above 0: spotted sooner.
        loglik: log-likelihood at the maximum.
        baseline: k → Λ(k), the cumulative hazard where all covariates are 0; None where it is beyond all bounds.
        effects: β as results: by the model's own variance, or by clusters where these are given.
        n: observations.
    """

    beta: list[float | None]
    loglik: float | None
    baseline: dict[int, float | None]
    effects: list[Result]
    n: int


def cloglog_cox(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    covariates: npt.ArrayLike,
    *,
    names: Sequence[str] = (),
    clusters: Mapping[str, npt.ArrayLike] | None = None,
    level: float = 0.95,
) -> CoxFit:
    """Fit Cox's model to judgements that say whether a speaker was spotted within ``k`` exchanges.

    The baseline never falls with k: where its intercepts would, lengths are pooled, so that the likelihood is greatest
    of all that are possible. Lengths before the first spotted speaker, and those from which on all were spotted, have a
    baseline of 0 and of infinity and say nothing of β.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        covariates: observations × covariates.
        names: of the covariates; if not given, "covariate 1" and so on.
        clusters: what a cluster is → the cluster of each observation, such as ``{"worker": …, "dialogue": …}``. The
            first gives interval and p-value of ``effects`` (CR1, t with clusters − 1 degrees of freedom); p-values by
            the others, and without clusters, stand in their details.
        level: coverage of the intervals.

    Raises:
        ValueError: bad ``k`` or ``spotted``, covariates of another length or with missing values.

    Assumes proportional hazards and independent clusters (of the p-value in the details: independent observations).

    ``effects`` are log hazard ratios: above 0 where more of the covariate goes with being spotted sooner.

    Source: Deriu et al. 2020, §4.2; Cox 1972.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> fluent = [[0]] * 9 + [[1]] * 9
    >>> fit = cloglog_cox(k, spotted, fluent, names=['fluent'])
    >>> round(float(fit.beta[0]), 2)
    -1.51
    """
    exchanges, found = checked(k, spotted)
    table = _table(covariates, found.size)
    labels = list(names) or [f"covariate {number}" for number in range(1, table.shape[1] + 1)]
    if len(labels) != table.shape[1]:
        raise ValueError(f"{len(labels)} names for {table.shape[1]} covariates: give one for each.")
    varying = np.ptp(table, axis=0) > 1e-12 if found.size else np.zeros(table.shape[1], dtype=bool)
    fit = fit_blocks(exchanges, found, table[:, varying])
    likelihood = fit.likelihood
    flat = _flat(likelihood, table[:, varying])
    columns = iter(range(int(varying.sum())))
    effects = [
        _effect(fit.why or (SEPARATED if flat[place] else ""), likelihood, place, label, found.size, clusters, level)
        if varies
        else _effect(CONSTANT, likelihood, 0, label, found.size, clusters, level)
        for label, varies in zip(labels, varying, strict=True)
        for place in [next(columns) if varies else 0]
    ]
    return CoxFit([effect.estimate for effect in effects], fit.loglik, fit.baseline, effects, found.size)


def _table(covariates: npt.ArrayLike, n: int) -> Floats:
    table = np.asarray(covariates, dtype=float)
    table = (
        table.reshape(n, -1) if table.ndim != 2 and n else table.reshape(n, table.shape[-1] if table.ndim == 2 else 0)
    )
    if not np.isfinite(table).all():
        raise ValueError("covariates must be numbers, none missing: leave out the observations that lack one.")
    return table


def _flat(likelihood: Likelihood | None, table: Floats) -> list[bool]:
    if likelihood is None:
        return [False] * table.shape[1]
    errors = np.sqrt(np.maximum(np.diag(likelihood.inverse), 0.0))[: table.shape[1]]
    return [bool(far) for far in errors * table.std(axis=0) > _TOO_FAR]


def _effect(
    why: str,
    likelihood: Likelihood | None,
    place: int,
    label: str,
    n: int,
    clusters: Mapping[str, npt.ArrayLike] | None,
    level: float,
) -> Result:
    base = Result(
        name=f"effect of {label} on the log hazard of being spotted",
        level=level,
        n=n,
        method=METHOD,
        assumptions=("proportional hazards", "being spotted is for good"),
        source=SOURCE,
    )
    if not n:
        return base.but(p_value=1.0, notes=("no observations: nothing can be estimated",))
    if likelihood is None or why:
        return base.but(notes=(why or NO_EVENTS,))
    beta, error = float(likelihood.beta[place]), float(np.sqrt(likelihood.inverse[place, place]))
    details = {"hazard_ratio": float(np.exp(beta)), "se_independent": error, "p_independent": _normal_p(beta / error)}
    base = base.but(estimate=beta, details=details)
    tested = [_clustered(base, likelihood, place, name, ids) for name, ids in (clusters or {}).items()]
    if not tested:
        half = float(ndtri(0.5 + level / 2)) * error
        return base.but(
            ci_low=beta - half,
            ci_high=beta + half,
            statistic=beta / error,
            p_value=details["p_independent"],
            assumptions=(*base.assumptions, "all observations are independent of each other"),
        )
    others = {f"p_{name}": result.p_value for name, result in zip(clusters or {}, tested, strict=True)}
    return tested[0].but(details={**tested[0].details, **others})


def _clustered(base: Result, likelihood: Likelihood, place: int, cluster: str, ids: npt.ArrayLike) -> Result:
    groups, covariance = likelihood.sandwich(ids)
    named = {
        "method": f"{METHOD}, CR1 t, clustered by {cluster}",
        "assumptions": (*base.assumptions, f"{cluster}s are independent of each other"),
        "source": f"{SOURCE}; {CR1_SOURCE}",
        "details": {**base.details, f"n_{cluster}s": groups},
    }
    if groups < MIN_CLUSTERS:
        return base.model_copy(update={**named, "notes": (too_few_clusters(cluster),)})
    beta, error = float(likelihood.beta[place]), float(np.sqrt(max(0.0, covariance[place, place])))
    if error < 1e-9:
        return base.model_copy(update={**named, "notes": (f"the variance between {cluster}s cannot be estimated",)})
    half = float(stdtrit(groups - 1, 0.5 + base.level / 2)) * error
    return base.model_copy(
        update={
            **named,
            "ci_low": beta - half,
            "ci_high": beta + half,
            "statistic": beta / error,
            "p_value": float(2 * stdtr(groups - 1, -abs(beta / error))),
            "notes": small_sample_notes(groups, cluster),
        }
    )


def _normal_p(z: float) -> float:
    return float(2 * ndtr(-abs(z)))
