"""Tidy tables ↔ files, CSV or JSONL, with a README of columns."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Ints
from parlai_humaneval._util.errors import InvalidValue, Problem
from parlai_humaneval._util.table_files import ENDINGS, NAMED, in_folder, json_object, read_frame, row_names, stem
from parlai_humaneval._util.text import write_columns
from parlai_humaneval.tables import columns, schema
from parlai_humaneval.tables.columns import Repeats, Row, StoppingLog, TableError, Tables
from parlai_humaneval.tables.filters import RaterKinds, rater_kinds
from parlai_humaneval.tables.schema import JUDGE_COLUMNS, TABLE_DESCRIPTIONS, TABLES, Column, TableName
from parlai_humaneval.tables.validate import check_rules, in_alphabet, with_dialogues

_OF_ONE_ANSWER = {"model", "model_a", "model_b", "entity", "criterion", "position"}
"""Columns in which the rows of one answer differ."""
_VERDICT = ":verdict"  # ends the id of a verdict; the number precedes it


def settled(
    table: TableName, frame: pd.DataFrame, repeats: Repeats | None
) -> tuple[pd.DataFrame, tuple[columns.Repeated, ...]]:
    """``frame`` (typed) without repeated keys, and what was done to it; the index stays that of the rows that are kept.
    ``keep`` numbers the second answer of a worker, and further ones: the column ``answer_number`` holds 2, 3 …, and the
    ids get “ (answer 2)”. The worker stays the same, and so do the dialogues of a comparison of two. ``first`` and
    ``last`` leave the others out. The order is that of the column ``started``, where every answer to the same has one,
    else that of the rows. None: nothing is changed, and what appears twice is left for
    :func:`~parlai_humaneval.tables.columns.check_unique` to refuse; answers that were kept before are named. Raises
    ValueError."""
    if repeats not in (None, *get_args(Repeats)):
        advice = f"choose one of {', '.join(get_args(Repeats))}, or None to refuse them"
        raise InvalidValue(f"cannot be {repeats!r}", where="repeats", try_=advice)
    if frame.empty or (repeats is None and not frame["answer_number"].notna().any()):
        return frame, ()
    plain = frame
    if frame["answer_number"].notna().any():
        own = {name: _renamed(frame[name], frame["answer_number"], _unmarked) for name in schema.NUMBERED[table]}
        plain = frame.assign(answer_number=pd.array([pd.NA] * len(frame), dtype="Int64"), **own)
    keys = plain[list(dict.fromkeys([*schema.KEYS[table], "worker_id"]))]
    if table == "comparisons":
        keys = in_alphabet(with_dialogues(plain)[keys.columns])
    answer = np.asarray(keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup(), dtype=np.int64)
    again = pd.Series(answer).duplicated(keep=False).to_numpy(dtype=bool)
    if not again.any():
        return (frame if repeats is None else plain), ()
    place, last = _in_order(answer, plain)
    rows, more = plain[again], int((place > 1).sum())
    told = (
        columns.Repeated(
            table=table,
            repeats=repeats or "keep",
            answers=len(rows[[name for name in schema.KEYS[table] if name not in _OF_ONE_ANSWER]].drop_duplicates()),
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
    repeats: tuple[columns.Repeated, ...] = ()
    cleaned: tuple[columns.CleanedLabels, ...] = ()


def checked(
    table: TableName, frame: pd.DataFrame, repeats: Repeats | None, cleaned: tuple[columns.CleanedLabels, ...] = ()
) -> Checked:
    """:func:`settled`, refused where an answer still appears twice, or a row cannot be. Raises TableError, whose
    ``rows`` are those of ``frame``, numbered from 0 by its index."""
    whole, told = settled(table, frame, repeats)
    try:
        columns.check_unique(table, whole)
        check_rules(table, whole)
    except TableError as wrong:
        error, index = wrong.of_file(whole.index.to_numpy(), alike=()), whole.index
        error.rows, error.alike = (tuple(index[[*places]].tolist()) for places in (wrong.rows, wrong.alike))
        raise error from wrong
    return Checked(whole.reset_index(drop=True) if told else whole, told, cleaned)


def all_faults(
    frame: pd.DataFrame, check: Callable[[pd.DataFrame], object], places: Any, path: Path, advice: Sequence[str]
) -> TableError:
    """List the faults of a file's rows, which ``check`` refuses: the first :data:`.columns.MOST`, and the number of
    others. Rows with a fault are left out to find the next one, with all rows for which the message is the same.
    ``places``: of the rows in the file."""
    found: list[TableError] = []
    more = 0
    while len(frame):
        try:
            check(frame)
            break
        except TableError as wrong:
            full = len(found) == columns.MOST
            more += len(wrong.rows) if full else 0
            found += [] if full else [wrong.of_file(places)]
            out = list(wrong.rows if full else wrong.alike or wrong.rows[:1]) or list(frame.index)
            frame, places = frame.drop(index=out).reset_index(drop=True), np.delete(places, out)
    first, *others = dict.fromkeys(problem for error in found for problem in error.problems)
    more += sum(len(error.problems) for error in found) - len(others) - 1
    told = [Problem(f"… and {more:,} more row{'s' * (more > 1)}")] if more else []
    first = replace(first, try_=(*first.try_, *advice)).within(path)
    return TableError([first, *others, *told], found[0].rows)


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
    """For each row, the rank of its answer among answers to the same thing, by when they began if all rows have times,
    and the number of these answers."""
    started = np.full(len(frame), np.nan)
    if "started" in frame.columns:
        read = pd.to_datetime(frame["started"], utc=True, errors="coerce", format="ISO8601")
        started = ((read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(dtype=float)
    times = pd.Series(started)
    size = times.groupby(answer).transform("size")
    times = times.where(times.groupby(answer).transform("count") == size, 0.0)
    place = times.groupby(answer).rank(method="first")
    return place.to_numpy(dtype=np.int64), size.to_numpy(dtype=np.int64)


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
        for name in schema.NUMBERED[table]
    }
    return frame.assign(answer_number=numbers, **marked)


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


Format = Literal["csv", "jsonl"]
AnyPath = str | os.PathLike[str]

_OURS = re.compile(rb"# Tables of an? (human|automatic|partly automatic) evaluation of dialogue models")
"""First line of the README next to tables."""

JUDGES = "judges"  # Folder of the tables of judges, within that of the tables of raters
STOPPING = "sequential.jsonl"  # logs of studies that stop once they reach a decision, next to their tables
README_WORDS: Mapping[str, str] = schema.COLUMNS_FILE["readme"]


def write_tables(tables: Tables, out: AnyPath, format: Format = "csv") -> list[Path]:
    """Write every table and a ``README.md`` into the folder ``out`` (made if need be); returns the files.

    JSONL holds all texts as they were. In CSV a text that a spreadsheet would run as a formula gets an
    apostrophe before it, which :func:`read_tables` takes off again.

    >>> from tempfile import TemporaryDirectory
    >>> from parlai_humaneval.tables.example import example_tables
    >>> with TemporaryDirectory() as folder:
    ...     files = write_tables(example_tables(), folder)
    ...     turns = len(read_tables(folder).turns)
    >>> files[0].name, turns
    ('turns.csv', 192)
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    written = [_write(getattr(tables, name), out / f"{name}.{format}") for name in get_args(TableName)]
    readme = out / "README.md"
    besides = f"\n## {STOPPING}\n\n{README_WORDS['stopping']}\n" if tables.stopping else ""
    readme.write_text(_readme(format, rater_kinds(tables)) + besides, encoding="utf-8")
    written += [*write_stopping(tables.stopping, out), readme]
    if tables.judges is not None:
        out = out / JUDGES
        out.mkdir(exist_ok=True)
        frames: dict[TableName, pd.DataFrame] = {name: getattr(tables.judges, name) for name in get_args(TableName)}
        filled: list[TableName] = [name for name, frame in frames.items() if len(frame)]
        words = _readme(format, RaterKinds(1, 1, 0), README_WORDS["judges"], filled, JUDGE_COLUMNS)
        (out / "README.md").write_text(words, encoding="utf-8")
        written += [*(_write(frames[name], out / f"{name}.{format}") for name in filled), out / "README.md"]
    return written


def write_stopping(logs: Sequence[StoppingLog], out: Path) -> list[Path]:
    """Write the logs to the folder ``out``, an event per line, each with the name of its study; no file without
    logs."""
    if not logs:
        return []
    path = out / STOPPING
    rows = ({"study": log.study, **event} for log in logs for event in log.events)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return [path]


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
        raise TableError(f"{out} already contains {named}", try_="name another folder, or replace them with --force")


def _present_files(folder: Path) -> list[Path]:
    names = sorted(f"{name}.{ending}" for name in get_args(TableName) for ending in get_args(Format))
    readme = folder / "README.md"
    foreign = readme.is_file() and not _OURS.match(readme.read_bytes())
    wanted = [*names, STOPPING, *([readme.name] if foreign else []), *(f"{JUDGES}/{name}" for name in names)]
    return [path for name in wanted if (path := folder / name).exists()]


def read_tables(directory: AnyPath, format: Format | None = None, *, repeats: Repeats | None = None) -> Tables:
    """Read back what :func:`write_tables` wrote, or tables of the same columns from elsewhere.

    ``directory`` may be one table, too: a file with its name, such as ``turns.csv``. A table whose file is absent comes
    back empty; columns that are not ours pass through. Ids and names lose blanks and invisible characters at their ends
    (:func:`.columns.with_clean_labels`). A comparison of finished dialogues without their ids counts as one
    of two dialogues of its own item (:func:`.validate.with_dialogues`).

    Args:
        directory: with the files.
        format: which files to read, where both formats are there.
        repeats: which of the answers count that a worker gave to the same (:func:`settled`); None: such tables
            are refused.

    Raises:
        TableError: no table there, both formats there and ``format`` not given, a missing column, bad values,
            an answer that appears twice, rows that contradict each other (:mod:`.validate`). The message
            names the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "comparisons.csv")
    ...     header = "item_id,worker_id,metric,model_a,model_b,winner"
    ...     written = path.write_text(f"{header}\\nd1:1,ann,preference,ada,bob,ada\\n")
    ...     read_tables(path).comparisons["winner"].tolist()
    ['ada']
    """
    directory = Path(directory)
    read = _read_all(directory, format, repeats)
    if read is None:
        what = f"{directory} holds none of {', '.join(get_args(TableName))} as {NAMED}"
        raise TableError(what, try_="create them from other files with parlai-humaneval import")
    return with_besides(tables_of(read), directory, format)


def with_besides(tables: Tables, directory: Path, format: Format | None = None) -> Tables:
    """``tables`` with the answers of judges in their folder, and the logs of studies that
    stop once they reach a decision. Raises TableError."""
    of_judges = _read_all(directory / JUDGES, format, None, JUDGE_COLUMNS)
    judges = None if of_judges is None else tables_of(of_judges)
    cleaned = columns.added_up([*tables.cleaned, *(judges.cleaned if judges else ())])
    logs: dict[str, list[Row]] = {}
    study, path = "", directory / STOPPING
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if path.is_file() else ():
        if line.strip():
            try:
                event = json_object(line, 0)
            except ValueError:  # it must not keep anybody from the tables, and the log then leads nowhere
                event = {"line": line}
            study = str(event.pop("study", study))
            logs.setdefault(study, []).append(event)
    stopping = tuple(StoppingLog(name, tuple(events)) for name, events in logs.items())
    return replace(tables, judges=judges, stopping=stopping, cleaned=cleaned)


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
    empty = {name: Checked(columns.from_rows(name, [], besides.get(name, ()))) for name in found}
    return empty | {
        name: _read(name, paths[0], repeats, besides.get(name, ())) for name, paths in found.items() if paths
    }


def _read(name: TableName, path: Path, repeats: Repeats | None, besides: Sequence[Column] = ()) -> Checked:
    whole = read_frame(path, TableError)
    frame, cleaned = columns.with_clean_labels(name, columns.with_our_names(name, whole))
    if frame.empty:
        return Checked(columns.from_rows(name, [], besides))
    places = np.array(row_names(whole), dtype=object)
    rows = frame.reset_index(drop=True)

    def check(rows: pd.DataFrame) -> Checked:
        return checked(name, columns.typed(name, rows, besides), repeats, cleaned)

    try:
        table = check(rows)
    except TableError as wrong:
        lists = (
            "`parlai-humaneval import --from tables … --skip-bad` lists all rows that are wrong, and leaves them out"
        )
        words = f"`parlai-humaneval import {path} --out FOLDER` accepts other names for columns, winners and ratings"
        advice = (words, *([lists] if len(wrong.rows) > 1 else []))
        raise all_faults(rows, check, places, path, advice) from wrong
    return replace(table, frame=with_dialogues(table.frame)) if name == "comparisons" else table


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """One table as CSV; see :func:`write_columns`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_columns(file, frame.columns, _columns(frame))


def _columns(frame: pd.DataFrame) -> list[list[Any]]:
    """Plain Python values of each column, None where one is missing."""
    missing = frame.isna().to_numpy(dtype=bool)
    columns: list[list[Any]] = np.where(missing, np.array(None), frame.to_numpy(dtype=object)).T.tolist()
    return columns


def _readme(
    format: Format,
    kinds: RaterKinds,
    note: str = "",
    names: Sequence[TableName] = get_args(TableName),
    besides: Mapping[TableName, Sequence[Column]] = MappingProxyType({}),
) -> str:
    note = note or kinds.note
    lines = [
        f"# Tables of {'an' if kinds.evaluation.startswith('a') else 'a'} {kinds.evaluation} of dialogue models",
        "",
    ]
    lines += [*([f"**{note}**", ""] if note else []), README_WORDS[format], "", README_WORDS["all"]]
    for name in names:
        lines += ["", f"## {name}.{format}", "", TABLE_DESCRIPTIONS[name], "", "| column | meaning |", "|---|---|"]
        lines += [f"| {column.name} | {column.description} |" for column in (*TABLES[name], *besides.get(name, ()))]
    return "\n".join(lines) + "\n"
