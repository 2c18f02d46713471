"""Where the rows of a report's tables come from: the tidy table, and the filter that gives its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from parlai_humaneval.report.section import Summary
from parlai_humaneval.report.views import Cell
from parlai_humaneval.tables.schema import COLUMNS, TableName

_OF_SECTION: Mapping[str, TableName] = {
    "turns": "turns",
    "free_for_all": "turns",
    "comparisons": "comparisons",
    "direct_assessment": "ratings",
    "likert": "ratings",
    "segments": "segments",
    "justifications": "judgements",
    "rankings": "turns",
    "replies": "turns",
}
"""Section → the tidy table of its answers; rows of the others name theirs themselves, in a column ``source``."""
_FILTERS = ("technique", "setting", "metric", "kind", "criterion", "model", "model_a", "model_b", "k")
"""Columns of a row that say which rows of the tidy table it is made of."""


def origin_of(section: str, row: Mapping[str, Cell]) -> tuple[TableName, str] | None:
    """The tidy table of a row and its filter in words, “model = alpha and metric = preference”; None where unknown."""
    named = str(row.get("source") or "")
    table = next((name for name in get_args(TableName) if name == named), _OF_SECTION.get(section))
    return None if table is None else (table, _filter(table, row))


def origin_of_answer(answer: Summary, models: tuple[str, ...]) -> tuple[TableName, str] | None:
    """The same of a line of a summary, which is of one model or of a pair."""
    names: dict[str, Any] = {"model": models[0]} if len(models) == 1 else {"model_a": models[0], "model_b": models[1]}
    row = {"technique": answer.technique, "setting": answer.setting, "metric": answer.metric, **names}
    return origin_of(answer.section, row)


def _filter(table: TableName, row: Mapping[str, Cell]) -> str:
    known = COLUMNS[table]
    models = sorted(str(row[name]) for name in ("model_a", "model_b") if row.get(name))
    if models and "model_a" in known:
        row = {**row, **dict(zip(("model_a", "model_b"), models, strict=False))}
    parts = [f"{name} = {row[name]}" for name in _FILTERS if name in known and row.get(name) not in (None, "")]
    if models and "model_a" not in known:
        parts.append(f"model is {' or '.join(models)}")
    one = str(row.get("model") or "")
    if one and "model" not in known:
        parts.append(f"model_a or model_b = {one}")
    return " and ".join(parts)
