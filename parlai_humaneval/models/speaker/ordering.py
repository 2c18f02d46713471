"""In which order the models' replies are shown: random, and balanced within a dialogue or the same throughout."""

from __future__ import annotations

import random
from typing import Protocol

from parlai_humaneval.models.pool.pool import Order


class ShownOrder(Protocol):
    """Says the order of showing for every turn."""

    def of_turn(self, turn: int) -> list[int]:
        """The models' indices in shown order; ``turn`` counts from 0. Equal turn and seed give equal order."""


class BalancedOrder:
    """An order of ``n`` models for every turn.

    Turns are taken in blocks of ``n``. A block is a random cyclic Latin square, so that in each block every
    model stands once at every position, and in any number of turns a model's counts of two
    positions differ by one at most.
    """

    def __init__(self, n: int, seed: int) -> None:
        self._n = n
        self._seed = seed

    def of_turn(self, turn: int) -> list[int]:
        """The models' indices in shown order; ``turn`` counts from 0. Equal turn and seed give equal order."""
        block, row = divmod(turn, self._n)
        rng = random.Random(f"order|{self._seed}|{block}")
        models = rng.sample(range(self._n), self._n)
        shift = rng.sample(range(self._n), self._n)[row]
        return models[shift:] + models[:shift]


class FixedOrder:
    """One random order of ``n`` models for all turns: side by side, a partner must not change places."""

    def __init__(self, n: int, seed: int) -> None:
        self._models = random.Random(f"fixed order|{seed}").sample(range(n), n)

    def of_turn(self, turn: int) -> list[int]:
        """The models' indices in shown order, the same for every ``turn``."""
        return list(self._models)


def shown_order(kind: Order, n: int, seed: int) -> ShownOrder:
    """The order of ``n`` models in a dialogue with this ``seed``."""
    return FixedOrder(n, seed) if kind == "fixed" else BalancedOrder(n, seed)
