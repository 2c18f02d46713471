"""TrueSkill of whole studies, many replicates at once: shuffles of the order and bootstrap resamples.

TrueSkill goes from match to match, so that one study cannot be vectorised; a thousand replicates of it can.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parlai_humaneval.analysis.skill_update import SkillModel, factors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DEFAULT = SkillModel()


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
        raise ValueError("There are ties, but the chance of one is 0: give a draw chance above 0.")
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
