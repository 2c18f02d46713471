"""SQLite files: read though a killed process left them half written, migrated, written as a whole."""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from mephisto_tasks.storage.sqlite import Database, Migration, open_to_read
from parlai_humaneval._util.errors import HumanevalError

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


class StoreError(HumanevalError):
    """What the owner of a file raises."""


def _add_unit(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN unit TEXT NOT NULL DEFAULT ''")


FIRST_VERSION = (
    "CREATE TABLE IF NOT EXISTS notes (text TEXT UNIQUE); CREATE INDEX IF NOT EXISTS by_text ON notes (text)"
)
VERSIONS: list[Migration] = [FIRST_VERSION, _add_unit]


def database(path: Path, versions: int = 2) -> Database:
    return Database(
        path,
        error=StoreError,
        migrations=VERSIONS[:versions],
        if_busy="free it",
        if_damaged="put a copy back",
        patience_s=0.05,
    )


def test_a_file_without_a_version_gets_every_migration_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "notes.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old, old:  # as files were made before they had versions
        old.execute("CREATE TABLE notes (text TEXT UNIQUE)")
        old.execute("INSERT INTO notes VALUES ('kept')")
    assert database(path).rows("SELECT text, unit FROM notes") == [("kept", "")]
    with closing(sqlite3.connect(path)) as unchanged:
        assert unchanged.execute("PRAGMA user_version").fetchone() == (0,), "reading changes no file"
    with database(path).writing() as connection:
        connection.execute("INSERT INTO notes VALUES ('new', 'u1')")
    assert database(path).rows("SELECT text, unit FROM notes") == [("kept", ""), ("new", "u1")]
    with closing(sqlite3.connect(path)) as changed:
        assert changed.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_migration_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    database(path, versions=1).connect().close()
    broken = Database(path, StoreError, migrations=[*VERSIONS, "CREATE TABLE more (a TEXT); SELECT text FROM nowhere"])
    with pytest.raises(StoreError, match="nowhere"):
        broken.connect()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT name FROM pragma_table_info('notes')").fetchall() == [("text",)]


def test_a_file_of_a_newer_version_is_neither_read_nor_written(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    database(path).connect().close()
    before = path.read_bytes()
    older = database(path, versions=1)
    for use in (lambda: older.rows("SELECT * FROM notes"), lambda: older.connect()):
        with pytest.raises(StoreError, match="newer version"):
            use()
    assert path.read_bytes() == before


def test_a_block_that_fails_writes_nothing(tmp_path: Path) -> None:
    store = database(tmp_path / "notes.db")
    with pytest.raises(sqlite3.IntegrityError), store.writing() as connection:
        connection.executemany("INSERT INTO notes VALUES (?, '')", [["same"], ["same"]])
    assert store.rows("SELECT * FROM notes") == []
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_errors_say_whether_to_wait_or_to_mend(tmp_path: Path) -> None:
    """A file that is held is whole; a statement that breaks a rule of the table says nothing of the file."""
    store = database(tmp_path / "notes.db")
    with store.writing(), pytest.raises(StoreError, match=r"another program has locked it for 0.05 s; free it"):
        store.writing().__enter__()
    store.path.write_bytes(b"something else" * 1000)
    with pytest.raises(StoreError, match=r"not a database\); put a copy back"):
        store.rows("SELECT * FROM notes")


def test_many_processes_may_make_and_write_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with ThreadPoolExecutor(8) as pool:  # each with a connection of its own, as processes have

        def write(number: int) -> None:
            with Database(path, StoreError, migrations=VERSIONS).writing() as connection:
                connection.execute("INSERT INTO notes VALUES (?, '')", [str(number)])

        list(pool.map(write, range(40)))
    assert database(path).rows("SELECT COUNT(*) FROM notes") == [(40,)]


def test_files_are_opened_in_one_place() -> None:
    """Guards modes, journals, versions and advice, which a connection of somebody's own has not; Mephisto's is the other."""
    root = Path(__file__).parents[3]
    opened = {
        path.relative_to(root).as_posix()
        for package in ("parlai_humaneval", "mephisto_tasks")
        for path in (root / package).rglob("*.py")
        if "sqlite3.connect(" in path.read_text(encoding="utf-8")
    }
    assert opened == {"mephisto_tasks/storage/sqlite.py", "mephisto_tasks/storage/database.py"}
