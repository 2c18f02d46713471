"""Frames checked against the declared columns: typed, in order, with an error that names the bad cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from parlai_humaneval.analysis.declared import (
    COLUMNS,
    KEYS,
    TABLE_DESCRIPTIONS,
    TABLES,
    Column,
    Kind,
    TableName,
)

__all__ = ["COLUMNS", "TABLES", "TABLE_DESCRIPTIONS", "TableError", "TableName", "check_unique", "from_rows", "typed"]


class TableError(ValueError):
    """A table that cannot be used; the message names table, column and row, and says what was expected."""


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


def check_unique(table: TableName, frame: pd.DataFrame) -> None:
    """Refuse a table (as :func:`typed` gives it) that holds a row twice, which would count an answer twice.

    Raises:
        TableError: two rows share all the columns that name a row of this table.
    """
    key = list(KEYS[table])
    again = frame.duplicated(key, keep=False)
    if again.any():
        values = frame.loc[again, key].iloc[0]
        same = frame[key].eq(values) | (frame[key].isna() & values.isna())
        first, second = (int(place) + 1 for place in same.all(axis=1).to_numpy().nonzero()[0][:2])
        named = ", ".join(f"{name} {value!r}" for name, value in values.items() if not pd.isna(value))
        raise TableError(f"{table}: rows {first} and {second} are the same answer ({named}). Keep one of them.")


def _typed_column(table: TableName, column: Column, frame: pd.DataFrame) -> pd.Series[Any]:
    if column.name not in frame.columns:
        return _absent(column.kind, frame.index)
    values: pd.Series[Any] = frame[column.name]
    empty = values.isna() | values.isin([""])
    if empty.any() and not column.empty_ok:
        raise TableError(f"{table}.{column.name}: empty in row {_first(empty)} ({column.description}).")
    if column.kind == "text":
        if column.allowed:
            _refuse(table, column, values, ~(values.isin(column.allowed) | empty), _one_of(column))
        return _text(["" if none else str(value) for value, none in zip(values, empty, strict=True)], frame.index)
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64")
    _refuse(table, column, values, numbers.isna() & ~empty, "a number")
    if column.kind == "number":
        return numbers
    _refuse(table, column, values, (numbers % 1 != 0).fillna(False).astype(bool), "a whole number")
    if column.kind == "flag":
        _refuse(table, column, values, ~(numbers.isin([0, 1]) | empty), "0 or 1")
    if column.allowed:
        _refuse(table, column, values, ~(numbers.isin(column.allowed) | empty), _one_of(column))
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


def _one_of(column: Column) -> str:
    *others, last = map(str, column.allowed)
    return f"{', '.join(others)} or {last}"


def _first(mask: pd.Series[bool]) -> int:
    """Number of the first row where ``mask`` holds, from 1."""
    return int(mask.to_numpy().argmax()) + 1
