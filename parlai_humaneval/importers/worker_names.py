"""Workers' names → pseudonyms, everywhere in a set of tables: in columns that name them, and inside texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
from pandas.api.types import is_numeric_dtype

from parlai_humaneval._util.text import clean_label
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.schema import TableName

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


def with_pseudonyms(tables: Tables, pseudonym: Callable[[str], str]) -> Tables:
    """Workers by pseudonym in the columns that name them, and in every other column that holds nothing but their ids."""
    frames: dict[str, pd.DataFrame] = {name: getattr(tables, name) for name in get_args(TableName)}
    named = (frame[name].dropna() for frame in frames.values() for name in WORKERS if name in frame.columns)
    renamed = {value: pseudonym(value) for value in {str(value) for column in named for value in column}}
    for table, frame in [(name, frame) for name, frame in frames.items() if len(frame)]:
        columns: dict[str, pd.Series[Any]] = {}
        for name, column in frame.items():
            values = [] if is_numeric_dtype(column) else column.dropna().unique().tolist()
            # Short numbers may well be something other than ids of workers.
            ids = (isinstance(one, str) and len(one) >= 6 and clean_label(one) in renamed for one in values)
            if name in WORKERS or (values and all(ids)):
                cells = [renamed[clean_label(value)] if isinstance(value, str) else None for value in column]
                columns[str(name)] = pd.Series(cells, index=frame.index, dtype=object)
        frames[table] = frame.assign(**columns) if columns else frame
    return Tables(**frames, repeats=tables.repeats, judges=None, stopping=(), cleaned=tables.cleaned)
