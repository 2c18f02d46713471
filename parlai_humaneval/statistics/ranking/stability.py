"""How firm a ranking is: against fewer dialogues, fewer turns, another order of them, and other rankings.

TrueSkill forgets: a few hundred dialogues on, nothing of an earlier one is left in the differences of the scores. So they
vary with the order of dialogues however many there are (order sensitivity, no sampling interval), and replicates play at
most ``MEMORY`` dialogues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, too_few_clusters
from parlai_humaneval.statistics.core.ranks import correlation, kendall_tau_b, rank_range, ranks_of, tau_b_of_pairs
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Count, Row
from parlai_humaneval.statistics.ranking import trueskill

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
        """The score that goes with the interval: over resamples, or over orders where there are too few workers."""
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
