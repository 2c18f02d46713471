"""Made-up crowds: how many dialogues each worker gave, and how alike a worker's answers are.

All arrays are studies × workers × …, so that a thousand studies are drawn at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from parlai_humaneval.planning.made_studies import shares_of_workers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EQUAL = 3
"""Dialogues of each worker where all give equally many; close to the mean of the unequal ones."""
MOST = 25
"""Most dialogues of a worker."""
_MEDIAN, _SPREAD = 2.0, 1.1
_SURELY = 1e-9


@dataclass(frozen=True)
class Crowd:
    """Who rates a study.

    ``heavy``: numbers of dialogues are lognormal (median 2, σ 1.1, at least 1, cut at 25), as those of real crowds;
    else all give :data:`EQUAL`. ``icc``: intraclass correlation of the answers of a worker. ``position``: each worker
    has a pull of log-odds, SD 1, towards what is shown first; places are drawn at random.
    """

    workers: int
    heavy: bool = False
    icc: float = 0.0
    position: bool = False

    def sizes(self, studies: int, each: int, rng: np.random.Generator) -> Ints:
        """Answers of each worker, ``each`` of a dialogue."""
        if not self.heavy:
            return np.full((studies, self.workers), EQUAL * each, dtype=np.int64)
        drawn = np.exp(rng.normal(np.log(_MEDIAN), _SPREAD, (studies, self.workers)))
        given: Ints = np.clip(np.round(drawn), 1, MOST).astype(np.int64) * each
        return given

    def pulls(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Of each worker, the log-odds by which the first place helps."""
        return rng.normal(0, 1, shape) if self.position else np.zeros(shape)

    def chances(self, mean: float | Floats, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Of each worker the chance of an answer: beta around ``mean``, so that two answers correlate by ``icc``."""
        means = np.broadcast_to(np.asarray(mean, dtype=float), shape)
        if not self.icc:
            return np.array(means)
        strength = 1 / self.icc - 1
        return np.clip(rng.beta(means * strength, (1 - means) * strength), _SURELY, 1 - _SURELY)

    def shares(self, means: Floats, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Of each worker the chances of several answers, of which one is given: Dirichlet around ``means``."""
        return shares_of_workers(means, self.icc, shape, rng)


def one_pick(crowd: Crowd, sizes: Ints, means: Floats, rng: np.random.Generator) -> Ints:
    """Turns in which one of several models was picked: studies × workers × which stood first × which was picked."""
    models = len(means)
    shares = crowd.shares(means, sizes.shape, rng)
    pulls = np.exp(crowd.pulls(sizes.shape, rng))
    first = rng.multinomial(sizes, np.full(models, 1 / models))
    picked = []
    for place in range(models):
        weights = shares.copy()
        weights[..., place] *= pulls
        picked.append(rng.multinomial(first[..., place], weights / weights.sum(axis=-1, keepdims=True)))
    return np.stack(picked, axis=2)


def any_number(crowd: Crowd, sizes: Ints, means: Floats, rng: np.random.Generator) -> Ints:
    """Turns in which any number of models may be liked: how often each was, studies × workers × models."""
    models = len(means)
    chances = crowd.chances(means, (*sizes.shape, models), rng)
    first = rng.multinomial(sizes, np.full(models, 1 / models))
    helped = expit(logit(chances) + crowd.pulls(sizes.shape, rng)[..., None])
    liked: Ints = rng.binomial(first, helped) + rng.binomial(sizes[..., None] - first, chances)
    return liked
