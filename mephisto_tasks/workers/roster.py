"""All workers so far, by pseudonym; files that list workers; and the block lists of crowds' sites."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.storage.results import PSEUDONYM_KEY, ResultsError, query
from parlai_humaneval._util.data_files import DataError, read_text
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.files import file_stamp
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.schema.pseudonyms import Pseudonymizer

SIMULATED = "parlai-humaneval-simulated-rater"  # name of the qualification that marks programs of this project


class UnknownWorker(ResultsError):
    """Nobody of that name was here; the message says what to do."""


@dataclass(frozen=True)
class KnownWorker:
    """A worker of Mephisto's database. ``name`` is who they are and never printed; ``since``: seconds since the epoch."""

    pseudonym: str
    worker_id: str
    name: str
    provider: str
    since: float
    simulated: bool


def known_workers(data_dir: Path) -> dict[str, KnownWorker]:
    """Pseudonym → worker, in order of their coming. Raises ResultsError: there is no database."""
    rows = query(data_dir, "roster", [SIMULATED])
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    known = {}
    for number, name, provider, at, simulated in rows:
        pseudonym, since = pseudonyms.worker(str(name)), seconds(str(at))
        known[pseudonym] = KnownWorker(pseudonym, str(number), str(name), str(provider), since, bool(simulated))
    return known


def named(workers: dict[str, KnownWorker], given: Iterable[str]) -> list[KnownWorker]:
    """The workers of these pseudonyms. Raises UnknownWorker, which names the nearest that there is."""
    given = list(dict.fromkeys(map(clean_label, given)))
    for name in given:
        if name not in workers:
            raise UnknownWorker(worded(__file__, "unknown"), where=name, misspelt=misspelt(name, workers, cutoff=0.8))
    return [workers[name] for name in given]


def by_worker_id(workers: Collection[KnownWorker], worker_id: str) -> list[KnownWorker]:
    """The workers whom their site calls so; a sandbox may know the same id. Raises UnknownWorker."""
    found = [worker for worker in workers if clean_label(worker_id) in names_of(worker.name)]
    if not found:
        raise UnknownWorker("this data directory has no rater with this ID")
    return found


def names_of(worker_name: str) -> set[str]:
    """A worker's possible names: as stored, without Mephisto's sandbox suffix, and without the panel's name."""
    plain = plain_name(worker_name)
    return {worker_name, plain, plain.rpartition(":")[2]}


def seconds(stored: str) -> float:
    """A time of Mephisto's database (UTC) in seconds since the epoch."""
    return datetime.fromisoformat(stored).replace(tzinfo=timezone.utc).timestamp()


logger = logging.getLogger(__name__)

COLUMNS = ("worker", "workerid", "pseudonym", "participantid")
"""Headings of the column, as in the exports of crowds' sites and in our own tables; case, blanks and signs do not matter."""

_PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
_FORMULA = ("=", "+", "-", "@", "\t")  # with these a cell begins that a spreadsheet would run


class SiteBlocks(Protocol):
    """A crowd's own list of workers who are kept away from all tasks of an account."""

    title: str  # the site

    def block(self, worker: Any, reason: str) -> list[str]:
        """Keep a worker (Mephisto's) away; returns what went wrong, in sentences."""

    def unblock(self, worker: Any) -> list[str]: ...  # let them come again; returns what went wrong, in sentences


@dataclass(frozen=True)
class WorkerList:
    """The workers of a file: ids as their place has them, or pseudonyms. ``remarks``: what one should know of the file."""

    names: frozenset[str]
    remarks: list[str] = field(default_factory=list)

    def has(self, worker_name: str, pseudonym: str) -> bool:
        return not self.names.isdisjoint({*names_of(worker_name), pseudonym})


def read_worker_list(path: Path, pseudonyms: Callable[[], Collection[str]]) -> WorkerList:
    """The workers of a ``.csv`` file with a heading, or of text with an id a line and comments (#). ``pseudonyms``: of
    everybody who was ever here; asked only where the file holds any. Raises DataError."""
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else _lines(path)
    lines: dict[str, list[int]] = {}
    for number, name in rows:
        _check(path, number, name)
        lines.setdefault(name, []).append(number)
    if not lines:
        raise DataError(f"{path} names nobody", try_="put one rater's ID on each line, or leave the setting out")
    given = {name for name in lines if _PSEUDONYM.fullmatch(name)}
    if unknown := sorted(given - set(pseudonyms())) if given else []:
        raise DataError(worded(__file__, "no_pseudonym", name=unknown[0]), where=f"{path}, line {lines[unknown[0]][0]}")
    twice = [f"line {' and '.join(map(str, numbers))}" for numbers in lines.values() if len(numbers) > 1]
    remarks = [f"{path} lists {len(twice)} twice ({'; '.join(twice[:3])}). Once is enough."] if twice else []
    return WorkerList(frozenset(lines), remarks)


class FollowedList:
    """The workers of a file as it stands now, read again when it is saved. Thread-safe. A file that cannot be used any more
    changes nothing, which is logged once. Raises DataError at first."""

    def __init__(self, path: Path, pseudonyms: Callable[[], Collection[str]]) -> None:
        self._path, self._pseudonyms = path, pseudonyms
        self._seen = file_stamp(path)
        self.listed = read_worker_list(path, pseudonyms)

    def has(self, worker_name: str, pseudonym: str) -> bool:
        stamp = file_stamp(self._path)
        if stamp != self._seen:
            self._seen = stamp
            try:
                self.listed = read_worker_list(self._path, self._pseudonyms)
            except DataError as error:
                logger.warning("%s. Until that is fixed, the names in its earlier version count", error)
        return self.listed.has(worker_name, pseudonym)


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, clean_label(line)


def _csv_rows(path: Path) -> Iterable[tuple[int, str]]:
    rows = csv.reader(read_text(path).splitlines())
    header = next(rows, [])
    plain = [re.sub(r"[^a-z]", "", cell.lower()) for cell in header]
    column = next((plain.index(name) for name in COLUMNS if name in plain), None)
    if column is None:
        has = ", ".join(header) or "no heading"
        what = f"{path} has no column of workers: its first line must have a heading “worker” (it has: {has})"
        raise DataError(what)
    for row in rows:
        if any(cell.strip() for cell in row):
            yield rows.line_num, clean_label(row[column]) if column < len(row) else ""


def _check(path: Path, number: int, name: str) -> None:
    what = None
    if not name:
        what = "it has no ID"
    elif name.startswith(_FORMULA):
        what = f"begins with {name[0]!r} like a spreadsheet's formula, and unlike a worker id"
    elif re.search(r"[\s,;\"'<>]", name) or not name.isprintable() or len(name) > 200:
        what = f"{name[:60]!r} is not an ID: write one per line, without spaces, commas and quotation marks"
    if what is not None:
        raise DataError(what, where=f"{path}, line {number}")
