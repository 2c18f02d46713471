"""SQLite files of this project, opened, migrated, read and written in one way.

Mephisto's database, as a launch writes to it, is in :mod:`mephisto_tasks.storage.database`.
"""

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
    """A file that any number of threads and processes may use at once.

    Args:
        path: of the file; its folder and itself are made by the first connection that may write.
        error: what is raised where the file cannot be used.
        migrations: one for each version, oldest first; SQLite's ``user_version`` says which of them a file has had. A file
            from before there were versions gets all of them. None: the file's tables are somebody else's.
        if_busy: what to do where another program holds the file, or the disk cannot be written.
        if_damaged: what to do where the file is damaged, or something else.
        patience_s: how long to wait for another program that holds it.
        pragmas: of each connection that may write, such as ``synchronous = FULL``.
        mode: of a file that is made.
    """

    path: Path
    error: type[HumanevalError]
    migrations: Sequence[Migration] | None = None
    if_busy: str = "try again later"
    if_damaged: str = "put a copy of it back"
    patience_s: float = 30.0
    pragmas: Sequence[str] = ()
    mode: int = OWNER_ONLY

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a query selects; nothing where there is no file."""
        if not self.path.is_file():
            return []
        with self.reading() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads a file that is there, on a disk that cannot be written as well.

        A file of an earlier version stays as it is: what is read is a copy in memory, which is migrated.
        """
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
        """A connection that reads and writes, and commits after each statement outside of a transaction.

        ``shared``: threads use it, one at a time. Statements belong into :meth:`checked`.
        """
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
    """A connection that only reads.

    What a killed process had half written is first taken back: SQLite keeps what was there before in a journal, and lets
    nobody read until somebody who may write has put it back.

    Raises:
        sqlite3.DatabaseError: it is none, is held for longer, or was half written on a disk that cannot be written.
    """
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
