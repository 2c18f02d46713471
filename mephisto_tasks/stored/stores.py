"""Mephisto's SQLite stores (its database, and each provider's own), used with care for time and open files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Held:
    """A connection whose commits wait: Mephisto commits after every statement, at one disk write each."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        """Later, with all the rest."""

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *_: object) -> None:
        """No commit, and no rollback either: the whole block is committed at its end."""


@contextmanager
def one_commit(store: Any) -> Iterator[None]:
    """Everything that this thread writes to ``store`` in the block reaches the disk in one commit, at its end.

    Other threads wait meanwhile, so nothing slow belongs into the block. What was written before an error is kept, unless
    the error is the commit's. The block begins when nobody else holds the store.

    Raises:
        sqlite3.OperationalError: the disk is full, say; or another program holds the store, and this thread must not wait.
    """
    _begin(store)  # from here on the thread has the condition
    try:
        connection = store._get_connection()
        held = _Held(connection)
        store._get_connection = lambda: held
        store._committing = threading.get_ident()
        try:
            yield
        finally:
            del store._get_connection  # the class's own is seen again
            del store._committing
            try:
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
    finally:
        store.table_access_condition.release()


def _begin(store: Any) -> None:
    """Take the store's condition, and its file: whoever else holds that is waited for here, and not in the block."""

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
    """Whether the thread that asks is inside of :func:`one_commit`."""
    return bool(getattr(store, "_committing", None) == threading.get_ident())


def close_connections(store: Any) -> None:
    """Close what the threads of a launch opened: a connection per thread, which Mephisto keeps."""
    with store.table_access_condition:
        while store.conn:
            _, connection = store.conn.popitem()
            if connection is not None:
                connection.close()
