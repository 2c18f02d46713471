"""The columns of the tidy tables, as their own descriptions have them."""

from __future__ import annotations

from docs.facts.markdown import code, table
from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TABLES, TableName


def facts() -> dict[str, str]:
    """The required columns, and all of them."""
    return {"required_columns.md": _required(), "columns.md": "\n\n".join(_section(name) for name in TABLES)}


def _required() -> str:
    """The columns that each table from elsewhere must have; * where it may be empty or missing."""
    rows = [
        [code(name), ", ".join(f"{code(c.name)}{'*' if c.empty_ok else ''}" for c in columns if c.exchange)]
        for name, columns in TABLES.items()
    ]
    return table(["table", "required columns (*: may be empty or missing)"], rows)


def _section(name: TableName) -> str:
    rows = [
        [code(column.name), column.kind, "yes" if column.exchange else "", column.description]
        for column in TABLES[name]
    ]
    described = TABLE_DESCRIPTIONS[name]
    return f"## `{name}`\n\n{described[0].upper()}{described[1:]}\n\n" + table(
        ["column", "kind", "required", "what it holds"], rows
    )
