"""Cells of a :class:`DataTable` as people read them: the same words in HTML, LaTeX and on the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from parlai_humaneval.analysis.sections.views import Cell, CellKind, DataTable, TableColumn
from parlai_humaneval.analysis.wording import ABSENT, number_words, p_cell, percent, percent_range, seconds_words

MINUS = "−"
_LOW, _HIGH = "_low", "_high"


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


def shown_columns(table: DataTable) -> list[ShownColumn]:
    """The columns of ``table``; two neighbours ``x_low`` and ``x_high`` of one kind become one, with the interval."""
    shown: list[ShownColumn] = []
    columns = iter(zip(table.columns, [*table.columns[1:], None], strict=True))
    for column, after in columns:
        if after is not None and _are_ends(column, after):
            shown.append(ShownColumn((column.key, after.key), _common_label(column.label, after.label), column.kind))
            next(columns, None)
        else:
            shown.append(ShownColumn((column.key,), column.label, column.kind))
    return shown


def _are_ends(low: TableColumn, high: TableColumn) -> bool:
    ends = low.key.endswith(_LOW) and high.key == low.key.removesuffix(_LOW) + _HIGH
    return ends and low.kind == high.kind and low.kind not in ("text", "p")


def _common_label(low: str, high: str) -> str:
    """“95 % from” and “95 % to” → “95 %”; words that both labels begin with, or else both."""
    words = []
    for one, other in zip(low.split(), high.split(), strict=False):
        if one != other:
            break
        words.append(one)
    return " ".join(words).rstrip(" ,:(") or f"{low}–{high}"


def cell_text(value: Cell, kind: CellKind) -> str:
    """A value in words; the dash where there is none."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    if kind == "count":
        return f"{round(value):,}".replace("-", MINUS)
    text = {"share": percent, "p": p_cell, "seconds": seconds_words}.get(kind, _number)(float(value))
    return text.replace("-", MINUS)


def interval_text(low: Cell, high: Cell, kind: CellKind) -> str:
    """“59–76 %”, “0.412 to 0.660”, or the dash where an end is missing."""
    if low is None or high is None:
        return ABSENT
    if kind == "share" and not isinstance(low, str) and not isinstance(high, str) and min(low, high) >= 0:
        return percent_range(low, high)
    return f"{cell_text(low, kind)} to {cell_text(high, kind)}"


def _number(value: float) -> str:
    return f"{round(value):,}" if float(value).is_integer() and abs(value) >= 1_000 else number_words(value)
