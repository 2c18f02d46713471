"""SQLite files of this project, opened, migrated, read and written in one way (Mephisto's: ``storage.database``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto_tasks.storage.retry import passing
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import OWNER_ONLY, make_private

Migration = str | Callable[[sqlite3.Connection], object]
"""From one version of a file to the next: statements with a semicolon after each, or a function."""


@dataclass(frozen=True)
class Database:
    """A file that threads and processes share; the first connection that writes makes it. ``error`` is raised, with
    ``if_busy`` or ``if_damaged`` as advice. ``migrations``: one a version (``user_version``); None: not ours."""

    path: Path
    error: type[HumanevalError]
    migrations: Sequence[Migration] | None = None
    if_busy: str = "try again later"
    if_damaged: str = "put a copy of it back"
    patience_s: float = 30.0
    pragmas: Sequence[str] = ()
    mode: int = OWNER_ONLY

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        if not self.path.is_file():
            return []
        with self.reading() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads, on a read-only disk too; an old version's file is migrated in memory."""
        with self.checked(), closing(open_to_read(self.path, self.patience_s)) as connection:
            if self.migrations is None or self._version(connection) == len(self.migrations):
                yield connection
                return
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
                connection.backup(copy)
                self._migrate(copy)
                yield copy

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block reaches the disk, or nothing. Other writers wait meanwhile."""
        with closing(self.connect()) as connection, self.checked():
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def connect(self, *, shared: bool = False) -> sqlite3.Connection:
        """A connection that commits each statement outside of a transaction; ``shared`` by threads, one at a time."""
        with self.checked():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            make_private(self.path, self.mode)  # SQLite's journals get the mode of the file
            connection = sqlite3.connect(
                self.path, timeout=self.patience_s, isolation_level=None, check_same_thread=not shared
            )
            try:
                for pragma in self.pragmas:
                    connection.execute(f"PRAGMA {pragma}")
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raise :attr:`error` for what goes wrong with the file in the block, with what to do about it."""
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # the statement is to blame
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            match passing(error):
                case "held":
                    what, hint = f"another program has locked it for {self.patience_s:g} s", self.if_busy
                case "full" | "failing":
                    what, hint = f"it cannot be read or written now ({error})", self.if_busy
                case None:
                    what, hint = f"it cannot be used ({error})", self.if_damaged
            raise self.error(what, where=self.path, try_=hint) from error

    def _version(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        known = len(self.migrations or ())
        if version > known:
            raise self.error(
                f"a newer version of this program wrote it (its form is {version}, this program knows {known})",
                where=self.path,
                try_="update parlai-humaneval; nothing was changed",
            )
        return int(version)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if self.migrations is None or self._version(connection) == len(self.migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for migration in self.migrations[self._version(connection) :]:  # another process may have been first
                if callable(migration):
                    migration(connection)
                else:
                    for statement in migration.split(";"):
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self.migrations)}")


def open_to_read(path: Path, patience_s: float = 30.0) -> sqlite3.Connection:
    """A connection that only reads; what a killed process left half written is taken back first. Raises DatabaseError."""
    address = path.resolve().as_uri()

    def opened(mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{address}?mode={mode}", uri=True, timeout=patience_s, isolation_level=None)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    try:
        return opened("ro")
    except sqlite3.OperationalError as error:
        if "readonly" not in str(error):  # Python 3.10 has no code of it
            raise
        opened("rw").close()
        return opened("ro")
