"""Mephisto's SQLite stores (its database, and each provider's own), used with care for time and open files."""

from __future__ import annotations

import sqlite3
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

    Other threads wait meanwhile, so nothing slow belongs into the block. What was written before an error is kept.
    """
    with store.table_access_condition:
        connection = store._get_connection()
        held = _Held(connection)
        store._get_connection = lambda: held
        try:
            yield
        finally:
            del store._get_connection  # the class's own is seen again
            connection.commit()


def close_connections(store: Any) -> None:
    """Close what the threads of a launch opened: a connection per thread, which Mephisto keeps."""
    with store.table_access_condition:
        while store.conn:
            _, connection = store.conn.popitem()
            if connection is not None:
                connection.close()
