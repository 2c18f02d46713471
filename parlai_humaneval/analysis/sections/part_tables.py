"""A list of a section's parts as a table."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.analysis.sections.base import Part
from parlai_humaneval.analysis.sections.views import CellKind, DataTable, TableColumn

Columns = tuple[tuple[str, str, CellKind], ...]
"""Field of the part, what people read above it, and how its cells are written."""


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
        rows=tuple({column.key: row[column.key] for column in shown} for row in rows),
        notes=notes,
    )
