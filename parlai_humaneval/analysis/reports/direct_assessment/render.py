"""The tables of a direct assessment's report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.direct_assessment.types import AssessmentGroup, AssessmentReport, Cell, Scores
from parlai_humaneval.analysis.reports.direct_assessment.words import basis
from parlai_humaneval.analysis.reports.printing import (
    heading,
    holm_title,
    model_column,
    number_columns,
    p_cells,
    titled_table,
)
from parlai_humaneval.statistics.wording import ABSENT, counted, p_cell, signed, signed_range

CRITERIA_WIDTH = 58
"""Characters that the columns of criteria may take, so that 80 hold the model's name beside them."""
SCORES_WIDTH = 12
"""Characters of “−0.53 (75.1)”."""


def parts(report: AssessmentReport) -> Iterator[RenderableType]:
    """The tables of each setting."""
    for group in report.groups:
        scores = basis(group)
        if not scores.models:
            continue
        yield Text()
        who = " who passed the check" if group.passed.models else " in all"
        amount = f"{counted(scores.dialogues, 'dialogue')}, {counted(scores.workers, 'worker')}{who}"
        yield heading(", ".join(part for part in (group.setting, amount) if part))
        yield _overall(group, scores)
        for names in _criteria_by_table(group):
            yield _criteria(group, scores, names)
        if scores.pairs:
            yield _pairs(scores)


def _criteria_by_table(group: AssessmentGroup) -> Iterator[list[str]]:
    """As many criteria a table as fit beside the models with their names unbroken."""
    names: list[str] = []
    left = CRITERIA_WIDTH
    for name in group.criteria:
        width = 2 + max(SCORES_WIDTH, len(_title(name, group)))
        if names and width > left:
            yield names
            names, left = [], CRITERIA_WIDTH
        names, left = [*names, name], left - width
    if names:
        yield names


def _title(name: str, group: AssessmentGroup) -> str:
    return f"{name} ↻" if name in group.reversed else name


def _overall(group: AssessmentGroup, scores: Scores) -> Table:
    title = "Overall: mean of all criteria, z with 95 % interval clustered by worker"
    table = titled_table(title)
    model_column(table)
    number_columns(table, "z", "95 %", "Raw", "n")
    if group.checked:
        number_columns(table, "z, all workers", "n")
    everyone = {row.model: row.overall for row in group.everyone.models}
    for row in scores.models:
        z = row.overall.z
        cells = [signed(z.estimate), signed_range(z.ci_low, z.ci_high), _raw(row.overall), f"{row.dialogues:,}"]
        if group.checked:
            cells += [signed(everyone[row.model].z.estimate), f"{everyone[row.model].n:,}"]
        table.add_row(Text(row.model), *cells)
    return table


def _criteria(group: AssessmentGroup, scores: Scores, names: list[str]) -> Table:
    turned = any(name in group.reversed for name in names)
    table = titled_table(f"By criterion: z (raw){'; ↻ turned round, so that more is better' if turned else ''}")
    model_column(table)
    number_columns(table, *(_title(name, group) for name in names))
    for row in scores.models:
        cells = (f"{signed(row.criteria[name].z.estimate)} ({_raw(row.criteria[name])})" for name in names)
        table.add_row(Text(row.model), *cells)
    return table


def _pairs(scores: Scores) -> Table:
    table = titled_table("Difference of overall z")
    model_column(table, "Pair")
    gaps = [pair.difference for pair in scores.pairs]
    number_columns(table, "z", "95 %", "p, clustered", *holm_title(gaps), "p, paper")
    for pair in scores.pairs:
        gap = pair.difference
        table.add_row(
            Text(pair.leader_first),
            signed(gap.estimate),
            signed_range(gap.ci_low, gap.ci_high),
            *p_cells(gaps, gap),
            p_cell(pair.paper_p),
        )
    return table


def _raw(cell: Cell) -> str:
    return ABSENT if cell.raw.estimate is None else f"{cell.raw.estimate:.1f}"
