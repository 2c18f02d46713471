"""The columns of the tidy tables, as their own descriptions have them."""

from __future__ import annotations

from docs.facts.markdown import code, table
from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TABLES, TableName, required_columns


def facts() -> dict[str, str]:
    """The required columns, and all of them."""
    return {"required_columns.md": required_columns(), "columns.md": "\n\n".join(_section(name) for name in TABLES)}


def _section(name: TableName) -> str:
    rows = [
        [code(column.name), column.kind, "yes" if column.exchange else "", column.description]
        for column in TABLES[name]
    ]
    described = TABLE_DESCRIPTIONS[name]
    return f"## `{name}`\n\n{described[0].upper()}{described[1:]}\n\n" + table(
        ["column", "kind", "required", "what it holds"], rows
    )
