"""Tidy tables from anywhere, CSV or JSONL → tables of ours: renamed, completed, checked.

Workers' names → pseudonyms, everywhere in a set of tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype

from parlai_humaneval._util.text import clean_label
from parlai_humaneval.importers.readers import Imported
from parlai_humaneval.statistics.preference.data_checks import data_warnings
from parlai_humaneval.tables.columns import (
    CleanedLabels,
    Repeats,
    TableError,
    Tables,
    added_up,
    from_rows,
    typed,
    with_clean_labels,
)
from parlai_humaneval.tables.files import read_frame
from parlai_humaneval.tables.repeats import Checked, checked, settled, tables_of
from parlai_humaneval.tables.schema import TABLES, TableName

_PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
_TOKEN = re.compile(r"[\w@][\w@.+-]{4,}[\w@]")
_WORD = re.compile(r"\w{6,}")
_SANDBOX = "_sandbox"  # Mephisto's mock and sandbox providers put it behind a worker's name


class Pseudonyms:
    """Pseudonyms that remember whom they stand for, so that names can be found in texts too."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make
        self.given: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The pseudonym of a worker, whatever blanks their name was typed with; a pseudonym stays what it is."""
        name = clean_label(name)
        if _PSEUDONYM.fullmatch(name):
            return name
        if name not in self.given:
            self.given[name] = self._make(name)
        return self.given[name]


def without_names(tables: Tables, given: Mapping[str, str]) -> tuple[Tables, int]:
    """``tables`` in which no text holds a key of ``given``: its value, the pseudonym, stands there in its place.
    Workers do write their own id into a comment. Only names of six characters and more are looked for, as whole words:
    a shorter one, such as “12”, may mean anything. Returns also how many cells were changed."""
    wanted = {
        form: pseudonym
        for name, pseudonym in given.items()
        for form in (name, name.removesuffix(_SANDBOX))
        if len(form) >= 6 and _TOKEN.fullmatch(form)
    }
    if not wanted:
        return tables, 0
    changed: dict[str, Any] = {}
    count = 0
    for table in get_args(TableName):
        frame: pd.DataFrame = getattr(tables, table)
        clean = {name: _clean(frame[name], wanted) for name in frame.columns if not is_numeric_dtype(frame[name])}
        different = {name: column for name, column in clean.items() if column is not None}
        if different:
            count += sum(int((column != frame[name]).sum() - column.isna().sum()) for name, column in different.items())
            changed[table] = frame.assign(**different)
    judges = None if tables.judges is None else without_names(tables.judges, given)[0]
    return replace(tables, **changed, judges=judges), count


def _clean(column: pd.Series[Any], wanted: Mapping[str, str]) -> pd.Series[Any] | None:
    """The column without the names, or None where it has none of them."""
    text = "\n".join({value for value in column if isinstance(value, str)})
    found = wanted.keys() & {*_TOKEN.findall(text), *_WORD.findall(text)}
    if not found:
        return None
    longest_first = sorted(found, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w@])(?:{'|'.join(map(re.escape, longest_first))})(?![\w@])")
    cells = [pattern.sub(lambda hit: wanted[hit[0]], v) if isinstance(v, str) else v for v in column]
    clean: pd.Series[Any] = pd.Series(cells, index=column.index, dtype=object)
    return clean


WORKERS = ("worker_id", "own_worker")  # Columns of ours that name workers

_TRUTH = {"true": 1, "false": 0}
_SWAPPED = {"model_a": "model_b", "dialogue_a": "dialogue_b", "selected_a": "selected_b", "rank_a": "rank_b"}
_ROW = re.compile(r" in rows? [\d, ]*\d")
_HINT = (
    "rename a column with --rename OLD=NEW, or give it one value with --set NAME=VALUE; --set NAME= leaves a column "
    "empty that may be"
)


@dataclass(frozen=True)
class TidyPlan:
    """``renames``: name in the files → names of ours, each of which gets the column. ``values``: columns that the files
    lack → what is in them. ``repeats``: which answers count that a worker gave again; None: they are refused."""

    renames: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    repeats: Repeats | None = None


def table_paths(paths: Sequence[Path], table: TableName | None) -> list[tuple[TableName, Path]]:
    """Files with their tables: the files themselves, and of folders those that are named as a table. Raises TableError."""
    found: list[tuple[TableName, Path]] = []
    for path in paths:
        if path.is_dir():
            inside = [
                (name, file)
                for name in get_args(TableName)
                for ending in ("csv", "jsonl")
                if (file := path / f"{name}.{ending}").is_file()
            ]
            if not inside:
                raise TableError(f"{path} holds none of {', '.join(get_args(TableName))} as .csv or .jsonl")
            found += inside
        elif not path.is_file():
            raise TableError("there is no such file or folder", where=path)
        elif table is None and path.stem not in get_args(TableName):
            raise TableError(
                "the name does not say which table it is",
                where=path,
                try_=f"say so with --table: {', '.join(get_args(TableName))}",
            )
        else:
            found.append((table or path.stem, path))  # type: ignore[arg-type]  # stem is one of the names
    return found


def read_tidy(
    files: Sequence[tuple[TableName, Path]],
    plan: TidyPlan,
    *,
    skip_bad: bool = False,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Imported:
    """Read, rename, complete, clean and check tables; several files of one table are put together. In ``comparisons``
    the model whose name comes first in the alphabet becomes ``model_a``. A flag may be true or false. Raises
    TableError."""
    known = {column.name for name, _ in files for column in TABLES[name]}
    wrong = sorted({new for names in plan.renames.values() for new in names} | set(plan.values)) if files else []
    unknown = [name for name in wrong if name not in known]
    if unknown:
        raise TableError(
            f"no column of {', '.join(sorted({name for name, _ in files}))}", where=f"{', '.join(unknown)}"
        )
    skipped: list[str] = []
    used: set[str] = set()
    parts: dict[TableName, list[pd.DataFrame]] = {}
    cleaned: list[CleanedLabels] = []
    for name, path in files:
        frame, clean = with_clean_labels(name, _completed(name, read_frame(path), plan, used))
        cleaned += clean
        parts.setdefault(name, []).append(_checked(name, frame, path, plan.repeats, skipped if skip_bad else None))
        on_file(path)
    unused = sorted(set(plan.renames) - used)
    if unused:
        raise TableError(f"No file has a column {', '.join(unused)} to rename")
    together = {name: _together(name, parts.get(name, []), plan.repeats) for name in get_args(TableName)}
    tables = replace(tables_of(together), cleaned=added_up(cleaned))
    units = sum(len(table.frame) for table in together.values())
    if not units:
        named = ", ".join(str(path) for _, path in files)
        raise TableError(f"There is nothing to import: {skipped[0] if skipped else f'{named} has no rows.'}")
    return Imported(tables, units, skipped=skipped, notes=data_warnings(tables.turns))


def _completed(table: TableName, frame: pd.DataFrame, plan: TidyPlan, used: set[str]) -> pd.DataFrame:
    names = {old: new for old, new in plan.renames.items() if old in frame.columns}
    used.update(names)
    copies = [frame[[old]].rename(columns={old: name}) for old, (_, *more) in names.items() for name in more]
    frame = pd.concat([frame.rename(columns={old: new for old, (new, *_) in names.items()}), *copies], axis=1)
    ours = {column.name: column for column in TABLES[table]}
    for name, value in plan.values.items():
        if name in ours and name not in frame.columns:
            frame[name] = value or None
    for name in frame.columns:
        if name in ours and ours[name].kind == "flag" and frame.columns.tolist().count(name) == 1:
            frame[name] = [_TRUTH.get(v.strip().lower(), v) if isinstance(v, str) else v for v in frame[name]]
    return frame


def _checked(
    table: TableName, frame: pd.DataFrame, path: Path, repeats: Repeats | None, skipped: list[str] | None
) -> pd.DataFrame:
    """The typed table; rows that do not pass are listed in ``skipped``, where that is asked for."""
    numbers: npt.NDArray[np.int64] = np.arange(1, len(frame) + 1)
    frame = frame.reset_index(drop=True)
    while len(frame):
        try:
            whole = typed(table, frame)
            if table == "comparisons":
                whole = in_order(whole)
            # Which of them count is said once, of all files together.
            return checked(table, whole, None if repeats is None else "keep").frame
        except TableError as error:
            if skipped is None or not error.rows:
                hint = _HINT if "missing column" in str(error) else ""
                raise TableError(error, error.rows, where=path, try_=hint) from error
            places = list(error.rows)
            skipped.append(f"{path}, row {', '.join(map(str, numbers[places]))}: {_ROW.sub('', str(error))}")
            numbers = np.delete(numbers, places)
            frame = frame.drop(index=places).reset_index(drop=True)
    return from_rows(table, [])


def _together(table: TableName, frames: Sequence[pd.DataFrame], repeats: Repeats | None) -> Checked:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return Checked(from_rows(table, []))
    if len(filled) > 1:
        return checked(table, pd.concat(filled, ignore_index=True), repeats)
    whole, told = settled(table, filled[0], repeats)
    return Checked(whole.reset_index(drop=True), told)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """``comparisons`` with the first model in the alphabet as ``model_a``, and all that belongs to it."""
    swap = (frame["model_a"] > frame["model_b"]).to_numpy(dtype=bool)
    if not swap.any():
        return frame
    frame = frame.copy()
    for first, second in _SWAPPED.items():
        frame.loc[swap, [first, second]] = frame.loc[swap, [second, first]].to_numpy(copy=True)
    for name in ("side", "position_a"):
        # Of two, the other place; of more, the place of the other model is not known.
        two = frame[name].isin([1, 2]) & (frame["n_models"].fillna(2) == 2)
        frame.loc[swap, name] = (3 - frame[name]).where(two, pd.NA)[swap]
    return frame


def with_pseudonyms(tables: Tables, pseudonym: Callable[[str], str]) -> Tables:
    """Workers by pseudonym in the columns that name them, and in every other column that holds nothing but their ids."""
    frames: dict[str, pd.DataFrame] = {name: getattr(tables, name) for name in get_args(TableName)}
    ids = {
        str(value)
        for frame in frames.values()
        for name in WORKERS
        if name in frame.columns
        for value in frame[name].dropna()
    }
    renamed = {value: pseudonym(value) for value in ids}
    for table, frame in frames.items():
        columns: dict[str, pd.Series[Any]] = {}
        for name in frame.columns:
            if name in WORKERS or _holds_ids(frame[name], renamed):
                cells = [renamed[clean_label(value)] if isinstance(value, str) else None for value in frame[name]]
                columns[name] = pd.Series(cells, index=frame.index, dtype=object)
        frames[table] = frame.assign(**columns) if columns else frame
    return Tables(**frames, repeats=tables.repeats, judges=None, stopping=(), cleaned=tables.cleaned)


def _holds_ids(column: pd.Series[Any], renamed: Mapping[str, str]) -> bool:
    """Whether a text column holds ids of workers and nothing else; short numbers may well be something else."""
    values: list[Any] = [] if is_numeric_dtype(column) else column.dropna().unique().tolist()
    return bool(values) and all(
        isinstance(value, str) and len(value) >= 6 and clean_label(value) in renamed for value in values
    )
