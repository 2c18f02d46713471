"""How long a speaker passes for a person: the share not spotted within k exchanges, and features that speed up
spotting.

A segment of k exchanges tells only whether its speaker was spotted in (0, k] or later (Deriu et al. 2020, §3.3). The
non-parametric maximum-likelihood estimate of such data (Turnbull 1974) is isotonic regression of the spotted share, in
closed form. Cox's model, P(spotted within k | x) = 1 − exp(−Λ(k)·exp(βx)), is a binomial one with a complementary
log-log link and an intercept for each k, whose baseline Λ is held from falling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import (
    CR1_SOURCE,
    MIN_CLUSTERS,
    independent,
    small_sample_notes,
    too_few_clusters,
    with_t,
)
from parlai_humaneval.statistics.core.result import Result, called

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Seen:
    """The observations at each length, in rising order, and the index (``place``) of each observation's length."""

    lengths: Ints
    spotted: Floats
    total: Floats
    place: Ints


def seen_by_length(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Seen:
    """Counts by length; lengths whose weights are all 0 are left out."""
    exchanges, found = checked(k, spotted)
    weight = np.ones(found.size) if weights is None else np.asarray(weights, dtype=float).ravel()
    if weight.size != found.size:
        raise ValueError(f"{weight.size} weights for {found.size} observations: expected one per observation.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("weights must be numbers, 0 or more, with none missing.")
    counted = weight > 0
    lengths, place = np.unique(exchanges[counted], return_inverse=True)
    own, size = weight[counted], len(lengths)
    places = np.zeros(found.size, dtype=np.int64)
    places[counted] = place
    return Seen(
        lengths=lengths,
        spotted=np.bincount(place, weights=own * found[counted], minlength=size).astype(float),
        total=np.bincount(place, weights=own, minlength=size).astype(float),
        place=places,
    )


def checked(k: npt.ArrayLike, spotted: npt.ArrayLike) -> tuple[Ints, Floats]:
    """Check both and return them as arrays, or raise a ValueError."""
    exchanges, found = np.asarray(k, dtype=float).ravel(), np.asarray(spotted, dtype=float).ravel()
    if exchanges.size != found.size:
        raise ValueError(f"{exchanges.size} lengths k, but {found.size} values of spotted: expected one per segment.")
    if not (np.isfinite(exchanges).all() and (exchanges >= 1).all() and (exchanges % 1 == 0).all()):
        raise ValueError("k, the number of exchanges shown, must be a whole number, 1 or more, with none missing.")
    if not np.isin(found, (0.0, 1.0)).all():
        raise ValueError("spotted must be 1 if the speaker was taken for a bot and 0 otherwise, with none missing.")
    return exchanges.astype(np.int64), found


def isotonic_shares(spotted: npt.ArrayLike, total: npt.ArrayLike) -> Floats:
    """Shares ``spotted`` / ``total`` along the last axis, pooled so that they never fall; any number of rows at once."""
    above, below = _cumulative(spotted), _cumulative(total)
    sums = above[..., None, 1:] - above[..., :-1, None]  # … × beginning × end
    weights = below[..., None, 1:] - below[..., :-1, None]
    shares: Floats = np.full(sums.shape, np.inf)
    np.divide(sums, weights, out=shares, where=weights > 0)
    size = shares.shape[-1]
    begins, ends = np.arange(size)[:, None], np.arange(size)[None, :]
    shares = np.where(ends >= begins, shares, np.inf)
    least = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
    least = np.where((begins <= ends) & np.isfinite(least), least, -np.inf)
    found = least.max(axis=-2, initial=-np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def survival_curve(k: npt.ArrayLike, spotted: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> dict[int, float]:
    """Exchanges → share not spotted by then, at the lengths that were shown; empty without observations.

    Where a longer segment was spotted less often than a shorter one, the two are pooled (pool adjacent violators):
    once spotted, a model stays spotted.

    Args:
        k: exchanges shown, an entry a judged speaker.
        spotted: 1 where the speaker was taken for a bot, else 0.
        weights: how often each counts; None: once.

    Raises:
        ValueError: see :func:`seen_by_length`.

    Assumes that a speaker once spotted would stay so, and that who saw how much does not depend on the speaker.
    Source: Deriu et al. 2020, §3.3; Turnbull 1974.

    >>> k = [2, 2, 2, 3, 3, 3, 5, 5, 5] * 2
    >>> spotted = [0, 0, 1, 0, 1, 1, 1, 1, 1] + [0, 0, 0, 0, 0, 1, 0, 1, 1]
    >>> {length: round(share, 3) for length, share in survival_curve(k, spotted).items()}
    {2: 0.833, 3: 0.5, 5: 0.167}
    """
    seen = seen_by_length(k, spotted, weights)
    shares = isotonic_shares(seen.spotted, seen.total)
    return {int(length): 1 - float(share) for length, share in zip(seen.lengths, shares, strict=True)}


survival = survival_curve
"""The name by which the reports have it; the package has a module of that name, so that it offers the other."""


def _cumulative(values: npt.ArrayLike) -> Floats:
    rows = np.asarray(values, dtype=float)
    sums = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1))
    np.cumsum(rows, axis=-1, out=sums[..., 1:])
    return sums


def survival_with_bands(
    k: npt.ArrayLike,
    spotted: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    name: str = "not spotted",
    level: float = 0.95,
    seed: int = 0,
    draws: int = 1_000,
    cluster: str = "worker",
) -> list[Result]:
    """The survival at each length with a pointwise percentile interval of a bootstrap over whole clusters."""
    seen = seen_by_length(k, spotted)
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    if codes.size != seen.place.size:
        raise ValueError(f"{codes.size} clusters for {seen.place.size} observations: expected one per observation.")
    groups, size = len(names), len(seen.lengths)
    cells = codes * size + seen.place
    found = np.bincount(cells, weights=np.asarray(spotted, dtype=float).ravel(), minlength=groups * size)
    total = np.bincount(cells, minlength=groups * size)
    sums = (found.reshape(groups, size).astype(float), total.reshape(groups, size).astype(float))
    shares = isotonic_shares(seen.spotted, seen.total)
    low, high = (np.full(size, np.nan),) * 2
    notes: tuple[str, ...] = (too_few_clusters(cluster).replace(" and a p-value", ""),)
    if groups >= MIN_CLUSTERS and size:
        notes = small_sample_notes(groups, cluster)
        # One curve per resample; a length that was not drawn takes its neighbour's share.
        rng, curves, at_once = np.random.default_rng(seed), [], max(1, _CELLS_AT_ONCE // max(groups, size * size))
        for start in range(0, draws, at_once):
            drawn = rng.multinomial(groups, np.full(groups, 1 / groups), size=min(at_once, draws - start)).astype(float)
            curves.append(1 - isotonic_shares(drawn @ sums[0], drawn @ sums[1]))
        low, high = np.nanquantile(np.concatenate(curves), [0.5 - level / 2, 0.5 + level / 2], axis=0)
    words = f"isotonic regression, percentile bootstrap over {called(cluster)}s"
    how = words, "Deriu et al. 2020, §3.3; Turnbull 1974", independent(cluster), "once spotted, a model stays spotted"
    bands = []
    for length, share, of_length, a, b in zip(seen.lengths, shares, seen.total, low, high, strict=True):
        details = {"k": int(length), f"n_{cluster}s": groups, "seed": seed, "draws": draws}
        words = f"{name} within {length} exchange{'' if length == 1 else 's'}"
        point = Result.by(*how, name=words, n=int(of_length), level=level, estimate=1 - float(share), details=details)
        point = point.but(notes=notes)
        if b - a >= 1e-12:
            point = point.but(ci_low=float(a), ci_high=float(b))
        elif not np.isnan(a):
            note = f"no resample of {called(cluster)}s differs, so a band cannot be estimated"
            point = point.but(notes=(*notes, note))
        bands.append(point)
    return bands


_MOST_STEPS = 200
COLLINEAR = "one covariate is determined by the others, or determines the length: their effects cannot be separated"
NO_EVENTS = "all or none were spotted at every length: no effect can be estimated"
SOURCE = "Deriu et al. 2020, §4.2; Cox 1972"
METHOD = "Cox model of current-status data (binomial, complementary log-log link, an intercept for each k)"
CONSTANT = "it is the same in all observations: its effect cannot be estimated"
SEPARATED = "it separates exactly the spotted segments from the others: its effect is infinite and cannot be estimated"
_PREDICTORS = (-36.0, 3.6)  # Beyond these the chance to be spotted is 0 or 1 to the last digit
_TOO_FAR = 25.0
"""A standard error of that many standard deviations of a covariate: the likelihood is flat, as under separation."""


@dataclass(frozen=True)
class Likelihood:
    """At the maximum: coefficients (covariates, then blocks of lengths), the inverse of the expected and of the
    observed information (which the sandwich takes), the score of each observation by its linear predictor, and which
    are ``used``.
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
            raise ValueError(f"{ids.size} clusters for {self.used.size} observations: expected one per observation.")
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
    """The fit with one intercept a block of neighbouring lengths, as many blocks as the data and monotony allow."""
    lengths, place = np.unique(k, return_inverse=True)
    size = len(lengths)
    if not size:
        return BlockFit(None, None, {}, NO_EVENTS)
    found = np.bincount(place, weights=spotted, minlength=size)
    left = np.bincount(place, minlength=size) - found
    # Before the first spotted speaker Λ = 0 fits exactly, and infinity after the last that was not.
    first = int(np.flatnonzero(found)[0]) if found.any() else size
    last = int(np.flatnonzero(left)[-1]) if left.any() else -1
    baseline: dict[int, float | None] = dict.fromkeys(map(int, lengths))
    baseline.update(dict.fromkeys(map(int, lengths[:first]), 0.0))
    used = (place >= first) & (place <= last)
    if not used.any():
        return BlockFit(None, 0.0, baseline, NO_EVENTS)
    own, y, x = place[used] - first, spotted[used], table[used]
    width = x.shape[1]
    if (
        width
        and np.linalg.matrix_rank(x - pd.DataFrame(x).groupby(own).transform("mean").to_numpy(dtype=float)) < width
    ):
        return BlockFit(None, None, dict.fromkeys(map(int, lengths)), COLLINEAR)
    # A length at which none was spotted pulls the baseline down to that before it, and one at which all were up to the next.
    joined = (found[first + 1 : last + 1] == 0) | (left[first:last] == 0)
    borders = ~joined  # between a length and the next: True where a new block begins
    seen: set[bytes] = set()
    for _ in range(_MOST_STEPS):
        blocks = np.concatenate([[0], np.cumsum(borders)]).astype(np.int64)
        fitted = _fit(blocks[own], y, x)
        steps = np.diff(fitted.beta[width:])
        seen.add(borders.tobytes())
        if (steps < -1e-9).any():
            borders[np.flatnonzero(borders)[np.argmin(steps)]] = False
            continue
        by_length = np.bincount(own, weights=fitted.scores, minlength=len(blocks)).astype(float)
        parted = _to_part(by_length, borders, joined)
        if parted is None or parted.tobytes() in seen:
            break
        borders = parted
    hazards = np.exp(fitted.beta[width:][blocks])
    baseline.update(zip(map(int, lengths[first : last + 1]), map(float, hazards), strict=True))
    hazard = np.exp(np.clip(fitted.design @ fitted.beta, -500, 500))
    loglik = np.where(y == 1, np.log(-np.expm1(-np.maximum(hazard, 1e-300))), -hazard).sum()
    return BlockFit(replace(fitted, used=used), float(loglik), baseline)


def _fit(block: Ints, y: Floats, x: Floats) -> Likelihood:
    """Binomial model on the distinct rows, which are few where covariates are answers."""
    design = np.column_stack([x, np.eye(int(block.max()) + 1)[block]])
    frame: pd.DataFrame = pd.DataFrame(design)
    which = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy(dtype=np.int64)
    rows = design[np.unique(which, return_index=True)[1]]
    found, total = (np.bincount(which, weights=w, minlength=len(rows)).astype(float) for w in (y, np.ones(len(y))))
    beta, inverse = _reweighted(rows, found, total)
    hazard = np.clip(np.exp(np.clip(design @ beta, -500, 500)), 1e-300, 300.0)
    odds = hazard / np.expm1(hazard)
    scores, curvature = np.where(y == 1, odds, -hazard), np.where(y == 1, odds * (odds + hazard - 1), hazard)
    observed = np.linalg.pinv(design.T @ (curvature[:, None] * design), hermitian=True)
    return Likelihood(beta, inverse, observed, scores, design, np.ones(len(y), dtype=bool))


def _reweighted(rows: Floats, found: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Coefficients and inverse expected information, by iteratively reweighted least squares (Nelder & Wedderburn
    1972)."""
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


@dataclass(frozen=True)
class CoxFit:
    """The fit: log hazard ratios (None: cannot be estimated; above 0: spotted sooner), log-likelihood, ``baseline`` (k
    → Λ(k) where all covariates are 0; None: beyond all bounds), and β as results."""

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
            the others, and without clusters, are in their details.
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
    n, table = found.size, np.asarray(covariates, dtype=float)
    table = table.reshape(n, -1) if n else table.reshape(0, table.shape[-1] if table.ndim == 2 else 0)
    if not np.isfinite(table).all():
        raise ValueError("covariates must be numbers, with none missing: leave out observations that lack one.")
    labels = list(names) or [f"covariate {number}" for number in range(1, table.shape[1] + 1)]
    if len(labels) != table.shape[1]:
        raise ValueError(f"{len(labels)} names for {table.shape[1]} covariates: expected one per covariate.")
    varying = np.ptp(table, axis=0) > 1e-12 if n else np.zeros(table.shape[1], dtype=bool)
    table = table[:, varying]
    fit = fit_blocks(exchanges, found, table)
    flat = np.zeros(table.shape[1], dtype=bool)
    if fit.likelihood is not None:
        errors = np.sqrt(np.maximum(np.diag(fit.likelihood.inverse), 0.0))[: table.shape[1]]
        flat = errors * table.std(axis=0) > _TOO_FAR
    effects = []
    for label, varies, place in zip(labels, varying, np.cumsum(varying) - 1, strict=True):
        why = (fit.why or (SEPARATED if flat[place] else "")) if varies else CONSTANT
        effects.append(_effect(why, fit.likelihood, int(place), label, n, clusters or {}, level))
    return CoxFit([effect.estimate for effect in effects], fit.loglik, fit.baseline, effects, n)


def _effect(
    why: str,
    likelihood: Likelihood | None,
    place: int,
    label: str,
    n: int,
    clusters: Mapping[str, npt.ArrayLike],
    level: float,
) -> Result:
    name = f"effect of {label} on the log hazard of being spotted"
    assumed = "proportional hazards", "once spotted, a model stays spotted"
    base = Result.by(METHOD, SOURCE, *assumed, name=name, n=n, level=level)
    if not n:
        return base.but(p_value=1.0, notes=("no observations: nothing can be estimated",))
    if likelihood is None or why:
        return base.but(notes=(why or NO_EVENTS,))
    beta, error = float(likelihood.beta[place]), float(np.sqrt(likelihood.inverse[place, place]))
    p = float(2 * ndtr(-abs(beta / error)))
    details = {"hazard_ratio": float(np.exp(beta)), "se_independent": error, "p_independent": p}
    base = base.but(estimate=beta, details=details)
    if not clusters:
        half, alone = float(ndtri(0.5 + level / 2)) * error, "all observations are independent of each other"
        ends = {"ci_low": beta - half, "ci_high": beta + half}
        return base.but(**ends, statistic=beta / error, p_value=p, assumptions=(*assumed, alone))
    tested = []
    for cluster, ids in clusters.items():
        groups, covariance = likelihood.sandwich(ids)
        result = base.but(
            method=f"{METHOD}, CR1 t, clustered by {called(cluster)}",
            assumptions=(*assumed, independent(cluster)),
            source=f"{SOURCE}; {CR1_SOURCE}",
            details={**details, f"n_{cluster}s": groups},
        )
        error = float(np.sqrt(max(0.0, covariance[place, place])))
        if groups < MIN_CLUSTERS:
            result = result.but(notes=(too_few_clusters(cluster),))
        elif error < 1e-9:
            result = result.but(notes=(f"the variance between {called(cluster)}s cannot be estimated",))
        else:
            result = with_t(result, error, groups - 1).but(notes=small_sample_notes(groups, cluster))
        tested.append(result)
    others = {f"p_{name}": result.p_value for name, result in zip(clusters, tested, strict=True)}
    return tested[0].but(details={**tested[0].details, **others})
