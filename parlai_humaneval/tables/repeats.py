"""Answers that the same worker gave again: refused unless it is said what counts, else all, the first or the last.

Published data hold them: in Spot The Bot's release some workers annotated the same dialogue and segment twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.tables.columns import Repeated, Repeats
from parlai_humaneval.tables.schema import KEYS, TableName
from parlai_humaneval.tables.validate import with_dialogues

_IDS: Mapping[TableName, tuple[str, ...]] = {
    "turns": ("dialogue_id", "judgement_id"),
    "dialogues": ("dialogue_id",),
    "comparisons": ("item_id", "judgement_id", "dialogue_a", "dialogue_b"),
    "ratings": ("dialogue_id", "judgement_id"),
    "points": ("dialogue_id",),
    "segments": ("dialogue_id", "judgement_id"),
    "judgements": ("judgement_id",),
}
"""Table → ids in which a second answer is numbered, so that it is one of its own wherever they are compared."""
_OF_ONE_ANSWER = {"model", "model_a", "model_b", "entity", "criterion", "position"}
"""Columns in which the rows of one answer differ."""
_VERDICT = ":verdict"
"""Ends the id of a verdict, which is known by it: the number stands before."""


def settled(
    table: TableName, frame: pd.DataFrame, repeats: Repeats | None
) -> tuple[pd.DataFrame, tuple[Repeated, ...]]:
    """``frame`` (typed) without repeated keys, and what was done to it; the index stays that of the rows that are kept.

    ``keep`` numbers the second answer of a worker, and further ones: the column ``answer_number`` holds 2, 3 …, and the
    ids get “ (answer 2)”. The worker stays the same, and so do the dialogues of a comparison of two. ``first`` and
    ``last`` leave the others out. The order is that of the column ``started``, where every answer to the same has one,
    else that of the rows. None: nothing is changed, and what stands there twice is left for
    :func:`~parlai_humaneval.tables.columns.check_unique` to refuse; answers that were kept before are told.

    Raises:
        ValueError: ``repeats`` is another word.
    """
    if repeats not in (None, *get_args(Repeats)):
        raise ValueError(f"repeats {repeats!r}: expected one of {', '.join(get_args(Repeats))}, or None to refuse them")
    if frame.empty or (repeats is None and not frame["answer_number"].notna().any()):
        return frame, ()
    plain = _without_numbers(table, frame)
    keys = _keys(table, plain)
    answer = np.asarray(keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup(), dtype=np.int64)
    again = pd.Series(answer).duplicated(keep=False).to_numpy(dtype=bool)
    if not again.any():
        return (frame if repeats is None else plain), ()
    place, last = _in_order(answer, _started(plain))
    told = (_told(table, plain[again], repeats or "keep", int((place > 1).sum())),)
    if repeats is None:
        return frame, told
    if repeats == "keep":
        return _with_numbers(table, plain, place), told
    return plain[place == (1 if repeats == "first" else last)], told


def dialogue_ids(rows: pd.DataFrame) -> pd.Series[Any]:
    """The dialogues of ``rows`` under their own names: those of second answers without the number.

    Rows without a column ``answer_number`` have no second answers, or were given their own names before.
    """
    if "answer_number" not in rows.columns:
        return rows["dialogue_id"]
    return _renamed(rows["dialogue_id"], rows["answer_number"], _unmarked)


def _keys(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    names = list(dict.fromkeys([*KEYS[table], "worker_id"]))
    keys: pd.DataFrame = (with_dialogues(frame) if table == "comparisons" else frame)[names].copy()
    if table == "comparisons":
        swap = (frame["model_a"] > frame["model_b"]).to_numpy(dtype=bool)
        for a, b in (("model_a", "model_b"), ("dialogue_a", "dialogue_b")):
            keys[a], keys[b] = keys[a].where(~swap, keys[b]), keys[b].where(~swap, keys[a])
    return keys


def _started(frame: pd.DataFrame) -> Floats:
    """Seconds since 1970; nan where no time is said."""
    if "started" not in frame.columns:
        return np.full(len(frame), np.nan)
    read = pd.to_datetime(frame["started"], utc=True, errors="coerce", format="ISO8601")
    return np.asarray(((read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(dtype=float))


def _in_order(answer: Ints, started: Floats) -> tuple[Ints, Ints]:
    size = np.bincount(answer)
    known = np.bincount(answer, weights=~np.isnan(started)) == size
    time = np.where(known[answer], started, 0.0)
    order = np.lexsort((np.arange(len(answer)), time, answer))
    place = np.empty(len(answer), dtype=np.int64)
    place[order] = np.arange(len(answer)) - np.repeat(np.cumsum(size) - size, size) + 1
    return place, size[answer].astype(np.int64)


def _told(table: TableName, rows: pd.DataFrame, repeats: Repeats, more: int) -> Repeated:
    """``rows``: of keys that stand there several times, of which ``more`` are not the first."""
    unit = [name for name in KEYS[table] if name not in _OF_ONE_ANSWER]
    return Repeated(
        table=table,
        repeats=repeats,
        answers=len(rows[unit].drop_duplicates()),
        more_rows=more,
        left_out=0 if repeats == "keep" else more,
        copies=int(rows.astype(str).duplicated().sum()),  # as texts: a column that passes through may hold lists
    )


def _with_numbers(table: TableName, frame: pd.DataFrame, number: Ints) -> pd.DataFrame:
    later = number > 1
    if table == "comparisons":
        filled = with_dialogues(frame[later])
        frame = frame.assign(**{name: frame[name].where(~later, filled[name]) for name in ("dialogue_a", "dialogue_b")})
    numbers = pd.Series(pd.array(number, dtype="Int64"), index=frame.index).where(later)
    marked = {name: _renamed(frame[name], numbers.where(_is_numbered(frame, name)), _marked) for name in _IDS[table]}
    whole: pd.DataFrame = frame.assign(answer_number=numbers, **marked)
    return whole


def _without_numbers(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    if not frame["answer_number"].notna().any():
        return frame
    own = {name: _renamed(frame[name], frame["answer_number"], _unmarked) for name in _IDS[table]}
    whole: pd.DataFrame = frame.assign(answer_number=pd.array([pd.NA] * len(frame), dtype="Int64"), **own)
    return whole


def _is_numbered(frame: pd.DataFrame, column: str) -> Flags:
    """Two finished dialogues stay what they are; the one dialogue in which a turn was answered is another one."""
    if column not in ("dialogue_a", "dialogue_b"):
        return np.ones(len(frame), dtype=bool)
    return np.asarray((frame["dialogue_a"] == frame["dialogue_b"]).to_numpy(dtype=bool))


def _renamed(ids: pd.Series[Any], numbers: pd.Series[Any], rename: Callable[[str, int], str]) -> pd.Series[Any]:
    """``ids``, each of them renamed with its number; those without one, and empty ones, stay."""
    places = np.flatnonzero((numbers.notna() & ids.notna()).to_numpy(dtype=bool))
    if not len(places):
        return ids
    cells = ids.to_numpy(dtype=object, copy=True)
    cells[places] = [rename(str(cells[place]), int(numbers.iloc[place])) for place in places]
    renamed: pd.Series[Any] = pd.Series(cells, index=ids.index, dtype=object)
    return renamed


def _marked(name: str, number: int) -> str:
    stem = name.removesuffix(_VERDICT)
    return f"{stem}{_mark(number)}{name[len(stem) :]}"


def _unmarked(name: str, number: int) -> str:
    return name.replace(_mark(number), "", 1)


def _mark(number: int) -> str:
    return f" (answer {number})"
