"""The chance to find a gap, over the size of the gap, for each question of the study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parlai_humaneval.report.sections.design.rows import POWER, GapRow, name_of
from parlai_humaneval.report.views import Curve, CurveFigure
from parlai_humaneval.statistics.design import power_of_gaps
from parlai_humaneval.statistics.measures import Unit

GAPS = 41
"""Points of a curve."""
MOST_CURVES = 6
_WIDEST = 1.5
"""A figure ends at so many times the largest gap that is found with the power wanted."""
_LABELS: dict[Unit, str] = {"share": "true gap of win rates", "z": "true gap in z", "points": "true gap in points"}


def power_figures(pairs: Sequence[GapRow], alpha: float) -> list[CurveFigure]:
    """A figure for each unit of gaps, a curve for each question: of its pair with the median standard error."""
    by_unit: dict[Unit, dict[str, list[GapRow]]] = {}
    for row in pairs:
        if row.standard_error and row.detectable_gap is not None and row.n_workers > 1:
            by_unit.setdefault(row.unit, {}).setdefault(name_of(row), []).append(row)
    return [_figure(unit, questions, alpha) for unit, questions in by_unit.items()]


def _figure(unit: Unit, questions: dict[str, list[GapRow]], alpha: float) -> CurveFigure:
    rows = {name: _median(found) for name, found in list(questions.items())[:MOST_CURVES]}
    widest = _WIDEST * max(row.detectable_gap or 0.0 for row in rows.values())
    gaps = np.linspace(0, min(widest, 1.0) if unit == "share" else widest, GAPS)
    curves = tuple(
        Curve(
            name=name,
            x=tuple(gaps.tolist()),
            y=tuple(power_of_gaps(gaps, row.standard_error or 1.0, df=row.n_workers - 1, alpha=alpha).tolist()),
        )
        for name, row in rows.items()
    )
    return CurveFigure(
        key=f"design_power_{unit}",
        title="Power: the chance that data like these show a true gap between two models",
        x_label=_LABELS[unit],
        y_label="power",
        curves=curves,
        reference=POWER,
        share=True,
    )


def _median(rows: Sequence[GapRow]) -> GapRow:
    return sorted(rows, key=lambda row: row.standard_error or 0.0)[(len(rows) - 1) // 2]
