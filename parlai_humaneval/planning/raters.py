"""Made-up raters: how much each of them gives, how alike their answers are, and how alike those on a dialogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.planning.designs import ChoiceDesign
from parlai_humaneval.planning.inputs import PlanError
from parlai_humaneval.planning.power import Clustering, normal_nodes

_WIDEST = 6.0  # Standard deviation of a lognormal distribution in which one worker gives nearly everything


def shared_out(n: int, workers: int, inequality: float = 0.0) -> Ints:
    """``n`` judgements over ``workers``, none without any, and with that coefficient of variation, as near as can be.
    Of equal workers none has two more than another; else what each gives beyond the first judgement is lognormal."""
    workers = min(n, workers)
    extra = n - workers
    if not inequality or extra <= 0:
        return _rounded(np.ones(workers), extra)
    normal = ndtri((np.arange(workers) + 0.5) / workers)
    low, high = 0.0, _WIDEST
    while high - low > 1e-3:
        middle = (low + high) / 2
        sizes = _rounded(np.exp(middle * normal), extra)
        low, high = (middle, high) if sizes.std() < inequality * sizes.mean() else (low, middle)
    return _rounded(np.exp(low * normal), extra)


def _rounded(weights: Floats, extra: int) -> Ints:
    """One for each, and ``extra`` more by their weights: whole numbers, the largest fractions rounded up."""
    shares = extra * weights / weights.sum()
    sizes = np.floor(shares + 1e-9).astype(np.int64)
    sizes[np.argsort(sizes - shares, kind="stable")[: extra - int(sizes.sum())]] += 1
    return np.asarray(sizes + 1)


def shares_of_workers(means: Floats, icc: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Of each worker the chances of several answers, of which one is given: Dirichlet around ``means``, ``shape`` ×
    answers. Two answers of a worker correlate by ``icc``."""
    if not icc:
        return np.array(np.broadcast_to(means, (*shape, len(means))))
    weights = rng.standard_gamma(np.broadcast_to(means * (1 / icc - 1), (*shape, len(means))))
    total = weights.sum(axis=-1, keepdims=True)
    empty = np.nonzero(total[..., 0] == 0)  # with an ICC near 1 all weights may vanish: then one answer has them all
    if len(empty[0]):
        chosen = rng.choice(len(means), size=len(empty[0]), p=means)
        weights[tuple([*empty, chosen])] = 1.0  # noqa: C409 -- a star in an index is of Python 3.11
        total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / total)


def answers_of_workers(chances: Floats, sizes: Ints, icc: float, studies: int, rng: np.random.Generator) -> Ints:
    """Which answer was given: studies × judgements, of whom the first ``sizes[0]`` are the first worker's, and so on."""
    shares = shares_of_workers(chances, icc, (studies, len(sizes)), rng).cumsum(axis=-1)
    reached = np.repeat(shares, sizes, axis=1)
    return np.asarray((rng.random((*reached.shape[:2], 1)) * reached[..., -1:] >= reached[..., :-1]).sum(axis=-1))


def leads_of_dialogues(
    design: ChoiceDesign,
    codes: Sequence[Ints],
    likeness: Clustering,
    effects: Sequence[Floats],
    rng: np.random.Generator,
) -> Ints:
    """1, 0 or −1 by where a normal score stands between two thresholds: studies × judgements. The score is the sum of
    what worker, dialogues and judgement add; their shares of its variance give the likeness asked for to the leads.
    ``codes``: worker and dialogues of each judgement, whose standard normal ``effects`` (studies × workers or
    dialogues) are."""
    # Below the first the second model is ahead, above the other one the first.
    lead = design.shares[0] - design.shares[1]
    won = (design.discordance + lead) / 2
    ends = float(ndtri(design.discordance - won)), float(ndtri(1 - won))
    shares = [_latent(ends, likeness.icc), *[_latent(ends, likeness.dialogue_icc)] * likeness.sides]
    own = 1 - sum(shares)
    if own <= 0:
        raise PlanError(
            f"workers with an ICC of {likeness.icc:g} and dialogues with one of {likeness.dialogue_icc:g} "
            "leave no room for other variance",
            try_="set a lower --icc or --dialogue-icc",
        )
    score = math.sqrt(own) * rng.standard_normal((len(effects[0]), len(codes[0])))
    for share, code, drawn, sign in zip(shares, codes, effects, (1, 1, -1), strict=False):
        score += sign * math.sqrt(share) * drawn[:, code]
    return (score > ends[1]).astype(np.int64) - (score < ends[0])


@lru_cache
def _latent(ends: tuple[float, float], icc: float) -> float:
    """Share of the score's variance with which leads are as alike as ``icc`` says."""
    nodes, weights = normal_nodes()
    chances = ndtr(ends[0]), 1 - ndtr(ends[1])
    mean, variance = chances[1] - chances[0], sum(chances) - (chances[1] - chances[0]) ** 2

    def likeness_of(share: float) -> float:
        rest = math.sqrt(1 - share)
        below = ndtr((ends[0] - math.sqrt(share) * nodes) / rest)
        above = 1 - ndtr((ends[1] - math.sqrt(share) * nodes) / rest)
        return float((weights @ (above - below) ** 2 - mean**2) / variance)

    low, high = 0.0, 1 - 1e-9
    while icc and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if likeness_of(middle) < icc else (low, middle)
    return low
