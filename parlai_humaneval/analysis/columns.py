"""The columns of the tidy tables: names, types and meanings, in one place.

``exchange`` columns are those that a table from anywhere must have; the others are what our own
records hold besides, and are empty where a table from elsewhere lacks them. Columns that are not
listed here pass through. An empty text is a missing value: CSV cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

TableName = Literal["turns", "dialogues", "comparisons"]
Kind = Literal["text", "integer", "number", "flag"]


class TableError(ValueError):
    """A table that cannot be used; the message names table, column and row, and says what was expected."""


@dataclass(frozen=True)
class Column:
    """``flag`` is 0 or 1. ``empty_ok``: a missing value is allowed."""

    name: str
    kind: Kind
    description: str
    exchange: bool = False
    empty_ok: bool = False


def _must(name: str, kind: Kind, description: str, empty_ok: bool = False) -> Column:
    return Column(name, kind, description, exchange=True, empty_ok=empty_ok)


def _more(name: str, kind: Kind, description: str) -> Column:
    return Column(name, kind, description, empty_ok=True)


_QUESTION = _more("question", "text", "the question exactly as the rater saw it")
_STATUS = _more("dialogue_status", "text", "running, complete, partial (left or cut off) or failed")

_TURNS = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. pw_turn"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("metric", "text", "what the question is about, e.g. preference"),
    _must("turn", "integer", "turn of the Bot Speaker, from 1"),
    _must("model", "text", "model that wrote this candidate"),
    _must("position", "integer", "place of the candidate as shown, from 1 (top or left)"),
    _must("selected", "flag", "1: the rater chose this candidate"),
    _must("continued", "flag", "1: the dialogue went on with this candidate"),
    _must(
        "written",
        "flag",
        "1: the dialogue went on with a reply that the rater wrote (every row of that turn)",
    ),
    _must("seconds", "number", "from candidates shown to answer; empty where unanswered", empty_ok=True),
    _more("candidate_id", "text", "the candidate, unique within its dialogue"),
    _more("text", "text", "the reply as shown"),
    _more("raw_text", "text", "the model's own text where masking changed it, else empty"),
    _more("masked", "flag", "1: words that named the model or its maker were replaced"),
    _more("latency_s", "number", "seconds the model took to reply"),
    _more("human_text", "text", "what the Human Speaker said before"),
    _more("human_fixed", "flag", "1: that message was given, not typed (the opening “Hi!”)"),
    _more("written_text", "text", "the reply the rater wrote, if any"),
    _more("reason", "text", "the rater's written reason for the choice of this turn"),
    _more("complete", "flag", "1: this turn was answered"),
    _QUESTION,
    _STATUS,
)

_DIALOGUES = (
    _must("dialogue_id", "text", "the rated dialogue"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("technique", "text", "evaluation technique, e.g. pw_turn"),
    _must("setting", "text", "variant of the technique, empty where it has none", empty_ok=True),
    _must("started", "text", "when it began: ISO 8601, UTC", empty_ok=True),
    _must("seconds", "number", "from beginning to end; empty where it did not end", empty_ok=True),
    _must("n_turns", "integer", "turns that were answered"),
    _must("complete", "flag", "1: the dialogue was finished"),
    _more("status", "text", "running, complete, partial (left or cut off) or failed"),
    _more("failure", "text", "what went wrong, where the status is failed"),
    _more("n_turns_started", "integer", "turns begun: answered ones and the one that was cut off"),
    _more("metric", "text", "what the question is about, e.g. preference"),
    _QUESTION,
    _more("models", "text", "names of the models, joined by ;"),
    _more("model_settings", "text", "JSON list: name, options, description and source of each model"),
    _more("settings", "text", "JSON object: full setting of the technique"),
    _more("persona", "text", "JSON list: the Human Speaker's persona sentences"),
    _more("topic", "text", "prescribed topic, if any"),
    _more("final_ratings", "text", "JSON object: answers at the end of the dialogue"),
    _more("feedback", "text", "the rater's free text at the end"),
    _more("checks", "text", "JSON object: quality checks"),
    _more("refused_answers", "integer", "answers that the server refused (unknown candidate, no reason …)"),
    # Text, as a seed may need more bits than an integer column has.
    _more(
        "seed", "text", "whole number: seed of the order of candidates; what a sampling model says is not repeatable"
    ),
    _more("task_name", "text", "name of the task"),
    _more("task_run_id", "text", "launch of the task"),
    _more("unit_id", "text", "unit of work"),
    _more("assignment_id", "text", "assignment of the unit"),
    _more("schema_version", "integer", "version of the record that this row was read from"),
)

_COMPARISONS = (
    _must("item_id", "text", "what was compared; for a turn of a dialogue: dialogue_id:turn"),
    _must("worker_id", "text", "pseudonym of the rater"),
    _must("metric", "text", "what the question is about, e.g. preference"),
    _must("model_a", "text", "the model whose name comes first in the alphabet"),
    _must("model_b", "text", "the other model"),
    _must("dialogue_a", "text", "dialogue in which model_a spoke"),
    _must(
        "dialogue_b",
        "text",
        "dialogue in which model_b spoke (the same one when replies of a turn are compared)",
    ),
    _must("winner", "text", "name of the chosen model, or tie (both or none chosen)"),
    _must("seconds", "number", "from shown to answered", empty_ok=True),
    _more("technique", "text", "evaluation technique, e.g. pw_turn"),
    _more("setting", "text", "variant of the technique"),
    _more("turn", "integer", "turn of the Bot Speaker, from 1"),
    _more("position_a", "integer", "place of model_a's reply as shown, from 1"),
    _more("reason", "text", "the rater's written reason"),
    _QUESTION,
    _STATUS,
)

TABLES: Mapping[TableName, tuple[Column, ...]] = {
    "turns": _TURNS,
    "dialogues": _DIALOGUES,
    "comparisons": _COMPARISONS,
}

TABLE_DESCRIPTIONS: Mapping[TableName, str] = {
    "turns": "A row per candidate reply shown, in turns answered and not.",
    "dialogues": "A row per dialogue, finished and not.",
    "comparisons": "A row per answered comparison of two models.",
}

COLUMNS: Mapping[TableName, Mapping[str, str]] = {
    table: {column.name: column.description for column in columns} for table, columns in TABLES.items()
}
"""Table → column → meaning."""


def typed(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with all columns of ``table``, in order, typed and checked; others follow as they are.

    Raises:
        TableError: a column of the exchange format is missing or has a value that does not fit.
    """
    columns = TABLES[table]
    missing = [c.name for c in columns if c.exchange and c.name not in frame.columns]
    if missing:
        raise TableError(f"{table}: missing column {', '.join(missing)}. It has: {', '.join(map(str, frame.columns))}.")
    known = {c.name: _typed_column(table, c, frame) for c in columns}
    others = {str(name): frame[name] for name in frame.columns if name not in known}
    whole: pd.DataFrame = pd.DataFrame({**known, **others}, index=frame.index)
    return whole


def from_rows(table: TableName, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The typed table of ``rows``; with no rows it still has every column."""
    return typed(table, pd.DataFrame(list(rows), columns=[c.name for c in TABLES[table]], dtype=object))


def _typed_column(table: TableName, column: Column, frame: pd.DataFrame) -> pd.Series[Any]:
    if column.name not in frame.columns:
        return _absent(column.kind, frame.index)
    values: pd.Series[Any] = frame[column.name]
    empty = values.isna() | values.isin([""])
    if empty.any() and not column.empty_ok:
        raise TableError(f"{table}.{column.name}: empty in row {_first(empty)} ({column.description}).")
    if column.kind == "text":
        return _text(["" if none else str(value) for value, none in zip(values, empty, strict=True)], frame.index)
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64")
    _refuse(table, column, values, numbers.isna() & ~empty, "a number")
    if column.kind == "number":
        return numbers
    _refuse(table, column, values, (numbers % 1 != 0).fillna(False).astype(bool), "a whole number")
    if column.kind == "flag":
        _refuse(table, column, values, ~(numbers.isin([0, 1]) | empty), "0 or 1")
    return numbers.astype("Int64")


def _absent(kind: Kind, index: pd.Index[Any]) -> pd.Series[Any]:
    if kind == "text":
        return _text([""] * len(index), index)
    # Nullable types, so that a missing number never becomes nan.
    series: pd.Series[Any] = pd.Series(
        [pd.NA] * len(index), index=index, dtype="Float64" if kind == "number" else "Int64"
    )
    return series


def _text(values: list[str], index: pd.Index[Any]) -> pd.Series[Any]:
    series: pd.Series[Any] = pd.Series([value or None for value in values], index=index, dtype=object)
    return series


def _refuse(table: TableName, column: Column, values: pd.Series[Any], wrong: pd.Series[bool], wanted: str) -> None:
    if wrong.any():
        row = _first(wrong)
        raise TableError(f"{table}.{column.name}: {values.iloc[row - 1]!r} in row {row}, expected {wanted}.")


def _first(mask: pd.Series[bool]) -> int:
    """Number of the first row where ``mask`` holds, from 1."""
    return int(mask.to_numpy().argmax()) + 1
