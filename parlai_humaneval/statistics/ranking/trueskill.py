"""TrueSkill of whole studies, many replicates at once: shuffles of the order and bootstrap resamples.

TrueSkill goes from match to match, so that one study cannot be vectorised; a thousand replicates of it can. A dialogue
is a free-for-all match of its models (Ma et al. 2023, §2.3; Herbrich et al. 2006, §2–3). One implementation serves one
match in plain numbers and many at once: lists hold an entry a player, which is a number, or an array with an entry a
match. A single study of ten thousand dialogues takes twenty times as long with arrays as with plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.special import cython_special

from parlai_humaneval._util.arrays import Flags, Floats, Ints

Number = TypeVar("Number", float, Floats)

MU, SIGMA = 25.0, 25.0 / 3
BETA, TAU, DRAW = 25.0 / 6, 25.0 / 300, 0.10
TOLERANCE, PASSES = 1e-12, 1_000
FEW = 12  # up to this many matches are faster one by one, in plain numbers

_ROOT_HALF, _ROOT_2_PI, _ROOT_PI_2 = math.sqrt(0.5), math.sqrt(2 / math.pi), math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class SkillModel:
    """The constants of TrueSkill, in its points; Ma et al. (2023) use the defaults, of Herbrich et al. (2006).

    ``mu``, ``sigma``: what is believed of a model that nobody has seen; ``beta``, ``tau``: standard deviations of a
    performance around the skill, and of the skill from match to match; ``draw``: chance that two equally good players
    tie.
    """

    mu: float = MU
    sigma: float = SIGMA
    beta: float = BETA
    tau: float = TAU
    draw: float = DRAW

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and self.beta > 0 and self.tau >= 0 and 0 <= self.draw < 1):
            raise ValueError("sigma and beta must be above 0, tau must not be negative, and draw must be from 0 to 1.")

    @property
    def margin(self) -> float:
        """The largest difference of two performances in a tie."""
        return float(special.ndtri((self.draw + 1) / 2) * np.sqrt(2) * self.beta)


@dataclass(frozen=True)
class Maths(Generic[Number]):
    """Functions for plain numbers, or for arrays."""

    sqrt: Callable[[Number], Number]
    exp: Callable[[Number], Number]
    erfcx: Callable[[Number], Number]
    copysign: Callable[[Number, Number], Number]
    factors: Callable[[Number, Number, Any], tuple[Number, Number]]
    """V and W of a lead and a margin, with what says which are ties."""
    apart: Callable[[Sequence[Number], Sequence[Number]], float]  # The largest difference between two lists


def win_factors(lead: Number, margin: Number, maths: Maths[Number]) -> tuple[Number, Number]:
    """V and W, by which mean and variance change after a win; ``lead`` and ``margin`` in standard deviations."""
    x = lead - margin
    v = _ROOT_2_PI / maths.erfcx(-_ROOT_HALF * x)
    return v, v * (v + x)


def tie_factors(lead: Number, margin: Number, maths: Maths[Number]) -> tuple[Number, Number]:
    """V and W after a tie. Both are scaled by the density at the nearer end, so that no tail underflows."""
    size = abs(lead)
    near, far = margin - size, -margin - size
    shrink = maths.exp(-2 * margin * size)
    mass = _ROOT_PI_2 * (maths.erfcx(-_ROOT_HALF * near) - maths.erfcx(-_ROOT_HALF * far) * shrink)
    v = (shrink - 1) / mass
    return maths.copysign(v, -lead), v * v + (near - far * shrink) / mass


def factors(lead: Floats, margin: Floats, tied: Flags) -> tuple[Floats, Floats]:
    """V and W of an array of wins and ties."""
    v, w = win_factors(lead, margin, ARRAYS)
    if tied.any():
        v[tied], w[tied] = tie_factors(lead[tied], margin[tied], ARRAYS)
    return v, w


NUMBERS: Maths[float] = Maths(
    *(math.sqrt, math.exp, cython_special.erfcx, math.copysign),
    factors=lambda lead, margin, tied: (tie_factors if tied else win_factors)(lead, margin, NUMBERS),
    apart=lambda new, old: max([abs(a - b) for a, b in zip(new, old, strict=True)]),
)
ARRAYS: Maths[Floats] = Maths(
    *(np.sqrt, np.exp, special.erfcx, np.copysign),
    factors=factors,
    apart=lambda new, old: float(np.abs(np.subtract(new, old)).max(initial=0)),
)


def update_matches(
    mu: Floats, sigma: Floats, ranks: Floats, model: SkillModel, *, tolerance: float, passes: int
) -> tuple[Floats, Floats]:
    """Beliefs after one match a row. All arrays are rows × players; a nan rank did not take part."""
    if len(mu) > FEW:
        # Many matches, as arrays of players × matches in the order of their ranks.
        most = max(2, int((~np.isnan(ranks)).sum(axis=1).max()))
        order = np.argsort(ranks, axis=1, kind="stable").T[:most]  # nan comes last
        rows = np.arange(len(mu))
        placed = ranks[rows, order]
        active = ~np.isnan(placed[1:])
        means, deviations = _Match(model, ARRAYS, tolerance, passes).beliefs(
            [*mu[rows, order]], [*sigma[rows, order]], placed[1:] == placed[:-1], None if active.all() else active
        )
        played = np.concatenate([active[:1], active])
        new_mu, new_sigma = mu.copy(), sigma.copy()
        new_mu[rows, order] = np.where(played, means, mu[rows, order])
        new_sigma[rows, order] = np.where(played, deviations, sigma[rows, order])
        return new_mu, new_sigma
    match = _Match(model, NUMBERS, tolerance, passes)
    each_mu, each_sigma = mu.tolist(), sigma.tolist()
    for of_mu, of_sigma, places in zip(each_mu, each_sigma, ranks.tolist(), strict=True):
        playing = sorted((i for i, rank in enumerate(places) if not math.isnan(rank)), key=places.__getitem__)
        if len(playing) > 1:
            tied = [places[a] == places[b] for a, b in pairwise(playing)]
            new = match.beliefs([of_mu[i] for i in playing], [of_sigma[i] for i in playing], tied)
            for i, mean, deviation in zip(playing, *new, strict=True):
                of_mu[i], of_sigma[i] = mean, deviation
    return np.array(each_mu).reshape(mu.shape), np.array(each_sigma).reshape(mu.shape)


@dataclass(frozen=True)
class _Match(Generic[Number]):
    model: SkillModel
    maths: Maths[Number]
    tolerance: float
    passes: int

    def beliefs(
        self, mu: Sequence[Number], sigma: Sequence[Number], tied: Sequence[bool] | Flags, active: Flags | None = None
    ) -> tuple[list[Number], list[Number]]:
        """New μ and σ. ``tied``: each with the next; ``active``: the next took part, None where all did."""
        noise = self.model.beta**2
        before = [deviation * deviation + self.model.tau**2 for deviation in sigma]
        performance = [1 / (variance + noise) for variance in before]
        weighted = [mean * precision for mean, precision in zip(mu, performance, strict=True)]
        learnt = self._learnt(performance, weighted, tied, active)
        means, deviations = [], []
        for mean, variance, precision, gained in zip(mu, before, *learnt, strict=True):
            damped = 1 / (1 + noise * precision)
            after = 1 / (1 / variance + damped * precision)
            means.append(after * (mean / variance + damped * gained))
            deviations.append(self.maths.sqrt(after))
        return means, deviations

    def _learnt(
        self, precision: list[Number], weighted: list[Number], tied: Sequence[bool] | Flags, active: Flags | None
    ) -> tuple[list[Number], list[Number]]:
        """What each player learns: precision and precision × mean of the messages from both neighbours, ``above`` and
        ``below``.

        Going forth and back along the chain, the difference at its end need not be visited twice.
        """
        size: int = len(precision)
        margin, maths = self.model.margin, self.maths
        nothing = 0 * precision[0]
        above_p, above_w, below_p, below_w = ([nothing] * size for _ in range(4))
        learnt = ([nothing] * size, [nothing] * size)
        route = [*range(size - 1), *range(size - 3, 0, -1)]
        for _ in range(self.passes if size > 2 else 1):
            for i in route:
                p_a, p_b = precision[i] + above_p[i], precision[i + 1] + below_p[i + 1]
                mean_a, mean_b = (weighted[i] + above_w[i]) / p_a, (weighted[i + 1] + below_w[i + 1]) / p_b
                variance = 1 / p_a + 1 / p_b
                scale, lead = maths.sqrt(variance), mean_a - mean_b
                v, w = maths.factors(lead / scale, margin / scale, tied[i])
                if active is not None:  # Where the worse one did not take part, nothing is learnt.
                    v, w = v * active[i], w * active[i]
                # The message is the belief after the ranking divided by the one before.
                rest = variance * (1 - w)
                says, weighs = w / rest, (lead * w + scale * v) / rest
                to_worse, to_better = 1 + says / p_a, 1 + says / p_b
                above_p[i + 1], above_w[i + 1] = says / to_worse, (mean_a * says - weighs) / to_worse
                below_p[i], below_w[i] = says / to_better, (mean_b * says + weighs) / to_better
            before = learnt
            learnt = (
                [a + b for a, b in zip(above_p, below_p, strict=True)],
                [a + b for a, b in zip(above_w, below_w, strict=True)],
            )
            steps = (self.tolerance / self.model.beta**2, self.tolerance / self.model.beta)
            if all(maths.apart(new, old) <= step for new, old, step in zip(learnt, before, steps, strict=True)):
                break
        return learnt


_DEFAULT = SkillModel()
_NO_TIES = "There are ties, but the draw chance is 0: set it above 0."
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
    """μ − kσ, a skill that the model has with near certainty (Ma et al. 2023, eq. 1)."""
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
    """TrueSkill of matches of two, in closed form."""
    one, two, won = (np.asarray(values) for values in (first, second, result))
    if not one.shape == two.shape == won.shape == (one.size,):
        raise ValueError("first, second and result must be lists of the same length, one entry per match.")
    if one.size and (min(one.min(), two.min()) < 0 or max(one.max(), two.max()) >= n_models):
        raise ValueError(f"first and second must be indices of models, from 0 to {n_models - 1}.")
    if not np.isin(won, (-1, 0, 1)).all():
        raise ValueError("result must be 1 (the first won), 0 (a tie) or -1 (the second won), with none missing.")
    if (one == two).any():
        raise ValueError("A model cannot play against itself. Leave out such matches.")
    if model.draw == 0 and (won == 0).any():
        raise ValueError(_NO_TIES)
    one, two, won = one.astype(np.int64), two.astype(np.int64), won.astype(np.int64)
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
    """Beliefs after one match of any number of players, by expectation propagation."""
    means, deviations, places = (np.asarray(values, dtype=float) for values in (mu, sigma, ranks))
    if not means.shape == deviations.shape == places.shape or means.ndim not in (1, 2):
        raise ValueError("mu, sigma and ranks must have the same shape: one value per player, or rows of such values.")
    if not (np.isfinite(means).all() and np.isfinite(deviations).all() and (deviations > 0).all()):
        raise ValueError("mu and sigma must be known for every player, and sigma must be above 0.")
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
    """TrueSkill after all dialogues, each a match in which more points are a better rank."""
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
    """As :func:`free_for_all_ratings`, after each number of dialogues of ``stops``: μ and σ, stops × replicates ×
    models."""
    table = points_table(points)
    plan = _plan(orders, len(table))
    if any(not 0 <= stop <= plan.shape[1] for stop in stops):
        raise ValueError(f"stops must be between 0 and {plan.shape[1]}, the number of dialogues in an order.")
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

    A dialogue ranks the models that it has, more points first; one model alone does not count. The order of dialogues
    matters a little: what the models did last weighs more.

    Rank models by :attr:`Skill.score`, and read it together with its range over orders (:func:`score_ranges`). Assumes
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
    """Points of each of ``models`` in one dialogue: how many of its turns they won (None: nobody's) (Ma et al. 2023,
    §2.1)."""
    if len(set(models)) < len(models):
        raise ValueError("A model is listed twice.")
    unknown = sorted({str(pick) for pick in picks if pick is not None and pick not in models})
    if unknown:
        raise ValueError(f"These picks are not among the models: {', '.join(unknown)}.")
    return [sum(pick == model for pick in picks if pick is not None) for model in models]


def free_for_all_ranks(points: Sequence[float]) -> list[int]:
    """Competition ranks: the most points 0, equal points the same rank, and ranks are left out after ties."""
    table = points_table([points])
    if np.isnan(table).any():
        raise ValueError("Points are missing: leave out models that did not take part.")
    return [int(rank) for rank in free_for_all_places(table)[0]]


def shuffle_interval(scores: npt.ArrayLike, level: float = 0.95) -> list[tuple[float, float]]:
    """Per model, the central range of its score over replicates, linear between neighbours (Ma et al. 2023, §4)."""
    table = points_table(scores)
    if not len(table) or np.isnan(table).any():
        raise ValueError("A confidence interval requires at least one replicate and a complete set of scores.")
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval must be between 0 and 1, not {level}.")
    ends = np.quantile(table, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def free_for_all_places(points: Floats) -> Floats:
    """Competition ranks of each row, the most points 0, equal points the same; nan where points are nan."""
    ahead = (points[:, None, :] > points[:, :, None]).sum(axis=2)
    return np.where(np.isnan(points), np.nan, ahead)


def points_table(points: npt.ArrayLike) -> Floats:
    """``points`` as dialogues × models."""
    table = np.asarray(points, dtype=float)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(
            "points must be a table of numbers: a row per dialogue, a column per model, nan if a model was not shown."
        )
    return table


def _check_ties(ranks: Floats, model: SkillModel) -> None:
    ordered = np.sort(ranks, axis=1)
    if model.draw == 0 and (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError(_NO_TIES)


def _plan(orders: npt.ArrayLike | None, n: int) -> Ints:
    if orders is None:
        return np.arange(n, dtype=np.int64)[None, :]
    plan = np.asarray(orders)
    if plan.ndim != 2:
        raise ValueError("orders must be a table: one row per replicate, with indices in the order of play.")
    if plan.size and (plan.min() < 0 or plan.max() >= n):
        raise ValueError(f"orders has an index that is not between 0 and {n - 1}.")
    return plan.astype(np.int64)
