"""How alike judgements are that share a worker or a dialogue, how unequal workers are, and what that costs a study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import roots_hermitenorm

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Likeness:
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

    def fewest_clusters(self, workers: float, n: float) -> float:
        """Effective workers, or dialogues on a side where these are reused, differ and are fewer."""
        effective = workers / self.workers_an_effective_one
        return min(effective, n / self.per_dialogue) if self.dialogue_icc and self.per_dialogue > 1 else effective


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


def normal_nodes() -> tuple[Floats, Floats]:
    """Points and weights with which a mean over a standard normal distribution is a sum."""
    nodes, weights = roots_hermitenorm(40)
    return np.asarray(nodes), np.asarray(weights / weights.sum())
