"""Databases are read that a killed process left half written."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mephisto_tasks.storage.sqlite import open_to_read

ROWS = [(number, "a" * 500) for number in range(200)]


@pytest.fixture
def half_written(tmp_path: Path) -> Path:
    """A database in the midst of a transaction that has begun to reach the file, as kill -9 leaves it."""
    whole = tmp_path / "whole.db"
    with closing(sqlite3.connect(whole)) as writer:
        with writer:
            writer.execute("CREATE TABLE units (number INTEGER, text TEXT)")
            writer.executemany("INSERT INTO units VALUES (?, ?)", ROWS)
        writer.execute("PRAGMA cache_size = 1")  # more than a page, and it goes to the file
        writer.execute("UPDATE units SET text = 'half'")
        left = tmp_path / "left.db"
        shutil.copy(whole, left)
        shutil.copy(f"{whole}-journal", f"{left}-journal")
    return left


def test_what_was_half_written_is_taken_back_and_the_rest_is_read(half_written: Path) -> None:
    plainly = sqlite3.connect(f"{half_written.as_uri()}?mode=ro", uri=True)
    with closing(plainly), pytest.raises(sqlite3.OperationalError, match="readonly"):  # why it must be opened otherwise
        plainly.execute("SELECT * FROM units").fetchall()
    with closing(open_to_read(half_written)) as connection:
        assert connection.execute("SELECT * FROM units").fetchall() == ROWS
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM units")


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(b"not a database, but more than a header of one is long" * 20)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_to_read(other)
