"""How often the headline tests find a difference between equal models: at α = .05 it should be one study in twenty.

Workers give equal and very unequal numbers of answers, alike or not, with a pull of the position or without; dialogues
are new or reused. CR1 with Student's t, which reports used to lead with, stands beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmarks.figures import Figure
from benchmarks.inference.measure import QUICK, WHOLE, Cell, measured
from benchmarks.inference.remedies import ALPHA

ALLOWED = (0.03, 0.06)
"""False positives of a headline, over all likenesses and position effects of a crowd."""
ERRORS = 3.0
"""Monte Carlo standard errors that are forgiven beside."""
ONE_SIDED = ("one model against",)
"""Designs of which only too many false positives are wrong: few workers cannot say that a rate lies above .95."""


@dataclass(frozen=True)
class Crowded:
    """A design with so many equal or unequal (``heavy``) workers: shares over likenesses and position effects.

    ``report`` and ``cr1``: false positives; ``gained``: power of the report less that of CR1; ``asked``: studies that the
    report was asked of.
    """

    design: str
    workers: int
    heavy: bool
    report: float
    cr1: float
    power: float
    cr1_power: float
    gained: float
    asked: int
    studies: int

    @property
    def name(self) -> str:
        return f"{self.design}, {self.workers} {'unequal' if self.heavy else 'equal'} workers"

    @property
    def holds(self) -> bool:
        """Whether false positives lie within :data:`ALLOWED`, but for the error of so many studies."""
        least, most = (
            limit + sign * ERRORS * _error(limit, self.asked) for limit, sign in zip(ALLOWED, (-1, 1), strict=True)
        )
        return self.report <= most and (self.report >= least or self.design.startswith(ONE_SIDED))


def _error(share: float, studies: int) -> float:
    return float(np.sqrt(share * (1 - share) / studies))


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
        report=float(np.mean([cell.null.report for cell in cells])),
        cr1=float(np.mean([cell.null.cr1 for cell in cells])),
        power=float(np.mean([cell.gap.report for cell in cells])),
        cr1_power=float(np.mean([cell.gap.cr1 for cell in cells])),
        gained=float(np.mean([cell.gap.gained for cell in cells])),
        asked=sum(cell.null.asked for cell in cells),
        studies=sum(cell.null.studies for cell in cells),
    )


def run(quick: bool) -> list[Figure]:
    """False positives and power of every headline.

    Raises:
        RuntimeError: a rate outside of :data:`ALLOWED`; not with ``quick``, where studies are too few to tell.
    """
    rows = crowded(measured(QUICK if quick else WHOLE))
    if not quick:
        refuse_wrong(rows)
    return [figure for row in rows for figure in _figures(row)]


def refuse_wrong(rows: Iterable[Crowded]) -> None:
    """Raises RuntimeError where a headline finds too many differences between equal models, or too few."""
    wrong = [f"{row.name} {row.report:.3f}" for row in rows if not row.holds]
    if wrong:
        raise RuntimeError(f"outside of {ALLOWED[0]} to {ALLOWED[1]}: {', '.join(wrong)}")


def _figures(row: Crowded) -> list[Figure]:
    of_report = f"ours: the report in {row.asked:,} studies; peer: CR1 with Student's t"
    return [
        Figure(
            name=f"{title}: {row.name}",
            unit="share of studies",
            ours=ours,
            peer=peer,
            better=better,
            peer_source="same run",
            note=f"α = {ALPHA:g}, {models}; {of_report}",
            repeats=repeats,
        )
        for title, ours, peer, better, models, repeats in (
            ("false positives", row.report, row.cr1, "less", "equal models", row.asked),
            ("power", row.power, row.cr1_power, "more", "a gap that CR1 finds in .83 of studies", row.asked),
        )
    ]
