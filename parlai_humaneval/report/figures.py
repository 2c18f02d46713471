"""Results as figures: intervals one below the other, lines with bands, and matrices of every two models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parlai_humaneval.report.views import Curve, HeatFigure, IntervalFigure, IntervalPoint, Scale
from parlai_humaneval.statistics.core.result import Result


def interval_figures(
    key: str,
    title: str,
    x_label: str,
    results: Iterable[tuple[str, Result | None]],
    *,
    reference: float | None = None,
    share: bool = False,
) -> list[IntervalFigure]:
    """A figure of the results that could be estimated, each with its label; none where none could."""
    points = tuple(
        IntervalPoint(label=label, estimate=result.estimate, low=result.ci_low, high=result.ci_high)
        for label, result in results
        if result is not None and result.estimate is not None
    )
    figure = IntervalFigure(key=key, title=title, x_label=x_label, points=points, reference=reference, share=share)
    return [figure] if points else []


def points_label(margin: float | None) -> str:
    """Of an axis of differences of two shares; ``margin``: within which they are equal, and shaded."""
    return f"percentage points{'' if margin is None else f'; shaded: equal within {100 * margin:g}'}"


def curve_of(name: str, x: Iterable[float], results: Sequence[Result], *, band: bool = True) -> Curve:
    """The estimates over ``x``, with a band of their intervals unless that is not wanted."""
    return Curve(
        name=name,
        x=tuple(map(float, x)),
        y=tuple(result.estimate or 0.0 for result in results),
        low=tuple(result.ci_low for result in results) if band else (),
        high=tuple(result.ci_high for result in results) if band else (),
    )


def square(
    key: str, title: str, names: Sequence[str], values: Iterable[Iterable[float | None]], scale: Scale
) -> HeatFigure:
    """A matrix of ``names`` against themselves."""
    rows = tuple(map(tuple, values))
    return HeatFigure(key=key, title=title, rows=tuple(names), columns=tuple(names), values=rows, scale=scale)


def p_matrix(
    key: str, title: str, names: Sequence[str], p_of_pairs: Mapping[tuple[str, str], float | None]
) -> HeatFigure:
    """p-values of every two of ``names``, the same in both halves."""
    both = {frozenset(pair): p for pair, p in p_of_pairs.items()}
    return square(key, title, names, [[both.get(frozenset((a, b))) for b in names] for a in names], "p")


def with_note(model: str, note: str) -> str:
    """“weak (among weak and bottom)”: a model in a figure, with what its number is among."""
    return f"{model} ({note})" if note else model
