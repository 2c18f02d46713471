"""How many dialogues of each pair of bots a stable ranking needs (Deriu et al. 2020, §5.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.ranks import Ints, ranks_of

Floats = npt.NDArray[np.float64]

LEAST = 3
"""Fewest dialogues of a pair that are tried, as in the paper."""


@dataclass(frozen=True)
class StabilityCurve:
    """Over ``dialogues`` of each pair: share of subsamples with the most frequent ranking, and with that of all data.

    ``left_out``: the bot that was taken out of the pool; empty: none.
    """

    left_out: str
    dialogues: list[int]
    stability: list[float]
    as_all: list[float]


def ranking_stability(
    contests: pd.DataFrame, models: Sequence[str], *, points: int = 15, draws: int = 500, seed: int = 0
) -> list[StabilityCurve]:
    """Stability of the ranking for the whole pool, and for the pool without each bot in turn.

    A subsample has n dialogues of each pair (all, where it has fewer), without replacement, with all their judgements.
    It is ranked by the mean over opponents of the win rate (Eq. 1; ½ where a pair decided nothing), in place of the
    clusters of a TrueSkill bootstrap in each subsample, which the paper takes, and which would need a million rankings.
    The subsamples of a draw grow by dialogues, and all pools share them. At the greatest n all subsamples are the
    data, so that stability is 1 there whatever the data: read the curve to its left.

    Args:
        contests: rows of :func:`~parlai_humaneval.statistics.spotting.bot_contests`.
        models: the bots, all of ``contests`` at least.
        points: how many n at most, from 3 (or fewer) to the most dialogues that a pair has.
        draws: subsamples.
        seed: of the subsamples.

    Returns:
        The whole pool first; pools of one bot are left out. None without contests.
    """
    if contests.empty:
        return []
    pairs, wins, losses, sizes = _pairs(contests, {name: place for place, name in enumerate(models)})
    most = int(sizes.max())
    numbers = np.unique(np.linspace(min(LEAST, most), most, points).round().astype(int))
    rng = np.random.default_rng(seed)
    won = np.zeros((draws, len(numbers), len(pairs)))
    lost = np.zeros_like(won)
    for pair, (own_wins, own_losses) in enumerate(zip(wins, losses, strict=True)):
        order = np.argsort(rng.random((draws, own_wins.size)), axis=1)
        last = np.minimum(numbers, own_wins.size) - 1
        won[:, :, pair] = np.cumsum(own_wins[order], axis=1)[:, last]
        lost[:, :, pair] = np.cumsum(own_losses[order], axis=1)[:, last]
    rates = np.full(won.shape, 0.5)
    np.divide(won, won + lost, out=rates, where=won + lost > 0)
    pools = [None, *range(len(models))] if len(models) > 2 else [None]
    return [_curve(pairs, rates, models, left_out, numbers) for left_out in pools]


def _pairs(contests: pd.DataFrame, place: dict[str, int]) -> tuple[Ints, list[Floats], list[Floats], Ints]:
    """Pairs (of indices), and for each the wins and losses of A by dialogue."""
    lead = contests["lead_a"].to_numpy(dtype=np.int64)
    counts = (
        contests.assign(won=lead > 0, lost=lead < 0)
        .groupby(["model_a", "model_b", "dialogue_id"], sort=True)[["won", "lost"]]
        .sum()
    )
    found = [
        ((place[a], place[b]), own["won"].to_numpy(dtype=float), own["lost"].to_numpy(dtype=float))
        for (a, b), own in counts.groupby(level=[0, 1], sort=True)
    ]
    pairs = np.array([pair for pair, _, _ in found], dtype=np.int64)
    sizes = np.array([won.size for _, won, _ in found], dtype=np.int64)
    return pairs, [won for _, won, _ in found], [lost for _, _, lost in found], sizes


def _curve(pairs: Ints, rates: Floats, models: Sequence[str], left_out: int | None, numbers: Ints) -> StabilityCurve:
    kept = np.ones(len(pairs), dtype=bool) if left_out is None else (pairs != left_out).all(axis=1)
    size = len(models)
    first, second = np.eye(size)[pairs[kept, 0]], np.eye(size)[pairs[kept, 1]]
    opponents = (first + second).sum(axis=0)
    sums = rates[:, :, kept] @ first + (1 - rates[:, :, kept]) @ second
    playing = opponents > 0
    # Rounded, so that equal means of sums in another order stay equal.
    means = np.round(sums[:, :, playing] / opponents[playing], 9)
    draws, points, bots = means.shape
    ranks = ranks_of(means.reshape(-1, bots)).reshape(draws, points, bots)
    stability, as_all = [], []
    for point in range(points):
        _, which = np.unique(ranks[:, point], axis=0, return_inverse=True)
        stability.append(float(np.bincount(np.asarray(which).ravel()).max() / draws))
        as_all.append(float((ranks[:, point] == ranks[0, -1]).all(axis=1).mean()))
    return StabilityCurve(
        left_out="" if left_out is None else models[left_out],
        dialogues=[int(number) for number in numbers],
        stability=stability,
        as_all=as_all,
    )
