"""What the section on the study's design holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.section import Section
from parlai_humaneval.report.sections.design.power_curves import power_figures
from parlai_humaneval.report.sections.design.rows import POWER, GapRow, MeasureRow, Score, name_of
from parlai_humaneval.report.views import DataTable, Figure, IntervalFigure, IntervalPoint, Method

_NAMES: Columns = (
    ("source", "Table", "text"),
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Measure", "text"),
)
_MEASURE: Columns = (
    *_NAMES,
    ("n", "Answers", "count"),
    ("n_workers", "Workers", "count"),
    ("variance_ratio", "Ratio of variances", "number"),
    ("icc_for_planning", "ICC for plan", "number"),
    ("unit", "Unit of gaps", "text"),
    ("detectable_gap", "Detectable gap", "number"),
    ("detectable_gap_largest", "Gap of the least sure pair", "number"),
    ("detectable_gap_independent", "Gap if independent", "number"),
)
_LIKENESS: Columns = (
    *_NAMES,
    ("n_dialogues", "Dialogues", "count"),
    ("per_worker", "Answers a worker (Σn²/Σn)", "number"),
    ("icc_worker", "ICC, worker", "number"),
    ("icc_worker_low", "from", "number"),
    ("icc_worker_high", "to", "number"),
    ("icc_dialogue", "ICC, dialogue", "number"),
    ("design_effect", "Design effect of the mean", "number"),
    ("effective_n", "Effective answers", "count"),
)
_MEASURE_NOTES = (
    "Ratio of variances: of the gap between two models, clustered by worker, by that of independent answers. Above 1 a "
    "comparison loses by likeness, below 1 it gains, as workers who judge both models carry their level into both.",
    "ICC for plan: the one with which a plan has that ratio as its design effect (parlai-humaneval plan --icc). Below 0 "
    "take 0.001: no gain should be counted on.",
)
_LIKENESS_NOTES = (
    "Of models judged one at a time these are about levels: what a mean of one model loses, not a comparison of two.",
)
_GAP: Columns = (
    ("source", "Table", "text"),
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Measure", "text"),
    ("model_a", "A", "text"),
    ("model_b", "B", "text"),
    ("n", "Answers", "count"),
    ("n_workers", "Workers", "count"),
    ("unit", "Unit", "text"),
    ("gap", "Gap seen (A − B)", "number"),
    ("standard_error", "Standard error", "number"),
    ("standard_error_independent", "if independent", "number"),
    ("variance_ratio", "Ratio of variances", "number"),
    ("icc_for_planning", "ICC for plan", "number"),
    ("detectable_gap", "Detectable gap", "number"),
    ("detectable_gap_independent", "if independent", "number"),
)


class Design(Section):
    """How alike answers of one worker and of one dialogue are, and which gaps the data could show."""

    TITLE: ClassVar[str] = "What these data could show"

    measures: list[MeasureRow]
    pairs: list[GapRow]
    power: float = POWER
    alpha: float = 0.05

    def data_tables(self) -> list[DataTable]:
        gaps = [part_table("design_pairs", "Each pair of models", _GAP, self.pairs)] if self.pairs else []
        title = "What likeness costs a comparison, and the smallest gap that would be found with power .8"
        return [
            part_table("design_measures", title, _MEASURE, self.measures, _MEASURE_NOTES),
            part_table("design_likeness", "How alike answers are", _LIKENESS, self.measures, _LIKENESS_NOTES),
            *gaps,
        ]

    def figures(self) -> list[Figure]:
        return [*_likeness(self.measures), *_gaps(self.measures), *power_figures(self.pairs, self.alpha)]

    def methods(self) -> list[Method]:
        return list(METHODS)


def _likeness(rows: list[MeasureRow]) -> list[Figure]:
    points = _points(
        rows, lambda row: None if row.icc_worker is None else (row.icc_worker, row.icc_worker_low, row.icc_worker_high)
    )
    title = "How alike the answers of one worker are"
    found: list[Figure] = [
        IntervalFigure(key="design_icc", title=title, x_label="ICC by worker", points=points, reference=0.0)
    ]
    return found if points else []


def _gaps(rows: list[MeasureRow]) -> list[Figure]:
    shares = [row for row in rows if row.unit == "share"]
    points = _points(shares, lambda row: None if row.detectable_gap is None else (row.detectable_gap, None, None))
    title = "Smallest gap between two models that would be found with power .8"
    found: list[Figure] = [
        IntervalFigure(key="design_gaps", title=title, x_label="gap", points=points, share=True, reference=0.0)
    ]
    return found if points else []


def _points(
    rows: list[MeasureRow], values: Callable[[MeasureRow], tuple[float, Score, Score] | None]
) -> tuple[IntervalPoint, ...]:
    return tuple(
        IntervalPoint(label=f"{row.source}: {name_of(row)}", estimate=found[0], low=found[1], high=found[2])
        for row in rows
        if (found := values(row)) is not None
    )


METHODS = (
    Method(
        name="Likeness of answers (ICC)",
        text="One-way analysis of variance, with the means of models taken out: of the difference of two models in a turn "
        "or comparison, of a rating or label where models are judged one at a time. F interval, rough for 0/1 answers; "
        "none where several pairs of models share turns.",
        source="Donner & Koval 1980; Ridout, Demétrio & Firth 1999",
    ),
    Method(
        name="Design effect",
        text="Of a comparison: the ratio of variances of the gap, clustered by worker and as if all answers were "
        "independent; the ICC for plan is (ratio − 1)/(m − 1), with m = Σn²/Σn answers that a worker gives to a pair, or "
        "to each model judged by itself. Of a mean: 1 + (m − 1)·ICC, with all answers of a worker; effective answers: n "
        "by that, at most n.",
        source="Kish 1965",
    ),
    Method(
        name="Smallest detectable gap",
        text="The true gap between two models that a two-sided test at .05 would find with power .8, from the standard "
        "error seen in these data: clustered by worker (CR1 t, workers − 1 degrees of freedom), and beside it as if all "
        "answers were independent. It says what the study could show, not how sure a gap is that was found.",
        source="Bloom 1995",
    ),
)
