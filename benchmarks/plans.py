"""Whether reports find what plans promise, in made-up studies of their size (about twenty minutes).

``benchmarks/INFERENCE.md`` holds the table, which ``python -m benchmarks.inference.plans`` makes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.inference.plans import FEW, QUESTIONS, STUDIES, Kept, measured
from benchmarks.processes import BenchmarkError
from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.stopping import plan_until_decided

BEFORE = {2: 3.0, 4: 22.7, 6: 62.7}
"""Models → seconds of a processor that ``plan --stop decided`` took when each truth was simulated by itself."""
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
    return [*_seconds((2,) if quick else (2, 4, 6, 10)), *_kept(rows)]


def _seconds(sizes: tuple[int, ...]) -> Iterator[Figure]:
    """How long the plan of a study takes that stops once it reaches a decision, at a gap of ten points."""
    for models in sizes:
        started = time.process_time()
        found = plan_until_decided(ask(technique="pw_turn", models=models, gap=0.1))
        before = BEFORE.get(models)
        yield Figure(
            name=f"plan --stop decided: {models} models",
            unit="s of a processor",
            ours=time.process_time() - started,
            peer=before,
            peer_source="none" if before is None else "quoted",
            note=f"simulated studies of each truth as by default (now {found.studies}); peer: each truth by itself",
        )


def _kept(rows: list[Kept]) -> list[Figure]:
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
