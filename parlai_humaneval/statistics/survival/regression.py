"""What makes a speaker be spotted sooner: Cox's model for current-status data (Deriu et al. 2020, §3.3 and §4.2).

P(spotted within k | x) = 1 − exp(−Λ(k)·exp(βx)). The likelihood is that of a binomial model with a complementary
log-log link and an intercept for each k, which gives the same estimates as programs for interval-censored Cox models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from parlai_humaneval.statistics.clustered import CR1_SOURCE, MIN_CLUSTERS, few_notes, too_few
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.survival.cox_baseline import NO_EVENTS, Likelihood, fit_blocks
from parlai_humaneval.statistics.survival.curve import Floats, checked

SOURCE = "Deriu et al. 2020, §4.2; Cox 1972"
METHOD = "Cox model of current-status data (binomial, complementary log-log link, an intercept for each k)"
CONSTANT = "it is the same in all observations: its effect cannot be estimated"
SEPARATED = "it separates who was spotted from who was not: its effect is beyond all bounds and cannot be estimated"
_TOO_FAR = 25.0
"""A standard error of that many standard deviations of a covariate: the likelihood is flat, as under separation."""


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
    """Which covariates the likelihood hardly bounds."""
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
        return base.model_copy(update={"p_value": 1.0, "notes": ("no observations: nothing can be estimated",)})
    if likelihood is None or why:
        return base.model_copy(update={"notes": (why or NO_EVENTS,)})
    beta, error = float(likelihood.beta[place]), float(np.sqrt(likelihood.inverse[place, place]))
    details = {"hazard_ratio": float(np.exp(beta)), "se_independent": error, "p_independent": _normal_p(beta / error)}
    base = base.model_copy(update={"estimate": beta, "details": details})
    tested = [_clustered(base, likelihood, place, name, ids) for name, ids in (clusters or {}).items()]
    if not tested:
        half = float(ndtri(0.5 + level / 2)) * error
        return base.model_copy(
            update={
                "ci_low": beta - half,
                "ci_high": beta + half,
                "statistic": beta / error,
                "p_value": details["p_independent"],
                "assumptions": (*base.assumptions, "all observations are independent of each other"),
            }
        )
    others = {f"p_{name}": result.p_value for name, result in zip(clusters or {}, tested, strict=True)}
    return tested[0].model_copy(update={"details": {**tested[0].details, **others}})


def _clustered(base: Result, likelihood: Likelihood, place: int, cluster: str, ids: npt.ArrayLike) -> Result:
    """With the sandwich of the scores of clusters."""
    groups, covariance = likelihood.sandwich(ids)
    named = {
        "method": f"{METHOD}, CR1 t, clustered by {cluster}",
        "assumptions": (*base.assumptions, f"{cluster}s are independent of each other"),
        "source": f"{SOURCE}; {CR1_SOURCE}",
        "details": {**base.details, f"n_{cluster}s": groups},
    }
    if groups < MIN_CLUSTERS:
        return base.model_copy(update={**named, "notes": (too_few(cluster),)})
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
            "notes": few_notes(groups, cluster),
        }
    )


def _normal_p(z: float) -> float:
    return float(2 * ndtr(-abs(z)))
