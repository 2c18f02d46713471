"""Lists of workers: files that name them, one a line or in a column of a CSV file, and the block lists of crowds' sites."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mephisto_tasks.workers.roster import names_of
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.text import clean_label

logger = logging.getLogger(__name__)

COLUMNS = ("worker", "workerid", "pseudonym", "participantid")
"""Headings of the column, as in the exports of crowds' sites and in our own tables; case, blanks and signs do not matter."""

_PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
_FORMULA = ("=", "+", "-", "@", "\t")
"""With these a cell begins that a spreadsheet would run."""


class WorkerListError(HumanevalError, ValueError):
    """A file that cannot be used; the message names the line and what to do."""


class SiteBlocks(Protocol):
    """A crowd's own list of workers who are kept away from all tasks of an account."""

    title: str
    """The site."""

    def block(self, worker: Any, reason: str) -> list[str]:
        """Keep a worker (Mephisto's) away; returns what went wrong, in sentences."""

    def unblock(self, worker: Any) -> list[str]:
        """Let them come again; returns what went wrong, in sentences."""


@dataclass(frozen=True)
class WorkerList:
    """The workers of a file: ids as their place has them, or pseudonyms. ``remarks``: what one should know of the file."""

    names: frozenset[str]
    remarks: list[str] = field(default_factory=list)

    def has(self, worker_name: str, pseudonym: str) -> bool:
        """Whether a worker is in it."""
        return not self.names.isdisjoint({*names_of(worker_name), pseudonym})


def read_worker_list(path: Path, pseudonyms: Callable[[], Collection[str]]) -> WorkerList:
    """The workers of a file.

    Args:
        path: a ``.csv`` file with a heading, or text with an id a line; lines that begin with # say nothing.
        pseudonyms: of everybody who was ever here; asked only where the file holds any.

    Raises:
        WorkerListError: the file is missing, empty or no text, or has lines that are no ids, or unknown pseudonyms.
    """
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else _lines(path)
    lines: dict[str, list[int]] = {}
    for number, name in rows:
        _check(path, number, name)
        lines.setdefault(name, []).append(number)
    if not lines:
        raise WorkerListError(f"{path} names nobody", try_="put a worker id on each line, or do not set it")
    _check_known(path, [name for name in lines if _PSEUDONYM.fullmatch(name)], lines, pseudonyms)
    twice = [f"line {' and '.join(map(str, numbers))}" for numbers in lines.values() if len(numbers) > 1]
    remarks = [f"{path} names {len(twice)} twice ({'; '.join(twice[:3])}); once is enough."] if twice else []
    return WorkerList(frozenset(lines), remarks)


class FollowedList:
    """The workers of a file as it stands now: whoever saves it changes a launch that runs. Thread-safe.

    A file that cannot be used any more changes nothing until it can be; that is logged once.

    Raises:
        WorkerListError: as :func:`read_worker_list`, at first.
    """

    def __init__(self, path: Path, pseudonyms: Callable[[], Collection[str]]) -> None:
        self._path, self._pseudonyms = path, pseudonyms
        self._seen = _stamp(path)
        self.listed = read_worker_list(path, pseudonyms)

    def has(self, worker_name: str, pseudonym: str) -> bool:
        """Whether a worker is in it."""
        stamp = _stamp(self._path)
        if stamp != self._seen:
            self._seen = stamp
            try:
                self.listed = read_worker_list(self._path, self._pseudonyms)
            except WorkerListError as error:
                logger.warning("%s. Until that is right, those count whom it named before", error)
        return self.listed.has(worker_name, pseudonym)


def _stamp(path: Path) -> tuple[int, int] | None:
    """What is another one whenever a file was saved anew; None: there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise WorkerListError(f"there is no file {path}") from None
    except OSError as error:
        raise WorkerListError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WorkerListError(
            f"{path} is not UTF-8 text (byte {error.start})", try_="save it as “CSV UTF-8”, or as plain text in UTF-8"
        ) from error


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, clean_label(line)


def _csv_rows(path: Path) -> Iterable[tuple[int, str]]:
    rows = csv.reader(_text(path).splitlines())
    header = next(rows, [])
    plain = [re.sub(r"[^a-z]", "", cell.lower()) for cell in header]
    column = next((plain.index(name) for name in COLUMNS if name in plain), None)
    if column is None:
        has = ", ".join(header) or "no heading"
        raise WorkerListError(
            f"{path} has no column of workers: its first line must have a heading “worker” (it has: {has})"
        )
    for row in rows:
        if any(cell.strip() for cell in row):
            yield rows.line_num, clean_label(row[column]) if column < len(row) else ""


def _check(path: Path, number: int, name: str) -> None:
    if not name:
        raise WorkerListError("no worker stands there", where=f"{path}, line {number}")
    if name.startswith(_FORMULA):
        raise WorkerListError(
            f"begins with {name[0]!r} like a spreadsheet's formula, and unlike a worker id",
            where=f"{path}, line {number}",
        )
    if re.search(r"[\s,;\"'<>]", name) or not name.isprintable() or len(name) > 200:
        raise WorkerListError(
            f"{name[:60]!r} is no worker id: one a line, without blanks, commas and quotation marks",
            where=f"{path}, line {number}",
        )


def _check_known(
    path: Path, given: Collection[str], lines: dict[str, list[int]], pseudonyms: Callable[[], Collection[str]]
) -> None:
    if not given:
        return
    unknown = sorted(set(given) - set(pseudonyms()))
    if unknown:
        raise WorkerListError(
            f"{unknown[0]} is the pseudonym of nobody in this data directory (another one has other pseudonyms)",
            where=f"{path}, line {lines[unknown[0]][0]}",
            try_="see `parlai-humaneval workers list`, or give the worker's id",
        )
