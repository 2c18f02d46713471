"""Fitted strengths → results: each model and position against the mean, each pair, and whether all are equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict
from scipy.special import expit, ndtr

from parlai_humaneval.statistics import sign_flip
from parlai_humaneval.statistics.best_set import BestSet, best_set
from parlai_humaneval.statistics.clustered import (
    FLIPPED,
    MIN_CLUSTERS,
    NO_VARIANCE,
    Deviations,
    few_notes,
    standard_error,
    too_few,
    with_sign_flips,
)
from parlai_humaneval.statistics.correction import corrected
from parlai_humaneval.statistics.result import Detail, Result

Floats = npt.NDArray[np.float64]
Evaluate = Callable[[Floats], tuple[float, Floats, Floats]]
"""Parameters → log-likelihood, gradient, information (minus the second derivatives)."""

_STEPS, _SMALL = 60, 1e-9
_LARGEST = 12.0
"""No finite data give such log-odds: the maximum lies at infinity."""


BELOW_ALL = "it was never chosen over another model, so that its strength lies below any number"


class Strengths(BaseModel):
    """How strong each model is, free of the order of matches, with position effects taken out.

    All estimates are log-odds: of two models whose strengths differ by d, shown at equally good places, the
    first is chosen with odds exp(d). ``details`` of each hold the standard error and ``p_independent``, the p-value if
    every turn were independent of the others.

    Attributes:
        models: per model, its strength minus the mean of those that can be estimated.
        pairs: per two models, the first minus the second, with Holm's correction over the pairs; ``details`` have
            ``chance``, with which the first is chosen over the second.
        positions: per position, its pull minus the mean of the positions; empty where positions are not modelled.
        equal: are all strengths equal? (joint test)
        no_position_effect: are all positions equal? None where positions are not modelled.
        tie: how easily two models tie (Rao–Kupper's log ν); None for models without ties.
        best: of three models or more, which leads and which cannot be told from it, with simultaneous intervals. None of
            two, where the pair says it, and where a model may be the best whose strength cannot be estimated.
        notes: what could not be estimated, and why.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[Result, ...]
    pairs: tuple[Result, ...]
    positions: tuple[Result, ...] = ()
    equal: Result
    no_position_effect: Result | None = None
    tie: Result | None = None
    best: BestSet | None = None
    notes: tuple[str, ...] = ()


def if_independent(test: Result) -> Result:
    """The test of a strength, or of two, as if every turn were independent of the others."""
    p = test.details.get("p_independent")
    return test.but(p_value=None if p is None else float(p), p_holm=None)


@dataclass(frozen=True)
class Fitted:
    """Maximum of a likelihood: parameters, their information, and the sums of scores of each cluster.

    ``names``: of all models; ``blocks``: name of a block → rows that turn the parameters into its effects (models that
    could be estimated, positions, tie); ``known``: indices of the models in the block ``models``. ``met``: clusters ×
    known models, how often each cluster saw the model.
    """

    parameters: Floats
    information: Floats
    cluster_scores: Floats
    blocks: Mapping[str, Floats]
    known: tuple[int, ...]
    n: int
    met: Floats


@dataclass(frozen=True)
class Words:
    """What the results say of themselves."""

    method: str
    assumptions: tuple[str, ...]
    source: str
    level: float
    cluster: str


def maximum(evaluate: Evaluate, start: Floats, possible: Callable[[Floats], bool] = lambda _: True) -> Floats | None:
    """Newton's method with halved steps; None where there is no maximum (the data separate the models)."""
    at = start
    value, gradient, information = evaluate(at)
    for _ in range(_STEPS):
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        gain = float(gradient @ step)
        if gain < _SMALL:  # one more step, whose error is the square of it
            return at + step if np.abs(at).max(initial=0) < _LARGEST and possible(at + step) else None
        size = 1.0
        while size > 1e-6:
            tried = at + size * step
            if possible(tried):
                new_value, new_gradient, new_information = evaluate(tried)
                if new_value >= value - 1e-12 * abs(value):
                    break
            size /= 2
        else:
            return None
        at, value, gradient, information = tried, new_value, new_gradient, new_information
    return None


def linked_models(over: Floats) -> tuple[int, ...]:
    """The largest group of models that all won, directly or through others, over each other of the group.

    ``over[i, j]``: how often i was chosen while j was not. Only within such a group do finite strengths exist
    (Ford 1957; Hunter 2004, assumption 1). Empty where no two models are linked so.
    """
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(over > 0, directed=True, connection="strong")
    sizes = np.bincount(labels)
    weights = np.bincount(labels, weights=over.sum(axis=1) + over.sum(axis=0))
    best = max(range(len(sizes)), key=lambda label: (sizes[label], weights[label], -label))
    return tuple(np.flatnonzero(labels == best).tolist()) if sizes[best] > 1 else ()


def why_unknown(over: Floats, model: int) -> str:
    """Why a model has no finite strength."""
    wins, losses = over[model].sum(), over[:, model].sum()
    if not wins and not losses:
        return "it was never compared with another model"
    if not wins:
        return BELOW_ALL
    if not losses:
        return "no other model was ever chosen over it, so that its strength lies above any number"
    return "no chain of wins links it with the other models in both directions"


def contrasts(size: int) -> Floats:
    """Orthonormal columns that sum to 0: ``size`` effects from ``size`` − 1 parameters."""
    from scipy.linalg import helmert

    return np.asarray(helmert(size), dtype=float).T if size > 1 else np.zeros((size, 0))


def strengths_of(
    fit: Fitted, names: Sequence[str], places: Sequence[str], unknown: Mapping[int, str], words: Words
) -> Strengths:
    """All results of a fit. ``unknown``: model → why it has no strength."""
    table = _Inference(fit, words)
    place = {model: row for row, model in enumerate(fit.known)}
    rows, alone = fit.blocks["models"], np.eye(len(fit.known))
    models = [
        table.of_models(f"strength of {name}", alone[place[i]])
        if i in place
        else table.none(f"strength of {name}", unknown[i])
        for i, name in enumerate(names)
    ]
    pairs = []
    for a, b in combinations(range(len(names)), 2):
        name = f"{names[a]} over {names[b]}"
        if a in place and b in place:
            pairs.append(_with_chance(table.of_models(name, alone[place[a]] - alone[place[b]])))
        else:
            lacking = [i for i in (a, b) if i not in place]
            pairs.append(table.none(name, "; ".join(f"{names[i]}: {unknown[i]}" for i in lacking)))
    spots = fit.blocks.get("positions")
    tie = fit.blocks.get("tie")
    return Strengths(
        models=tuple(models),
        pairs=tuple(corrected(pairs)),
        positions=()
        if spots is None
        else tuple(table.effect(f"pull of position {p}", row) for p, row in zip(places, spots, strict=True)),
        equal=table.joint("all strengths are equal", rows, table.shares),
        no_position_effect=None if spots is None else table.joint("all positions are equal", spots),
        tie=None if tie is None else table.effect("log ν, how easily models tie", tie[0], tested=False),
        best=_best(table, names) if len(names) > 2 and fit.known and {*unknown.values()} <= {BELOW_ALL} else None,
        notes=tuple(f"The strength of {names[i]} cannot be estimated: {unknown[i]}." for i in unknown),
    )


def nothing_known(
    names: Sequence[str], n: int, unknown: Mapping[int, str], why: str, words: Words, *, clusters: int
) -> Strengths:
    """Where no strength at all can be estimated."""
    nobody, no_model = np.zeros((clusters, 0)), {"models": np.zeros((0, 0))}
    empty = Fitted(np.zeros(0), np.zeros((0, 0)), nobody, no_model, (), n, nobody)
    reasons = {i: unknown.get(i, why) for i in range(len(names))}
    found = strengths_of(empty, names, (), reasons, words)
    return found.model_copy(update={"notes": (f"No strength can be estimated: {why}.",)})


def _best(table: _Inference, names: Sequence[str]) -> BestSet:
    fit = table.fit
    estimates, influence = np.full(len(names), np.nan), np.zeros((len(fit.cluster_scores), len(names)))
    met, known = np.zeros_like(influence), list(fit.known)
    rows = fit.blocks["models"]
    estimates[known] = rows @ fit.parameters
    influence[:, known] = table.influence @ rows.T
    met[:, known] = fit.met
    words = table.words
    return best_set(estimates, influence, met, models=names, n=fit.n, level=words.level, cluster=words.cluster)


def _with_chance(result: Result) -> Result:
    chance = None if result.estimate is None else float(expit(result.estimate))
    return result.but(details={**result.details, "chance": chance})


class _Inference:
    """Interval and test by flipping the signs of the clusters' parts; the covariance of independent turns beside it.

    At the maximum each cluster adds A⁻¹·score to the error of the parameters, A being the information. At a hypothesis
    its part deviates by that and by its share of the answers times how far the estimate is from the hypothesis.
    """

    def __init__(self, fit: Fitted, words: Words) -> None:
        self.fit, self.words = fit, words
        self.groups = len(fit.cluster_scores)
        self.independent = np.linalg.inv(fit.information)
        self.influence = fit.cluster_scores @ self.independent
        self.shares = fit.met / np.where(fit.met.sum(axis=0) > 0, fit.met.sum(axis=0), 1)

    def _base(self, name: str) -> Result:
        details: dict[str, Detail] = {f"n_{self.words.cluster}s": self.groups}
        return Result(
            name=name,
            level=self.words.level,
            n=self.fit.n,
            method=f"{self.words.method}, {FLIPPED}, clustered by {self.words.cluster}",
            assumptions=(*self.words.assumptions, f"{self.words.cluster}s are independent of each other"),
            source=f"{self.words.source}; {sign_flip.SOURCE}",
            details=details,
        )

    def none(self, name: str, why: str) -> Result:
        p = None if self.fit.n else 1.0
        return self._base(name).but(p_value=p, notes=(f"cannot be estimated: {why}",))

    def of_models(self, name: str, models: Floats) -> Result:
        """A combination of the strengths, against 0; it rests on the answers that showed these models."""
        parts = np.abs(models) / np.abs(models).sum()
        return self.effect(name, models @ self.fit.blocks["models"], self.shares @ parts)

    def effect(self, name: str, row: Floats, weights: Floats | None = None, *, tested: bool = True) -> Result:
        """One linear combination of the parameters, against 0. ``weights``: the clusters' shares; None: of all answers."""
        base, estimate = self._base(name), float(row @ self.fit.parameters)
        plain = float(np.sqrt(row @ self.independent @ row))
        alone: dict[str, Detail] = {"standard_error_independent": plain}
        if tested:
            alone["p_independent"] = float(2 * ndtr(-abs(estimate) / plain)) if plain > 0 else None
        base = base.but(estimate=estimate, details={**base.details, **alone})
        if self.groups < MIN_CLUSTERS:
            return base.but(notes=(too_few(self.words.cluster),))
        parts = self.influence @ row
        if standard_error(parts) < NO_VARIANCE:
            note = f"the {self.words.cluster}s do not differ, so that the variance between them cannot be estimated"
            return base.but(notes=(note,))
        shares = self.shares.mean(axis=1) if weights is None else weights
        return with_sign_flips(
            base, Deviations(estimate, parts, shares), 0.0 if tested else None, self.words.cluster, None
        )

    def joint(self, name: str, rows: Floats, shares: Floats | None = None) -> Result:
        """Are all effects of a block 0? The length of the clusters' sum, in the metric of the information, under flips.

        ``shares``: clusters × effects, on how many of the answers to each the cluster's part rests; None: as of all.
        """
        base = self._base(name)
        if len(rows) < 2:
            return base.but(p_value=1.0 if not self.fit.n else None, notes=("nothing to compare",))
        if self.groups < MIN_CLUSTERS:
            return base.but(notes=(too_few(self.words.cluster),))
        own = self.shares.mean(axis=1, keepdims=True) if shares is None else shares
        parts = self.influence @ rows.T + own * (rows @ self.fit.parameters)
        if standard_error(parts.ravel()) < NO_VARIANCE:
            return base.but(notes=(f"the {self.words.cluster}s do not differ",))
        values, vectors = np.linalg.eigh(rows @ self.independent @ rows.T)
        kept = values > values.max() * 1e-9  # effects sum to 0
        scaled = parts @ (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        return base.but(
            statistic=float((scaled.sum(axis=0) ** 2).sum()),
            p_value=sign_flip.joint_sign_flip_p(scaled),
            method=f"{self.words.method}, joint {FLIPPED}, clustered by {self.words.cluster}",
            notes=few_notes(self.groups, self.words.cluster, self.fit.met.sum(axis=1)),
            details={**base.details, "df": len(rows) - 1},
        )
