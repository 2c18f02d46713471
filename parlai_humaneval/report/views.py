"""What a section shows: tables and figures as data, drawn and written elsewhere (HTML, LaTeX, CSV, terminal)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Cell as Cell
from parlai_humaneval.statistics.core.rows import CellKind as CellKind
from parlai_humaneval.statistics.core.rows import DataTable as DataTable
from parlai_humaneval.statistics.core.rows import Part as Part
from parlai_humaneval.statistics.core.rows import TableColumn as TableColumn
from parlai_humaneval.statistics.core.rows import View as View


def plain_table(
    key: str,
    title: str,
    labels: Mapping[str, str | tuple[str, CellKind]],
    rows: Iterable[Mapping[str, Cell]],
    notes: Iterable[str] = (),
) -> DataTable:
    """A table of what has no class of rows; ``labels``: name → what stands above the column, with its kind if not text."""
    named = {name: (label, "text") if isinstance(label, str) else label for name, label in labels.items()}
    columns = tuple(TableColumn(key=name, label=label, kind=kind) for name, (label, kind) in named.items())
    return DataTable(key=key, title=title, columns=columns, rows=tuple(map(dict, rows)), notes=tuple(notes))


class IntervalPoint(View):
    """One estimate with its interval; ``low`` and ``high`` None: no interval can be given."""

    label: str
    estimate: float
    low: float | None = None
    high: float | None = None


class IntervalFigure(View):
    """Estimates with intervals, one below the other; ``reference``: a line such as chance (.5).

    ``band``: a stretch of the axis that is shaded, such as what counts as equal.
    ``share``: values are shares, or differences of two; ``in_points``: of the latter, written in percentage points.
    ``labels_above``: names stand above their lines, not beside them, so that the figure is legible on a phone.
    """

    kind: Literal["intervals"] = "intervals"
    key: str
    title: str
    x_label: str
    points: tuple[IntervalPoint, ...]
    reference: float | None = None
    band: tuple[float, float] | None = None
    share: bool = False
    in_points: bool = False
    labels_above: bool = False


class Curve(View):
    """A line: ``y`` over ``x``, with a band where ``low`` and ``high`` are given (as long as ``x``)."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


class CurveFigure(View):
    """Lines over turns, exchanges, dialogues or minutes; ``step``: they fall at once (survival)."""

    kind: Literal["curves"] = "curves"
    key: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    reference: float | None = None
    share: bool = False
    step: bool = False


Scale = Literal["share", "p", "correlation"]


class HeatFigure(View):
    """A matrix, row against column. ``scale``: how ``values`` are coloured and written; None is left white."""

    kind: Literal["heat"] = "heat"
    key: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    scale: Scale


Figure = IntervalFigure | CurveFigure | HeatFigure


class Method(View):
    """How a number was made, in words that a colleague can follow, and the paper it comes from."""

    name: str
    text: str
    source: str = Field(description="paper and section")


@cache
def _methods() -> dict[str, dict[str, dict[str, str]]]:
    known: dict[str, dict[str, dict[str, str]]] = read_yaml(Path(__file__).with_name("methods.yaml"))
    return known


def method(section: str, name: str, **values: object) -> Method:
    """A method of ``methods.yaml``, with the values for the names in its braces."""
    told = _methods()[section][name]
    return Method(**{part: text.format(**values) if values else text for part, text in told.items()})


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


def curve_figures(
    key: str, title: str, axes: tuple[str, str], curves: Iterable[Curve], **looks: float | bool
) -> list[CurveFigure]:
    """A figure of the curves, whose ``axes`` are x and y; none where there is no curve."""
    x_label, y_label = axes
    shown = tuple(curves)
    figure = CurveFigure(key=key, title=title, x_label=x_label, y_label=y_label, curves=shown, **looks)
    return [figure] if shown else []


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
