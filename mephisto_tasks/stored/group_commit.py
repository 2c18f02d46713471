"""One connection of all threads to an SQLite store, and one commit for all that they write at the same time.

Each of Mephisto's threads has a connection of its own, and commits after every statement: a wait for the disk each time,
inside a lock that all threads share. With two hundred raters who come in the same second, that is what they wait for.
"""

from __future__ import annotations

import sqlite3
import threading
from types import TracebackType
from typing import Any, ClassVar

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import StringIDRow
from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB

GATHER_S = 0.002
"""How long whoever commits waits for others who are about to write."""


class GroupCommit:
    """A connection for many threads, which all hold ``lock`` while they use it, as Mephisto's do.

    ``with`` is a block that is written as a whole or not at all, as with a plain connection; when it is left, what was
    written is on the disk. The first thread to leave one commits for all who leave theirs meanwhile: ``lock`` is free while
    they wait. Where the commit fails, it fails for all of them, and nothing of theirs is written.
    """

    def __init__(self, connection: sqlite3.Connection, lock: threading.Condition) -> None:
        self._connection = connection
        self._lock = lock
        self._depth = 0
        self._changes_before = 0
        self._group = 0
        """The group that is being gathered; those before it are on the disk, or have failed."""
        self._waiting = 0
        """Threads that have written something in this group."""
        self._somebody_commits = False
        self._failures: dict[int, tuple[BaseException, int]] = {}
        """Group → why it was not written, and how many threads are still to be told."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> GroupCommit:
        self._depth += 1
        if self._depth == 1:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            self._connection.execute("SAVEPOINT block")
            self._changes_before = self._connection.total_changes
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        if not self._connection.in_transaction:  # SQLite has given the whole group up: the disk is full, say
            self._fail(error or sqlite3.OperationalError("the transaction was undone"))
            return
        if error is not None:
            self._connection.execute("ROLLBACK TO block")
        self._connection.execute("RELEASE block")
        if error is None and self._connection.total_changes != self._changes_before:
            self.commit()
        elif not self._waiting:
            self._connection.rollback()  # nothing was written: no lock stays behind

    def commit(self) -> None:
        """All that was written is on the disk when this returns.

        Raises:
            sqlite3.Error: it is not, and nothing of it stays.
        """
        if self._depth:  # at the end of the block
            return
        if not self._connection.in_transaction:
            return
        group = self._group
        self._waiting += 1
        if self._somebody_commits:
            while self._group == group:
                self._lock.wait()
        else:
            self._commit_for_all()
        self._raise_if_failed(group)

    def rollback(self) -> None:
        """Nothing, where others wait for what they wrote: a commit that fails has undone what it was to write."""
        if not self._waiting:
            self._connection.rollback()

    def _commit_for_all(self) -> None:
        self._somebody_commits = True
        try:
            self._lock.wait(GATHER_S)
            if self._connection.in_transaction:
                self._connection.commit()
        except BaseException as error:  # whatever it is, those who wait must hear of it
            self._connection.rollback()
            self._fail(error)
            if not isinstance(error, sqlite3.Error):
                raise
        else:
            self._next_group()
        finally:
            self._somebody_commits = False

    def _fail(self, error: BaseException) -> None:
        if self._waiting:
            self._failures[self._group] = error, self._waiting
        self._next_group()

    def _next_group(self) -> None:
        self._group += 1
        self._waiting = 0
        self._lock.notify_all()

    def _raise_if_failed(self, group: int) -> None:
        failure = self._failures.get(group)
        if failure is None:
            return
        error, untold = failure
        if untold == 1:
            del self._failures[group]
        else:
            self._failures[group] = error, untold - 1
        raise sqlite3.OperationalError(*error.args) from error


class SharedConnectionDB(MephistoSingletonDB):
    """Mephisto's database for a launch, where many threads write at the same time."""

    BUSY_S: ClassVar[float] = 5.0
    """How long SQLite itself waits for another program that holds the database."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with self.table_access_condition:
            _, first = self.conn.popitem()  # with which the tables were made, in ways that suit no group
            first.close()
            self._shared: GroupCommit | None = None

    def _get_connection(self) -> Any:
        if "_shared" not in vars(self):
            return super()._get_connection()
        if 0 not in self.conn or self._shared is None:
            connection = sqlite3.connect(self.db_path, check_same_thread=False, timeout=self.BUSY_S)
            connection.row_factory = StringIDRow
            self.conn[0] = connection
            self._shared = GroupCommit(connection, self.table_access_condition)
        return self._shared
