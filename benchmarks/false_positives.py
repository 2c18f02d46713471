"""How often the headline tests find a difference between equal models (about ten minutes).

At α = .05 it should be one study in twenty. Workers give equal and very unequal numbers of answers, alike or not, with or
without a pull of the position; dialogues are new or reused. CR1 with Student's t, with which reports used to lead, is the
peer. ``benchmarks/INFERENCE.md`` holds the tables, with every test that was tried; ``python -m benchmarks.inference`` makes
it.
"""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.inference.designs import DESIGNS
from benchmarks.inference.measure import AIM, QUICK, WHOLE, measured
from benchmarks.inference.promise import Crowded, crowded, refuse_wrong
from benchmarks.inference.remedies import ALPHA


def run(quick: bool) -> list[Figure]:
    """False positives and power of every headline; with ``quick`` of one design in four.

    Raises:
        BenchmarkError: a headline finds too much or too little; not with ``quick``, where studies are too few to tell.
    """
    rows = crowded(measured(QUICK, range(0, len(DESIGNS), 4)) if quick else measured(WHOLE))
    if not quick:
        refuse_wrong(rows)
    return [figure for row in rows for figure in _figures(row)]


def _figures(row: Crowded) -> list[Figure]:
    return [
        Figure(
            name=f"{title}: {row.name}",
            unit="share of studies",
            ours=report.value,
            peer=peer,
            better=better,
            peer_source="same run",
            note=f"α = {ALPHA:g}, {models}; ours: the report; peer: CR1 with Student's t (Hotelling's T²)",
            repeats=report.asked,
        )
        for title, report, peer, better, models in (
            ("false positives", row.report, row.cr1, "less", "equal models"),
            ("power", row.power, row.cr1_power, "more", f"a gap that CR1 finds in {AIM:g} of studies of equal workers"),
        )
    ]
