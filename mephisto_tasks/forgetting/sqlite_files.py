"""Rows taken out of SQLite files so that nothing of them is left in the files' bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from mephisto_tasks.stored.results import PATIENCE_S, ResultsError

Statement = tuple[str, Sequence[object]]


def erase(path: Path, statements: Sequence[Statement]) -> int:
    """Do all statements, or none, and write the file anew without what they took out. Returns how many rows changed.

    A file that is not there has no rows, and neither has a table of a version before it.
    """
    if not path.is_file():
        return 0
    with _opened(path) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        before = connection.total_changes
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for sql, values in statements:
                if _table_of(sql) in tables:
                    connection.execute(sql, values)
        changed = connection.total_changes - before
        # Also where nothing changed: somebody may have been stopped between the rows and this.
        connection.execute("VACUUM")
        held, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if held:  # what was taken out stands in the file still, or in its log
            raise sqlite3.OperationalError("another program reads it")
    return changed


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
        except sqlite3.OperationalError as error:
            raise ResultsError(
                f"{path} cannot be written now ({error}). See to that (another program that holds it, room on the disk), "
                "and run `parlai-humaneval forget --finish`: what was begun is then done to its end"
            ) from error


def _table_of(sql: str) -> str:
    words = sql.split()
    return words[1] if words[0] == "UPDATE" else words[2]
