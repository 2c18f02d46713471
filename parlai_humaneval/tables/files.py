"""Tidy tables ↔ files, CSV or JSONL, with a README of columns."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.text import write_columns
from parlai_humaneval.tables.columns import (
    Repeats,
    Row,
    StoppingLog,
    TableError,
    Tables,
    added_up,
    from_rows,
    typed,
    with_clean_labels,
    with_our_names,
)
from parlai_humaneval.tables.filters import rater_kinds
from parlai_humaneval.tables.formats import ENDINGS, NAMED, in_folder, json_object, read_frame, stem
from parlai_humaneval.tables.repeats import Checked, checked, tables_of
from parlai_humaneval.tables.schema import JUDGE_COLUMNS, TABLE_DESCRIPTIONS, TABLES, Column, TableName
from parlai_humaneval.tables.validate import with_dialogues

Format = Literal["csv", "jsonl"]
AnyPath = str | os.PathLike[str]

TITLE = "# Tables of a human evaluation of dialogue models"
"""First line of the README beside tables."""

JUDGES = "judges"  # Folder of the tables of judges, within that of the tables of raters
STOPPING = "sequential.jsonl"  # The logs of studies that end when they are decided, beside their tables
ABOUT_STOPPING = (
    "Events of studies that end when they are decided, one per line, oldest first: arrivals, the dialogues that "
    "raters got and their chances, outcomes, and decisions. Each decision can be made again from it. `study` names the "
    "study. Workers have other names here than in the tables."
)
NO_PEOPLE = "Every answer here is a judge's, which is a model: nothing was rated by people."


def write_tables(tables: Tables, out: AnyPath, format: Format = "csv") -> list[Path]:
    """Write every table and a ``README.md`` into the folder ``out`` (made if need be); returns the files.

    JSONL holds all texts as they were. In CSV a text that a spreadsheet would run as a formula gets an
    apostrophe before it, which :func:`read_tables` takes off again.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = [_write(getattr(tables, name), out / f"{name}.{format}") for name in get_args(TableName)]
    readme = out / "README.md"
    besides = f"\n## {STOPPING}\n\n{ABOUT_STOPPING}\n" if tables.stopping else ""
    readme.write_text(_readme(format, rater_kinds(tables).note) + besides, encoding="utf-8")
    return [*written, *write_stopping(tables.stopping, out), readme, *_write_judges(tables, out / JUDGES, format)]


def write_stopping(logs: Sequence[StoppingLog], out: Path) -> list[Path]:
    """The logs in the folder ``out``, an event a line, each with the name of its study; no file where there is none."""
    if not logs:
        return []
    path = out / STOPPING
    rows = ({"study": log.study, **event} for log in logs for event in log.events)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return [path]


def _read_stopping(path: Path) -> tuple[StoppingLog, ...]:
    """The logs of a file; nothing where there is none. A line that is no event is kept as it is: it must not keep
    anybody from the tables, and the log then leads nowhere."""
    found: dict[str, list[Row]] = {}
    study = ""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if path.is_file() else ():
        if line.strip():
            try:
                event = json_object(line, 0)
            except ValueError:
                event = {"line": line}
            study = str(event.pop("study", study))
            found.setdefault(study, []).append(event)
    return tuple(StoppingLog(name, tuple(events)) for name, events in found.items())


def _write_judges(tables: Tables, out: Path, format: Format) -> list[Path]:
    if tables.judges is None:
        return []
    out.mkdir(exist_ok=True)
    frames: dict[TableName, pd.DataFrame] = {name: getattr(tables.judges, name) for name in get_args(TableName)}
    filled: list[TableName] = [name for name, frame in frames.items() if len(frame)]
    readme = out / "README.md"
    readme.write_text(_readme(format, NO_PEOPLE, filled, JUDGE_COLUMNS), encoding="utf-8")
    return [*(_write(frames[name], out / f"{name}.{format}") for name in filled), readme]


def _write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        write_csv(frame, path)
    else:
        names = [str(name) for name in frame.columns]
        with path.open("w", encoding="utf-8") as file:
            for row in zip(*_columns(frame), strict=True):
                file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
    return path


def save_tables(tables: Tables, out: AnyPath, format: Format = "csv", *, force: bool = False) -> list[Path]:
    """:func:`write_tables` into a folder in which no tables stand yet: all files appear at the end, or none. ``force``:
    tables of either format, and a README, that stand there are replaced; other files stay. Raises TableError: there are
    such files, and ``force`` is not given; or ``out`` is a file."""
    out = Path(out)
    check_free(out, force=force)
    present = _present_files(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".writing-") as draft:
        written = write_tables(tables, Path(draft), format)
        for path in present:
            path.unlink()
        names = [path.relative_to(draft) for path in written]
        for name in names:
            (out / name).parent.mkdir(exist_ok=True)
            os.replace(Path(draft) / name, out / name)
    return [out / name for name in names]


def check_free(out: AnyPath, *, force: bool = False) -> None:
    """Refuse a folder in which tables stand already, before the work of making others. Raises TableError."""
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise TableError(f"{out} is a file", try_="name a folder for the tables")
    present = _present_files(out)
    if present and not force:
        named = ", ".join(path.name for path in present)
        raise TableError(f"{out} holds {named} already", try_="name another folder, or replace them with --force")


def _present_files(folder: Path) -> list[Path]:
    names = [f"{name}.{ending}" for name in get_args(TableName) for ending in get_args(Format)]
    tables = [path for name in sorted(names) if (path := folder / name).exists()]
    tables += [folder / STOPPING] if (folder / STOPPING).exists() else []
    of_judges = [path for name in sorted(names) if (path := folder / JUDGES / name).exists()]
    readme = folder / "README.md"
    foreign = readme.is_file() and not readme.read_bytes().startswith(TITLE.encode())
    return [*tables, readme, *of_judges] if foreign else [*tables, *of_judges]


def read_tables(directory: AnyPath, format: Format | None = None, *, repeats: Repeats | None = None) -> Tables:
    """Read back what :func:`write_tables` wrote, or tables of the same columns from elsewhere.

    ``directory`` may be one table, too: a file with its name, such as ``turns.csv``. A table whose file is absent comes
    back empty; columns that are not ours pass through. Ids and names lose blanks and invisible characters at their ends
    (:func:`.columns.with_clean_labels`). A comparison of finished dialogues without their ids counts as one
    of two dialogues of its own item (:func:`.validate.with_dialogues`).

    Args:
        directory: with the files.
        format: which files to read, where both formats are there.
        repeats: which of the answers count that a worker gave to the same (:func:`.repeats.settled`); None: such tables
            are refused.

    Raises:
        TableError: no table there, both formats there and ``format`` not given, a missing column, bad values,
            an answer that appears twice, rows that contradict each other (:mod:`.validate`). The message
            names the file.
    """
    directory = Path(directory)
    read = _read_all(directory, format, repeats)
    if read is None:
        what = f"{directory} holds none of {', '.join(get_args(TableName))} as {NAMED}"
        raise TableError(what, try_="make them from other files with parlai-humaneval import")
    return with_besides(tables_of(read), directory, format)


def with_besides(tables: Tables, directory: Path, format: Format | None = None) -> Tables:
    """``tables`` with what stands in their folder besides raters' answers: those of judges, and the logs of studies that
    end when they are decided. Raises TableError."""
    of_judges = _read_all(directory / JUDGES, format, None, JUDGE_COLUMNS)
    judges = None if of_judges is None else tables_of(of_judges)
    cleaned = added_up([*tables.cleaned, *(judges.cleaned if judges else ())])
    return replace(tables, judges=judges, stopping=_read_stopping(directory / STOPPING), cleaned=cleaned)


def _read_all(
    directory: Path,
    format: Format | None,
    repeats: Repeats | None,
    besides: Mapping[TableName, Sequence[Column]] = MappingProxyType({}),
) -> dict[TableName, Checked] | None:
    """The tables of a folder, or the one in a file; None: there are none."""
    found: dict[TableName, list[Path]] = {}
    for name in get_args(TableName):
        inside = in_folder(directory, name, ENDINGS if format is None else (f".{format}",))
        found[name] = inside if directory.is_dir() else [directory] * (stem(directory) == name)
        if len(found[name]) > 1:
            names = " and as ".join(path.name.removeprefix(name) for path in found[name])
            raise TableError(f"{directory} holds {name} as {names}", try_="name the one to read, or remove one")
    if not any(found.values()):
        return None
    empty = {name: Checked(from_rows(name, [], besides.get(name, ()))) for name in found}
    return empty | {
        name: _read(name, paths[0], repeats, besides.get(name, ())) for name, paths in found.items() if paths
    }


def _read(name: TableName, path: Path, repeats: Repeats | None, besides: Sequence[Column] = ()) -> Checked:
    frame, cleaned = with_clean_labels(name, with_our_names(name, read_frame(path)))
    if frame.empty:
        return Checked(from_rows(name, [], besides))
    places = frame.index.to_numpy()
    try:
        table = checked(name, typed(name, frame.reset_index(drop=True), besides), repeats, cleaned)
    except TableError as wrong:
        error = wrong.of_file(places)
        more = len(error.rows) - 1
        rows = "1 more row has" if more == 1 else f"{more:,} more rows have"
        lists = f"`parlai-humaneval import --from tables … --skip-bad` lists all that is wrong: {rows} this fault"
        words = f"`parlai-humaneval import {path} --out FOLDER` knows other words for columns, winners and ratings"
        raise TableError(error, error.rows, where=path, try_=(words, *([lists] if more > 0 else []))) from wrong
    return replace(table, frame=with_dialogues(table.frame)) if name == "comparisons" else table


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """One table as CSV; see :func:`write_columns`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_columns(file, frame.columns, _columns(frame))


def _columns(frame: pd.DataFrame) -> list[list[Any]]:
    """Plain Python values of each column, None where one is missing."""
    columns = []
    for name in frame.columns:
        missing = frame[name].isna().to_numpy(dtype=bool)
        cells = np.full(len(frame), None, dtype=object)
        if not missing.all():
            cells[~missing] = frame[name].to_numpy(dtype=object)[~missing]
        columns.append(cells.tolist())
    return columns


def _readme(
    format: Format,
    note: str,
    names: Sequence[TableName] = get_args(TableName),
    besides: Mapping[TableName, Sequence[Column]] = MappingProxyType({}),
) -> str:
    lines = [TITLE, "", *([f"**{note}**", ""] if note else [])]
    if format == "csv":
        lines += [
            "UTF-8, comma, every cell quoted; an empty cell is a missing value. A text that a spreadsheet",
            "would run as a formula (it begins with `=`, `+`, `-`, `@`, a tab or a line break) has one",
            "apostrophe before it; take it off to get what was typed. JSONL has every text as it was.",
        ]
    else:
        lines += ["UTF-8, one JSON object per line; `null` is a missing value. Texts are exactly as they were."]
    lines += ["", "Workers are pseudonyms. Times are in seconds. 0/1 columns: 1 is yes."]
    for name in names:
        lines += ["", f"## {name}.{format}", "", TABLE_DESCRIPTIONS[name], "", "| column | meaning |", "|---|---|"]
        lines += [f"| {column.name} | {column.description} |" for column in (*TABLES[name], *besides.get(name, ()))]
    return "\n".join(lines) + "\n"
