"""TrueSkill over dialogues as free-for-all matches (Ma et al. 2023, §2.3; Herbrich et al. 2006)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from parlai_humaneval.statistics.trueskill.batch import (
    free_for_all_places,
    free_for_all_ratings,
    points_table,
    rate_free_for_all,
)
from parlai_humaneval.statistics.trueskill.update import BETA, DRAW, MU, SIGMA, TAU

__all__ = [
    "BETA",
    "DRAW",
    "MU",
    "SIGMA",
    "TAU",
    "Skill",
    "conservative",
    "ffa_points",
    "ffa_ranks",
    "shuffle_interval",
    "trueskill",
    "update",
]

Floats = npt.NDArray[np.float64]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Skill:
    """Belief about a model's skill: mean ``mu``, standard deviation ``sigma``, in TrueSkill points."""

    mu: float = MU
    sigma: float = SIGMA

    @property
    def score(self) -> float:
        """μ − 3σ: what the model can do with near certainty, the number that FFAEval ranks by."""
        return conservative(self.mu, self.sigma)


def conservative(mu: float, sigma: float, k: float = 3.0) -> float:
    """μ − kσ, a skill that the model has with near certainty (Ma et al. 2023, eq. 1)."""
    return mu - k * sigma


def update(skills: Sequence[Skill], ranks: Sequence[int]) -> list[Skill]:
    """The beliefs after one match. ``ranks``: smaller is better, equal ranks are ties.

    Raises:
        ValueError: not as many ranks as skills.
    """
    mu, sigma = rate_free_for_all([skill.mu for skill in skills], [skill.sigma for skill in skills], ranks)
    return [Skill(float(m), float(s)) for m, s in zip(mu, sigma, strict=True)]


def trueskill(dialogues: Iterable[Mapping[str, int]], models: Sequence[str]) -> dict[str, Skill]:
    """Beliefs about ``models`` after all ``dialogues`` (model → points of each), in the order given.

    A dialogue ranks the models that it has, more points first; one model alone is no match. The order of dialogues
    matters a little: what the models did last weighs more.
    """
    rows = [[points.get(model, np.nan) for model in models] for points in dialogues]
    mu, sigma = free_for_all_ratings(np.array(rows, dtype=float).reshape(-1, len(models)))
    return {model: Skill(float(m), float(s)) for model, m, s in zip(models, mu[0], sigma[0], strict=True)}


def ffa_points(picks: Sequence[T | None], models: Sequence[T]) -> list[int]:
    """Points of each of ``models`` in one dialogue: how many of its turns they won (Ma et al. 2023, §2.1).

    ``picks``: the chosen model of each turn; None where the turn was not answered, which is nobody's point.

    Raises:
        ValueError: a pick is none of ``models``, or a model stands twice.
    """
    if len(set(models)) < len(models):
        raise ValueError("A model stands twice among the models.")
    unknown = sorted({str(pick) for pick in picks if pick is not None and pick not in models})
    if unknown:
        raise ValueError(f"Picked, but not among the models: {', '.join(unknown)}.")
    return [sum(pick == model for pick in picks if pick is not None) for model in models]


def ffa_ranks(points: Sequence[float]) -> list[int]:
    """Competition ranks: the most points 0, equal points the same rank, and ranks are left out after ties.

    Raises:
        ValueError: points are missing.
    """
    table = points_table([points])
    if np.isnan(table).any():
        raise ValueError("Points are missing: leave out models that did not take part.")
    return [int(rank) for rank in free_for_all_places(table)[0]]


def shuffle_interval(scores: npt.ArrayLike, level: float = 0.95) -> list[tuple[float, float]]:
    """Per model, the central range of its score over replicates, linear between neighbours (Ma et al. 2023, §4).

    ``scores``: replicates × models. Over shuffles of the same dialogues it says how much the order matters; it is no
    sampling interval, and does not shrink with more dialogues. Over bootstrap resamples it is one.

    Raises:
        ValueError: no replicates, missing scores, or a level that is not between 0 and 1.
    """
    table = points_table(scores)
    if not len(table) or np.isnan(table).any():
        raise ValueError("An interval needs at least one replicate, and no missing scores.")
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1, not at {level}.")
    ends = np.quantile(table, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return [(float(low), float(high)) for low, high in ends.T]
