"""How several models stand in one conversation: what each of them hears, and in which order their replies are shown."""

from __future__ import annotations

import random
from typing import Literal, Protocol

History = Literal["shared", "independent"]
"""shared: whatever continues, each model hears it as its own words; independent: each hears its own replies only."""
Order = Literal["balanced", "fixed"]
"""balanced: random, and balanced over the turns of a dialogue; fixed: random once, and the same throughout."""


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
