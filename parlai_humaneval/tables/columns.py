"""Tidy tables as frames, checked against the declared columns: typed, in order, with an error that names the bad cell.

Ids and names are read as people meant what they typed and pasted: without blanks and invisible characters at their ends, in
one spelling.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype
from typing_extensions import Unpack

from parlai_humaneval._util.arrays import Flags
from parlai_humaneval._util.errors import HumanevalError, Parts, Problem
from parlai_humaneval._util.table_files import CELL, plain_name, rows_named
from parlai_humaneval._util.text import clean_label, on_one_line, visible
from parlai_humaneval.tables.schema import COLUMNS_FILE, JUDGE_COLUMNS, KEYS, TABLES, Column, Kind, TableName

WRITTEN, LISTS = (frozenset[str](COLUMNS_FILE[kind]) for kind in ("written", "lists"))
"""Columns that stay letter for letter, and columns that may hold several names, joined by ;."""
_IDS = ("dialogue_a", "dialogue_b", "own_worker", "start")  # and all whose names end with _id
_NUMBER, _CODE = re.compile(r"(-?\d+)\.(\d+)"), re.compile(r"0\d+")
LIKE = 0.6  # Names so much like each other may be the same: difflib's ratio
MOST = 10  # Faults, and words of a column, that are listed
RUN = "run"  # A column that is not ours, and names the runs of a study where it is there


@dataclass(frozen=True)
class CleanedLabels:
    """How many cells of a table :func:`~parlai_humaneval._util.text.clean_label` changed, by column."""

    table: TableName
    cells: Mapping[str, int]

    @property
    def words(self) -> str:
        """“ratings: 14 cells had blanks or invisible characters …”"""
        count = sum(self.cells.values())
        cells = "1 cell" if count == 1 else f"{count:,} cells"
        return (
            f"{self.table}: {cells} ({', '.join(self.cells)}) had blanks or invisible characters at either end, accents in "
            "another Unicode form, or “.0” after a whole number. The cells were cleaned, so each name has one spelling."
        )


def with_clean_labels(table: TableName, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[CleanedLabels, ...]]:
    """``frame`` with clean ids, names and numbers in our columns but :data:`WRITTEN`, and what was changed. Columns
    that are not ours stay as they are, but for :data:`RUN`."""
    changed: dict[str, pd.Series[Any]] = {}
    counts: dict[str, int] = {}
    ours = {column.name for column in (*TABLES[table], *JUDGE_COLUMNS[table])} - WRITTEN | {RUN}
    names = Counter(map(str, frame.columns))
    for name in ours & {name for name, count in names.items() if count == 1}:  # the same name twice is refused later
        values: pd.Series[Any] = frame[name]
        is_id = name.endswith("_id") or name in _IDS
        if is_numeric_dtype(values) and not is_id:
            continue
        every: list[Any] = values.tolist()
        texts = {value for value in every if isinstance(value, str)}
        lists = {text: text.split(";") if name in LISTS else [text] for text in texts}
        found: dict[Any, str] = {text: ";".join(map(clean_label, parts)) for text, parts in lists.items()}
        found |= _whole(every) if is_id else {}
        clean = {before: after or None for before, after in found.items() if after != before}
        if clean:
            counts[name] = sum(isinstance(value, (str, float)) and value in clean for value in every)
            cells = [clean.get(value, value) if isinstance(value, (str, float)) else value for value in every]
            changed[name] = pd.Series(cells, index=frame.index, dtype=object)
    if not changed:
        return frame, ()
    whole: pd.DataFrame = frame.assign(**changed)
    return whole, (CleanedLabels(table, {name: counts[name] for name in names if name in counts}),)


def with_our_names(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` in which ``Item_ID``, ``itemId`` and ``item id`` are called ``item_id``, unless it has that column too."""
    ours = {plain_name(column.name): column.name for column in (*TABLES[table], *JUDGE_COLUMNS[table])}
    found: dict[str, str] = {}
    for name in map(str, frame.columns):
        our = ours.get(plain_name(name), name)
        if our not in frame.columns and our not in found.values():
            found[name] = our
    return frame.rename(columns=found) if found else frame


def _whole(cells: Sequence[Any]) -> dict[Any, str]:
    """5 of 5.0, as spreadsheets and pandas write it where another cell is empty, unless a number has other decimals or
    begins with 0, as no spreadsheet writes it."""
    numbers = {
        cell: match
        for cell in cells
        if isinstance(cell, (str, float)) and (match := _NUMBER.fullmatch(str(cell).strip())) is not None
    }
    is_whole = not any(match[2].strip("0") for match in numbers.values())
    is_whole = is_whole and not any(isinstance(cell, str) and _CODE.fullmatch(cell) for cell in cells if numbers)
    return {cell: match[1] for cell, match in numbers.items()} if is_whole else {}


def added_up(parts: Sequence[CleanedLabels]) -> tuple[CleanedLabels, ...]:
    """Add up the counts of several files of one table."""
    found: dict[TableName, Counter[str]] = {}
    for part in parts:
        found.setdefault(part.table, Counter()).update(part.cells)
    return tuple(CleanedLabels(table, dict(cells)) for table, cells in found.items())


Row = dict[str, Any]  # Column → value
Cells = Any  # A series of texts, or an array of numbers of which some may be missing


Numbered = tuple[str | int, ...]
"""Words in which an integer is the place of a row, from 0."""
What = str | BaseException | Numbered | Problem | list[Problem]


class TableError(HumanevalError, ValueError):
    """A table that cannot be used; the message names table, column and row, and says what was expected.

    ``rows``: places, from 0, of all rows that have this fault; empty where the fault is none of single rows. ``alike``:
    those of them for which the message is the same.
    """

    def __init__(self, what: What, rows: Sequence[int] = (), alike: Sequence[int] = (), **parts: Unpack[Parts]) -> None:
        self._words: Numbered = what if isinstance(what, tuple) else ()
        if isinstance(what, tuple):
            what = "".join(part if isinstance(part, str) else str(part + 1) for part in what)
        super().__init__(what, **parts)
        self.rows, self.alike = tuple(rows), tuple(alike)

    def of_file(self, places: npt.NDArray[Any], alike: Sequence[int] | None = None) -> TableError:
        """The same error with the place, from 0, that each row of the table has in its file, or words for it, and with all
        rows that are ``alike``; ``rows`` stay."""
        if not self._words:
            return self
        named = [part if isinstance(part, str) else places[part] for part in self._words]
        words = [part if isinstance(part, str) else int(part) for part in named]
        if others := [
            one
            for one in dict.fromkeys(places[list(self.alike if alike is None else alike)].tolist())
            if one not in named
        ]:
            words.insert(2, f", and the same in {rows_named(others)}")
        (problem,) = self.problems
        return TableError(tuple(words), self.rows, where=problem.where, try_=problem.try_, misspelt=problem.misspelt)


def typed(table: TableName, frame: pd.DataFrame, besides: Sequence[Column] = ()) -> pd.DataFrame:
    """``frame`` with all columns of ``table``, and those ``besides``, in order, typed and checked; others follow as
    they are. Raises TableError."""
    columns = (*TABLES[table], *besides)
    twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
    if twice:
        again = f"give the second {twice[0]} another name in the file, or keep one of the two"
        raise TableError(f"column {', '.join(twice)} appears twice", where=table, try_=again)
    missing = [c for c in columns if c.exchange and not c.empty_ok and c.name not in frame.columns]
    if missing:
        present = list(map(str, frame.columns))
        # The column of the file that is most like each missing one; columns of ours are none, and each is taken once.
        ours = {column.name for column in columns}
        free = {name: plain_name(name) for name in present if name not in ours}
        pairs = [
            (-SequenceMatcher(None, plain_name(column.name), plain).ratio(), column.name, name)
            for column in missing
            for name, plain in free.items()
        ]
        nearest: dict[str, str] = {}
        for ratio, column_name, name in sorted(pairs):
            if -ratio >= LIKE and column_name not in nearest and name not in nearest.values():
                nearest[column_name] = name
        hints = [f"{near!r} may be {name}" for name, near in nearest.items()]
        hint = f" {'; '.join(hints)}: rename it." if hints else ""
        meant = [f"  {c.name}: {c.description}" for c in missing]
        names = ", ".join(column.name for column in missing)
        said = f"{table}: missing column {names}. The table has: {', '.join(map(visible, present))}.{hint} Missing:"
        raise TableError("\n".join([said, *meant]))
    known = {c.name: _typed_column(table, c, frame) for c in columns}
    others = {str(name): frame[name] for name in frame.columns if name not in known}
    whole: pd.DataFrame = pd.DataFrame({**known, **others}, index=frame.index)
    return whole


def from_rows(table: TableName, rows: Sequence[Mapping[str, Any]], besides: Sequence[Column] = ()) -> pd.DataFrame:
    """The typed table of ``rows``; with no rows it still has every column."""
    if not rows:
        return _empty(table, tuple(besides)).copy()
    names = [c.name for c in (*TABLES[table], *besides)]
    return typed(table, pd.DataFrame(list(rows), columns=names, dtype=object), besides)


@cache
def _empty(table: TableName, besides: tuple[Column, ...]) -> pd.DataFrame:
    """Most techniques fill two or three of the tables."""
    columns = (*TABLES[table], *besides)
    return pd.DataFrame({c.name: _absent(c.kind, 0) for c in columns})


Repeats = Literal["keep", "first", "last"]
"""Which of the answers count that a worker gave to the same: all of them, the first or the last."""

HOW_REPEATS = (
    "where a rater did answer twice, say which answers count: --repeats keep, first or last (in Python: repeats=…)"
)
"""Advice of the errors about answers that stand there twice."""


@dataclass(frozen=True)
class Repeated:
    """The treatment of answers that a worker gave again. ``answers``: those that were given several times.
    ``more_rows``: rows of the second answer and of further ones, of which ``left_out`` do not count; with ``keep``
    none, with ``first`` and ``last`` as many. ``copies``: rows that are the same as another one in every cell.
    """

    table: TableName
    repeats: Repeats
    answers: int
    more_rows: int
    left_out: int
    copies: int

    @property
    def words(self) -> str:
        """“segments: 46 answers were given again by the same rater. …”"""
        given = "1 answer was" if self.answers == 1 else f"{self.answers:,} answers were"
        count = (
            f"All of them count ({self.more_rows:,} more {'row' if self.more_rows == 1 else 'rows'}, numbered in the column "
            "answer_number), clustered by rater"
            if self.repeats == "keep"
            else f"The {self.repeats} of each counts; {_rows_are(self.left_out)} left out"
        )
        copies = f" {_rows_are(self.copies)} identical to another row in every cell." if self.copies else ""
        return f"{self.table}: {given} given again by the same rater. {count} (--repeats {self.repeats}).{copies}"


def _rows_are(count: int) -> str:
    return f"{count:,} row{' is' if count == 1 else 's are'}"


@dataclass(frozen=True)
class StoppingLog:
    """What happened in a study that stops once it reaches a decision, from its log; ``study``: its name. ``events``:
    oldest first, as in the log. Their meaning, and whether they lead to the decisions among them, is for the reader to
    judge."""

    study: str
    events: tuple[Row, ...]


@dataclass(frozen=True, eq=False)  # a table equals itself only, so that what was made of it can be kept
class Tables:
    """The tidy tables; :data:`~parlai_humaneval.tables.schema.COLUMNS` says what every column means.

    Each has all its columns even with no rows. ``turns``: a row per candidate. ``dialogues``: a row per live dialogue.
    ``comparisons``: a row per answered comparison of two models. ``ratings``: a row per rating on a scale.
    ``points``: a row per dialogue and model that was chosen from several. ``segments``: a row per speaker judged in the
    beginning of a finished dialogue. ``judgements``: a row per judgement of finished dialogues. ``repeats``: what was
    done about answers that a worker gave again, of each table that held some. ``judges``: tables of what models answered in
    the place of raters (:mod:`.build`), which nothing that counts raters' answers reads; None: no model did.
    ``stopping``: the log of each study that stops once it reaches a decision. ``cleaned``: which ids and names were cleaned
    when they were read (:func:`.columns.with_clean_labels`).
    """

    turns: pd.DataFrame
    dialogues: pd.DataFrame
    comparisons: pd.DataFrame
    ratings: pd.DataFrame = field(default_factory=lambda: from_rows("ratings", []))
    points: pd.DataFrame = field(default_factory=lambda: from_rows("points", []))
    segments: pd.DataFrame = field(default_factory=lambda: from_rows("segments", []))
    judgements: pd.DataFrame = field(default_factory=lambda: from_rows("judgements", []))
    repeats: tuple[Repeated, ...] = ()
    judges: Tables | None = None
    stopping: tuple[StoppingLog, ...] = ()
    cleaned: tuple[CleanedLabels, ...] = ()


def iso_time(seconds_since_epoch: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds_since_epoch, tz=timezone.utc).isoformat(timespec="milliseconds")


def check_unique(table: TableName, frame: pd.DataFrame) -> None:
    """Refuse a table (as :func:`typed` gives it) that holds a row twice, which would count an answer twice. Raises
    TableError."""
    key = list(KEYS[table])
    again = frame.duplicated(key, keep=False)
    if again.any():
        values = frame.loc[again, key].iloc[0]
        same = frame[key].eq(values) | (frame[key].isna() & values.isna())
        first, second = (int(place) for place in same.all(axis=1).to_numpy().nonzero()[0][:2])
        named = ", ".join(f"{name} {_plain(value)!r}" for name, value in values.items() if not pd.isna(value))
        one, two = frame.iloc[first], frame.iloc[second]
        differ = [
            f"{name} {on_one_line(repr(_plain(one[name])), CELL)} and {on_one_line(repr(_plain(two[name])), CELL)}"
            for name in map(str, one.index)
            if one[name] is not two[name] and not (pd.isna(one[name]) and pd.isna(two[name]))
            if pd.isna(one[name]) or pd.isna(two[name]) or one[name] != two[name]
        ]
        what, advice = f"are the same answer ({named})", "keep one of them"
        if differ:
            what = f"contradict each other: they have the same names ({named}), but {', '.join(differ[:3])}"
            advice = "keep the right one, or give them different names"
        raise TableError(
            ("rows ", first, " and ", second, f" {what}"),
            np.flatnonzero(frame.duplicated(key, keep="first").to_numpy()).tolist(),
            where=table,
            try_=(advice, HOW_REPEATS),
        )


def _typed_column(table: TableName, column: Column, frame: pd.DataFrame) -> Cells:
    if column.name not in frame.columns:
        return _absent(column.kind, len(frame))
    values: pd.Series[Any] = frame[column.name]
    cells = values.to_numpy(dtype=object, copy=True)
    empty: Flags = np.asarray(pd.isna(cells), dtype=bool)
    cells[empty] = None
    empty |= cells == ""
    if column.empty_ok and empty.all():
        return _absent(column.kind, len(frame))  # most columns of a table that holds one technique
    if empty.any() and not column.empty_ok:
        places = np.flatnonzero(empty).tolist()
        words = ("empty in row ", places[0], f" ({column.description})")
        raise TableError(words, places, places, where=f"{table}.{column.name}")
    kinds = {*map(type, cells)}
    if column.kind == "text":
        if column.allowed:
            refuse(table, values, ~(values.isin(column.allowed).to_numpy(dtype=bool) | empty), _one_of(column))
        if not kinds <= {str, type(None)}:
            cells[~empty] = [str(value) for value in cells[~empty]]
        cells[empty] = None
        return pd.Series(cells, index=values.index, dtype=object)
    if not kinds <= {int, float, type(None)}:
        read = pd.to_numeric(values, errors="coerce").astype("Float64")
        cells = read.to_numpy(dtype=float, na_value=np.nan)
    floats = cells.astype(float)
    refuse(table, values, np.isnan(floats) & ~empty, "a number")
    refuse(table, values, np.isinf(floats), "a finite number")
    if column.kind == "number":
        return pd.arrays.FloatingArray(floats, empty)
    refuse(table, values, (floats % 1 != 0) & ~empty, "a whole number")
    refuse(table, values, np.abs(floats) >= 2.0**63, "a whole number of at most 18 digits")
    if column.kind == "flag":
        refuse(table, values, ~(np.isin(floats, [0, 1]) | empty), "0 or 1")
    if column.allowed:
        refuse(table, values, ~(np.isin(floats, column.allowed) | empty), _one_of(column))
    return pd.arrays.IntegerArray(np.where(empty, 0, floats).astype(np.int64), empty)


def _absent(kind: Kind, rows: int) -> Cells:
    """A column of missing values; arrays of nullable types, as a list of them takes a third of a second."""
    missing = np.ones(rows, dtype=bool)
    if kind == "number":
        return pd.arrays.FloatingArray(np.zeros(rows), missing)
    if kind != "text":
        return pd.arrays.IntegerArray(np.zeros(rows, dtype=np.int64), missing)
    return np.full(rows, None, dtype=object)


def refuse(
    table: TableName,
    values: pd.Series[Any],
    wrong: pd.Series[bool] | Flags,
    wanted: str | Callable[[int], str | Numbered],
    try_: str | Sequence[str] = (),
) -> None:
    """Raise where a row of a column is ``wrong``; ``wanted`` says what was expected, of all or of the row at a place.
    Raises TableError."""
    flags = wrong if isinstance(wrong, np.ndarray) else wrong.to_numpy(dtype=bool, na_value=False)
    places = np.flatnonzero(flags).tolist()
    if places:
        first = places[0]
        expected = wanted if isinstance(wanted, str) else wanted(first)
        parts = (expected,) if isinstance(expected, str) else expected
        cells = [repr(_plain(cell)) for cell in values.iloc[places]]
        same = (place for place, cell in zip(places, cells, strict=True) if cell == cells[0])
        alike = [place for place in same if isinstance(wanted, str) or wanted(place) == expected]
        words: Numbered = (f"{cells[0]} in row ", first, ", expected ", *parts)
        raise TableError(words, places, alike, where=f"{table}.{values.name}", try_=try_)


def _plain(cell: Any) -> Any:
    """A cell as Python's own number: the repr of numpy's names its type, as in ``np.int64(0)``."""
    return cell.item() if isinstance(cell, np.generic) else cell


def _one_of(column: Column) -> str:
    *others, last = map(str, column.allowed)
    return f"{', '.join(others)} or {last}"
