"""How alike judgements are that share a worker or a dialogue, how unequal workers are, and what that costs a study."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import roots_hermitenorm

from parlai_humaneval._util.arrays import Floats


@dataclass(frozen=True)
class Clustering:
    """Of the judgements of one sample.

    Attributes:
        per_worker: judgements of a worker, as a mean over workers.
        icc: how alike those of one worker are.
        inequality: coefficient of variation of the number of judgements of a worker; 0: all give equally many.
        per_dialogue: judgements that share a dialogue.
        dialogue_icc: how alike those are.
        sides: dialogues in each judgement, each of them with such a likeness: two where finished dialogues are compared.
    """

    per_worker: float
    icc: float
    inequality: float = 0.0
    per_dialogue: float = 1.0
    dialogue_icc: float = 0.0
    sides: int = 1

    @property
    def crowding(self) -> float:
        """Σn²/Σn: judgements of the worker who gave a judgement, which is more than the mean where workers are unequal."""
        return self.per_worker * self.workers_an_effective_one

    @property
    def workers_an_effective_one(self) -> float:
        """Workers for each effective one; the effective number is (Σn)²/Σn². Who gives but one cannot differ."""
        return 1 + self.inequality**2 if self.per_worker > 1 else 1.0

    @property
    def effect(self) -> float:
        """The design effect, of workers and dialogues together: 1 + (m − 1)·ICC + sides·(r − 1)·ICC of dialogues."""
        of_dialogues = self.sides * (self.per_dialogue - 1) * self.dialogue_icc
        return 1 + (self.crowding - 1) * self.icc + of_dialogues

    def at(self, n: float) -> Clustering:
        """Of ``n`` judgements: N dialogues of each model make N² different pairs, so that no more share one than √n."""
        if self.sides == 1:
            return self
        return replace(self, per_dialogue=max(1.0, min(self.per_dialogue, math.sqrt(n))))

    def caution(self, n: float) -> float:
        """By how much the two-way test of ``n`` judgements takes the variance for larger than it is, on average.

        It is never below the variance by one kind of clusters alone, of each of which chance makes one or the other too
        large: by 2(m − 1)/n for m judgements a cluster, in units of the variance of independent ones, squared.
        """
        if not self.reused:
            return 1.0
        kinds = [(self.crowding, self.icc), *[(self.per_dialogue, self.dialogue_icc)] * self.sides]
        nodes, weights = normal_nodes(9)
        excess = [(m - 1) * icc + math.sqrt(2 * (m - 1) / n) * (1 + (m - 1) * icc) * nodes for m, icc in kinds]
        grid = np.stack(np.meshgrid(*excess, indexing="ij"))
        chances = math.prod(np.meshgrid(*[weights] * len(kinds), indexing="ij"))
        largest = 1 + np.maximum(grid.sum(axis=0), grid.max(axis=0))
        return float((chances * largest).sum()) / self.effect

    def fewest_clusters(self, workers: float, n: float) -> float:
        """Effective workers, or dialogues of a side where these are reused and fewer."""
        effective = workers / self.workers_an_effective_one
        return min(effective, n / self.per_dialogue) if self.reused else effective

    @property
    def reused(self) -> bool:
        """Is a dialogue judged several times?"""
        return self.per_dialogue > 1


def dialogue_icc(sd: float, *, sides: int = 2, discordance: float = 1.0) -> float:
    """How alike comparisons are that share a dialogue, where log-odds of winning differ between dialogues.

    Args:
        sd: standard deviation of a dialogue's quality, in log-odds of winning a comparison, between dialogues of one model.
        sides: 2 where two dialogues are compared, each with a quality of its own; 1 where one dialogue holds both models.
        discordance: share of comparisons that are no tie.

    Assumes normal qualities, models that are equally good, and ties that do not depend on them.

    >>> round(dialogue_icc(0.7), 3), round(dialogue_icc(0.7, sides=1), 3)
    (0.085, 0.1)
    """
    nodes, weights = normal_nodes()
    other = sd * nodes if sides == 2 else np.zeros(1)
    lead = np.tanh((sd * nodes[:, None] - other) / 2)
    known = lead @ weights if sides == 2 else lead[:, 0]
    return discordance * float(weights @ known**2)


@lru_cache
def normal_nodes(points: int = 40) -> tuple[Floats, Floats]:
    """Points and weights with which a mean over a standard normal distribution is a sum."""
    nodes, weights = roots_hermitenorm(points)
    return np.asarray(nodes), np.asarray(weights / weights.sum())
