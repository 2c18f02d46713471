"""The browser of each worker's name, registration and visit, in a small SQLite file in the data directory.

It has only digests of the browsers' secrets, so that nobody who reads it can show one."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.storage.sqlite import Database
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import mode_within

FILE = "browsers.db"
WAIT_S = 1.0  # how long another launch of the same data directory may hold the file: raters wait meanwhile
MOST_DIGESTS = 12  # of one thing: a browser may lose its cookie, but not every day


class BookUnusable(HumanevalError, RuntimeError):
    """The file could not be read or written: the disk is full, or the file is locked or damaged."""


@dataclass(frozen=True)
class Shown:
    """Digests of the secrets that a browser showed."""

    digests: frozenset[bytes]

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Shown:
        return cls(frozenset(hashlib.sha256(secret.encode()).digest() for secret in secrets))


class BrowserBook:
    """Thread-safe. Every method raises :class:`BookUnusable`; then nothing has changed."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / FILE
        self._database = Database(
            self._path,
            error=BookUnusable,
            migrations=(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),),
            if_busy="check that the disk has free space and that you can write to it",
            if_damaged="remove the file: each name then belongs to the first rater who uses it",
            patience_s=WAIT_S,
            # Raters wait for each write. The newest may be lost with the machine's power, never with the launch.
            pragmas=("journal_mode = WAL", "synchronous = NORMAL"),
        )
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Make the file, or find out that it is unusable, before anybody comes."""
        self._holders(())

    def held_by_another(self, things: Sequence[str], shown: Shown) -> bool:
        return any(holders and not holders & shown.digests for holders in self._holders(things).values())

    def holds_any(self, things: Sequence[str], shown: Shown) -> bool:
        return any(holders & shown.digests for holders in self._holders(things).values())

    def hold(self, worker: str, things: Sequence[str], shown: Shown, also: Sequence[str] = ()) -> bool:
        """Give all of these to the browser, and what of ``also`` nobody has; or none where another holds one. Whether it
        holds them now. ``worker``: whose they are, so that they can be erased with the worker."""
        now = time.time()
        with self._opened() as connection:
            if all(shown.digests <= holders for holders in _read(connection, (*things, *also)).values()):
                return True  # as at every reload
            with connection:  # commits, or takes all back
                connection.execute("BEGIN IMMEDIATE")
                known = _read(connection, (*things, *also))
                if any(known[thing] and not known[thing] & shown.digests for thing in things):
                    return False
                new = [
                    (worker, thing, digest, now)
                    for thing in known
                    if thing in things or not known[thing] or known[thing] & shown.digests
                    for digest in sorted(shown.digests - known[thing])[: max(0, MOST_DIGESTS - len(known[thing]))]
                ]
                connection.executemany("INSERT INTO held VALUES (?, ?, ?, ?)", new)
            return True

    def release(self, stored_name: str) -> None:
        """Let the next browser under the name of this worker, as the database has it, hold what was theirs."""
        with self._opened() as connection:
            connection.execute("DELETE FROM held WHERE worker IN (?, ?)", names_of(stored_name))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _holders(self, things: Sequence[str]) -> dict[str, frozenset[bytes]]:
        with self._opened() as connection:
            return _read(connection, things)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._database.checked():
            if self._connection is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                database = replace(self._database, mode=mode_within(self._path.parent))
                self._connection = database.connect(shared=True)
            yield self._connection


def names_of(stored_name: str) -> tuple[str, str]:
    """A worker's names in this file: their page does not know of the suffix that Mephisto's sandbox providers add."""
    return stored_name, plain_name(stored_name)


def _read(connection: sqlite3.Connection, things: Sequence[str]) -> dict[str, frozenset[bytes]]:
    holders: dict[str, frozenset[bytes]] = {}
    for thing in things:
        with closing(connection.execute("SELECT digest FROM held WHERE thing = ?", (thing,))) as rows:
            holders[thing] = frozenset(bytes(digest) for (digest,) in rows)
    return holders
