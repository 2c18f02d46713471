"""The pairs of K models by number, and which of them a dialogue is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two models each.

    Attributes:
    models: how many there are.
    first, second: the two models of each pair, the one with the smaller number first.
    number: models × models; the pair of two models, and one more than the last pair of a model with itself.
    sign: models × models; 1 where the row's model is the first of the pair, −1 where it is the second, 0 of one with itself.
    """

    models: int
    first: Ints
    second: Ints
    number: Ints
    sign: Ints

    @property
    def count(self) -> int:
        return len(self.first)


@lru_cache
def pairs_of(models: int) -> Pairs:
    """The pairs of so many models."""
    first, second = np.triu_indices(models, 1)
    number = np.full((models, models), len(first))
    number[first, second] = number[second, first] = np.arange(len(first))
    places = np.arange(models)
    return Pairs(models, first, second, number, np.sign(places[None, :] - places[:, None]))
