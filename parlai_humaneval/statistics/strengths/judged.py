"""Comparisons of dialogues that several workers judged: how far strengths may be off by other workers and other dialogues.

A dialogue of B meets dialogues of A and of C, so that it may stand on either side. With 30 dialogues of each of four equal
models, whose quality has an SD of .7 log-odds, and 150 workers, a joint test by worker alone finds a difference in .25 of
studies and one of a pair in .16; these do in .04.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, effective_clusters
from parlai_humaneval.statistics.crossed import Codes, either_side_covariances, few_dialogues
from parlai_humaneval.statistics.result import Detail

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def contrasts(size: int) -> Floats:
    """Orthonormal columns that sum to 0: ``size`` effects from ``size`` − 1 parameters."""
    from scipy.linalg import helmert

    return np.asarray(helmert(size), dtype=float).T if size > 1 else np.zeros((size, 0))


@dataclass(frozen=True)
class Judged:
    """Comparisons one by one, of which several workers judged the same dialogue.

    ``influence``: parameters × comparisons, what each adds to the error of the parameters; ``workers``, ``dialogues``
    (numbered alike on both sides) and ``models`` (first and second): of each comparison.
    """

    influence: Floats
    workers: Codes
    dialogues: tuple[Codes, Codes]
    models: tuple[Ints, Ints]

    @cached_property
    def covariances(self) -> tuple[Floats, Floats, Floats]:
        """Of the parameters: by both, by worker, by dialogue."""
        return either_side_covariances(self.influence, self.workers, self.dialogues)

    @property
    def n_models(self) -> int:
        return int(max(models.max() for models in self.models)) + 1

    @property
    def enough(self) -> bool:
        """Whether there are dialogues enough to say something of others."""
        return len(np.unique(np.concatenate(self.dialogues))) >= MIN_CLUSTERS

    def error(self, row: Floats) -> float:
        """The standard error of a combination of the parameters, not below that by workers or by dialogues alone."""
        return float(np.sqrt(max(row @ covariance @ row for covariance in self.covariances)))

    def df(self, of: Floats) -> float:
        """Degrees of freedom of what is about each model as much as ``of`` says: the fewest effective clusters less one."""
        return max(1.0, min(effective_clusters(self.sizes(of)), *self._effective(of)) - 1)

    def sizes(self, of: Floats) -> Floats:
        """How much each worker judged of it."""
        first, second = self.models
        return np.asarray(np.bincount(self.workers, weights=np.abs(of)[first] + np.abs(of)[second]), dtype=float)

    def details(self, of: Floats) -> dict[str, Detail]:
        """Of how many dialogues it is, and whether these are few."""
        numbers = [len(np.unique(codes)) for codes in self._dialogues(of)]
        return {"n_dialogues": sum(numbers), **few_dialogues(numbers, min(self._effective(of)), sum(numbers))}

    def _dialogues(self, of: Floats) -> list[Codes]:
        """The dialogues of each model it is about, as often as they were judged."""
        sides = list(zip(self.models, self.dialogues, strict=True))
        return [
            np.concatenate([dialogues[models == model] for models, dialogues in sides])
            for model in np.flatnonzero(np.abs(of) > 0)
        ]

    def _effective(self, of: Floats) -> list[float]:
        return [effective_clusters(np.bincount(codes)) for codes in self._dialogues(of)]

    def joint(self, parameters: Floats, rows: Floats) -> tuple[float, float] | None:
        """F that all ``rows``, effects that sum to 0, of the parameters are 0, and its p.

        In no direction is the covariance below that by worker. None of so few workers that theirs is not positive.
        """
        basis = contrasts(len(rows)).T @ rows
        by_both, by_worker = (basis @ covariance @ basis.T for covariance in self.covariances[:2])
        values, vectors = np.linalg.eigh(by_worker)
        if values[0] <= values[-1] * 1e-9:
            return None
        white = vectors / np.sqrt(values)
        ratios, directions = np.linalg.eigh(white.T @ by_both @ white)
        scores = (basis @ parameters) @ white @ directions
        free, df = len(values), self.df(np.ones(self.n_models))
        statistic = float((scores**2 / np.maximum(ratios, 1.0)).sum()) / free
        return statistic, float(fdtrc(free, df, statistic))
