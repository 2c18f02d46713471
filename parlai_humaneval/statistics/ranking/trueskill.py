"""TrueSkill of whole studies, many replicates at once: shuffles of the order and bootstrap resamples.

TrueSkill goes from match to match, so that one study cannot be vectorised; a thousand replicates of it can. A dialogue is
a free-for-all match of its models (Ma et al. 2023, §2.3; Herbrich et al. 2006).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.ranking.trueskill_update import (
    MU,
    PASSES,
    SIGMA,
    TOLERANCE,
    SkillModel,
    factors,
    update_matches,
)

_DEFAULT = SkillModel()
_NO_TIES = "There are ties, but the chance of one is 0: give a draw chance above 0."
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Skill:
    """Belief about a model's skill: mean ``mu``, standard deviation ``sigma``, in TrueSkill points."""

    mu: float = MU
    sigma: float = SIGMA

    @property
    def score(self) -> float:
        """μ − 3σ: what the model can do with near certainty, the number that FFAEval ranks by."""
        return conservative_skill(self.mu, self.sigma)


def conservative_skill(mu: float, sigma: float, k: float = 3.0) -> float:
    """μ − kσ, a skill that the model has with near certainty (Ma et al. 2023, eq. 1).

    Assumes that the belief about the skill is normal.

    Source: Ma et al. 2023, eq. 1.

    >>> conservative_skill(25.0, 5.0)
    10.0
    """
    return mu - k * sigma


def rate_two_player(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    result: npt.ArrayLike,
    n_models: int,
    *,
    orders: npt.ArrayLike | None = None,
    model: SkillModel = _DEFAULT,
) -> tuple[Floats, Floats]:
    """TrueSkill of matches of two, in closed form.

    Args:
        first, second: per match, index of the two models (0 to ``n_models`` − 1).
        result: per match, 1 where the first won, 0 for a tie, −1 where the second won.
        n_models: number of models; one that never played keeps what was believed at the start.
        orders: replicates × matches; row r holds the indices of the matches that replicate r plays, in turn: a
            shuffle, a bootstrap resample or a part of them. None: one replicate, all matches in the given order.
        model: the constants.

    Returns:
        μ and σ, each replicates × models, in TrueSkill points.

    Raises:
        ValueError: unequal lengths, an unknown index or result, a model against itself, a tie where the chance of
            one is 0.

    Assumes that matches are independent given the skills. Source: Herbrich et al. 2006, §2–3; Deriu et al. 2020, §3.3.

    >>> mu, sigma = rate_two_player([0, 1, 0], [1, 2, 2], [1, 0, 1], n_models=3)
    >>> mu.round(2).tolist()
    [[31.73, 22.06, 21.29]]
    """
    one, two, won = _matches(first, second, result, n_models, model)
    plan = _plan(orders, len(won))
    mu = np.full((len(plan), n_models), float(model.mu))
    variance = np.full((len(plan), n_models), float(model.sigma) ** 2)
    rows = np.arange(len(plan))
    # The one who did better comes first; of a tie either may.
    better, worse, tied = np.where(won < 0, two, one), np.where(won < 0, one, two), won == 0
    for played in np.ascontiguousarray(plan.T):
        a, b = (rows, better[played]), (rows, worse[played])
        mean_a, mean_b = mu[a], mu[b]
        own_a, own_b = variance[a] + model.tau**2, variance[b] + model.tau**2
        total = own_a + own_b + 2 * model.beta**2
        scale = np.sqrt(total)
        v, w = factors((mean_a - mean_b) / scale, model.margin / scale, tied[played])
        step, shrink = v / scale, w / total
        mu[a], mu[b] = mean_a + own_a * step, mean_b - own_b * step
        variance[a], variance[b] = own_a * (1 - own_a * shrink), own_b * (1 - own_b * shrink)
    return mu, np.sqrt(variance)


def rate_free_for_all(
    mu: npt.ArrayLike,
    sigma: npt.ArrayLike,
    ranks: npt.ArrayLike,
    *,
    model: SkillModel = _DEFAULT,
    tolerance: float = TOLERANCE,
    passes: int = PASSES,
) -> tuple[Floats, Floats]:
    """Beliefs after one match of any number of players, by expectation propagation.

    Args:
        mu, sigma, ranks: one value a player, or rows of them: each row is a match of its own. Smaller ranks are better,
            equal ranks tie, nan did not take part.
        model: the constants.
        tolerance, passes: messages are passed until none changes by more than ``tolerance`` (in units of β), at most
            so often.

    Returns:
        μ and σ, shaped as given. Of many tied players those at the ends of the chain are known a little less well, so
        that the order in which tied players are given matters somewhat; it is that of the package ``trueskill``.

    Raises:
        ValueError: unequal shapes, a σ of 0 or less, a missing μ or σ, a tie where the chance of one is 0.

    Assumes performances that are normal around the skills. Source: Herbrich et al. 2006, §3; Ma et al. 2023, §2.3.

    >>> mu, sigma = rate_free_for_all([25, 25, 25], [8.333] * 3, ranks=[0, 1, 1])
    >>> mu.round(2).tolist(), sigma.round(2).tolist()
    ([30.11, 22.44, 22.45], [6.74, 5.97, 5.97])
    """
    means, deviations, places = (np.asarray(values, dtype=float) for values in (mu, sigma, ranks))
    if not means.shape == deviations.shape == places.shape or means.ndim not in (1, 2):
        raise ValueError("mu, sigma and ranks must have the same shape: one value a player, or rows of them.")
    if not (np.isfinite(means).all() and np.isfinite(deviations).all() and (deviations > 0).all()):
        raise ValueError("mu and sigma must be known of every player, and sigma above 0.")
    rows = (np.atleast_2d(means), np.atleast_2d(deviations), np.atleast_2d(places))
    _check_ties(rows[2], model)
    new_mu, new_sigma = update_matches(*rows, model, tolerance=tolerance, passes=passes)
    return new_mu.reshape(means.shape), new_sigma.reshape(means.shape)


def free_for_all_ratings(
    points: npt.ArrayLike,
    *,
    orders: npt.ArrayLike | None = None,
    model: SkillModel = _DEFAULT,
    tolerance: float = TOLERANCE,
) -> tuple[Floats, Floats]:
    """TrueSkill after all dialogues, each a match in which more points are a better rank.

    Args:
        points: dialogues × models; nan for a model that did not take part.
        orders: replicates × dialogues, indices in the order of play (see :func:`rate_two_player`); None: one
            replicate, in the given order.
        model, tolerance: see :func:`rate_free_for_all`.

    Returns:
        μ and σ, each replicates × models. The order matters: what was played last weighs more.

    Raises:
        ValueError: ``points`` is no table, or as :func:`rate_free_for_all`.

    Assumes normal skills and performances, and independent dialogues.

    Source: Ma et al. 2023, §2.3 (constants of Herbrich et al. 2006).

    >>> mu, sigma = free_for_all_ratings([[3, 1, 0], [2, 2, 0], [3, 0, 1]])
    >>> mu.round(2).tolist(), sigma.round(2).tolist()
    ([[31.62, 22.88, 21.79]], [[4.54, 4.22, 4.64]])
    """
    table = points_table(points)
    plan = _plan(orders, len(table))
    mu, sigma = free_for_all_path(table, [plan.shape[1]], orders=plan, model=model, tolerance=tolerance)
    return mu[0], sigma[0]


def free_for_all_path(
    points: npt.ArrayLike,
    stops: Sequence[int],
    *,
    orders: npt.ArrayLike | None = None,
    model: SkillModel = _DEFAULT,
    tolerance: float = TOLERANCE,
) -> tuple[Floats, Floats]:
    """As :func:`free_for_all_ratings`, after each number of dialogues of ``stops``: μ and σ, stops × replicates × models.

    Raises:
        ValueError: a stop is negative or beyond the dialogues of an order; or as there.
    """
    table = points_table(points)
    plan = _plan(orders, len(table))
    if any(not 0 <= stop <= plan.shape[1] for stop in stops):
        raise ValueError(f"stops must lie between 0 and the {plan.shape[1]} dialogues of an order.")
    ranks = free_for_all_places(table)
    _check_ties(ranks, model)
    mu = np.full((len(plan), table.shape[1]), float(model.mu))
    sigma = np.full_like(mu, model.sigma)
    path = {0: (mu, sigma)}
    for done in range(1, max(stops, default=0) + 1):
        played = ranks[plan[:, done - 1]]
        mu, sigma = update_matches(mu, sigma, played, model, tolerance=tolerance, passes=PASSES)
        if done in stops:
            path[done] = (mu, sigma)
    found = [path[stop] for stop in stops]
    shape = (len(found), *mu.shape)
    return np.array([m for m, _ in found]).reshape(shape), np.array([s for _, s in found]).reshape(shape)


def trueskill(dialogues: Iterable[Mapping[str, int]], models: Sequence[str]) -> dict[str, Skill]:
    """Beliefs about ``models`` after all ``dialogues`` (model → points of each), in the order given.

    A dialogue ranks the models that it has, more points first; one model alone is no match. The order of dialogues
    matters a little: what the models did last weighs more.

    Rank models by :attr:`Skill.score`, and read it beside its range over orders (:func:`score_ranges`). Assumes
    performances that are normal around the skills.

    Source: Ma et al. 2023, §2.3; Herbrich et al. 2006.

    >>> skills = trueskill([{'ada': 3, 'bob': 1}, {'ada': 2, 'bob': 2}], ['ada', 'bob'])
    >>> {model: round(skill.score, 2) for model, skill in skills.items()}
    {'ada': 9.08, 'bob': 6.85}
    """
    rows = [[points.get(model, np.nan) for model in models] for points in dialogues]
    mu, sigma = free_for_all_ratings(np.array(rows, dtype=float).reshape(-1, len(models)))
    return {model: Skill(float(m), float(s)) for model, m, s in zip(models, mu[0], sigma[0], strict=True)}


def free_for_all_points(picks: Sequence[T | None], models: Sequence[T]) -> list[int]:
    """Points of each of ``models`` in one dialogue: how many of its turns they won (Ma et al. 2023, §2.1).

    ``picks``: the chosen model of each turn; None where the turn was not answered, which is nobody's point.

    Raises:
        ValueError: a pick is none of ``models``, or a model stands twice.

    Assumes that all turns weigh the same.

    Source: Ma et al. 2023, §2.1.

    >>> free_for_all_points(['a', 'b', 'a', None], ['a', 'b', 'c'])
    [2, 1, 0]
    """
    if len(set(models)) < len(models):
        raise ValueError("A model stands twice among the models.")
    unknown = sorted({str(pick) for pick in picks if pick is not None and pick not in models})
    if unknown:
        raise ValueError(f"Picked, but not among the models: {', '.join(unknown)}.")
    return [sum(pick == model for pick in picks if pick is not None) for model in models]


def free_for_all_ranks(points: Sequence[float]) -> list[int]:
    """Competition ranks: the most points 0, equal points the same rank, and ranks are left out after ties.

    Raises:
        ValueError: points are missing.

    Assumes nothing of the points but that more are better.

    Source: Ma et al. 2023, §2.3.

    >>> free_for_all_ranks([3, 1, 1, 0])
    [0, 1, 1, 3]
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

    Assumes, of shuffles, that dialogues could have come in any order.

    Source: Ma et al. 2023, §4.

    >>> shuffle_interval([[10.0, 5.0], [12.0, 4.0], [11.0, 6.0]])
    [(10.05, 11.95), (4.05, 5.95)]
    """
    table = points_table(scores)
    if not len(table) or np.isnan(table).any():
        raise ValueError("An interval needs at least one replicate, and no missing scores.")
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1, not at {level}.")
    ends = np.quantile(table, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def free_for_all_places(points: Floats) -> Floats:
    """Competition ranks of each row, the most points 0, equal points the same; nan where points are nan."""
    ahead = (points[:, None, :] > points[:, :, None]).sum(axis=2)
    return np.where(np.isnan(points), np.nan, ahead)


def points_table(points: npt.ArrayLike) -> Floats:
    """``points`` as dialogues × models.

    Raises:
        ValueError: it is no table, or holds infinity.
    """
    table = np.asarray(points, dtype=float)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(
            "points must be a table of numbers: a row a dialogue, a column a model, nan where one was not."
        )
    return table


def _check_ties(ranks: Floats, model: SkillModel) -> None:
    ordered = np.sort(ranks, axis=1)
    if model.draw == 0 and (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError(_NO_TIES)


def _matches(
    first: npt.ArrayLike, second: npt.ArrayLike, result: npt.ArrayLike, n_models: int, model: SkillModel
) -> tuple[Ints, Ints, Ints]:
    one, two, won = (np.asarray(values) for values in (first, second, result))
    if not one.shape == two.shape == won.shape == (one.size,):
        raise ValueError("first, second and result must be lists of the same length, an entry a match.")
    if one.size and (min(one.min(), two.min()) < 0 or max(one.max(), two.max()) >= n_models):
        raise ValueError(f"first and second hold indices of models, from 0 to {n_models - 1}.")
    if not np.isin(won, (-1, 0, 1)).all():
        raise ValueError("result holds 1 (the first won), 0 (a tie) or -1 (the second won), and no missing values.")
    if (one == two).any():
        raise ValueError("A model cannot play against itself: leave these matches out.")
    if model.draw == 0 and (won == 0).any():
        raise ValueError(_NO_TIES)
    return one.astype(np.int64), two.astype(np.int64), won.astype(np.int64)


def _plan(orders: npt.ArrayLike | None, n: int) -> Ints:
    if orders is None:
        return np.arange(n, dtype=np.int64)[None, :]
    plan = np.asarray(orders)
    if plan.ndim != 2:
        raise ValueError("orders must be a table: a row a replicate, holding indices in the order of play.")
    if plan.size and (plan.min() < 0 or plan.max() >= n):
        raise ValueError(f"orders holds an index beyond the {n} that were given.")
    return plan.astype(np.int64)
