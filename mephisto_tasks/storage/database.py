"""Mephisto's SQLite stores for hundreds of raters: all threads share a connection, and one commit writes what they have
at the same time (in Mephisto each waits for the disk inside a common lock). What fails is tried again."""

from __future__ import annotations

import functools
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.database import MephistoDB
from mephisto.abstractions.databases.local_database import StringIDRow
from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB
from mephisto.data_model.agent import Agent, OnboardingAgent
from mephisto.data_model.unit import Unit

from mephisto_tasks.storage.sqlite import AT_ONCE_S, Saving, passing

logger = logging.getLogger(__name__)

GATHER_S = 0.002  # How long a commit waits for other threads that are about to write


class GroupCommit:
    """A connection for many threads, each of which holds ``lock`` while it uses it. A ``with`` block is written as a
    whole or not at all: the first thread that leaves it commits for all that do meanwhile, and a failure is
    everybody's."""

    def __init__(self, connection: sqlite3.Connection, lock: threading.Condition) -> None:
        self._connection = connection
        self._lock = lock
        self._depth = 0
        self._changes_before = 0
        self._group = 0
        """The number of the current group; groups before it are on the disk, or have failed."""
        self._waiting = 0
        """How many threads have written something in this group."""
        self._somebody_commits = False
        self._failures: dict[int, tuple[BaseException, int]] = {}
        """Group → why it was not written, and how many threads have yet to raise that."""

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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        if not self._connection.in_transaction:  # SQLite gave the whole group up: the disk is full, say
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
        """Return when everything written is on the disk. Raises sqlite3.Error."""
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
        """Do nothing where other threads wait for their commit: one that fails undoes what it was to write."""
        if not self._waiting:
            self._connection.rollback()

    def _commit_for_all(self) -> None:
        self._somebody_commits = True
        try:
            self._lock.wait(GATHER_S)
            if self._connection.in_transaction:
                self._connection.commit()
        except BaseException as error:  # the threads that wait must raise it, whatever it is
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
        error, threads = failure
        if threads == 1:
            del self._failures[group]
        else:
            self._failures[group] = error, threads - 1
        raise sqlite3.OperationalError(*error.args) from error


class SharedConnectionDB(MephistoSingletonDB):
    """Mephisto's database for a launch, to which many threads write at the same time."""

    BUSY_S: ClassVar[float] = 5.0  # How long SQLite itself waits while another program holds the database.

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with self.table_access_condition:
            _, first = self.conn.popitem()  # it made the tables, in a mode that no group can use
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


class _Held:
    """A connection whose commits wait for the end of :func:`one_commit`: Mephisto commits after every statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        """Commit later, with the rest."""

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *_: object) -> None:
        """Neither commit nor roll back: the whole block is committed at its end."""


@contextmanager
def one_commit(store: Any) -> Iterator[None]:
    """Write everything that this thread writes to ``store`` in the block in one commit, for which others wait. What was
    written before an error is kept. Raises sqlite3.OperationalError."""
    _begin(store)  # from here on the thread has the condition
    try:
        connection = store._get_connection()
        held = _Held(connection)
        store._get_connection = lambda: held
        store._committing = threading.get_ident()
        try:
            yield
        finally:
            del store._get_connection  # uncovers the class's method
            del store._committing
            try:
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
    finally:
        store.table_access_condition.release()


def _begin(store: Any) -> None:
    """Acquire the store's condition and its file, which another program may hold for a while."""

    def begin() -> None:
        store.table_access_condition.acquire()
        try:
            connection = store._get_connection()
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            store.table_access_condition.release()
            raise

    saving = getattr(store, "saving", None)
    if saving is None:
        begin()
    else:
        saving.until_done(begin)


def commits_at_the_end(store: Any) -> bool:
    return bool(getattr(store, "_committing", None) == threading.get_ident())


def close_connections(store: Any) -> None:
    """Close all connections of a store; Mephisto keeps one for each thread."""
    with store.table_access_condition:
        while store.conn:
            _, connection = store.conn.popitem()
            if connection is not None:
                connection.close()


_ASKING = ("new_", "get_", "find_", "update_", "make_", "delete_", "grant_", "check_", "revoke_", "clear_")
_NO_QUERY = {"get_db_path_for_provider", "get_datastore_for_provider"}


class StudyDB(SharedConnectionDB):
    """A database that tries again until it can answer; the operator's loop gets the error instead. A status is what the
    launch has set, whatever the file says: where it cannot be written now, a thread writes it later, in order."""

    BUSY_S = AT_ONCE_S

    def __init__(self, path: str, saving: Saving) -> None:
        self.saving = saving
        self._later: deque[tuple[str, Callable[[], None]]] = deque()
        self._later_lock = threading.Lock()
        self._writer: threading.Thread | None = None
        super().__init__(path)

    def init_tables(self) -> None:
        self.saving.until_done(super().init_tables)

    # -- statuses

    def update_agent(self, agent_id: str, status: str | None = None) -> None:
        self._set(f"agent {agent_id}", lambda: self._update_agent(agent_id=agent_id, status=status))

    def update_onboarding_agent(self, onboarding_agent_id: str, status: str | None = None) -> None:
        self._set(
            f"practice {onboarding_agent_id}",
            lambda: self._update_onboarding_agent(onboarding_agent_id=onboarding_agent_id, status=status),
        )

    def update_unit(self, unit_id: str, agent_id: str | None = None, status: str | None = None) -> None:
        self._set(f"unit {unit_id}", lambda: self._update_unit(unit_id=unit_id, status=status))

    def clear_unit_agent_assignment(self, unit_id: str) -> None:
        self._set(f"unit {unit_id}", lambda: self._clear_unit_agent_assignment(unit_id=unit_id))

    def get_agent(self, agent_id: str) -> Mapping[str, Any]:
        return self._as_known(Agent, agent_id) or self._patiently(lambda: self._get_agent(agent_id=agent_id))

    def get_onboarding_agent(self, onboarding_agent_id: str) -> Mapping[str, Any]:
        return self._as_known(OnboardingAgent, onboarding_agent_id) or self._patiently(
            lambda: self._get_onboarding_agent(onboarding_agent_id=onboarding_agent_id)
        )

    def get_unit(self, unit_id: str) -> Mapping[str, Any]:
        return self._as_known(Unit, unit_id) or self._patiently(lambda: self._get_unit(unit_id=unit_id))

    def _as_known(self, kind: type, key: str) -> Mapping[str, Any] | None:
        """The status of an object that is loaded already: only this launch sets it."""
        known = self._singleton_cache[kind].get(key)
        return None if known is None else {"status": known.db_status}

    def _set(self, whose: str, write: Callable[[], None]) -> None:
        with self._later_lock:
            waits = bool(self._later)
        if not waits:
            try:
                write()
                return
            except Exception as error:
                if passing(error) is None or commits_at_the_end(self):
                    raise
        with self._later_lock:
            self._later.append((whose, write))
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_later, name="status-writer", daemon=True)
                self._writer.start()

    def _write_later(self) -> None:
        while True:
            with self._later_lock:
                if not self._later:
                    self._writer = None
                    return
                whose, write = self._later[0]
            try:
                self.saving.until_done(write)
            except Exception as error:
                logger.exception(
                    "the status of %s could not be written (%s); the next launch, or `parlai-humaneval doctor --repair`, "
                    "sets it by the record",
                    whose,
                    error,
                    exc_info=passing(error) is None,
                )
            with self._later_lock:
                self._later.popleft()

    def forget(self, made: Iterable[Any]) -> None:
        """Drop objects whose rows were not written after all: other rows will get their ids."""
        for value in made:
            for kind, known in self._singleton_cache.items():
                if isinstance(value, kind):
                    known.pop(value.db_id, None)

    def finish(self) -> None:
        """Wait, at the end of a launch, for statuses that are still to be written."""
        writer = self._writer
        if writer is not None:
            writer.join(timeout=10)

    # -- all other queries

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        # Inside a block that is committed as a whole, everybody else waits for this thread.
        return ask() if commits_at_the_end(self) else self.saving.until_done(ask)


def _patient(name: str) -> Callable[..., Any]:
    original = getattr(MephistoSingletonDB, name)

    @functools.wraps(original)
    def ask(self: StudyDB, *args: Any, **kwargs: Any) -> Any:
        return self._patiently(lambda: original(self, *args, **kwargs))

    return ask


for _name in dir(MephistoDB):
    if _name.startswith(_ASKING) and _name not in vars(StudyDB) and _name not in _NO_QUERY:
        setattr(StudyDB, _name, _patient(_name))
