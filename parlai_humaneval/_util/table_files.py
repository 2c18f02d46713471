"""The unchanged rows of a file in any format: CSV, TSV, JSON, JSON lines, Excel or Parquet, also gzipped.

A row has the number that people see: that of a spreadsheet, where the header is row 1 and blank rows count; the line of JSON
lines; the entry of a list. Its place is this number less one.

Excel and Parquet need ``openpyxl`` and ``pyarrow``, which the extra ``formats`` installs.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from parlai_humaneval._util.data_files import DataError, packaged, parse_json, read_text, read_yaml, text_lines
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.text import clean_label, on_one_line, unguarded, visible

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".xlsx", ".parquet")
GZIP = ".gz"
INSPECT = ".eval"
"""Logs of Inspect: a zip file of JSON files, read by :func:`read_rows` alone."""
NAMED = "CSV, TSV, JSON, JSON lines, Excel (.xlsx) or Parquet"
CELL = 60  # Letters of a cell that an error quotes
_RUN, _MOST_RUNS = 4, 20  # Rows that a range names from so many on, and ranges that are listed
_PACKAGES = {".xlsx": "openpyxl", ".parquet": "pyarrow"}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
TITLES = 4  # Rows of a title and below it, at most
_TITLE = "rows above the header are left out as a title ({}): {}."
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_WHOLE = re.compile(r"-?\d+")
_ROWS = ("data", "rows", "results", "items", "records", "examples", "votes", "annotations")
"""Names under which an object keeps the list of its rows."""
_PLAIN = ("string", "integer", "floating", "boolean", "mixed-integer-float", "empty")

_MEND_JSON = "check its brackets, commas and quotation marks"
_AS_OBJECTS = 'write each row as an object, {"NAME": VALUE}'


def plain_name(name: str) -> str:
    """A column's name in small letters, without what separates its words."""
    return re.sub(r"[\W_]+", "", name.lower())


def rows_named(places: Sequence[int | str]) -> str:
    """“row 3”, “rows 3, 5, 12–480”: rows by their places from 0, or by words for them."""
    parts: list[str] = []
    # Places in a row go up as their numbers do.
    for _, run in groupby(enumerate(places), lambda one: one[1] - one[0] if isinstance(one[1], int) else one[1]):
        names = [str(place + 1) if isinstance(place, int) else place for _, place in run]
        parts += names if len(names) < _RUN else [f"{names[0]}–{names[-1]}"]
    more = f" … ({len(places):,} in all)" if len(parts) > _MOST_RUNS else ""
    return f"row{'s' * (len(places) > 1)} {', '.join(parts[:_MOST_RUNS])}{more}"


def ending(path: Path) -> str:
    """``.csv`` of ``votes.csv`` and of ``VOTES.CSV.gz``."""
    name = path.name.lower().removesuffix(GZIP)
    return Path(name).suffix


def stem(path: Path) -> str:
    """``votes`` of ``votes.csv`` and of ``votes.csv.gz``, in small letters."""
    return Path(path.name.lower().removesuffix(GZIP)).stem


def in_folder(folder: Path, name: str, endings: Sequence[str] = ENDINGS) -> list[Path]:
    """The files of a folder that hold the table ``name``."""
    names = (f"{name}{end}{packed}" for end in endings for packed in ("", GZIP))
    return [path for one in names if (path := folder / one).is_file()]


def read_frame(path: Path, error: type[HumanevalError] = DataError, *, fewest: int = 2) -> pd.DataFrame:
    """The rows of a file as they are there, unchecked, with their places as index; empty cells are None, and nested ones
    are JSON texts. Blank rows are left out. The ending says which form it is; JSON is also recognised by its first
    character. Its ``attrs["notes"]`` say what became of further sheets. ``fewest``: columns of a table; CSV with fewer is
    taken for something else. Raises ``error``."""
    found = _read(path, error, fewest)
    return found if isinstance(found, pd.DataFrame) else _plain(pd.DataFrame([*found.values()], [*found], dtype=object))


def read_rows(path: Path, error: type[HumanevalError] = DataError, *, fewest: int = 2) -> dict[int, dict[str, Any]]:
    """As :func:`read_frame`, place → row, with what JSON nests as it is. Raises ``error``."""
    found = _read(path, error, fewest)
    if isinstance(found, dict):
        return found
    cells = found.astype(object).where(found.notna(), None)
    names = [*map(str, cells.columns)]
    return {place: dict(zip(names, row, strict=True)) for place, *row in cells.itertuples(name=None)}


def _read(path: Path, error: type[HumanevalError], fewest: int) -> pd.DataFrame | dict[int, dict[str, Any]]:
    try:
        with _opened(path) as file:
            if (kind := ending(path)) == INSPECT:
                return {0: _inspect_log(file)}
            if kind in _PACKAGES:
                return _of_package(kind, file)
            start = file.read(4096)
            file.seek(0)
            wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))  # what Excel calls “Unicode text”
            text = io.TextIOWrapper(file, encoding="utf-16" if wide else "utf-8-sig", newline="")
            is_json = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
            if kind in (".json", ".jsonl", ".ndjson") or (is_json and kind not in (".csv", ".tsv")):
                return _json_rows(text)
            return _csv(text, fewest)
    except UnicodeDecodeError as fault:
        read_text(path, error=error)  # it names the line
        raise error(fault, where=path) from fault
    except DataError as fault:
        raise error(fault, where=path) from fault
    except RecursionError as fault:
        raise error("cannot be read: it is nested too deeply", where=path) from fault
    except (ValueError, csv.Error, EOFError, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError) as fault:
        raise error(
            f"cannot be read: {fault}", where=path
        ) from fault  # the last is zipfile's, of a compression it lacks


def _inspect_log(file: IO[bytes]) -> dict[str, Any]:
    """A log of Inspect as its JSON form has it: the header, with ``samples``."""
    with zipfile.ZipFile(file) as log:
        names = log.namelist()
        if "header.json" not in names:
            raise DataError("is not a finished log of Inspect (it has no header.json)", try_="wait until it has ended")
        samples = [json.loads(log.read(name)) for name in names if name.startswith("samples/")]
        return {**json.loads(log.read("header.json")), "samples": samples}


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]  # it reads the same


def _of_package(kind: str, file: IO[bytes]) -> pd.DataFrame:
    content = io.BytesIO(file.read())
    read: pd.DataFrame | dict[str, pd.DataFrame]
    try:
        if kind == ".xlsx":
            read = pd.read_excel(content, sheet_name=None, dtype=object, engine="openpyxl")
        else:
            read = pd.read_parquet(content, dtype_backend="numpy_nullable")
    except ImportError as error:
        package = _PACKAGES[kind]
        what = f"{kind[1:]} files need the package {package}, which is not installed"
        raise DataError(what, try_=(f"pip install {package}", "or save the table as CSV")) from error
    except Exception as error:  # each package has errors of its own
        raise DataError(f"is not a {kind[1:]} file ({error})", try_="save it again, or as CSV") from error
    if isinstance(read, dict):
        return _of_sheets({visible(name): _named(_below_title(sheet)) for name, sheet in read.items()})
    return _plain(_named(read).dropna(how="all").astype(object))


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    unnamed = [name for name in frame.columns if str(name).startswith("Unnamed: ") and frame[name].isna().all()]
    frame = frame.drop(columns=unnamed)
    return frame.set_axis([clean_label(str(name)) for name in frame.columns], axis=1)


def _of_sheets(sheets: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The first sheet with the most names of columns that ``import`` knows, and all others with the same columns, whose
    rows count on."""
    filled = {name: sheet for name, sheet in sheets.items() if sheet.notna().any(axis=None)} or sheets
    first = max(filled, key=lambda name: _known(filled[name].columns))
    header = sorted(filled[first].columns)
    plain = len({*header}) == len(header) and not any(name.startswith("Unnamed: ") for name in header)
    read = [name for name in filled if name == first or (plain and sorted(filled[name].columns) == header)]
    above, starts = 0, dict[str, int]()
    for name in read:
        starts[name] = above
        above += (filled[name].index.max() if len(filled[name]) else 0) + 2
        filled[name].index += starts[name] + 1  # below the header
    whole = _plain(pd.concat([filled[name] for name in read]).dropna(how="all").astype(object))
    notes = [note for name in read for note in filled[name].attrs.get("notes", ())]
    notes += [f"sheets with the same columns are read as one: {', '.join(starts)}."] if len(read) > 1 else []
    if others := [name for name in filled if name not in read]:
        notes.append(f"sheets whose columns differ from those of {first} are left out: {', '.join(others)}.")
    whole.attrs |= {"notes": notes, "sheets": starts}
    return whole


def row_names(frame: pd.DataFrame) -> list[int | str]:
    """The place of each row in its file, from 0, as :func:`read_frame` read it; of several sheets, the row in its sheet in
    words."""
    sheets: dict[str, int] = frame.attrs.get("sheets", {})
    places = [int(place) for place in frame.index]
    if len(sheets) < 2:
        return [*places]
    of = [max((name for name in sheets if sheets[name] <= place), key=sheets.__getitem__) for place in places]
    return [f"{place - sheets[name] + 1} of sheet {name}" for place, name in zip(places, of, strict=True)]


def _known(names: Iterable[object]) -> int:
    """How many of these names of columns ``import`` knows."""
    words = read_yaml(packaged("import_words.yaml"))["columns"]
    known = {plain_name(word) for name, others in words.items() for word in (name, *others)}
    return len(known & {plain_name(str(name)) for name in names})


def _below_title(sheet: pd.DataFrame) -> pd.DataFrame:
    title, *others = map(str, [*sheet.columns, ""])
    unnamed = all(name.startswith("Unnamed: ") for name in others[:-1]) and not title.startswith("Unnamed: ")
    for place in range(min(TITLES, len(sheet)) if unnamed else 0):
        cells = [f"Unnamed: {n}" if pd.isna(cell) else str(cell) for n, cell in enumerate(sheet.iloc[place])]
        if _known(cells) > 1:
            below = sheet.iloc[place + 1 :].set_axis(cells, axis=1)
            below.attrs["notes"] = [_TITLE.format(place + 1, visible(title))]
            return below
    return sheet


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns:
        if infer_dtype(frame[name], skipna=True) not in _PLAIN:
            frame[name] = pd.Series([plain_cell(cell) for cell in frame[name]], index=frame.index, dtype=object)
    return frame


def plain_cell(cell: Any) -> Any:
    """Lists and objects as JSON texts, times as ISO 8601, None for whatever pandas has for nothing."""
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, (list, dict, tuple)):
        return json.dumps(cell, ensure_ascii=False, default=lambda inside: getattr(inside, "tolist", inside.__str__)())
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return None
    if isinstance(cell, date):
        return cell.isoformat()
    return cell


def _json_rows(file: TextIO) -> dict[int, dict[str, Any]]:
    text = file.read().lstrip("\ufeff")
    try:
        whole = json.loads(text)  # of several lines with an object each, only the first is parsed
    except ValueError as error:
        if text.lstrip().startswith("["):
            raise DataError(f"not JSON ({error})", try_=_MEND_JSON) from error
        return {place: json_object(line, place + 1) for place, line in enumerate(text_lines(text)) if line.strip()}
    if isinstance(whole, dict):
        return dict(enumerate(_rows_within(whole)))
    if not isinstance(whole, list):
        raise DataError(f"holds no rows, only {on_one_line(visible(text), CELL)}", try_=_AS_OBJECTS)
    wrong = next((n for n, row in enumerate(whole, start=1) if not isinstance(row, dict)), None)
    if wrong is not None:
        which = "line 1" if len(whole) == 1 else f"entry {wrong} of its list"
        raise DataError("is not a JSON object", where=which, try_=_AS_OBJECTS)
    return dict(enumerate(whole))


def _rows_within(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object that lists them under a name, or holds them column by column; else it is a row itself."""
    lists = [value for name, value in whole.items() if name in _ROWS or len(whole) == 1]
    for rows in lists:
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            return rows
    columns = list(whole.values())
    if len(columns) > 1 and all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns):
        return [{name: column[key] for name, column in whole.items()} for key in columns[0]]
    return [whole] if whole else []


def json_object(line: str, number: int) -> dict[str, Any]:
    """The object in a line of JSON. Raises ValueError."""
    row = parse_json(line.lstrip("\ufeff"), f"line {number}", _MEND_JSON)
    if not isinstance(row, dict):
        raise DataError("is not a JSON object", where=f"line {number}", try_=_AS_OBJECTS)
    return row


def _csv(file: TextIO, fewest: int) -> pd.DataFrame:
    # A dialogue's text may be longer than the module's default of 131,072 characters a cell.
    csv.field_size_limit(2**31 - 1)
    head = [file.readline() for _ in range(TITLES + 1)]
    file.seek(0)
    declared = re.fullmatch(r"\ufeff?sep=(.)\s*", head[0], re.IGNORECASE)  # a line that Excel reads and writes
    head = [file.readline(), *head[1:]][1:] if declared else head
    blank, title = _title_above(head)
    separator = declared[1] if declared else max(_SEPARATORS, key=lambda mark: len(_cells(head[blank], mark)))
    rows = csv.reader(file, delimiter=separator)
    for _ in range(blank):
        next(rows)
    while (names := next(rows, None)) == []:
        blank += 1
    header = list(map(clean_label, names or []))
    if not any(header):
        raise DataError("is empty", try_="let the first line name the columns")
    named = len(header)
    while named and not header[named - 1]:
        named -= 1
    line = rows.line_num
    start: list[list[str]] = []  # blank rows, and the first that is not
    while not (start and any(start[-1])) and (row := next(rows, None)) is not None:
        start.append(row)
    second = start[-1] if start else []
    # A name above goes for the columns after it, of which a second row of names says more.
    if "" in header[:named] or (named > 1 and not any(second[: named - 1])):
        named = max(named, *(place for place, cell in enumerate(second[: len(header)], start=1) if cell), 0)
    header = header[:named]
    if len(header) == 1 < fewest and not second:
        what = f"is not a table: it contains only {on_one_line(visible(header[0]), CELL)}"
        raise DataError(what, try_="let the first line name the columns")
    if len(header) == 1 < fewest:
        raise DataError(
            f"it has only one column, {visible(header[0])}",
            try_=(
                f"separate columns with one of {', '.join(_SEPARATORS.values())}",
                "if this line is a title, remove the lines above the names of the columns",
            ),
        )
    for mark, name in _SEPARATORS.items():
        if len(second) != len(header) == separator.join(second).count(mark) + 1:
            what = f"the header is separated by {_SEPARATORS.get(separator, separator)}, but the rows by {name}"
            raise DataError(what, try_="separate both in the same way")
    meaning, places = cache(lambda cell: unguarded(cell) or None), list[int]()  # each text is kept once
    # One array from the start: a list a row would keep Python's garbage collector busy in a large study.
    cells = np.fromiter(
        map(meaning, chain.from_iterable(_checked(file, rows, line, start, len(header), places, blank + 1))),
        dtype=object,
    )
    by_column = np.ascontiguousarray(cells.reshape(-1, len(header)).T)
    if separator != ",":
        for column in by_column:
            _decimal_points(column)
    frame = pd.DataFrame(by_column.T, index=places, columns=header, dtype=object)
    frame.attrs["notes"] = [_TITLE.format(blank, visible(title))] if title else []
    return frame


def _cells(line: str, mark: str) -> list[str]:
    return next(csv.reader([line], delimiter=mark), [])


def _title_above(lines: Sequence[str]) -> tuple[int, str]:
    """How many lines of a title are above a header with names that are known, and the title; 0 where there is none."""
    title, *others = (max((_cells(line, mark) for mark in _SEPARATORS), key=len) for line in lines)
    alone = bool(title) and bool(clean_label(title[0])) and not any(map(str.strip, title[1:]))
    place = next((place for place, names in enumerate(others, start=1) if alone and _known(names) > 1), 0)
    return place, clean_label(title[0]) if place else ""


def _decimal_points(column: Any) -> None:
    """3,5 → 3.5, in place, in a column of nothing but numbers: spreadsheets that separate cells otherwise write so."""
    values = {cell for cell in column.tolist() if cell is not None}
    commas = {cell for cell in values if _DECIMAL_COMMA.fullmatch(cell)}
    if commas and all(cell in commas or _WHOLE.fullmatch(cell) for cell in values):
        column[:] = [cell.replace(",", ".") if cell in commas else cell for cell in column]


def _checked(
    file: TextIO, rows: Any, line: int, start: list[list[str]], length: int, places: list[int], above: int
) -> Iterator[list[str]]:
    """The rows of a file without blank ones, refused where one is shorter or longer than the header; ``start``: rows that
    were read before, after ``line``, with ``above`` rows above them. To ``places`` is added where they stand, from 0."""
    end, wrong = line, dict[int, list[int]]()
    for number, row in enumerate(chain(start, rows), start=above + 1):
        line, end = end + 1, rows.line_num
        if not any(row):
            continue
        places.append(number - 1)
        if len(row) > length and not any(row[length:]):
            del row[length:]
        if len(row) != length:
            wrong.setdefault(len(row), []).append(number - 1)
            if end > line:
                quotes = f"check that every quotation mark is closed, starting in line {line}"
                raise DataError(_cells_of([number - 1], len(row), length), try_=quotes)
        yield row
    if end > line:  # the last cell may have run to the end of the file
        file.seek(0)
        try:
            list(csv.reader(list(islice(file, line - 1, None)), delimiter=rows.dialect.delimiter, strict=True))
        except csv.Error as error:
            if "end of data" in str(error):
                raise DataError("a quotation mark is not closed", where=f"line {line}", try_="close it") from error
    if wrong:
        what = "; ".join(_cells_of(numbers, cells, length) for cells, numbers in wrong.items())
        raise DataError(what, try_="give every row as many cells as the header, and quote cells with separators")


def _cells_of(places: Sequence[int], cells: int, header: int) -> str:
    has = "has" if len(places) == 1 else "have"
    return f"{rows_named(places)} {has} {cells} cell{'s' * (cells != 1)}, the header {header}"
