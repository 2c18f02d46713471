"""How firm a ranking is: against fewer dialogues, fewer turns, another order of them, and other rankings.

TrueSkill forgets: a few hundred dialogues on, nothing of an earlier one is left in the differences of the scores. So
its scores vary with the order of dialogues however many there are. That range is called order sensitivity here; it
is no sampling interval. For the same reason replicates play at most ``MEMORY`` dialogues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, too_few_clusters
from parlai_humaneval.statistics.core.correlation import correlation, kendall_tau_b, tau_b_of_pairs
from parlai_humaneval.statistics.core.ranks import rank_range, ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.trueskill import (
    free_for_all_path,
    free_for_all_ratings,
    points_table,
    shuffle_interval,
)

MEMORY = 300
"""Dialogues of all models after which hardly anything earlier is left in the differences of scores (< .01)."""
TOLERANCE = 1e-8
"""Enough for replicates: scores are right to 1e-5."""
_WORK = 60_000
"""Matches that all replicates of one kind may play together, about two seconds."""
_FEWEST = 200
SOURCE = "Ma et al. 2023, §4"


class StabilityPoint(BaseModel):
    """Rankings from samples of ``dialogues`` dialogues, of each of which only the first ``turns`` count (None: all).

    ``same``: share of the samples whose ranking is that of all dialogues; ``tau_b``: mean agreement with it, None
    where it cannot be estimated.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dialogues: int
    turns: int | None
    same: float
    tau_b: float | None
    samples: int


class ScoreRange(BaseModel):
    """Ranges of a model's score μ − 3σ; None with ``notes`` where they cannot be given.

    ``order_low`` to ``order_high``: over random orders of the same dialogues, no sampling interval.
    ``bootstrap_low`` to ``bootstrap_high``: over resamples of workers, each in a random order. ``…_middle``: medians of the
    same, so that each lies in its range; the score of one order, such as that of the data, need not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        """The score that goes with the interval: over resamples, or over orders where there are too few workers."""
        return self.order_middle if self.bootstrap_middle is None else self.bootstrap_middle


def same_ranking_share(rankings: npt.ArrayLike, reference: npt.ArrayLike) -> float | None:
    """Share of ``rankings`` (one a row) that equal ``reference`` in every place; None without rankings.

    A ranking is a list of places, or of names in order.

    Raises:
        ValueError: the rankings are not of as many models as the reference, or a place is missing.

    Assumes nothing of how the rankings came about: it only counts.

    Source: Ma et al. 2023, §4.1.

    1: every sample ranked the models as all the data do.

    >>> round(same_ranking_share([[1, 2, 3], [1, 3, 2], [1, 2, 3]], [1, 2, 3]), 3)
    0.667
    """
    wanted = np.asarray(reference, dtype=object)
    rows = np.asarray(rankings, dtype=object)
    if rows.size == 0:
        return None
    if wanted.ndim != 1 or rows.ndim != 2 or rows.shape[1] != wanted.size:
        raise ValueError("rankings must be rows that rank as many models as the reference.")
    if pd.isna(rows).any() or pd.isna(wanted).any():
        raise ValueError("A place in a ranking is missing.")
    return float(np.asarray(rows == wanted, dtype=bool).all(axis=1).mean())


def ranking_agreement(
    scores: Mapping[str, float | None], others: Mapping[str, float | None], *, name: str = "two rankings"
) -> dict[str, Result]:
    """``tau_b`` (Kendall's) and ``pearson`` of two scores of the same models; models without both are left out.

    Scores, not ranks: more is better in both. No estimate where all of one are equal, or fewer than two are shared.
    n is the number of models, so that the interval of Pearson's ρ is wide. Source: Ma et al. 2023, §3.3.

    1 is the same order, −1 the reverse.

    Assumes that the models are those that one wants to speak about; the interval of Pearson's r, independent draws of
    such.

    >>> found = ranking_agreement({'a': 3, 'b': 2, 'c': 1, 'd': 0}, {'a': 30, 'b': 10, 'c': 20, 'd': 0})
    >>> round(found['tau_b'].estimate, 3)
    0.667
    """
    shared = [m for m in scores if scores[m] is not None and others.get(m) is not None]
    x, y = ([table[m] for m in shared] for table in (scores, others))
    tau = kendall_tau_b(np.array(x, dtype=float), np.array(y, dtype=float)) if len(shared) > 1 else None
    few = "fewer than two models in both" if len(shared) < 2 else "all models are equal in one of them"
    return {
        "tau_b": Result(
            name=f"rank agreement of {name}",
            estimate=tau,
            n=len(shared),
            method="Kendall's τ-b",
            assumptions=("the models are those that one wants to speak about",),
            source="Kendall 1945; Ma et al. 2023, §3.3",
            notes=() if tau is not None else (f"{few}: cannot be estimated",),
        ),
        "pearson": correlation(x, y, name=f"correlation of {name}").but(source="Ma et al. 2023, §3.3; Fisher 1921"),
    }


def score_ranges(
    points: npt.ArrayLike, workers: npt.ArrayLike, *, seed: int = 0, draws: int = 1_000, level: float = 0.95
) -> list[ScoreRange]:
    """Per model: its TrueSkill score over orders of the dialogues and over bootstrap resamples, and how much it varies.

    Args:
        points: dialogues × models, nan for a model that did not take part.
        workers: per dialogue, who rated it. Resamples draw workers with all their dialogues.
        seed: of orders and resamples.
        draws: replicates of each kind; fewer where there are many dialogues (``ScoreRange.draws`` says how many).
        level: share of the replicates inside; ends are percentiles, linear between neighbours.

    Both are ranges of TrueSkill, which forgets: they stop shrinking at a few hundred dialogues. ``rank_low`` and
    ``rank_high`` are the same range of the bootstrap ranks, best 1.

    Raises:
        ValueError: no dialogues, or not as many workers as dialogues.

    Assumes independent workers for the bootstrap, and that dialogues could have come in any order.

    Source: Ma et al. 2023, §4.2 (orders); Cameron, Gelbach & Miller 2008 (resamples of clusters).

    >>> points = [[3, 1, 0], [2, 2, 0], [3, 0, 1], [1, 2, 1], [2, 1, 1], [4, 0, 0]]
    >>> found = score_ranges(points, list('aabbcc'), draws=100)[0]
    >>> found.rank_low, found.rank_high
    (1, 1)
    """
    table = points_table(points)
    owners = np.asarray(workers, dtype=object)
    if not len(table) or owners.shape != (len(table),):
        raise ValueError("Ranges of scores need dialogues, and who rated each of them.")
    played = _memory(table)
    number = max(1, min(draws, max(_FEWEST, _WORK // max(1, played))))
    rng = np.random.default_rng(seed)
    codes = np.unique(owners.astype(str), return_inverse=True)[1]
    several = codes.max() + 1 >= MIN_CLUSTERS
    plan = _shuffles(rng, len(table), number, played)
    if several:
        plan = np.concatenate([plan, _resamples(rng, codes, number, played)])
    mu, sigma = free_for_all_ratings(table, orders=plan, tolerance=TOLERANCE)
    scores = np.asarray(mu - 3 * sigma)
    orders = shuffle_interval(scores[:number], level)
    unknown: list[tuple[None, None]] = [(None, None)] * table.shape[1]
    middles = np.median(scores[:number], axis=0).tolist()
    centres = np.median(scores[number:], axis=0).tolist() if several else [None] * table.shape[1]
    ranges = shuffle_interval(scores[number:], level) if several else unknown
    places = [rank_range(ranks, level) or (None, None) for ranks in ranks_of(scores[number:]).T] if several else unknown
    notes = () if several else (too_few_clusters(),)
    return [
        ScoreRange(
            order_middle=middle,
            order_low=order[0],
            order_high=order[1],
            bootstrap_middle=centre,
            bootstrap_low=low,
            bootstrap_high=high,
            rank_low=best,
            rank_high=worst,
            draws=number,
            dialogues_played=played,
            seed=seed,
            notes=notes,
        )
        for middle, order, centre, (low, high), (best, worst) in zip(
            middles, orders, centres, ranges, places, strict=True
        )
    ]


def stability_curves(
    points: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    turns: Sequence[int | None] = (None,),
    sizes: Sequence[int] | None = None,
    samples: int = 100,
    seed: int = 0,
) -> list[StabilityPoint]:
    """How often fewer dialogues, or fewer turns of them, give the ranking of all.

    Args:
        points: dialogues × models; or, for several limits of turns, limits × dialogues × models, the points won in
            the first turns of each dialogue.
        reference: score of each model from all dialogues and turns, more is better.
        turns: what the limits are, in their order; None: all turns.
        sizes: numbers of dialogues; None: about ten, up to all but at most half of ``MEMORY``.
        samples: random samples (in random order) of each size and limit. Samples of different sizes share dialogues:
            each is the beginning of the next.
        seed: of the samples, which are the same for each limit.

    Raises:
        ValueError: shapes or sizes that do not fit.

    Assumes that dialogues are independent draws of those that one could collect.

    Source: Ma et al. 2023, §4.1 and §4.3, which draw 100 samples.

    ``same`` near 1 at few dialogues: so few would have done. Samples are drawn from the data at hand: at the most
    dialogues the curve is too good.

    >>> points = [[3, 1, 0], [2, 2, 0], [3, 0, 1], [1, 2, 1], [2, 1, 1], [4, 0, 0]]
    >>> found = stability_curves(points, [3, 2, 1], sizes=[2, 4], samples=20)
    >>> [(point.dialogues, point.same) for point in found]
    [(2, 0.75), (4, 0.85)]
    """
    cube = np.asarray(points, dtype=float)
    cube = cube[None] if cube.ndim == 2 else cube
    best = np.asarray(reference, dtype=float)
    if cube.ndim != 3 or len(cube) != len(turns) or best.shape != cube.shape[2:]:
        raise ValueError("points must be limits × dialogues × models, with a limit for each of turns and a reference.")
    limits, dialogues, models = cube.shape
    chosen = _sizes(dialogues, _memory(cube[-1]) // 2) if sizes is None else sorted(set(sizes))
    if not chosen or chosen[0] < 1 or chosen[-1] > dialogues or samples < 1:
        raise ValueError(f"sizes must lie between 1 and the {dialogues} dialogues, and samples be at least 1.")
    order = _shuffles(np.random.default_rng(seed), dialogues, samples, chosen[-1])
    plan = np.concatenate([order + limit * dialogues for limit in range(limits)])
    mu, sigma = free_for_all_path(cube.reshape(-1, models), chosen, orders=plan, tolerance=TOLERANCE)
    scores = (mu - 3 * sigma).reshape(len(chosen), limits, samples, models)
    wanted = ranks_of(best[None])[0]
    return [
        StabilityPoint(
            dialogues=size,
            turns=limit,
            same=same_ranking_share(ranks_of(scores[i, j]), wanted) or 0.0,
            tau_b=_mean_tau(scores[i, j], best),
            samples=samples,
        )
        for j, limit in enumerate(turns)
        for i, size in enumerate(chosen)
    ]


def _memory(table: Floats) -> int:
    """How many dialogues a replicate plays: more where only some of the models take part in each."""
    part = (~np.isnan(table)).mean() if table.size else 1.0
    return int(min(len(table), MEMORY / max(part, 0.05)))


def _shuffles(rng: np.random.Generator, size: int, rows: int, length: int) -> Ints:
    orders: Ints = np.stack([rng.permutation(size)[:length] for _ in range(rows)]).astype(np.int64)
    return orders


def _resamples(rng: np.random.Generator, codes: npt.NDArray[np.int64], rows: int, length: int) -> Ints:
    """Dialogues of resampled workers in random order; a resample that is too short goes on from its beginning."""
    groups = int(codes.max()) + 1
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=rows)[:, codes]
    drawn = (np.repeat(np.arange(len(codes)), row) for row in weights)
    orders: Ints = np.stack([np.resize(rng.permutation(dialogues), length) for dialogues in drawn]).astype(np.int64)
    return orders


def _mean_tau(scores: Floats, reference: Floats) -> float | None:
    """Mean of τ-b over rows; rows that tie everything do not count."""
    a, b = np.triu_indices(len(reference), k=1)
    lead = scores[:, a] - scores[:, b]
    other = np.broadcast_to(reference[a] - reference[b], lead.shape)
    groups = np.repeat(np.arange(len(lead)), lead.shape[1])
    taus = tau_b_of_pairs(lead.ravel(), other.ravel(), groups)
    return float(np.nanmean(taus)) if taus.size and not np.isnan(taus).all() else None


def _sizes(dialogues: int, most: int) -> list[int]:
    top = min(dialogues, max(most, MEMORY // 2))
    return sorted({max(1, round(share * top)) for share in (0.02, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 1.0)})
