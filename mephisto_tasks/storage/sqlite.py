"""Databases that are read beside whoever writes them, or after whoever wrote them was killed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def open_to_read(path: Path, patience_s: float = 30.0) -> sqlite3.Connection:
    """A connection that only reads, on a disk that cannot be written as well.

    What a killed process had half written is first taken back: SQLite keeps what was there before in a journal, and lets
    nobody read until somebody who may write has put it back.

    Args:
        path: the database; it is there.
        patience_s: how long to wait for who holds it.

    Raises:
        sqlite3.DatabaseError: it is none, is held for longer, or was half written on a disk that cannot be written.
    """
    address = path.resolve().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=patience_s)
    try:
        _look(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        if "readonly" not in str(error):  # Python 3.10 has no code of it
            raise
        with closing(sqlite3.connect(f"{address}?mode=rw", uri=True, timeout=patience_s)) as writer:
            _look(writer)
        return sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=patience_s)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _look(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
