"""The tests that were tried, each from the sums of workers to a p-value a study.

Every remedy is named as in the tables. Those of a :class:`~benchmarks.inference.sums.Gap` serve all comparisons of two;
rates near 0 or 1, several models and reused items have their own beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

import numpy as np
from scipy.special import betainc, betaln, fdtrc, ndtr, stdtr, stdtrit

from benchmarks.inference.crowd import Floats
from benchmarks.inference.sums import Crossed, Gap, Joint, Rate

DRAWS = 499
"""Random sign vectors of a Monte Carlo test."""
ALPHA = 0.05
_AT_ONCE = 250
_SMALL = 1e-12
_CLOSE = 1e-9
Signs = np.random.Generator
T = TypeVar("T")
Remedy = Callable[[T, np.random.Generator], Floats]


def t_p(estimate: Floats, error: Floats, df: Floats) -> Floats:
    """Two-sided p; 1 where nothing differs, 0 where workers agree on a difference."""
    t = np.abs(estimate) / np.maximum(error, _SMALL)
    return np.asarray(2 * stdtr(df, -np.where((error < _SMALL) & (np.abs(estimate) < _CLOSE), 0.0, t)))


def effective(counts: Floats) -> Floats:
    """(Σn)² / Σn²: how many workers of equal size weigh like these."""
    return np.asarray(counts.sum(axis=1) ** 2 / np.maximum((counts**2).sum(axis=1), 1))


def _residual_error(gap: Gap, power: float) -> Floats:
    """Root of the sum of squares of workers' residuals, each divided by (1 − leverage) to ``power``."""
    parts = [sign * arm.deviations(arm.mean) / np.maximum(1 - arm.weights, _SMALL) ** power for arm, sign in gap.signed]
    return np.asarray(np.sqrt((np.asarray(sum(parts)) ** 2).sum(axis=1)))


def _groups(gap: Gap) -> Floats:
    groups: Floats = (gap.counts > 0).sum(axis=1).astype(np.float64)
    return groups


def cr1_error(gap: Gap) -> Floats:
    groups = _groups(gap)
    return np.asarray(np.sqrt(groups / (groups - 1)) * _residual_error(gap, 0))


def cr1(gap: Gap, _: Signs) -> Floats:
    return t_p(gap.estimate, cr1_error(gap), _groups(gap) - 1)


def cr1_effective(gap: Gap, _: Signs) -> Floats:
    return t_p(gap.estimate, cr1_error(gap), np.maximum(effective(gap.counts) - 1, 1))


def cr2(gap: Gap, _: Signs) -> Floats:
    """Bell and McCaffrey 2002; degrees of freedom under independent answers."""
    diagonal, columns = np.zeros_like(gap.counts), []
    for arm, _sign in gap.signed:
        scale = 1 / np.sqrt(np.maximum(1 - arm.weights, _SMALL)) / arm.total
        diagonal = diagonal + scale**2 * arm.counts
        columns.append(scale * arm.counts / np.sqrt(arm.total))
    trace = (diagonal - np.asarray(sum(column**2 for column in columns))).sum(axis=1)
    squares = (diagonal**2).sum(axis=1) - 2 * sum((diagonal * column**2).sum(axis=1) for column in columns)
    squares = squares + sum((a * b).sum(axis=1) ** 2 for a in columns for b in columns)
    return t_p(gap.estimate, _residual_error(gap, 0.5), trace**2 / np.maximum(squares, _SMALL**2))


def cr3(gap: Gap, _: Signs) -> Floats:
    """The jackknife that leaves a worker out."""
    groups = _groups(gap)
    return t_p(gap.estimate, np.sqrt((groups - 1) / groups) * _residual_error(gap, 1), groups - 1)


def _parts(studies: int, workers: int, rng: Signs) -> Iterator[tuple[slice, Floats]]:
    """Some studies at a time, and random signs (workers × draws) for them."""
    for start in range(0, studies, _AT_ONCE):
        yield slice(start, start + _AT_ONCE), np.asarray(rng.integers(0, 2, (workers, DRAWS)) * 2.0 - 1.0)


def _reached(drawn: Floats, seen: Floats, middle: bool) -> Floats:
    """Share of draws (with the study itself) that reach what was seen; ``middle``: equal ones count half (mid-p)."""
    at_least = (drawn >= seen[:, None] * (1 - _CLOSE) - _CLOSE).sum(axis=1)
    if not middle:
        return np.asarray((at_least + 1) / (DRAWS + 1))
    above = (drawn > seen[:, None] * (1 + _CLOSE) + _CLOSE).sum(axis=1)
    return np.asarray(((at_least + above) / 2 + 0.5) / (DRAWS + 1))


def _flipped(parts: Floats, rng: Signs, middle: bool) -> Floats:
    scaled = parts / np.maximum(np.sqrt((parts**2).sum(axis=1, keepdims=True)), _SMALL)
    seen = np.abs(scaled.sum(axis=1))
    p = np.ones(len(parts))
    for part, signs in _parts(len(scaled), scaled.shape[1], rng):
        p[part] = _reached(np.abs(scaled[part] @ signs), seen[part], middle)
    return p


def sign_flip(gap: Gap, rng: Signs) -> Floats:
    """Canay, Romano and Shaikh 2017."""
    return _flipped(gap.contributions, rng, middle=False)


def sign_flip_middle(gap: Gap, rng: Signs) -> Floats:
    return _flipped(gap.contributions, rng, middle=True)


def saddlepoint(gap: Gap, _: Signs) -> Floats:
    """The sign-flip test by Lugannani and Rice 1980 with K(t) = Σ log cosh(t·d): no draws, and no ties."""
    parts = gap.contributions
    scale = np.sqrt((parts**2).sum(axis=1))
    d = parts / np.maximum(scale, _SMALL)[:, None]
    reached, most = np.abs(d.sum(axis=1)), np.abs(d).sum(axis=1)
    low, high = np.zeros(len(d)), np.full(len(d), 60.0)
    for _step in range(45):
        middle = (low + high) / 2
        below = (d * np.tanh(middle[:, None] * d)).sum(axis=1) < reached
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    t = (low + high) / 2
    z = np.abs(t[:, None] * d)
    k = (z + np.log1p(np.exp(-2 * z)) - np.log(2)).sum(axis=1)
    curvature = (d**2 / np.cosh(np.minimum(z, 300)) ** 2).sum(axis=1)
    r = np.sqrt(np.maximum(2 * (t * reached - k), 0))
    with np.errstate(all="ignore"):
        p = 2 * (ndtr(-r) + np.exp(-(r**2) / 2) / np.sqrt(2 * np.pi) * (1 / (t * np.sqrt(curvature)) - 1 / r))
    p = np.where(reached > most - _CLOSE, 2.0 ** (1.0 - (d != 0).sum(axis=1)), p)
    return np.asarray(np.clip(np.where(r < 1e-3, 1.0, p), 0, 1))


def wild_bootstrap(gap: Gap, rng: Signs) -> Floats:
    """Cameron, Gelbach and Miller 2008: null imposed, Rademacher weights, studentised by CR1."""
    contributions, studies = gap.contributions, len(gap.counts)
    weights = [arm.weights for arm, _sign in gap.signed]
    own = (contributions**2).sum(axis=1)
    seen = np.abs(gap.estimate) / np.maximum(_residual_error(gap, 0), _SMALL)
    p = np.ones(studies)
    for part, signs in _parts(studies, contributions.shape[1], rng):
        means = [added[part] @ signs for added in gap.under_null]
        squares = own[part, None] + np.zeros((1, DRAWS))
        for mean, weight in zip(means, weights, strict=True):
            squares = squares - 2 * mean * ((contributions * weight)[part] @ signs)
        for mean_a, weight_a in zip(means, weights, strict=True):
            for mean_b, weight_b in zip(means, weights, strict=True):
                squares = squares + mean_a * mean_b * (weight_a * weight_b)[part].sum(axis=1)[:, None]
        drawn = np.abs(np.asarray(sum(means))) / np.sqrt(np.maximum(squares, _SMALL**2))
        p[part] = _reached(drawn, seen[part], middle=False)
    return p


GAPS: Mapping[str, Remedy[Gap]] = {
    "CR1 t": cr1,
    "CR1 t, effective df": cr1_effective,
    "CR2, Bell–McCaffrey df": cr2,
    "CR3 t": cr3,
    "sign-flip": sign_flip,
    "sign-flip, mid-p": sign_flip_middle,
    "sign-flip, saddlepoint": saddlepoint,
    "wild cluster bootstrap": wild_bootstrap,
}


def _clopper_pearson(rate: Floats, n: Floats, null: float, middle: bool) -> Floats:
    """Two-sided p of ``rate`` of ``n`` answers, which need be no whole numbers."""
    k = n * rate
    at_least = np.where(k <= _CLOSE, 1.0, betainc(np.maximum(k, _CLOSE), np.maximum(n - k + 1, _CLOSE), null))
    above = np.where(n - k <= _CLOSE, 0.0, betainc(k + 1, np.maximum(n - k, _CLOSE), null))
    up, down = ((at_least + above) / 2, 1 - (at_least + above) / 2) if middle else (at_least, 1 - above)
    return np.asarray(np.minimum(1, 2 * np.minimum(up, down)))


def _korn_graubard_n(gap: Gap) -> Floats:
    """The number of independent answers with the same variance; where all agree, one a worker (and no more than all)."""
    rate, answers, groups = gap.estimate + gap.null, gap.counts.sum(axis=1), _groups(gap)
    variance = groups / (groups - 1) * _residual_error(gap, 0) ** 2
    n = np.where(variance > _SMALL**2, rate * (1 - rate) / np.maximum(variance, _SMALL**2), groups)
    return np.asarray(np.minimum(n, answers))


def _student_n(gap: Gap) -> Floats:
    """The same, less by the ratio of the normal and Student's quantile (Korn and Graubard 1998)."""
    answers, df = gap.counts.sum(axis=1), _groups(gap) - 1
    return np.asarray(_korn_graubard_n(gap) * (stdtrit(answers - 1, 1 - ALPHA / 2) / stdtrit(df, 1 - ALPHA / 2)) ** 2)


def wilson(gap: Gap, _: Signs) -> Floats:
    spread = np.sqrt(gap.null * (1 - gap.null) / _korn_graubard_n(gap))
    return np.asarray(2 * ndtr(-np.abs(gap.estimate) / spread))


def korn_graubard(gap: Gap, _: Signs) -> Floats:
    return _clopper_pearson(gap.estimate + gap.null, _korn_graubard_n(gap), gap.null, middle=False)


def korn_graubard_t(gap: Gap, _: Signs) -> Floats:
    return _clopper_pearson(gap.estimate + gap.null, _student_n(gap), gap.null, middle=False)


def korn_graubard_t_middle(gap: Gap, _: Signs) -> Floats:
    return _clopper_pearson(gap.estimate + gap.null, _student_n(gap), gap.null, middle=True)


LIKENESS = np.r_[0.0, np.geomspace(0.004, 0.96, 22)]
"""Intraclass correlations that are tried for the likeliest."""


def _log_likelihood(values: Floats, counts: Floats, mean: Floats, likeness: float) -> Floats:
    if not likeness:
        return np.asarray((values * np.log(mean) + (counts - values) * np.log1p(-mean)).sum(axis=1))
    a = mean * (1 / likeness - 1)
    b = (1 / likeness - 1) - a
    return np.asarray((betaln(values + a, counts - values + b) - betaln(a, b)).sum(axis=1))


def held_likeness(gap: Gap) -> Floats:
    """The likeliest intraclass correlation with the mean held at the rate, or at the null where the rate is beyond it.

    Beyond: farther from one half. Near-unanimous answers look as if they hardly varied; held at the null, the
    likelihood says how alike the answers of a worker must be to look so.
    """
    rate = gap.estimate + gap.null
    return _likeliest(gap, np.minimum(rate, gap.null) if gap.null >= 0.5 else np.maximum(rate, gap.null))


def _likeliest(gap: Gap, mean: Floats) -> Floats:
    """The intraclass correlation of greatest beta-binomial likelihood with this mean."""
    held = np.clip(mean, _CLOSE, 1 - _CLOSE)[:, None]
    found = [_log_likelihood(gap.first.values, gap.first.counts, held, likeness) for likeness in LIKENESS]
    return np.asarray(LIKENESS[np.argmax(found, axis=0)])


def _independent_n(gap: Gap, likeness: Floats) -> Floats:
    """As many independent answers weigh like those of the workers, whose answers correlate so."""
    counts = gap.first.counts
    return np.asarray(counts.sum(axis=1) ** 2 / (counts * (1 + (counts - 1) * likeness[:, None])).sum(axis=1))


def binomial_likeness(gap: Gap, _: Signs) -> Floats:
    """The binomial distribution of the answers that the likeness under the null leaves independent, mid-p."""
    n = _independent_n(gap, _likeliest(gap, np.full(len(gap.counts), gap.null)))
    return _clopper_pearson(gap.estimate + gap.null, n, gap.null, middle=True)


def korn_graubard_held(gap: Gap, _: Signs) -> Floats:
    """Korn–Graubard, mid-p, with no more answers than the likeness held at the null leaves independent."""
    n = np.minimum(_korn_graubard_n(gap), _independent_n(gap, held_likeness(gap)))
    return _clopper_pearson(gap.estimate + gap.null, n, gap.null, middle=True)


RATES: Mapping[str, Remedy[Gap]] = {
    **GAPS,
    "Wilson, effective n": wilson,
    "Korn–Graubard": korn_graubard,
    "Korn–Graubard, t df": korn_graubard_t,
    "Korn–Graubard, t df, mid-p": korn_graubard_t_middle,
    "binomial, likeness at the null, mid-p": binomial_likeness,
    "Korn–Graubard, likeness held, mid-p": korn_graubard_held,
}


def hotelling(joint: Joint, _: Signs) -> Floats:
    return _hotelling(joint, float(joint.counts.shape[1]))


def hotelling_effective(joint: Joint, _: Signs) -> Floats:
    return _hotelling(joint, effective(joint.counts))


def _hotelling(joint: Joint, groups: Floats | float) -> Floats:
    gaps, workers = joint.contrasts, joint.counts.shape[1]
    total, q = joint.counts.sum(axis=1)[:, None], gaps.shape[-1]
    mean = gaps.sum(axis=1) / total
    residuals = gaps - mean[:, None] * joint.counts[..., None]
    covariance = workers / (workers - 1) * np.einsum("sgi,sgj->sij", residuals, residuals) / total[..., None] ** 2
    safe = covariance + 1e-15 * np.eye(q)
    squared = np.einsum("si,si->s", mean, np.linalg.solve(safe, mean[..., None])[..., 0])
    df = np.maximum(groups - q, 1e-3)
    return np.asarray(fdtrc(q, df, np.maximum(df / (q * (groups - 1)) * squared, 0)))


def _joint_flip(values: Floats, rng: Signs) -> Floats:
    """Signs of whole workers are flipped; what is compared is the sum of the squares of all columns."""
    size = np.maximum(np.sqrt((values**2).sum(axis=(1, 2), keepdims=True)), _SMALL)
    scaled = np.ascontiguousarray(np.moveaxis(values / size, 2, 1))
    seen = (scaled.sum(axis=2) ** 2).sum(axis=1)
    p = np.ones(len(values))
    for part, signs in _parts(len(values), values.shape[1], rng):
        p[part] = _reached(((scaled[part] @ signs) ** 2).sum(axis=1), seen[part], middle=False)
    return p


def friedman_flip(joint: Joint, rng: Signs) -> Floats:
    return _joint_flip(joint.centred, rng)


def whitened_flip(joint: Joint, rng: Signs) -> Floats:
    gaps = joint.contrasts
    squares = np.einsum("sgi,sgj->sij", gaps, gaps) + _CLOSE * np.eye(gaps.shape[-1])
    return _joint_flip(gaps @ np.linalg.cholesky(np.linalg.inv(squares)), rng)


JOINTS: Mapping[str, Remedy[Joint]] = {
    "Hotelling (CR1)": hotelling,
    "Hotelling, effective df": hotelling_effective,
    "sign-flip, Σ of squares (Friedman)": friedman_flip,
    "sign-flip, d'(Σdd')⁻¹d": whitened_flip,
}


def _two_way(crossed: Crossed, *, overlap: bool) -> Floats:
    """Cameron, Gelbach and Miller 2011; without ``overlap`` both variances are added, and nothing taken off."""
    workers, items = crossed.by_worker, crossed.by_item
    variances = []
    for gap in (workers, items):
        groups = _groups(gap)
        variances.append(groups / (groups - 1) * _residual_error(gap, 0) ** 2)
    cells = crossed.wins - workers.first.mean[..., None] * crossed.counts
    both = (cells**2).sum(axis=(1, 2)) / workers.first.total[:, 0] ** 2
    variance = np.maximum(sum(variances) - (both if overlap else 0.0), np.maximum(*variances))
    fewer: Floats = np.minimum(_groups(workers), _groups(items))
    return t_p(workers.estimate, np.sqrt(variance), fewer - 1)


REUSED: Mapping[str, Remedy[Crossed]] = {
    "CR1 t by worker": lambda crossed, rng: cr1(crossed.by_worker, rng),
    "CR1 t by dialogue": lambda crossed, rng: cr1(crossed.by_item, rng),
    "sign-flip by worker": lambda crossed, rng: saddlepoint(crossed.by_worker, rng),
    "sign-flip by dialogue": lambda crossed, rng: saddlepoint(crossed.by_item, rng),
    "larger p of both, CR1": lambda crossed, rng: np.maximum(cr1(crossed.by_worker, rng), cr1(crossed.by_item, rng)),
    "larger p of both, sign-flip": lambda crossed, rng: np.maximum(
        saddlepoint(crossed.by_worker, rng), saddlepoint(crossed.by_item, rng)
    ),
    "two-way CR1 with a floor": lambda crossed, _: _two_way(crossed, overlap=True),
    "two-way CR1, nothing taken off": lambda crossed, _: _two_way(crossed, overlap=False),
}


def tried_on(sums: Gap | Joint | Crossed) -> dict[str, Callable[[np.random.Generator], Floats]]:
    """The p-values of every remedy for sums of this kind, by name; the first is CR1, which reports used to lead with."""
    if isinstance(sums, Joint):
        return {name: partial(remedy, sums) for name, remedy in JOINTS.items()}
    if isinstance(sums, Crossed):
        return {name: partial(remedy, sums) for name, remedy in REUSED.items()}
    return {name: partial(remedy, sums) for name, remedy in (RATES if isinstance(sums, Rate) else GAPS).items()}
