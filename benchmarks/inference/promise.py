"""Whether the report keeps its promise: a difference between equal models in one study of twenty, for every crowd."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmarks.inference.measure import Cell, Found
from benchmarks.inference.tastes import ONCE, STUDIES, Tasted
from benchmarks.processes import BenchmarkError

ALLOWED = (0.03, 0.06)
"""False positives of a headline, over all likenesses and position effects of a crowd."""
ERRORS = 3.0
"""Monte Carlo standard errors that are forgiven beside."""
ONE_SIDED = ("one model against",)
"""Designs of which only too many false positives are wrong: few workers cannot say that a rate lies above .95."""


@dataclass(frozen=True)
class Share:
    """A share of studies, its Monte Carlo error, and how many studies the report was asked of."""

    value: float
    error: float
    asked: int


@dataclass(frozen=True)
class Crowded:
    """A design with so many equal or unequal (``heavy``) workers: shares over likenesses and position effects.

    ``report`` and ``cr1``: false positives; ``power`` and ``cr1_power``: of a gap, the same in all columns.
    """

    design: str
    workers: int
    heavy: bool
    report: Share
    cr1: float
    power: Share
    cr1_power: float

    @property
    def name(self) -> str:
        return f"{self.design}, {self.workers} {'unequal' if self.heavy else 'equal'} workers"

    @property
    def holds(self) -> bool:
        """Whether false positives lie within :data:`ALLOWED`, but for the error of the simulation."""
        least, most = ALLOWED
        enough = self.report.value >= least - ERRORS * self.report.error or self.design.startswith(ONE_SIDED)
        return enough and self.report.value <= most + ERRORS * self.report.error


def reported(cells: Sequence[Found]) -> Share:
    """What the report finds in all studies: as much as the control, and what it finds otherwise where it was asked."""
    value = float(np.mean([cell.control for cell in cells]))
    variance = value * (1 - value) / sum(cell.studies for cell in cells)
    for layers in zip(*(cell.report for cell in cells), strict=True):
        asked = max(1, sum(layer.asked for layer in layers))
        share = float(np.mean([layer.share for layer in layers]))
        more, fewer = (sum(getattr(layer, name) for layer in layers) / asked for name in ("more", "fewer"))
        value += share * (more - fewer)
        variance += share**2 * (more + fewer - (more - fewer) ** 2) / asked
    return Share(value, float(np.sqrt(variance)), sum(layer.asked for cell in cells for layer in cell.report))


def crowded(cells: Iterable[Cell]) -> list[Crowded]:
    """The cells of each design, number of workers and kind of crowd, taken together."""

    def kind(cell: Cell) -> tuple[str, int, bool]:
        return cell.design, cell.crowd.workers, cell.crowd.heavy

    places = {name: place for place, name in enumerate(dict.fromkeys(cell.design for cell in cells))}
    ordered = sorted(cells, key=lambda cell: (places[cell.design], cell.crowd.workers, cell.crowd.heavy))
    return [_together(*key, list(own)) for key, own in groupby(ordered, kind)]


def _together(design: str, workers: int, heavy: bool, cells: list[Cell]) -> Crowded:
    return Crowded(
        design,
        workers,
        heavy,
        report=reported([cell.null for cell in cells]),
        cr1=float(np.mean([cell.null.cr1 for cell in cells])),
        power=reported([cell.gap for cell in cells]),
        cr1_power=float(np.mean([cell.gap.cr1 for cell in cells])),
    )


def refuse_skewed(found: Iterable[Tasted]) -> None:
    """Raises BenchmarkError where counting every worker once finds too many differences between equal models."""
    most = ALLOWED[1] + ERRORS * float(np.sqrt(ALLOWED[1] * (1 - ALLOWED[1]) / STUDIES))
    wrong = [f"{row.crowd.name} {row.null[ONCE]:.3f}" for row in found if row.null[ONCE] > most]
    if wrong:
        raise BenchmarkError(f"above {most:.3f}: {', '.join(wrong)}")


def refuse_wrong(rows: Iterable[Crowded]) -> None:
    """Raises BenchmarkError where a headline finds too many differences between equal models, or too few."""
    wrong = [f"{row.name} {row.report.value:.3f}" for row in rows if not row.holds]
    if wrong:
        raise BenchmarkError(f"outside of {ALLOWED[0]} to {ALLOWED[1]}: {', '.join(wrong)}")
