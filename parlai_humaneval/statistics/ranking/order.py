"""The ranking of models: the order that the answers support, the leader and its ties, and how firm the ranking is.

A model ranks above another where it was chosen over it, directly or through other models, and the other never was.
Models that were each chosen over the other so are linked: only their strengths compare as numbers (Ford 1957; Hunter
2004).

The set of the best rests on how much each worker adds to each estimate. If two models are equal the signs of the
workers' parts are arbitrary. They are flipped for all pairs together, and the largest difference of each flip is what
they must exceed.

TrueSkill forgets: a few hundred dialogues on, nothing of an earlier one is left in the differences of the scores. So they
vary with the order of dialogues however many there are (order sensitivity, no sampling interval), and replicates play at
most ``MEMORY`` dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, independent, small_sample_notes, too_few_clusters
from parlai_humaneval.statistics.core.formatting import listed, sentence
from parlai_humaneval.statistics.core.ranks import correlation, kendall_tau_b, rank_range, ranks_of, tau_b_of_pairs
from parlai_humaneval.statistics.core.result import Result, called, check_level
from parlai_humaneval.statistics.core.rows import Column, Count, Row
from parlai_humaneval.statistics.core.sign_flip import all_signs
from parlai_humaneval.statistics.ranking import trueskill

EQUAL = 1e-6  # Strengths that differ by less are equal: they are no more exact
NAMED = 3  # As many relations between groups are worded


class ModelOrder(BaseModel, extra="forbid", frozen=True):
    """The order of models, as far as answers tell it: ``groups`` of linked models, best first; ``above``: pairs of
    indices of groups, of which the first ranks above the second; ``tied``: two names of one group whose strengths are
    equal, or unknown.
    """

    groups: tuple[tuple[str, ...], ...]
    above: frozenset[tuple[int, int]]
    tied: frozenset[frozenset[str]] = frozenset()

    @property
    def names(self) -> list[str]:
        """All models, best first as far as they can be ordered."""
        return [name for group in self.groups for name in group]

    def group_of(self, model: str) -> tuple[str, ...]:
        """The model's group: the models linked with it, and itself."""
        return next(group for group in self.groups if model in group)

    def is_above(self, model: str, other: str) -> bool:
        """Whether ``model`` ranks above ``other``."""
        a, b = (self.groups.index(self.group_of(name)) for name in (model, other))
        if a != b:
            return (a, b) in self.above
        group = self.groups[a]
        return group.index(model) < group.index(other) and frozenset((model, other)) not in self.tied

    def rank(self, model: str) -> int:
        """One more than the number of models above it."""
        return 1 + sum(self.is_above(other, model) for other in self.names if other != model)

    def first(self, among: Sequence[str]) -> list[str]:
        """The top models of ``among``: a single one leads, several do not."""
        return [model for model in among if not any(self.is_above(other, model) for other in among if other != model)]

    def unordered(self, models: Sequence[str]) -> list[tuple[str, ...]]:
        """The groups of ``models`` where they are several, none of which ranks above another; else nothing."""
        places = sorted({self.groups.index(self.group_of(name)) for name in models})
        return [self.groups[place] for place in places] if len(places) > 1 else []

    def note(self, model: str) -> str:
        """“among a and b”: with whom its strength can be compared; empty where that is with all."""
        group = self.group_of(model)
        return f"among {listed(group)}" if 1 < len(group) < len(self.names) else ""

    def reasons(self) -> Iterator[str]:
        """Explain why strengths do not compare all models, and which groups cannot be ordered."""
        places, above, below = range(len(self.groups)), *({pair[place] for pair in self.above} for place in (0, 1))
        single = {a for a in places if len(self.groups[a]) == 1 and not (a in above and a in below)}
        pairs = [(a, b) for a, b in combinations(places, 2) if not single & {a, b}]
        implied = {(a, b) for a, c in self.above for also, b in self.above if also == c}
        ordered = [pair for pair in pairs if pair in self.above and pair not in implied]
        for a, b in ordered[:NAMED]:
            better, worse = self.groups[a], self.groups[b]
            never, rank = ("was" if len(worse) == 1 else "were"), ("ranks" if len(better) == 1 else "rank")
            yield (
                f"{listed(worse)} {never} never chosen over {listed(better, 'or')}, directly or through other models, so "
                f"{listed(better)} {rank} higher, by a margin that cannot be estimated."
            )
        apart = [(a, b) for a, b in pairs if (a, b) not in self.above]
        for a, b in apart[:NAMED]:
            yield sentence(not_compared([self.groups[a], self.groups[b]]))
        more = len(ordered[NAMED:]) + len(apart[NAMED:])
        if more:
            yield f"The same is true of {more} other pairs of groups, because strengths can be compared only within a group."


def not_compared(groups: Sequence[Sequence[str]]) -> str:
    """“no answer ranks ada above or below bob and cyd, directly or through other models”."""
    if len(groups) == 2:
        return (
            f"no answer ranks {listed(groups[0])} above or below {listed(groups[1])}, directly or through other models"
        )
    named = "; ".join(listed(group) for group in groups)
    return f"no answer ranks any of these above another, directly or through other models: {named}"


def order_of(over: Floats, names: Sequence[str], strengths: Sequence[float | None]) -> ModelOrder:
    """The order of models that the answers support."""
    # Whether the row's model was chosen over the column's, directly or through others; each reaches itself.
    reach = (np.asarray(over) > 0) | np.eye(len(over), dtype=bool)
    for _ in range(max(1, len(over).bit_length())):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    reach = np.asarray(reach)
    linked, higher = reach & reach.T, reach & ~reach.T
    better, worse = higher.sum(axis=0), higher.sum(axis=1)
    tops = sorted({int(np.flatnonzero(row)[0]) for row in linked}, key=lambda i: (better[i], -worse[i], names[i]))
    down = [np.inf if strength is None else -strength for strength in strengths]
    members = [sorted(np.flatnonzero(linked[i]).tolist(), key=lambda j: (down[j], names[j])) for i in tops]
    return ModelOrder(
        groups=tuple(tuple(names[j] for j in group) for group in members),
        above=frozenset((a, b) for a, i in enumerate(tops) for b, j in enumerate(tops) if higher[i, j]),
        tied=frozenset(
            frozenset((names[i], names[j]))
            for group in members
            for i, j in combinations(group, 2)
            if np.inf in (down[i], down[j]) or abs(down[i] - down[j]) <= EQUAL
        ),
    )


METHOD = "step-down max-t over all pairs, signs flipped"
BEST_SOURCE = "Romano & Wolf 2005; Canay, Romano & Shaikh 2017; sets of the best: Hsu 1981; Hansen, Lunde & Nason 2011"
NO_INTERVAL = "no simultaneous interval: too few effective clusters, or they do not differ"
DRAWS = 4_999
EXACT_CLUSTERS = DRAWS.bit_length()
"""Up to this many, there are fewer assignments of signs than draws, so all are tried."""
_CELLS = 4_000_000
_SMALL = 1e-9


class BestSet(BaseModel, extra="forbid", frozen=True):
    """The ``leader``, and the models tied with it (``together``, best first): in at least 95 of 100 studies (``level``)
    no model is left out that is as good as the best. The ``told`` ones are significantly worse than some other one; of
    the ``unknown`` nothing is said. Intervals of ``models`` hold together; ``pairs`` have p by itself and, by steps, as
    a family.
    """

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
    """The best of several models and those tied with it, from what each worker adds to the estimates.

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
    values, parts = np.asarray(estimates, dtype=float), np.asarray(influence, dtype=float)
    weights = np.asarray(sizes, dtype=float)
    if values.ndim != 1 or parts.ndim != 2 or parts.shape[1] != len(values):
        raise ValueError("influence must be a table of clusters × models, with a column for each estimate.")
    if weights.shape == (len(parts),):
        weights = np.repeat(weights[:, None], len(values), axis=1)
    if weights.shape != parts.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sizes must be 0 or more: one number per cluster, or one per cluster and model.")
    if np.isinf(values).any() or not np.isfinite(parts[:, ~np.isnan(values)]).all():
        raise ValueError("An estimate or an influence is not finite: give nan for an unknown estimate.")
    names = [f"model {i + 1}" for i in range(len(values))] if models is None else [str(name) for name in models]
    if len(names) != len(values) or len(set(names)) < len(names):
        raise ValueError("models must have a different name for each estimate.")
    known = np.flatnonzero(~np.isnan(values))
    order = sorted(known.tolist(), key=lambda i: (values[i] if lower_is_better else -values[i], names[i]))
    total = round(float(np.nansum(weights))) if n is None else n
    how = f"{METHOD} by {called(cluster)}", BEST_SOURCE, independent(cluster), "their errors are symmetric about 0"
    base = Result.by(*how, name="", n=total, level=level, details={f"n_{cluster}s": len(parts)})
    notes = small_sample_notes(len(parts), cluster, weights[:, known].sum(axis=1)) if len(known) else ()
    enough = len(parts) >= MIN_CLUSTERS
    shares = weights / np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), 1)
    ends = [(i, j) for i, j in combinations(known.tolist(), 2)]
    family = _Family(
        np.array([values[i] - values[j] for i, j in ends]),
        np.stack([parts[:, i] - parts[:, j] for i, j in ends], axis=1) if ends else np.zeros((len(parts), 0)),
        np.stack([(shares[:, i] + shares[:, j]) / 2 for i, j in ends], axis=1) if ends else np.zeros((len(parts), 0)),
    )
    alone = _Family(values[known], parts[:, known], shares[:, known])
    pairs: list[Result] = []
    of_models: list[Result] = []
    if enough and len(known):
        at_null = family.influence + family.shares * family.estimates
        (observed, of_pairs), (_, of_each) = _flipped((at_null, alone.influence), seed)
        words = base.but(method=base.method.replace(METHOD, "simultaneous interval, max-t, signs flipped"))
        of_models = alone.with_intervals(of_each, [names[i] for i in known], words)
        if ends:
            each = family.p_values(observed, of_pairs)
            # From the clearest on: each has to exceed the largest of those that are not clearer.
            clearest = np.argsort(-observed, kind="stable")
            largest = np.maximum.accumulate(of_pairs[:, clearest[::-1]], axis=1)[:, ::-1]
            stepped = np.empty(len(clearest))
            stepped[clearest] = np.maximum.accumulate(family.p_values(observed[clearest], largest))
            details = {**base.details, "family_tests": len(clearest), "correction": METHOD}
            tested = family.with_intervals(
                of_pairs, [f"{names[i]} over {names[j]}" for i, j in ends], base.but(details=details)
            )
            pairs = [
                pair.but(statistic=float(t), p_value=float(p), p_holm=float(p_stepped))
                for pair, t, p, p_stepped in zip(tested, observed, each, stepped, strict=True)
            ]
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
    """Like :func:`best_set`, for means of observations: ratings, scores, or 1 (chosen) and 0 (not chosen).

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
        raise ValueError("values, models and clusters must be lists of the same length, one entry per observation.")
    counts = ~np.isnan(y)
    if pd.isna(of_model[counts]).any() or pd.isna(owners[counts]).any():
        raise ValueError(f"An observation lacks its model or its {called(cluster)}: leave out this observation.")
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


@dataclass(frozen=True)
class _Family:
    """Differences that are tested, or estimates that get intervals, together: what each cluster adds to the error
    (``influence``), and its share of the answers. At an assumed difference d its part is influence + share · (estimate
    − d).
    """

    estimates: Floats
    influence: Floats
    shares: Floats

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

    def with_intervals(self, flips: Floats, names: Sequence[str], base: Result) -> list[Result]:
        """Each estimate with all differences that the test of the largest of each flip would not reject."""
        critical = self.critical(flips, base.level)
        squares, crossed = (self.influence**2).sum(axis=0), (self.influence * self.shares).sum(axis=0)
        leading, c = 1 - critical**2 * (self.shares**2).sum(axis=0), critical**2
        results = []
        for name, estimate, a, b, s in zip(names, self.estimates, leading, crossed, squares, strict=True):
            result = base.but(name=name, estimate=float(estimate))
            if a <= _SMALL or s <= _SMALL**2:  # few effective clusters, or clusters that all say the same
                results.append(result.but(notes=(NO_INTERVAL,)))
                continue
            middle, half = c * b / a, np.sqrt((c * b) ** 2 + a * c * s) / a
            results.append(result.but(ci_low=float(estimate - middle - half), ci_high=float(estimate - middle + half)))
        return results


def _flipped(families: Sequence[Floats], seed: int) -> list[tuple[Floats, Floats]]:
    """For each family, clusters × estimates: |t| of each estimate, and of each after each flip of the same signs (flips
    × estimates); 0 where nothing varies."""
    scaled, flips = [], [list[Floats]() for _ in families]
    for parts in families:
        norms = np.sqrt((parts**2).sum(axis=0))
        of = parts / np.where(norms > _SMALL * np.abs(parts).max(initial=0), np.maximum(norms, 1e-300), np.inf)
        # Workers in an order of their own: rows may come in any.
        scaled.append(of[np.argsort((of**2).sum(axis=1), kind="stable")])
    for signs in _signs(len(families[0]), seed):
        for of, found in zip(scaled, flips, strict=True):
            found.append(np.abs(signs @ of))
    return [(np.abs(of.sum(axis=0)), np.concatenate(found)) for of, found in zip(scaled, flips, strict=True)]


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


MEMORY = 300  # Dialogues of all models after which hardly anything earlier is left in the differences of scores (< .01)
TOLERANCE = 1e-8  # Enough for replicates: scores are right to 1e-5
_WORK = 60_000  # Matches that all replicates of one kind may play together, about two seconds
_FEWEST = 200
SOURCE = "Ma et al. 2023, §4"


class StabilityPoint(Row):
    """Rankings from samples of so many dialogues, of each of which only the first ``turns`` count (None: all): share
    that equals that of all dialogues, and mean agreement with it."""

    dialogues: Count
    turns: Annotated[int | None, Column()]
    same: Annotated[float, Column("Same ranking", "share")]
    tau_b: Annotated[float | None, Column("τ-b, mean")]
    samples: Count


class ScoreRange(BaseModel, extra="forbid", frozen=True):
    """Ranges of a model's score μ − 3σ over random orders of the same dialogues (no sampling interval), and over
    resamples of workers, each in a random order; with medians of the same, as the score of one order need not lie in
    its range.
    """

    order_middle: float
    order_low: float
    order_high: float
    bootstrap_middle: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    draws: int
    dialogues_played: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def middle(self) -> float:
        """The score for the interval: over resamples, or over orders if there are too few workers."""
        return self.order_middle if self.bootstrap_middle is None else self.bootstrap_middle


def same_ranking_share(rankings: npt.ArrayLike, reference: npt.ArrayLike) -> float | None:
    """Share of ``rankings`` (one a row) that equal ``reference`` in every place; None without rankings."""
    wanted = np.asarray(reference, dtype=object)
    rows = np.asarray(rankings, dtype=object)
    if rows.size == 0:
        return None
    if wanted.ndim != 1 or rows.ndim != 2 or rows.shape[1] != wanted.size:
        raise ValueError("Each row of rankings must rank as many models as the reference.")
    if pd.isna(rows).any() or pd.isna(wanted).any():
        raise ValueError("A rank is missing.")
    return float(np.asarray(rows == wanted, dtype=bool).all(axis=1).mean())


def ranking_agreement(
    scores: Mapping[str, float | None], others: Mapping[str, float | None], *, name: str = "two rankings"
) -> dict[str, Result]:
    """``tau_b`` (Kendall's) and ``pearson`` of two scores of the same models; models without both are left out."""
    shared = [m for m in scores if scores[m] is not None and others.get(m) is not None]
    x, y = ([table[m] for m in shared] for table in (scores, others))
    tau = kendall_tau_b(np.array(x, dtype=float), np.array(y, dtype=float)) if len(shared) > 1 else None
    few = "fewer than two models in both" if len(shared) < 2 else "all models are equal in one of them"
    return {
        "tau_b": Result.by(
            "Kendall's τ-b",
            "Kendall 1945; Ma et al. 2023, §3.3",
            "the models are the ones of interest, not a sample of others",
            name=f"rank agreement of {name}",
            n=len(shared),
            estimate=tau,
        ).but(notes=() if tau is not None else (f"{few}: cannot be estimated",)),
        "pearson": correlation(x, y, name=f"correlation of {name}").but(source="Ma et al. 2023, §3.3; Fisher 1921"),
    }


def score_ranges(
    points: npt.ArrayLike, workers: npt.ArrayLike, *, seed: int = 0, draws: int = 1_000, level: float = 0.95
) -> list[ScoreRange]:
    """Per model: its TrueSkill score over orders of the dialogues and over bootstrap resamples, and how much it
    varies."""
    table = trueskill.points_table(points)
    owners = np.asarray(workers, dtype=object)
    if not len(table) or owners.shape != (len(table),):
        raise ValueError("Ranges of scores require at least one dialogue, and the rater of each dialogue.")
    played = _memory(table)
    number = max(1, min(draws, max(_FEWEST, _WORK // max(1, played))))
    rng = np.random.default_rng(seed)
    codes = np.unique(owners.astype(str), return_inverse=True)[1]
    groups = int(codes.max()) + 1
    plan = _shuffles(rng, len(table), number, played)
    if groups >= MIN_CLUSTERS:
        # Dialogues of resampled workers in random order; a resample that is too short goes on from its beginning.
        weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=number)[:, codes]
        drawn = (np.repeat(np.arange(len(codes)), row) for row in weights)
        resampled = np.stack([np.resize(rng.permutation(dialogues), played) for dialogues in drawn])
        plan = np.concatenate([plan, resampled.astype(np.int64)])
    mu, sigma = trueskill.free_for_all_ratings(table, orders=plan, tolerance=TOLERANCE)
    orders, resamples = np.split(np.asarray(mu - 3 * sigma), [number])
    drawn_so: dict[str, Any] = {"draws": number, "dialogues_played": played, "seed": seed}
    ends, middles = trueskill.shuffle_interval(orders, level), np.median(orders, axis=0).tolist()
    ranges = [
        ScoreRange(order_middle=middle, order_low=low, order_high=high, **drawn_so)
        for middle, (low, high) in zip(middles, ends, strict=True)
    ]
    if groups < MIN_CLUSTERS:
        return [of.model_copy(update={"notes": (too_few_clusters(),)}) for of in ranges]
    ends, middles = trueskill.shuffle_interval(resamples, level), np.median(resamples, axis=0).tolist()
    changes = []
    for middle, (low, high), ranks in zip(middles, ends, ranks_of(resamples).T, strict=True):
        best, worst = rank_range(ranks, level) or (None, None)
        bootstrap = {"bootstrap_middle": middle, "bootstrap_low": low, "bootstrap_high": high}
        changes.append({**bootstrap, "rank_low": best, "rank_high": worst})
    return [of.model_copy(update=change) for of, change in zip(ranges, changes, strict=True)]


def stability_curves(
    points: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    turns: Sequence[int | None] = (None,),
    sizes: Sequence[int] | None = None,
    samples: int = 100,
    seed: int = 0,
) -> list[StabilityPoint]:
    """How often fewer dialogues, or fewer turns of them, give the ranking of all; at the most dialogues it is too
    good."""
    cube = np.asarray(points, dtype=float)
    cube = cube[None] if cube.ndim == 2 else cube
    best = np.asarray(reference, dtype=float)
    if cube.ndim != 3 or len(cube) != len(turns) or best.shape != cube.shape[2:]:
        raise ValueError("points must have the shape turns × dialogues × models; reference needs one value per model.")
    limits, dialogues, models = cube.shape
    shares = (0.02, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 1.0)
    top = min(dialogues, max(_memory(cube[-1]) // 2, MEMORY // 2))
    chosen = sorted({max(1, round(share * top)) for share in shares} if sizes is None else set(sizes))
    if not chosen or chosen[0] < 1 or chosen[-1] > dialogues or samples < 1:
        raise ValueError(
            f"sizes must be between 1 and {dialogues}, the number of dialogues. samples must be 1 or more."
        )
    order = _shuffles(np.random.default_rng(seed), dialogues, samples, chosen[-1])
    plan = np.concatenate([order + limit * dialogues for limit in range(limits)])
    mu, sigma = trueskill.free_for_all_path(cube.reshape(-1, models), chosen, orders=plan, tolerance=TOLERANCE)
    scores = (mu - 3 * sigma).reshape(len(chosen), limits, samples, models)
    wanted = ranks_of(best[None])[0]
    a, b = np.triu_indices(models, k=1)
    of_all = np.tile(best[a] - best[b], samples)
    sample = np.repeat(np.arange(samples), len(a))
    points_of: list[StabilityPoint] = []
    for j, limit in enumerate(turns):
        for i, size in enumerate(chosen):
            same = same_ranking_share(ranks_of(scores[i, j]), wanted) or 0.0
            taus = tau_b_of_pairs((scores[i, j][:, a] - scores[i, j][:, b]).ravel(), of_all, sample)
            tau_b = None if np.isnan(taus).all() else float(np.nanmean(taus))  # nan: the sample ties everything
            points_of.append(StabilityPoint(dialogues=size, turns=limit, same=same, tau_b=tau_b, samples=samples))
    return points_of


def _memory(table: Floats) -> int:
    """How many dialogues a replicate plays: more where only some of the models take part in each."""
    part = (~np.isnan(table)).mean() if table.size else 1.0
    return int(min(len(table), MEMORY / max(part, 0.05)))


def _shuffles(rng: np.random.Generator, size: int, rows: int, length: int) -> Ints:
    return np.stack([rng.permutation(size)[:length] for _ in range(rows)]).astype(np.int64)
