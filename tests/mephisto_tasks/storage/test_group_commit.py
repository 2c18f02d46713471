"""Many threads write to one database: together, each as a whole, and on the disk before any of them goes on."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.database import EntryAlreadyExistsException

from mephisto_tasks.storage.database import SharedConnectionDB, close_connections, one_commit

WRITERS = 24


class Impatient(SharedConnectionDB):
    """Gives up at once where another program holds the database."""

    BUSY_S = 0.01


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SharedConnectionDB]:
    database = Impatient(str(tmp_path / "database.db"))
    yield database
    close_connections(database)


def on_the_disk(db: SharedConnectionDB) -> set[str]:
    """The workers whom another program sees."""
    with closing(sqlite3.connect(db.db_path)) as connection:
        return {name for (name,) in connection.execute("SELECT worker_name FROM workers")}


def together(work: Callable[[int], Any]) -> list[BaseException | None]:
    """``work`` in as many threads as there are writers, which begin at the same moment; what each of them raised."""
    start = threading.Barrier(WRITERS)

    def one(number: int) -> BaseException | None:
        start.wait()
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - it is what is looked at
            return error
        return None

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(one, range(WRITERS)))


def test_who_writes_at_the_same_time_waits_for_one_commit(db: SharedConnectionDB) -> None:
    """Guards registrations: with a commit for each statement, two hundred raters wait for the disk one after another."""
    commits: list[str] = []
    db._get_connection().set_trace_callback(lambda sql: commits.append(sql) if sql.startswith("COMMIT") else None)
    seen: list[bool] = []

    def write(number: int) -> None:
        db.new_worker(f"w{number}", "mock")
        seen.append(f"w{number}" in on_the_disk(db))

    assert together(write) == [None] * WRITERS
    assert seen == [True] * WRITERS, "what was written is on the disk before its writer goes on"
    assert len(commits) < WRITERS / 2


def test_who_fails_undoes_nothing_of_others(db: SharedConnectionDB) -> None:
    """Guards the workers who are written in one commit with a statement that fails."""
    db.new_worker("twice", "mock")
    errors = together(lambda number: db.new_worker("twice" if number % 2 else f"w{number}", "mock"))
    assert [type(error) for error in errors] == [type(None), EntryAlreadyExistsException] * (WRITERS // 2)
    assert on_the_disk(db) == {"twice", *(f"w{number}" for number in range(0, WRITERS, 2))}


def test_a_commit_that_fails_fails_for_all_and_leaves_nothing(db: SharedConnectionDB) -> None:
    """Guards against a rater who is told to be let in, and of whom nothing is stored."""
    with closing(sqlite3.connect(db.db_path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM workers").fetchall()  # no commit can pass a reader
        errors = together(lambda number: db.new_worker(f"w{number}", "mock"))
    assert [type(error) for error in errors] == [sqlite3.OperationalError] * WRITERS
    assert on_the_disk(db) == set()
    assert db.find_workers() == []
    assert together(lambda number: db.new_worker(f"w{number}", "mock")) == [None] * WRITERS
    assert len(on_the_disk(db)) == WRITERS


def test_reading_leaves_no_lock_and_waits_for_no_commit(db: SharedConnectionDB) -> None:
    """Guards other programs (a report, say), which write beside a launch."""
    statements: list[str] = []
    db._get_connection().set_trace_callback(statements.append)
    assert db.find_workers(worker_name="nobody") == []
    assert not [sql for sql in statements if sql.startswith(("BEGIN", "COMMIT"))]
    with closing(sqlite3.connect(db.db_path, timeout=0.01)) as other:
        other.execute("INSERT INTO workers(worker_name, provider_type) VALUES ('other', 'mock')")
        other.commit()
    assert [worker.worker_name for worker in db.find_workers()] == ["other"]


def test_a_block_of_one_commit_is_written_at_its_end(db: SharedConnectionDB) -> None:
    """Guards the hundreds of units that a launch makes in one go."""
    commits: list[str] = []
    db._get_connection().set_trace_callback(lambda sql: commits.append(sql) if sql.startswith("COMMIT") else None)
    with one_commit(db):
        for number in range(5):
            db.new_worker(f"w{number}", "mock")
        assert on_the_disk(db) == set()
    assert len(on_the_disk(db)) == 5
    assert len(commits) == 1
