"""The display of a section: tables and figures as data, rendered elsewhere (HTML, LaTeX, CSV, terminal)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.statistics.core import formatting
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Cell as Cell
from parlai_humaneval.statistics.core.rows import CellKind as CellKind
from parlai_humaneval.statistics.core.rows import DataTable as DataTable
from parlai_humaneval.statistics.core.rows import Part as Part
from parlai_humaneval.statistics.core.rows import Row, row_table, table_of
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


def table(key: str, rows: Sequence[Row], *notes: str, **options: Any) -> DataTable:
    """:func:`.table_of` with the title and the notes of ``tables.yaml``, behind which other ``notes`` stand."""
    known = _known("tables.yaml")[key]
    labels = known.get("labels", {}) | options.pop("labels", {})
    return table_of(key, known["title"], rows, *known.get("notes", ()), *notes, labels=labels, **options)


def listed_table(
    key: str,
    rows: Iterable[Mapping[str, Cell]],
    notes: Iterable[str] = (),
    hidden: Container[str] = (),
    **words: object,
) -> DataTable:
    """:func:`plain_table` with the title and the columns of ``tables.yaml``, but for those that are ``hidden``.
    ``words``: for the names in braces."""
    known = _known("tables.yaml")[key]
    columns = {name: label for name, label in known["columns"].items() if name not in hidden}
    cells = ({name: row[name] for name in columns} for row in rows)
    return plain_table(key, known["title"].format(**words), columns, cells, notes)


def criteria_table(
    key: str, criteria: Mapping[str, str], rows: Sequence[Mapping[str, Any]], hidden: Container[str] = ()
) -> DataTable:
    """:func:`listed_table` with a column for each of ``criteria`` (key → label) in place of the one that is called so."""
    known = _known("tables.yaml")[key]
    columns = {name: one for name, one in known["columns"].items() if name not in hidden}
    each = [(of, text, columns["criteria"][1]) for of, text in criteria.items()]
    whole = (each if name == "criteria" else [(name, *one)] for name, one in columns.items())
    return row_table(
        key, known["title"], tuple(column for part in whole for column in part), rows, known.get("notes", ())
    )


def title_of(key: str) -> str:
    """The title of a table."""
    return str(_known("tables.yaml")[key]["title"])


def rows_of(stem: str) -> dict[str, str]:
    """Tables whose keys begin so → whose rows they have, as far as ``tables.yaml`` says."""
    return {key: one.get("rows", "") for key, one in _known("tables.yaml").items() if key.startswith(stem)}


def shown(*tables: DataTable) -> list[DataTable]:
    """Those that have rows."""
    return [table for table in tables if table.rows]


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
    ``labels_above``: names are above their lines rather than next to them, so that the figure is legible on a phone.
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
def _known(file: str) -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name(file))
    return known


def method(section: str, name: str, **values: object) -> Method:
    """A method of ``methods.yaml``, with the values for the names in its braces."""
    told = _known("methods.yaml")[section][name]
    return Method(**{part: text.format(**values) if values else text for part, text in told.items()})


def look(key: str, place: object = "", **words: object) -> dict[str, Any]:
    """Key, title, axes and looks of a figure as ``figures.yaml`` has them. ``place``: stands behind the key, where there are
    several; ``words``: for the names in braces."""
    known = _known("figures.yaml")[key].items()
    return {"key": f"{key}{place}"} | {n: one.format(**words) if isinstance(one, str) else one for n, one in known}


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
    """The label of an axis of differences of two shares; ``margin``: within which they are equal, and shaded."""
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


INTERVAL = "interval"
ENDS = ("from", "to", "low", "high")
"""Words of labels for the ends of an interval."""
GROUPS = ("technique", "setting", "kind", "metric")
"""Keys of columns that say which rows belong together; they become a line above their rows."""
TENS = 10
"""Whole numbers from here on need no decimals, others ten times as large but one."""


@dataclass(frozen=True)
class ShownColumn:
    """A column as it is shown: of one key, or of two, which are the ends of an interval."""

    keys: tuple[str, ...]
    label: str
    kind: CellKind

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    def cell(self, row: dict[str, Cell]) -> str:
        values = [row.get(key) for key in self.keys]
        return cell_text(values[0], self.kind) if len(values) == 1 else interval_text(values[0], values[1], self.kind)


@dataclass(frozen=True)
class Layout:
    """A table as it is shown: its cells are words.

    ``groups``: what the rows are of (“sata, soba, preference”, may be empty) → the rows. ``places``: the same → which
    rows of the table they are.
    """

    table: DataTable
    columns: list[ShownColumn]
    groups: dict[str, list[list[str]]]
    places: dict[str, list[int]]

    @property
    def only_group(self) -> str:
        """What all rows are of; empty where there are several groups."""
        return next(iter(self.groups)) if len(self.groups) == 1 else ""

    @property
    def title(self) -> str:
        """With what all rows are of."""
        return f"{self.table.title} ({self.only_group})" if self.only_group else self.table.title


def laid_out(table: DataTable) -> Layout:
    """Columns that only repeat what rows are of stand above the rows; the others become words.

    A column in which no row has a value is not shown; files have it.
    """
    of_group = [column.key for column in table.columns if column.key in GROUPS and column.kind == "text"]
    others = [column for column in table.columns if column.key not in of_group]
    if table.rows:
        others = [column for column in others if any(row.get(column.key) not in (None, "") for row in table.rows)]
    # Two neighbours ``x_low`` and ``x_high`` of one kind become one column, with the interval.
    shown: list[ShownColumn] = []
    pairs = iter(zip(others, [*others, None][1:], strict=True))
    for first, second in pairs:
        if second is not None and _are_ends(first, second):
            shown.append(ShownColumn((first.key, second.key), _common_label(first.label, second.label), first.kind))
            next(pairs, None)
        else:
            shown.append(ShownColumn((first.key,), first.label, first.kind))
    # Where several columns are just “interval”, each says of what: the column before it.
    bare = [place for place, column in enumerate(shown) if column.label == INTERVAL]
    for place in reversed(bare if len(bare) > 1 else []):
        if place:
            shown[place] = replace(shown[place], label=f"{INTERVAL}, {shown[place - 1].label}")
    groups: dict[str, list[list[str]]] = {}
    places: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        title = ", ".join(str(row[key]) for key in of_group if row.get(key) not in (None, ""))
        groups.setdefault(title, []).append([column.cell(row) for column in shown])
        places.setdefault(title, []).append(place)
    return Layout(table, shown, groups, places)


def _are_ends(low: TableColumn, high: TableColumn) -> bool:
    stem = low.key.removesuffix("low")
    ends = stem != low.key and (not stem or stem.endswith("_")) and high.key == f"{stem}high"
    return ends and low.kind == high.kind and low.kind not in ("text", "p")


def _common_label(low: str, high: str) -> str:
    """“95 % from” and “95 % to” → “95 %”; “From, by dialogue” and “To, by dialogue” → “interval, by dialogue”."""
    (one, is_first), (other, _) = _without_end(low), _without_end(high)
    if not one or (other and other != one):
        return INTERVAL
    return f"{INTERVAL}, {one}" if is_first else one


def _without_end(label: str) -> tuple[str, bool]:
    words = label.split()
    for place, is_first in ((0, True), (-1, False)):
        if words and words[place].strip(",:").lower() in ENDS:
            del words[place]
            return " ".join(words).strip(" ,:("), is_first
    return label, False


def cell_text(value: Cell, kind: CellKind) -> str:
    """A value in words; the dash where there is none."""
    if value is None or value == "":
        return formatting.ABSENT
    if isinstance(value, str):
        return value
    if kind == "count":
        return f"{round(value):,}".replace("-", formatting.MINUS)
    return formatting.unsigned_zero(_WRITTEN.get(kind, _number)(float(value))).replace("-", formatting.MINUS)


def interval_text(low: Cell, high: Cell, kind: CellKind) -> str:
    """“59–76 %”, “0.412 to 0.660”, or the dash where an end is missing."""
    if low is None or high is None:
        return formatting.ABSENT
    if kind == "share" and not isinstance(low, str) and not isinstance(high, str) and min(low, high) >= 0:
        return formatting.format_range(low, high)
    if kind == "points" and not isinstance(low, str) and not isinstance(high, str):
        return formatting.points_range(low, high)
    return f"{cell_text(low, kind)} to {cell_text(high, kind)}"


def _number(value: float) -> str:
    """Three decimals; fewer of numbers that are so large that nobody reads them."""
    if abs(value) < TENS:
        return formatting.format_number(value)
    if float(value).is_integer():
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= TENS**2 else formatting.format_number(value)


_WRITTEN: Mapping[CellKind, Callable[[float], str]] = {
    "share": formatting.percent,
    "points": lambda value: f"{'-' if value < 0 else ''}{formatting.points_words(value)}",
    "p": formatting.p_cell,
    "tenths": lambda value: f"{value:,.1f}",
    "seconds": formatting.seconds_words,
    "money": formatting.money_words,
}
