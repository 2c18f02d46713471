"""How often every test finds a difference: between equal models, and between models that differ."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from benchmarks.inference.crowd import Crowd, Floats
from benchmarks.inference.designs import DESIGNS, Design, Studies
from benchmarks.inference.remedies import ALPHA, tried_on

ICCS = (0.0, 0.05, 0.17)
AIM = 0.83
"""Power of CR1 where workers are equal: the gap is chosen so."""
STEPS = 9
"""Halvings in the search of the gap."""
PROCESSES = 2
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sizes:
    """Numbers of studies: of equal models, of models that differ, of each those that the public functions read, and those
    of one gap that is tried.
    """

    null: int = 1_000
    gap: int = 500
    asked: int = 24
    asked_gap: int = 16
    tried: int = 300
    crowds: int = 3
    iccs: tuple[float, ...] = ICCS


WHOLE = Sizes()
QUICK = Sizes(null=12, gap=12, asked=3, asked_gap=3, tried=12, crowds=1, iccs=(0.05,))

CONTROLS = (
    "binomial, likeness at the null, mid-p",
    "sign-flip, saddlepoint",
    "sign-flip, Σ of squares (Friedman)",
    "larger p of both, sign-flip",
)
"""The first of these that was tried is the control, like whose test the report's is. Its p-value sorts the studies, and the
report's share is the control's of all studies, and what the report finds more or fewer in those that it is asked of."""
BOUNDS = (0.01, 0.2)
"""Below, between and above: only between them is it open what another good test says."""
SHARES = (1 / 6, 2 / 3, 1 / 6)
"""Of the studies that the report is asked of, those of each layer."""


@dataclass(frozen=True)
class Layer:
    """Studies whose p-values by the control are alike: their share of all, and what became of those that were asked.

    ``more``: in how many the report finds a gap and the control does not; ``fewer``: the other way round.
    """

    share: float
    asked: int
    more: int
    fewer: int


@dataclass(frozen=True)
class Found:
    """Shares of studies in which a difference was found, by remedy and by the ``control``; the report, by layer."""

    rates: dict[str, float]
    studies: int
    control: float
    report: tuple[Layer, ...]

    @property
    def cr1(self) -> float:
        """Of the first remedy, with which reports used to lead."""
        return next(iter(self.rates.values()))


@dataclass(frozen=True)
class Cell:
    """A design with a crowd: ``null`` of equal models, ``gap`` of models that differ."""

    design: str
    crowd: Crowd
    null: Found
    gap: Found


def _found(studies: Studies, asked: int) -> Found:
    """What each remedy, and the report, find in studies."""
    # Each has random signs of its own, so that one remedy more changes nothing for the others.
    p_values = {name: remedy(np.random.default_rng(0)) for name, remedy in tried_on(studies.sums).items()}
    control = next(p_values[name] for name in CONTROLS if name in p_values)
    layers, expected = np.digitize(control, BOUNDS), _below(control)
    report = []
    for layer, share in enumerate(SHARES):
        members = np.flatnonzero(layers == layer)
        chosen = members[: max(1, round(share * asked))]
        # No p-value is no difference found: a few studies are too one-sided for some models to be fitted.
        answers = [studies.ask(int(study)) for study in chosen]
        found = np.array([p is not None and p < ALPHA for p in answers], dtype=bool)
        more, fewer = (found & ~expected[chosen]).sum(), (~found & expected[chosen]).sum()
        report.append(Layer(len(members) / len(layers), len(chosen), int(more), int(fewer)))
    rates = {name: float(_below(p).mean()) for name, p in p_values.items()}
    return Found(rates, len(layers), float(expected.mean()), tuple(report))


def _below(p: Floats) -> Flags:
    return np.asarray(np.nan_to_num(p, nan=1.0) < ALPHA)


def _gap(design: Design, crowd: Crowd, tried: int, rng: np.random.Generator) -> float:
    """The gap at which CR1 has the power that is aimed at."""
    low, high = 0.0, design.widest
    for _ in range(STEPS):
        middle = (low + high) / 2
        first = next(iter(tried_on(design.draw(crowd, middle, tried // design.thinned, rng).sums).values()))
        low, high = (middle, high) if _below(first(rng)).mean() < AIM else (low, middle)
    return (low + high) / 2


def _cells(design: Design, workers: int, icc: float, sizes: Sizes) -> list[Cell]:
    """Equal and unequal workers, with and without a pull of the position."""
    rng = np.random.default_rng([zlib.crc32(design.name.encode()), workers, round(1_000 * icc)])
    gap = _gap(design, Crowd(workers, icc=icc), sizes.tried, rng)
    cells = []
    for heavy, position in product((False, True), (False, True) if design.positions else (False,)):
        crowd = Crowd(workers, heavy, icc, position)
        null, shifted = (
            _found(design.draw(crowd, size, count // design.thinned, rng), asked)
            for size, count, asked in ((0.0, sizes.null, sizes.asked), (gap, sizes.gap, sizes.asked_gap))
        )
        cells.append(Cell(design.name, crowd, null, shifted))
    return cells


def _cells_of(task: tuple[int, int, float, Sizes]) -> list[Cell]:
    """A process is told the number of a design: what draws it cannot be sent."""
    number, workers, icc, sizes = task
    return _cells(DESIGNS[number], workers, icc, sizes)


def measured(sizes: Sizes = WHOLE, designs: Sequence[int] = range(len(DESIGNS))) -> list[Cell]:
    """Every design with every crowd, on all processors (two at most, so that the time can be compared)."""
    tasks = [
        (number, workers, icc, sizes)
        for number in designs
        for workers, icc in product(DESIGNS[number].crowds[: sizes.crowds], sizes.iccs)
    ]
    with ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool:
        # The largest first, so that no process is left alone with one at the end.
        order = sorted(range(len(tasks)), key=lambda place: -tasks[place][1])
        parts = dict(zip(order, pool.map(_cells_of, [tasks[place] for place in order]), strict=True))
    return [cell for place in range(len(tasks)) for cell in parts[place]]
