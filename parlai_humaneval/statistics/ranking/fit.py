"""Fitted strengths → results: each model and position against the mean, each pair, and whether all are equal.

If several workers judged a dialogue, tests cluster by worker and by dialogue: with 30 dialogues of each of four equal
models and 150 workers, a joint test by worker alone finds a difference in .25 of studies; these do in .04.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np
from pydantic import BaseModel
from scipy.special import expit, fdtrc, ndtr

from parlai_humaneval._util.arrays import Codes, Floats, Ints
from parlai_humaneval.statistics.core import clustered, sign_flip, two_way
from parlai_humaneval.statistics.core.multiplicity import corrected
from parlai_humaneval.statistics.core.result import Detail, Result
from parlai_humaneval.statistics.ranking.order import BestSet, ModelOrder, best_set, order_of


def contrasts(size: int) -> Floats:
    """Orthonormal columns that sum to 0: ``size`` effects from ``size`` − 1 parameters."""
    # As scipy.linalg.helmert, which takes longer to import than a report of one study to rank its models.
    steps = np.arange(size)
    rows: Floats = np.tril(np.ones((size, size)), -1) - np.diag(steps)
    columns: Floats = (rows[1:] / np.sqrt(steps[1:] * (steps[1:] + 1))[:, np.newaxis]).T
    return columns


@dataclass(frozen=True)
class Judged:
    """Comparisons one by one, of which several workers judged the same dialogue: what each adds to the error of the
    parameters, and its worker, dialogues (numbered alike on both sides) and models."""

    influence: Floats
    workers: Codes
    dialogues: tuple[Codes, Codes]
    models: tuple[Ints, Ints]

    @cached_property
    def covariances(self) -> tuple[Floats, Floats, Floats]:
        """Covariances of the parameters: by both, by worker, by dialogue."""
        return two_way.either_side_covariances(self.influence, self.workers, self.dialogues)

    def error(self, row: Floats) -> float:
        """The standard error of a combination of the parameters, not below that by workers or by dialogues alone."""
        return float(np.sqrt(max(row @ covariance @ row for covariance in self.covariances)))

    def about(self, of: Floats) -> tuple[Floats, float, dict[str, Detail]]:
        """Describes an estimate with the weights ``of`` for each model: how much of it each worker judged, degrees of
        freedom (the fewest effective clusters less one), and how many dialogues it has, with whether these are few."""
        first, second = self.models
        sizes = np.bincount(self.workers, weights=np.abs(of)[first] + np.abs(of)[second]).astype(float)
        sides = list(zip(self.models, self.dialogues, strict=True))
        shown = [
            np.concatenate([dialogues[models == model] for models, dialogues in sides])
            for model in np.flatnonzero(np.abs(of) > 0)
        ]
        numbers = [len(np.unique(codes)) for codes in shown]
        fewest = min(clustered.effective_clusters(np.bincount(codes)) for codes in shown)
        details: dict[str, Detail] = {
            "n_dialogues": sum(numbers),
            **two_way.few_dialogues(numbers, fewest, sum(numbers)),
        }
        return sizes, max(1.0, min(clustered.effective_clusters(sizes), fewest) - 1), details

    def joint(self, parameters: Floats, rows: Floats, df: float) -> tuple[float, float] | None:
        """F that all ``rows``, effects that sum to 0, of the parameters are 0, and its p."""
        basis = contrasts(len(rows)).T @ rows
        by_both, by_worker = (basis @ covariance @ basis.T for covariance in self.covariances[:2])
        values, vectors = np.linalg.eigh(by_worker)
        if values[0] <= values[-1] * 1e-9:
            return None
        white = vectors / np.sqrt(values)
        ratios, directions = np.linalg.eigh(white.T @ by_both @ white)
        scores, free = (basis @ parameters) @ white @ directions, len(values)
        statistic = float((scores**2 / np.maximum(ratios, 1.0)).sum()) / free
        return statistic, float(fdtrc(free, df, statistic))


Evaluate = Callable[[Floats], tuple[float, Floats, Floats]]
"""Parameters → log-likelihood, gradient, information (minus the second derivatives)."""

_STEPS, _SMALL = 60, 1e-9
_LARGEST = 12.0  # No finite data give such log-odds: the maximum lies at infinity


BELOW_ALL = "it was never chosen over another model, so its strength is below any number"


TOO_FEW_FOR_ALL = "too few raters to test so many models at once, clustered by rater and dialogue: see the pairs"


class Strengths(BaseModel, extra="forbid", frozen=True):
    """How strong each model is, free of the order of matches, with position effects taken out.

    All estimates are log-odds: of two models whose strengths differ by d, shown at equally good places, the
    first is chosen with odds exp(d). ``details`` of each hold the standard error and ``p_independent``, the p-value if
    every turn were independent of the others.

    Attributes:
        models: per model, its strength minus the mean of those that it is linked with (see :class:`ModelOrder`).
        pairs: per two linked models, the first minus the second, with Holm's correction over the pairs; ``details`` have
            ``chance``, with which the first is chosen over the second.
        positions: per position, its pull minus the mean of the positions; empty where positions are not modelled.
        equal: are all strengths equal? (joint test)
        no_position_effect: are all positions equal? None where positions are not modelled.
        tie: how easily two models tie (Rao–Kupper's log ν); None for models without ties.
        best: for three models or more, the leader and the models tied with it, with simultaneous intervals. None of
            two, where the pair says it, and where a model may be the best whose strength cannot be estimated.
        order: of the models, as far as the answers tell it, also where strengths are not finite.
        notes: what could not be estimated, and why.
    """

    models: tuple[Result, ...]
    pairs: tuple[Result, ...]
    positions: tuple[Result, ...] = ()
    equal: Result
    no_position_effect: Result | None = None
    tie: Result | None = None
    best: BestSet | None = None
    order: ModelOrder
    notes: tuple[str, ...] = ()


def strength_note(order: ModelOrder, model: str, strength: Result) -> str:
    """The models that a strength can be compared with if not all, or why there is none; otherwise empty."""
    return "; ".join(strength.notes) if strength.estimate is None else order.note(model)


def if_independent(test: Result) -> Result:
    """The test of a strength, or of two, as if every turn were independent of the others."""
    p = test.details.get("p_independent")
    return test.but(p_value=None if p is None else float(p), p_holm=None)


LEAD = "lead"
"""The detail of a pair without an estimate: how much more often the first of the two was chosen; below 0: the second."""


@dataclass(frozen=True)
class Fitted:
    """Maximum of a likelihood: parameters, their information, and the sums of scores of each cluster.

    ``blocks``: name of a block → rows that turn the parameters into its effects; ``known``: indices of the models in
    the block ``models``; ``met``: clusters × known models, how often each saw the model; ``judged``: where several
    workers judged the same dialogue.
    """

    parameters: Floats
    information: Floats
    cluster_scores: Floats
    blocks: Mapping[str, Floats]
    known: tuple[int, ...]
    n: int
    met: Floats
    judged: Judged | None = None


@dataclass(frozen=True)
class Asked:
    """What the data ask: ``over`` (how often the row's model was chosen over the column's) of models with ``names``,
    the words of results, and ``leads``: clusters × pairs, how much more often the first was chosen."""

    names: Sequence[str]
    over: Floats
    method: str
    assumptions: tuple[str, ...]
    source: str
    level: float
    cluster: str
    leads: Floats | None = None


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
    """The largest group of models that all won, directly or through others, over each other of the group; empty: there
    is none.

    ``over[i, j]``: how often i was chosen while j was not. Only within such a group are strengths finite (Ford 1957).
    """
    everyone = range(len(over))
    if len(everyone) > 1 and (over[~np.eye(len(over), dtype=bool)] > 0).all():
        return tuple(everyone)
    from scipy.sparse.csgraph import connected_components  # takes a tenth of a second

    _, labels = connected_components(over > 0, directed=True, connection="strong")
    sizes = np.bincount(labels)
    weights = np.bincount(labels, weights=over.sum(axis=1) + over.sum(axis=0))
    best = max(range(len(sizes)), key=lambda label: (sizes[label], weights[label], -label))
    return tuple(np.flatnonzero(labels == best).tolist()) if sizes[best] > 1 else ()


def other_groups(over: Floats, known: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups of several linked models that are not among ``known``."""
    groups, left = [], sorted(set(range(len(over))) - set(known))
    while len(left) > 1 and (linked := linked_models(over[np.ix_(left, left)])):
        groups.append(tuple(left[i] for i in linked))
        left = [i for i in left if i not in groups[-1]]
    return groups


def why_unknown(over: Floats, model: int) -> str:
    """The reason why a model has no finite strength."""
    wins, losses = over[model].sum(), over[:, model].sum()
    if wins and losses:
        return "no chain of wins links it with the other models in both directions"
    if losses:
        return BELOW_ALL
    above = "no other model was ever chosen over it, so its strength is above any number"
    return above if wins else "it was never compared with another model"


def strengths_of(
    fit: Fitted,
    asked: Asked,
    places: Sequence[str],
    unknown: Mapping[int, str],
    others: Mapping[tuple[int, ...], Strengths] = MappingProxyType({}),
) -> Strengths:
    """All results of a fit, and of the fits of ``others``, groups that are linked with each other and not with the
    rest."""
    table, names, leads = Inference(fit, asked), asked.names, asked.leads
    place = {model: row for row, model in enumerate(fit.known)}
    rows, alone = fit.blocks["models"], np.eye(len(fit.known))
    table.keep_tests([*alone, *(a - b for a, b in combinations(alone, 2))])
    elsewhere: dict[int | tuple[int, int], Result] = {}
    for group, found in others.items():
        elsewhere.update(zip(group, found.models, strict=True))
        elsewhere.update(zip(combinations(group, 2), found.pairs, strict=True))
    models = [
        table.of_models(f"strength of {name}", alone[place[i]])
        if i in place
        else elsewhere.get(i) or table.none(f"strength of {name}", unknown[i])
        for i, name in enumerate(names)
    ]
    order = order_of(asked.over, names, [model.estimate for model in models])
    tested = []
    for number, (a, b) in enumerate(combinations(range(len(names)), 2)):
        name = f"{names[a]} over {names[b]}"
        if a in place and b in place:
            pair = table.of_models(name, alone[place[a]] - alone[place[b]])
            chance = None if pair.estimate is None else float(expit(pair.estimate))
            tested.append(pair.but(details={**pair.details, "chance": chance}))
        elif (a, b) in elsewhere:
            tested.append(elsewhere[a, b])
        else:
            why = "; ".join(f"{names[i]}: {unknown[i]}" for i in (a, b) if i not in place)
            tested.append(table.none(name, why, None if leads is None else leads[:, number]))
    pairs = tuple(corrected(tested))
    spots, tie = fit.blocks.get("positions"), fit.blocks.get("tie")
    no_effect = None if spots is None else table.joint("all positions are equal", spots)
    pulls = [] if spots is None else zip(places, spots, strict=True)
    has_best = len(names) > 2 and fit.known and {*unknown.values()} <= {BELOW_ALL}
    lacking = [
        f"The strength of {names[i]} cannot be estimated: {unknown[i]}."
        for i, model in enumerate(models)
        if model.estimate is None
    ]
    return Strengths(
        models=tuple(models),
        pairs=pairs,
        positions=tuple(table.effect(f"pull of position {p}", row) for p, row in pulls),
        equal=table.joint("all strengths are equal", rows, table.shares, leads),
        no_position_effect=no_effect,
        tie=None if tie is None else table.effect("log ν, how easily models tie", tie[0], tested=False),
        best=_best(table, models, pairs) if has_best else None,
        order=order,
        notes=(*lacking, *order.reasons()),
    )


def nothing_known(asked: Asked, n: int, clusters: int, unknown: Mapping[int, str], why: str) -> Strengths:
    """The result if no strength can be estimated."""
    nobody, no_model = np.zeros((clusters, 0)), {"models": np.zeros((0, 0))}
    empty = Fitted(np.zeros(0), np.zeros((0, 0)), nobody, no_model, (), n, nobody)
    found = strengths_of(empty, asked, (), {i: unknown.get(i, why) for i in range(len(asked.names))})
    notes = (f"No strength can be estimated: {why}.", *found.order.reasons())
    return found.model_copy(update={"notes": notes})


def _best(table: Inference, models: Sequence[Result], pairs: Sequence[Result]) -> BestSet:
    """Clustered by worker and dialogue, the tests of ``pairs`` decide; sign flips use workers alone."""
    fit, names, known, rows = table.fit, table.asked.names, list(table.fit.known), table.fit.blocks["models"]
    estimates, influence = np.full(len(names), np.nan), np.zeros((len(fit.cluster_scores), len(names)))
    met = np.zeros_like(influence)
    estimates[known], influence[:, known], met[:, known] = rows @ fit.parameters, table.influence @ rows.T, fit.met
    level, cluster = table.asked.level, table.asked.cluster
    found = best_set(estimates, influence, met, models=names, n=fit.n, level=level, cluster=cluster)
    if not any(map(two_way.is_by_both, pairs)):
        return found
    tested = [pair for pair in pairs if pair.estimate is not None]
    worse = {
        b if (pair.estimate or 0.0) > 0 else a
        for (a, b), pair in zip(combinations([names[model] for model in known], 2), tested, strict=True)
        if pair.p_decides is not None and pair.p_decides < 1 - found.level
    }
    order = [model.name for model in sorted(found.models, key=lambda result: (-(result.estimate or 0.0), result.name))]
    by_both = [model.but(name=names[place]) for place, model in enumerate(models) if model.estimate is not None]
    changes = {
        "together": tuple(name for name in order if name not in worse),
        "told": tuple(name for name in order if name in worse),
        "models": tuple(_simultaneous(by_both)),
        "pairs": tuple(_simultaneous(tested)),
    }
    return found.model_copy(update=changes)


def _simultaneous(results: Sequence[Result]) -> Iterator[Result]:
    """Results by Student's t with intervals that all hold together, by Bonferroni's inequality."""
    for result in results:
        df, error = (float(result.details.get(name) or 0.0) for name in ("df", "standard_error"))
        # Without df the answer is that by worker, as nothing differs.
        level = 1 - (1 - result.level) / len(results)
        yield result.but(**clustered.t_ends(result.estimate or 0.0, error, df, level)) if df else result


class Inference:
    """Interval and test by flipping the signs of the clusters' parts, and the covariance of independent turns.

    At the maximum each cluster adds A⁻¹·score to the error of the parameters, A being the information. At a hypothesis
    its part deviates by that and by its share of the answers times how far the estimate is from the hypothesis.
    """

    def __init__(self, fit: Fitted, asked: Asked) -> None:
        self.fit, self.asked = fit, asked
        self.groups = len(fit.cluster_scores)
        self.independent = np.linalg.inv(fit.information)
        self.influence = fit.cluster_scores @ self.independent
        self.shares = fit.met / np.where(fit.met.sum(axis=0) > 0, fit.met.sum(axis=0), 1)

    def _base(self, name: str) -> Result:
        asked, details = self.asked, {f"n_{self.asked.cluster}s": self.groups}
        how = (
            f"{asked.method}, {clustered.FLIPPED}, clustered by {asked.cluster}",
            f"{asked.source}; {sign_flip.SOURCE}",
        )
        assumed = (*asked.assumptions, clustered.independent(asked.cluster))
        return Result.by(*how, *assumed, name=name, n=self.fit.n, level=asked.level, details=details)

    def none(self, name: str, why: str, leads: Floats | None = None) -> Result:
        """No estimate."""
        base = self._base(name).but(p_value=None if self.fit.n else 1.0, notes=(f"cannot be estimated: {why}",))
        if leads is None or np.count_nonzero(leads) < clustered.MIN_CLUSTERS:
            return base
        return base.but(
            p_value=sign_flip.sign_flip_p_value(leads),
            method=f"{clustered.FLIPPED} of what showed both, clustered by {self.asked.cluster}",
            source=sign_flip.SOURCE,
            details={**base.details, LEAD: float(leads.sum())},
        )

    def of_models(self, name: str, models: Floats) -> Result:
        return self.effect(name, *self._combined(models), of=models)

    def keep_tests(self, combinations_of_models: Iterable[Floats]) -> None:
        """Have the tests of :meth:`of_models` at hand, computed together."""
        combined = [self._combined(models) for models in combinations_of_models]
        observed = (self._observed(row, weights) for row, weights in combined)
        clustered.keep_tests(observed, 0.0, self.asked.level)

    def _combined(self, models: Floats) -> tuple[Floats, Floats]:
        weights = np.abs(models) / np.abs(models).sum()
        return models @ self.fit.blocks["models"], self.shares @ weights

    def _observed(self, row: Floats, weights: Floats) -> clustered.Clusters:
        return clustered.Clusters(float(row @ self.fit.parameters), self.influence @ row, weights)

    def effect(
        self, name: str, row: Floats, weights: Floats | None = None, *, of: Floats | None = None, tested: bool = True
    ) -> Result:
        """One linear combination of the parameters, against 0, of the clusters' shares ``weights`` (None: of all
        answers)."""
        base, estimate = self._base(name), float(row @ self.fit.parameters)
        plain = float(np.sqrt(row @ self.independent @ row))
        alone: dict[str, Detail] = {"standard_error_independent": plain}
        if tested:
            alone["p_independent"] = float(2 * ndtr(-abs(estimate) / plain)) if plain > 0 else None
        base = base.but(estimate=estimate, details={**base.details, **alone})
        if self.groups < clustered.MIN_CLUSTERS:
            return base.but(notes=(clustered.too_few_clusters(self.asked.cluster),))
        observed = self._observed(row, self.shares.mean(axis=1) if weights is None else weights)
        by_worker = clustered.with_sign_flips(base, observed, 0.0 if tested else None, self.asked.cluster, None)
        judged = self.fit.judged  # where several workers judged the same: by dialogue, too
        if judged is None or (by_worker.ci_low is None and by_worker.p_value is None):
            return by_worker
        sizes, df, details = judged.about(np.ones(len(self.fit.known)) if of is None else of)
        error = judged.error(row)
        if not self._enough(judged) or error < clustered.NO_VARIANCE:
            return self._about_few(by_worker, details)
        p_by_worker = {} if by_worker.p_value is None else {"p_by_worker": by_worker.p_value}
        result = clustered.with_t(self._worded(by_worker, two_way.BY_BOTH), error, df, 0.0 if p_by_worker else None)
        result = result.but(notes=clustered.small_sample_notes(len(sizes), self.asked.cluster, sizes))
        return self._about_few(result, {**details, "df": df, "standard_error": error, **p_by_worker})

    @staticmethod
    def _enough(judged: Judged) -> bool:
        """Whether there are dialogues enough to say something of others."""
        return len(np.unique(np.concatenate(judged.dialogues))) >= clustered.MIN_CLUSTERS

    @staticmethod
    def _about_few(result: Result, details: dict[str, Detail]) -> Result:
        few = details.get(two_way.ABOUT)
        notes = (two_way.about_words(int(few)),) if few else ()
        return result.but(notes=(*result.notes, *notes), details={**result.details, **details})

    def _worded(self, result: Result, test: str) -> Result:
        return result.but(
            method=f"{self.asked.method}, {test}",
            assumptions=(*self.asked.assumptions, "comparisons without a common rater or dialogue are independent"),
            source=f"{self.asked.source}; {two_way.CROSSED_SOURCE}",
        )

    def joint(self, name: str, rows: Floats, shares: Floats | None = None, leads: Floats | None = None) -> Result:
        """Are all effects of a block 0? The length of the clusters' sum, in the metric of the information, under flips.

        ``leads``: those of pairs, which are tested where no effects are known.
        """
        base = self._base(name)
        if len(rows) < 2:
            if leads is not None and np.count_nonzero(leads.any(axis=1)) >= clustered.MIN_CLUSTERS:
                method = f"joint {clustered.FLIPPED} of what showed both, clustered by {self.asked.cluster}"
                note = "no two strengths can be estimated: the test asks which one was chosen more often"
                return base.but(p_value=sign_flip.joint_sign_flip_p(leads), method=method, notes=(note,))
            return base.but(p_value=1.0 if not self.fit.n else None, notes=("nothing to compare",))
        if self.groups < clustered.MIN_CLUSTERS:
            return base.but(notes=(clustered.too_few_clusters(self.asked.cluster),))
        own = self.shares.mean(axis=1, keepdims=True) if shares is None else shares
        parts = self.influence @ rows.T + own * (rows @ self.fit.parameters)
        if clustered.standard_error(parts.ravel()) < clustered.NO_VARIANCE:
            return base.but(p_value=1.0, notes=(f"the {self.asked.cluster}s do not distinguish any of them",))
        values, vectors = np.linalg.eigh(rows @ self.independent @ rows.T)
        kept = values > values.max() * 1e-9  # effects sum to 0
        scaled = parts @ (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        by_worker = base.but(
            statistic=float((scaled.sum(axis=0) ** 2).sum()),
            p_value=sign_flip.joint_sign_flip_p(scaled),
            method=f"{self.asked.method}, joint {clustered.FLIPPED}, clustered by {self.asked.cluster}",
            notes=clustered.small_sample_notes(self.groups, self.asked.cluster, self.fit.met.sum(axis=1)),
            details={**base.details, "df": len(rows) - 1},
        )
        judged = self.fit.judged
        if judged is None:
            return by_worker
        _, df, details = judged.about(np.ones(len(self.fit.known)))
        by_worker = self._about_few(by_worker, details)
        if not self._enough(judged):
            return by_worker
        tested = judged.joint(self.fit.parameters, rows, df)
        if tested is None:
            return by_worker.but(statistic=None, p_value=None, notes=(*by_worker.notes, TOO_FEW_FOR_ALL))
        details = {**by_worker.details, "p_by_worker": by_worker.p_value}
        result = self._worded(by_worker, f"two-way F, {two_way.OF_BOTH}")
        return result.but(statistic=tested[0], p_value=tested[1], details=details)
