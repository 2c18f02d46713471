"""The columns of the tidy tables: names, types and meanings, from ``data/columns.yaml``, and listed as text.

``exchange`` columns are those that a table from anywhere must have, unless they may be empty; the others are what our own
records hold besides, and are empty where a table from elsewhere lacks them. Columns that are not listed here pass
through. An empty text is a missing value: CSV cannot tell them apart.

Ticks that say what is wrong with a reply, so that fewer is better: told by their names, where nothing else tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from parlai_humaneval._util.data_files import packaged, read_yaml


def is_problem(name: str, *, otherwise: bool = False) -> bool:
    """Whether what is ticked under ``name`` is a problem of a reply. ``otherwise``: of names that are not known."""
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    return _PROBLEMS.fullmatch(plain) is not None or (otherwise and _MERITS.fullmatch(plain) is None)


Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed. ``allowed``: the only values, where it is so.
    ``least``: the smallest value that a number may have; ``is_time``: a text that is an ISO 8601 time."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False
    allowed: tuple[str | int, ...] = ()
    least: int | None = None
    is_time: bool = False


TIE = "tie"  # ``winner`` where both candidates were chosen, or none

HUMAN = "human"  # Name of a person among the speakers of a dialogue, and the label of one who was taken for a person

LABELS = (HUMAN, "unsure", "bot")
FEATURES = ("fluent", "sensible", "specific")  # Features of Spot The Bot, as columns

TableName = Literal["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]

TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)
COLUMNS_FILE: Mapping[str, Any] = read_yaml(packaged("columns.yaml"))
_PROBLEMS, _MERITS = (re.compile("|".join(COLUMNS_FILE[kind])) for kind in ("tick_problems", "tick_merits"))


def _columns(part: str, group: Literal["required", "others"]) -> tuple[Column, ...]:
    exchange = group == "required"
    return tuple(
        Column(
            name,
            kind,
            told[kind],
            exchange,
            not exchange or "empty" in told,
            tuple(told.get("allowed", ())),
            told.get("least"),
            "time" in told,
        )
        for name, told in COLUMNS_FILE[part].get(group, {}).items()
        for kind in get_args(Kind)
        if kind in told
    )


TABLES: Mapping[TableName, tuple[Column, ...]] = {
    name: (*_columns(name, "required"), *_columns("every_table", "others"), *_columns(name, "others"))
    for name in TABLE_NAMES
}

_OF_JUDGES = _columns("judges", "required")
JUDGE_COLUMNS: Mapping[TableName, tuple[Column, ...]] = {
    **dict.fromkeys(TABLE_NAMES, _OF_JUDGES),
    "judgements": (
        *_OF_JUDGES,
        *_columns("judgements_by_judges", "required"),
        *_columns("judgements_by_judges", "others"),
    ),
}
"""Additional columns of judges' tables, which are in a separate folder."""

STUDY = ("technique", "setting", "metric")  # Columns that say of which study a row is
KEYS: Mapping[TableName, tuple[str, ...]] = {name: tuple(COLUMNS_FILE[name]["key"]) for name in TABLE_NAMES}
"""Columns that name a row: no two rows of a table may share them all."""
NUMBERED: Mapping[TableName, tuple[str, ...]] = {name: tuple(COLUMNS_FILE[name]["numbered"]) for name in TABLE_NAMES}
"""Ids in which a second answer is numbered, so that it is one of its own wherever they are compared."""

TABLE_DESCRIPTIONS: Mapping[TableName, str] = {name: COLUMNS_FILE[name]["description"] for name in TABLE_NAMES}

COLUMNS: Mapping[TableName, Mapping[str, str]] = {
    table: {column.name: column.description for column in columns} for table, columns in TABLES.items()
}
"""Table → column → meaning."""


_KINDS = {"text": "text", "integer": "whole number", "number": "number", "flag": "0 or 1"}


def listed_columns(table: TableName) -> str:
    """The columns that a table from elsewhere must have, each with kind and meaning, then the names of the others."""
    required = [
        f"  {c.name} ({_KINDS[c.kind]}{', may be empty or missing' if c.empty_ok else ''}): {c.description}"
        for c in TABLES[table]
        if c.exchange
    ]
    others = ", ".join(column.name for column in TABLES[table] if not column.exchange)
    head = [f"{table}: {TABLE_DESCRIPTIONS[table]}", "Required:"]
    return "\n".join([*head, *required, f"Optional: {others}."])
