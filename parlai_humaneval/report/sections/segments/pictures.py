"""The figures of judged segments."""

from __future__ import annotations

from collections.abc import Iterator

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.report.sections.segments.types import Analysis, SpeakerRow
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
)

BEYOND = 0.5
"""Exchanges by which a curve goes on after the last length."""
Values = dict[tuple[str, str], float | None]


def figures_of(found: Analysis, key: str, title: str) -> Iterator[Figure]:
    """Those that have something to draw; ``key`` and ``title`` end theirs."""
    for made in (*_survival(found), *_ranks(found), *_heats(found), *_stability(found)):
        yield made.model_copy(update={"key": f"segments_{made.key}{key}", "title": f"{made.title}{title}"})


def _survival(found: Analysis) -> Iterator[Figure]:
    rows: list[SpeakerRow] = [*found.models, *([] if found.humans is None else [found.humans])]
    curves = [_curve(row, "people" if row.model == HUMAN else row.model) for row in rows]
    if curves:
        yield CurveFigure(
            key="survival",
            title="Share not taken for a bot within k exchanges",
            x_label="exchanges",
            y_label="share not spotted",
            curves=tuple(curves),
            share=True,
            step=True,
        )


def _curve(row: SpeakerRow, name: str) -> Curve:
    """Everybody passes before the first exchange; a little beyond the last length, so that its step and band show."""
    known = [k for k, share in row.survival.items() if share is not None]
    drawn = [*known, *known[-1:]]
    x = [float(k) for k in known]
    return Curve(
        name=name,
        x=(0.0, *x, *(last + BEYOND for last in x[-1:])),
        y=(1.0, *(row.survival[k] or 0.0 for k in drawn)),
        low=(None, *(row.survival_low[k] for k in drawn)),
        high=(None, *(row.survival_high[k] for k in drawn)),
    )


def _ranks(found: Analysis) -> Iterator[Figure]:
    points = [
        IntervalPoint(label=row.model, estimate=row.rank, low=row.rank_low_workers, high=row.rank_high_workers)
        for row in found.models
        if row.rank is not None
    ]
    if points:
        yield IntervalFigure(
            key="ranks", title="Rank, workers resampled", x_label="rank (1 is best)", points=tuple(points)
        )


def _heats(found: Analysis) -> Iterator[Figure]:
    names = tuple(row.model for row in found.models)
    played = tuple(row.model for row in found.models if row.wins + row.losses + row.ties)
    if found.pairs and len(played) > 2:  # of two bots there is one number, which the table has
        rates: Values = {(pair.model_a, pair.model_b): pair.win_rate_a for pair in found.pairs}
        turned: Values = {(b, a): None if rate is None else 1 - rate for (a, b), rate in rates.items()}
        yield HeatFigure(
            key="win_rates",
            title="Win rate of row over column",
            rows=played,
            columns=played,
            values=_matrix(played, {**rates, **turned}),
            scale="share",
        )
    wins = {(pair.model_a, pair.model_b): pair.p_clustered_holm for pair in found.pairs}
    survival = {(test.models[0], test.models[1]): test.p_clustered_holm for test in found.tests}
    for key, title, models, p_values in (
        ("win_p", "Do win rates differ from one half? p, clustered, Holm", played, wins),
        ("survival_p", "Is one spotted sooner? p, clustered, Holm", names, survival),
    ):
        if len(models) > 2 and any(p is not None for p in p_values.values()):
            both: Values = {**p_values, **{(b, a): p for (a, b), p in p_values.items()}}
            yield HeatFigure(key=key, title=title, rows=models, columns=models, values=_matrix(models, both), scale="p")


def _matrix(names: tuple[str, ...], values: Values) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(values.get((row, column)) for column in names) for row in names)


def _stability(found: Analysis) -> Iterator[Figure]:
    curves = [
        Curve(
            name=f"without {row.left_out}" if row.left_out else "all bots",
            x=tuple(float(n) for n in row.dialogues),
            y=tuple(row.stability),
        )
        for row in found.stability
        if len(row.dialogues) > 1
    ]
    if curves:
        yield CurveFigure(
            key="stability",
            title="Share of subsamples with the most frequent ranking",
            x_label="dialogues of each pair",
            y_label="stability",
            curves=tuple(curves),
            share=True,
        )
