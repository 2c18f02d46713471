"""A list of a section's parts as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parlai_humaneval.report.section import Part
from parlai_humaneval.report.views import Cell, CellKind, DataTable, TableColumn

Columns = tuple[tuple[str, str, CellKind], ...]
"""Field of the part, what people read above it, and how its cells are written."""
CUT = "Intervals of shares are cut at 0 and 100 %; the JSON has them whole."


def part_table(key: str, title: str, columns: Columns, parts: Sequence[Part], notes: tuple[str, ...] = ()) -> DataTable:
    """A row per part. A column of texts that is empty throughout, such as the setting of a table from elsewhere, is
    left out; numbers that cannot be estimated keep their column."""
    rows = [part.model_dump(include={name for name, _, _ in columns}) for part in parts]
    shown = [
        TableColumn(key=name, label=label, kind=kind)
        for name, label, kind in columns
        if kind != "text" or any(row[name] not in (None, "") for row in rows)
    ]
    return DataTable(
        key=key,
        title=title,
        columns=tuple(shown),
        rows=tuple({column.key: cut(row[column.key], column.kind) for column in shown} for row in rows),
        notes=(*notes, *cut_notes(rows, columns)),
    )


def cut(value: Cell, kind: CellKind) -> Cell:
    """A share within 0–1: Wald's and Student's intervals know no ends."""
    return value if kind != "share" or value is None or isinstance(value, str) else min(1.0, max(0.0, value))


def cut_notes(rows: Sequence[Mapping[str, Any]], columns: Columns) -> list[str]:
    """That something was cut, if it was."""
    shares = [name for name, _, kind in columns if kind == "share"]
    return [CUT] if any(cut(row[name], "share") != row[name] for row in rows for name in shares) else []
