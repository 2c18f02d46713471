"""The figures of the section on turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from parlai_humaneval.report.sections.turns.strengths import strength_figure
from parlai_humaneval.report.sections.turns.types import ModelRow, TestRow, TurnRow, TurnsSection
from parlai_humaneval.report.sections.turns.words import title, where
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
)


def figures(section: TurnsSection) -> list[Figure]:
    """Of each group: win rates with intervals, win rates by turn; of more than two models p-values and strengths."""
    groups = [list(rows) for _, rows in groupby(section.models, key=where)]
    found: list[Figure] = []
    for number, models in enumerate(groups, start=1):
        place = where(models[0])
        turns = [row for row in section.by_turn if where(row) == place]
        tests = [test for test in section.tests if where(test) == place and len(test.models) == 2]
        strengths = [row for row in section.strengths if where(row) == place]
        found += [_win_rates(number, models), *_curves(number, turns), *_heat(number, models, tests)]
        found += strength_figure(number, title(models[0]), strengths)
    return found


def _win_rates(number: int, models: Sequence[ModelRow]) -> IntervalFigure:
    first = models[0]
    chance = 1 / len(models) if first.kind == "one" else None
    return IntervalFigure(
        key=f"turns_win_rates_{number}",
        title=f"Win rates: {title(first)}",
        x_label="replies found good" if first.kind == "single" else "turns in which the reply was chosen",
        points=tuple(
            IntervalPoint(label=row.model, estimate=row.win_rate, low=row.ci_low, high=row.ci_high)
            for row in models
            if row.win_rate is not None
        ),
        reference=chance,
        share=True,
    )


def _curves(number: int, rows: Sequence[TurnRow]) -> Iterator[CurveFigure]:
    """A line a model, where there are several turns."""
    if len({row.turn for row in rows}) < 2:
        return
    by_model = {model: [row for row in rows if row.model == model] for model in sorted({row.model for row in rows})}
    yield CurveFigure(
        key=f"turns_by_turn_{number}",
        title=f"Win rate by turn: {title(rows[0])}",
        x_label="turn",
        y_label="win rate",
        curves=tuple(
            Curve(
                name=model,
                x=tuple(float(row.turn) for row in own),
                y=tuple(row.win_rate or 0.0 for row in own),
                low=tuple(row.ci_low for row in own),
                high=tuple(row.ci_high for row in own),
            )
            for model, own in by_model.items()
        ),
        reference=1 / len(by_model) if rows[0].kind == "one" else None,
        share=True,
    )


def _heat(number: int, models: Sequence[ModelRow], tests: Sequence[TestRow]) -> Iterator[HeatFigure]:
    """Clustered p of each pair after Holm's correction."""
    names = [row.model for row in models]
    if len(names) < 3:
        return
    p = {frozenset(test.models): test.p_clustered_holm for test in tests}
    yield HeatFigure(
        key=f"turns_pairs_{number}",
        title=f"p of each pair, clustered by worker, Holm's correction: {title(models[0])}",
        rows=tuple(names),
        columns=tuple(names),
        values=tuple(tuple(p.get(frozenset((a, b))) for b in names) for a in names),
        scale="p",
    )
