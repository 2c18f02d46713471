"""Answers that the same worker gave again: refused unless it is said what counts, else all, the first or the last.

Published data hold them: in Spot The Bot's release some workers annotated the same dialogue and segment twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.tables.columns import CleanedLabels, Repeated, Repeats, TableError, Tables, check_unique
from parlai_humaneval.tables.schema import KEYS, NUMBERED, TableName
from parlai_humaneval.tables.validate import check_rules, in_alphabet, with_dialogues

_OF_ONE_ANSWER = {"model", "model_a", "model_b", "entity", "criterion", "position"}
"""Columns in which the rows of one answer differ."""
_VERDICT = ":verdict"  # Ends the id of a verdict, which is known by it: the number stands before


def settled(
    table: TableName, frame: pd.DataFrame, repeats: Repeats | None
) -> tuple[pd.DataFrame, tuple[Repeated, ...]]:
    """``frame`` (typed) without repeated keys, and what was done to it; the index stays that of the rows that are kept.
    ``keep`` numbers the second answer of a worker, and further ones: the column ``answer_number`` holds 2, 3 …, and the
    ids get “ (answer 2)”. The worker stays the same, and so do the dialogues of a comparison of two. ``first`` and
    ``last`` leave the others out. The order is that of the column ``started``, where every answer to the same has one,
    else that of the rows. None: nothing is changed, and what appears twice is left for
    :func:`~parlai_humaneval.tables.columns.check_unique` to refuse; answers that were kept before are told. Raises
    ValueError."""
    if repeats not in (None, *get_args(Repeats)):
        raise ValueError(f"repeats {repeats!r}: expected one of {', '.join(get_args(Repeats))}, or None to refuse them")
    if frame.empty or (repeats is None and not frame["answer_number"].notna().any()):
        return frame, ()
    plain = _without_numbers(table, frame)
    keys = plain[list(dict.fromkeys([*KEYS[table], "worker_id"]))]
    if table == "comparisons":
        keys = in_alphabet(with_dialogues(plain)[keys.columns])
    answer = np.asarray(keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup(), dtype=np.int64)
    again = pd.Series(answer).duplicated(keep=False).to_numpy(dtype=bool)
    if not again.any():
        return (frame if repeats is None else plain), ()
    place, last = _in_order(answer, plain)
    rows, more = plain[again], int((place > 1).sum())
    told = (
        Repeated(
            table=table,
            repeats=repeats or "keep",
            answers=len(rows[[name for name in KEYS[table] if name not in _OF_ONE_ANSWER]].drop_duplicates()),
            more_rows=more,
            left_out=0 if repeats in (None, "keep") else more,
            copies=int(rows.astype(str).duplicated().sum()),  # as texts: a column that passes through may hold lists
        ),
    )
    if repeats is None:
        return frame, told
    if repeats == "keep":
        return _with_numbers(table, plain, place), told
    return plain[place == (1 if repeats == "first" else last)], told


@dataclass(frozen=True)
class Checked:
    """A table, with what was done about answers that a worker gave again, and about ids and names that were not clean."""

    frame: pd.DataFrame
    repeats: tuple[Repeated, ...] = ()
    cleaned: tuple[CleanedLabels, ...] = ()


def checked(
    table: TableName, frame: pd.DataFrame, repeats: Repeats | None, cleaned: tuple[CleanedLabels, ...] = ()
) -> Checked:
    """:func:`settled`, refused where an answer still appears twice, or a row cannot be. Raises TableError, whose
    ``rows`` are those of ``frame``, numbered from 0 by its index."""
    whole, told = settled(table, frame, repeats)
    try:
        check_unique(table, whole)
        check_rules(table, whole)
    except TableError as wrong:
        error = wrong.of_file(whole.index.to_numpy())
        error.rows = tuple(whole.index[list(wrong.rows)].tolist())
        raise error from wrong
    return Checked(whole.reset_index(drop=True) if told else whole, told, cleaned)


def tables_of(read: Mapping[TableName, Checked]) -> Tables:
    """All of the tables of raters, or of judges, together."""
    return Tables(
        **{name: one.frame for name, one in read.items()},
        repeats=tuple(each for one in read.values() for each in one.repeats),
        judges=None,
        stopping=(),
        cleaned=tuple(each for one in read.values() for each in one.cleaned),
    )


def dialogue_ids(rows: pd.DataFrame) -> pd.Series[Any]:
    """The dialogues of ``rows`` under their own names: those of second answers without the number. Rows without a
    column ``answer_number`` have no second answers, or were given their own names before."""
    if "answer_number" not in rows.columns:
        return rows["dialogue_id"]
    return _renamed(rows["dialogue_id"], rows["answer_number"], _unmarked)


def _in_order(answer: Ints, frame: pd.DataFrame) -> tuple[Ints, Ints]:
    """Of each row, the place of its answer among those to the same, by when they began where all say so; and how many
    these are."""
    started = np.full(len(frame), np.nan)
    if "started" in frame.columns:
        read = pd.to_datetime(frame["started"], utc=True, errors="coerce", format="ISO8601")
        started = ((read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(dtype=float)
    size = np.bincount(answer)
    known = np.bincount(answer, weights=~np.isnan(started)) == size
    time = np.where(known[answer], started, 0.0)
    order = np.lexsort((np.arange(len(answer)), time, answer))
    place = np.empty(len(answer), dtype=np.int64)
    place[order] = np.arange(len(answer)) - np.repeat(np.cumsum(size) - size, size) + 1
    return place, size[answer].astype(np.int64)


def _with_numbers(table: TableName, frame: pd.DataFrame, number: Ints) -> pd.DataFrame:
    later = number > 1
    if table == "comparisons":
        filled = with_dialogues(frame[later])
        frame = frame.assign(**{name: frame[name].where(~later, filled[name]) for name in ("dialogue_a", "dialogue_b")})
    numbers = pd.Series(pd.array(number, dtype="Int64"), index=frame.index).where(later)
    # Two finished dialogues stay what they are; the one dialogue in which a turn was answered is another one.
    of_one = numbers.where(frame["dialogue_a"] == frame["dialogue_b"]) if table == "comparisons" else numbers
    marked = {
        name: _renamed(frame[name], of_one if name in ("dialogue_a", "dialogue_b") else numbers, _marked)
        for name in NUMBERED[table]
    }
    return frame.assign(answer_number=numbers, **marked)


def _without_numbers(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    if not frame["answer_number"].notna().any():
        return frame
    own = {name: _renamed(frame[name], frame["answer_number"], _unmarked) for name in NUMBERED[table]}
    return frame.assign(answer_number=pd.array([pd.NA] * len(frame), dtype="Int64"), **own)


def _renamed(ids: pd.Series[Any], numbers: pd.Series[Any], rename: Callable[[str, int], str]) -> pd.Series[Any]:
    """``ids``, each of them renamed with its number; those without one, and empty ones, stay."""
    places = np.flatnonzero((numbers.notna() & ids.notna()).to_numpy(dtype=bool))
    if not len(places):
        return ids
    cells = ids.to_numpy(dtype=object, copy=True)
    cells[places] = [rename(str(cells[place]), int(numbers.iloc[place])) for place in places]
    return pd.Series(cells, index=ids.index, dtype=object)


def _marked(name: str, number: int) -> str:
    stem = name.removesuffix(_VERDICT)
    return f"{stem} (answer {number}){name[len(stem) :]}"


def _unmarked(name: str, number: int) -> str:
    return name.replace(f" (answer {number})", "", 1)
