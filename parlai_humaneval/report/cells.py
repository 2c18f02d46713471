"""Cells of a :class:`DataTable` as people read them: the same words in HTML, LaTeX and on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from parlai_humaneval.report.views import Cell, CellKind, DataTable, TableColumn
from parlai_humaneval.statistics.core.formatting import (
    ABSENT,
    MINUS,
    format_number,
    format_range,
    money_words,
    p_cell,
    percent,
    points_range,
    points_words,
    seconds_words,
    unsigned_zero,
)

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
    columns = _told_apart(_merged(others))
    groups: dict[str, list[list[str]]] = {}
    places: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        title = ", ".join(str(row[key]) for key in of_group if row.get(key) not in (None, ""))
        groups.setdefault(title, []).append([column.cell(row) for column in columns])
        places.setdefault(title, []).append(place)
    return Layout(table, columns, groups, places)


def _merged(columns: Sequence[TableColumn]) -> list[ShownColumn]:
    """Two neighbours ``x_low`` and ``x_high`` of one kind become one column, with the interval."""
    shown: list[ShownColumn] = []
    pairs = iter(zip(columns, [*columns, None][1:], strict=True))
    for column, after in pairs:
        if after is not None and _are_ends(column, after):
            shown.append(ShownColumn((column.key, after.key), _common_label(column.label, after.label), column.kind))
            next(pairs, None)
        else:
            shown.append(ShownColumn((column.key,), column.label, column.kind))
    return shown


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


def _told_apart(columns: Sequence[ShownColumn]) -> list[ShownColumn]:
    """Where several columns are just “interval”, each says of what: the column before it."""
    bare = [place for place, column in enumerate(columns) if column.label == INTERVAL]
    if len(bare) < 2:
        return list(columns)
    return [
        replace(column, label=f"{INTERVAL}, {columns[place - 1].label}") if place in bare and place else column
        for place, column in enumerate(columns)
    ]


def cell_text(value: Cell, kind: CellKind) -> str:
    """A value in words; the dash where there is none."""
    if value is None or value == "":
        return ABSENT
    if isinstance(value, str):
        return value
    if kind == "count":
        return f"{round(value):,}".replace("-", MINUS)
    return unsigned_zero(_WRITTEN.get(kind, _number)(float(value))).replace("-", MINUS)


def interval_text(low: Cell, high: Cell, kind: CellKind) -> str:
    """“59–76 %”, “0.412 to 0.660”, or the dash where an end is missing."""
    if low is None or high is None:
        return ABSENT
    if kind == "share" and not isinstance(low, str) and not isinstance(high, str) and min(low, high) >= 0:
        return format_range(low, high)
    if kind == "points" and not isinstance(low, str) and not isinstance(high, str):
        return points_range(low, high)
    return f"{cell_text(low, kind)} to {cell_text(high, kind)}"


def _number(value: float) -> str:
    """Three decimals; fewer of numbers that are so large that nobody reads them."""
    if abs(value) < TENS:
        return format_number(value)
    if float(value).is_integer():
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= TENS**2 else format_number(value)


_WRITTEN: Mapping[CellKind, Callable[[float], str]] = {
    "share": percent,
    "points": lambda value: f"{'-' if value < 0 else ''}{points_words(value)}",
    "p": p_cell,
    "tenths": lambda value: f"{value:,.1f}",
    "seconds": seconds_words,
    "money": money_words,
}
