"""The declared columns as text: for the command line, and for the page of this project."""

from __future__ import annotations

from collections.abc import Iterator

from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TABLES, Column, TableName

_KINDS = {"text": "text", "integer": "whole number", "number": "number", "flag": "0 or 1"}


def listed_columns(table: TableName) -> str:
    """The columns that a table from elsewhere must have, each with kind and meaning, then the names of the others."""
    return "\n".join(_listed(table))


def _listed(table: TableName) -> Iterator[str]:
    yield f"{table}: {TABLE_DESCRIPTIONS[table]}"
    yield "Required:"
    for column in TABLES[table]:
        if column.exchange:
            yield f"  {column.name} ({_kind(column)}): {column.description}"
    others = ", ".join(column.name for column in TABLES[table] if not column.exchange)
    yield f"Read where they are there: {others}."


def _kind(column: Column) -> str:
    return _KINDS[column.kind] + (", may be empty" if column.empty_ok else "")


def required_columns() -> str:
    """A Markdown table: the columns that each table from elsewhere must have; * where cells may be empty."""
    lines = ["| table | required columns (*: the cells may be empty) |", "|---|---|"]
    for table, columns in TABLES.items():
        names = ", ".join(f"`{c.name}`{'*' if c.empty_ok else ''}" for c in columns if c.exchange)
        lines.append(f"| `{table}` | {names} |")
    return "\n".join(lines)
