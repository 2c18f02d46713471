"""The columns of the tidy tables: names, types and meanings, from ``data/columns.yaml``, and listed as text.

``exchange`` columns are those that a table from anywhere must have; the others are what our own records hold besides, and
are empty where a table from elsewhere lacks them. Columns that are not listed here pass through. An empty text is a
missing value: CSV cannot tell them apart.

Ticks that say what is wrong with a reply, so that fewer is better: told by their names, where nothing else tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from parlai_humaneval._util.data_files import packaged, read_yaml

_PROBLEM = re.compile(
    # ParlAI calls its buckets of problems so where nobody names them.
    r"bucket_\d+"
    r"|(\w+_)?(contradict\w*|inconsisten\w*|incoheren\w*|incorrect|irrelevan\w*|misinformation|hallucinat\w*|problems?)"
    r"|(non_?sens\w*|repetit\w*|repeat\w*|redundan\w*|robotic|bias\w*|toxic\w*|offensive|unsafe|rude|wrong|bad|boring)"
    r"|off_topic|generic|ignor\w*|disfluen\w*|non_fluent|ungrammatical|lack_of_\w+|lacks_\w+|not_\w+"
)
_GOOD = re.compile(
    r"engag\w*|human_?(like|ness)?|interesting\w*|appropriate|consisten\w*|coheren\w*|fluen\w*|fun|good|natural\w*"
    r"|sensib\w*|makes_sense|specific\w*|relevan\w*|on_topic|(factually_)?correct|factual|informative\w*"
    r"|knowledgeable|empath\w*|helpful\w*|polite\w*|safe"
)


def is_problem(name: str, *, otherwise: bool = False) -> bool:
    """Whether what is ticked under ``name`` is a problem of a reply. ``otherwise``: of names that are not known."""
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    return _PROBLEM.fullmatch(plain) is not None or (otherwise and _GOOD.fullmatch(plain) is None)


Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed. ``allowed``: the only values, where it is so."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False
    allowed: tuple[str | int, ...] = ()


TIE = "tie"
"""``winner`` where both candidates were chosen, or none."""

HUMAN = "human"
"""Name of a person among the speakers of a dialogue, and the label of one who was taken for a person."""

LABELS = (HUMAN, "unsure", "bot")
FEATURES = ("fluent", "sensible", "specific")
"""Features of Spot The Bot, as columns."""

TableName = Literal["turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements"]

TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)
_TOLD: Mapping[str, Any] = read_yaml(packaged("columns.yaml"))


def _columns(part: str, group: Literal["required", "others"]) -> tuple[Column, ...]:
    exchange = group == "required"
    return tuple(
        Column(name, kind, told[kind], exchange, not exchange or "empty" in told, tuple(told.get("allowed", ())))
        for name, told in _TOLD[part].get(group, {}).items()
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
"""Columns that the tables of judges have besides, which stand in a folder of their own."""

_STUDY = ("technique", "setting", "metric")

KEYS: Mapping[TableName, tuple[str, ...]] = {
    "turns": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "turn", "model", "position"),
    "dialogues": ("dialogue_id", "worker_id"),
    "comparisons": ("item_id", "worker_id", "judgement_id", *_STUDY, "model_a", "model_b", "dialogue_a", "dialogue_b"),
    "ratings": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "model", "criterion"),
    "points": ("dialogue_id", "model"),
    "segments": ("dialogue_id", "worker_id", "judgement_id", *_STUDY, "k", "entity"),
    "judgements": ("judgement_id",),
}
"""Columns that name a row: no two rows of a table may share them all."""

TABLE_DESCRIPTIONS: Mapping[TableName, str] = {name: _TOLD[name]["description"] for name in TABLE_NAMES}

COLUMNS: Mapping[TableName, Mapping[str, str]] = {
    table: {column.name: column.description for column in columns} for table, columns in TABLES.items()
}
"""Table → column → meaning."""


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
