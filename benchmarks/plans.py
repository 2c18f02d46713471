"""Whether reports find what plans promise, in made-up studies of their size (about twenty minutes).

``benchmarks/INFERENCE.md`` holds the table, which ``python -m benchmarks.inference.plans`` makes.
"""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.inference.plans import FEW, QUESTIONS, STUDIES, measured
from benchmarks.processes import BenchmarkError

ERRORS = 3.0
"""Standard errors of the simulation by which a share may be off its promise."""


def run(quick: bool) -> list[Figure]:
    """What was found, beside what was promised.

    Raises:
        BenchmarkError: a plan does not keep its promise; not with ``quick``, where studies are too few to tell.
    """
    rows = measured(FEW, QUESTIONS[:4]) if quick else measured(STUDIES)
    wrong = [f"{row.name} {row.found:.3f}" for row in rows if abs(row.found - row.promised) > ERRORS * row.error]
    if wrong and not quick:
        raise BenchmarkError(f"promises that are not kept: {', '.join(wrong)}")
    return [
        Figure(
            name=f"plan: {row.name}, n = {row.n:,}",
            unit="share of studies",
            ours=row.found,
            peer=row.promised,
            better="more",
            peer_source="same run",
            note="ours: the report's verdict on tables of made-up studies; peer: the plan's promise",
            repeats=row.studies,
        )
        for row in rows
    ]
