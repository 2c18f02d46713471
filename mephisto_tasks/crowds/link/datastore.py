"""The provider's data in addition to Mephisto's database: the worker of each session, and how it ended."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.visits import Arrival, Outcome, Visit
from mephisto_tasks.storage.provider_names import ResultsError
from mephisto_tasks.storage.sqlite import Database

LINK = "link"
FILE = "link.db"
VISIT = "visit_id"  # what the provider's data of a registration name the visit by

_END = "UPDATE visits SET status = ?, ended = ? WHERE {} = ? AND status != 'complete'"
_COLUMNS = "visit_id, door, worker_name, study, session, registration, status, began, ended, agent_id, panel_status"


def _add_status(connection: sqlite3.Connection) -> None:
    if "panel_status" not in {name for _, name, *_ in connection.execute("PRAGMA table_info(visits)")}:
        connection.execute("ALTER TABLE visits ADD COLUMN panel_status TEXT")


_MIGRATIONS = (Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"), _add_status)
"""Files of earlier releases have no number of a version: the first of these finds its tables there already."""


class LinkDatastore:
    """The provider's SQLite file, readable for its owner only: it holds ids of people. Thread-safe.
    ``table_access_condition``, ``conn`` and ``_get_connection`` are what :mod:`mephisto_tasks.storage.database` asks
    for."""

    def __init__(self, folder: Path) -> None:
        self.table_access_condition = threading.Condition()
        self.conn: dict[int, sqlite3.Connection] = {}
        self._database = Database(folder / FILE, error=ResultsError, migrations=_MIGRATIONS)
        self._get_connection()

    def _get_connection(self) -> sqlite3.Connection:
        if 0 not in self.conn:
            self.conn[0] = self._database.connect(shared=True)
        return self.conn[0]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, or part of the one that :func:`one_commit` holds."""
        with self.table_access_condition:
            connection = self._get_connection()
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self.table_access_condition:
            return self._get_connection().execute(sql, values).fetchall()

    def add(self, task_name: str, arrival: Arrival) -> Visit:
        values = (task_name, arrival.door, arrival.worker_name, arrival.study, arrival.session, "", "here", time.time())
        with self._writing() as connection:
            columns = "task_name, door, worker_name, study, session, registration, status, began"
            sql = f"INSERT INTO visits ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            visit_id = connection.execute(sql, values).lastrowid
            connection.execute("UPDATE visits SET registration = ? WHERE visit_id = ?", (f"link-{visit_id}", visit_id))
        return self._visits("visit_id = ?", visit_id)[0]

    def begin_again(self, visit: Visit) -> Visit:
        """The same session once more, after it ended without its unit: to Mephisto, a page that it does not know."""
        registration = f"link-{visit.visit_id}-{secrets.token_hex(4)}"
        sql = "UPDATE visits SET status = 'here', ended = NULL, registration = ? WHERE visit_id = ?"
        self._write(sql, (registration, visit.visit_id))
        return replace(visit, status="here", ended=None, registration=registration)

    def go_on_as(self, earlier: Visit, now: Visit) -> Visit:
        """The work of an earlier visit goes on under the session with which its worker came now."""
        with self._writing() as connection:
            sql = "UPDATE visits SET registration = ?, agent_id = ?, status = 'here', ended = NULL WHERE visit_id = ?"
            connection.execute(sql, (earlier.registration, earlier.agent_id, now.visit_id))
            sql = "UPDATE visits SET status = 'moved', ended = ?, agent_id = NULL WHERE visit_id = ?"
            connection.execute(sql, (time.time(), earlier.visit_id))
        return replace(now, registration=earlier.registration, agent_id=earlier.agent_id, status="here", ended=None)

    def of_session(self, task_name: str, door: str, session: str) -> Visit | None:
        return self._newest("task_name = ? AND door = ? AND session = ?", task_name, door, session)

    def newest_of(self, task_name: str, worker_name: str) -> Visit | None:
        """The worker's newest visit that did not move to another session."""
        return self._newest("task_name = ? AND worker_name = ? AND status != 'moved'", task_name, worker_name)

    def of_agent(self, agent_id: str) -> Visit | None:
        return self._newest("agent_id = ?", agent_id)

    def of_task(self, task_name: str) -> list[Visit]:
        """All visits, oldest first."""
        return self._visits("task_name = ?", task_name)

    def returned_agents(self, agent_ids: list[str]) -> set[str]:
        """The agents among these whose visit another process marked as returned."""
        marks = ", ".join("?" * len(agent_ids))
        sql = f"SELECT agent_id FROM visits WHERE status = 'returned' AND agent_id IN ({marks})"
        return {str(agent_id) for (agent_id,) in self._rows(sql, agent_ids)}

    def _newest(self, where: str, *values: str) -> Visit | None:
        return next(reversed(self._visits(where, *values)), None)

    def _visits(self, where: str, *values: object) -> list[Visit]:
        sql = f"SELECT {_COLUMNS} FROM visits WHERE {where} ORDER BY visit_id"
        return [Visit(**dict(zip(_COLUMNS.split(", "), row, strict=True))) for row in self._rows(sql, values)]

    def give_agent(self, visit_id: int, agent_id: str) -> None:
        self._write("UPDATE visits SET agent_id = ? WHERE visit_id = ?", (agent_id, visit_id))

    def note_panel_status(self, statuses: Mapping[int, str]) -> None:
        values = [(status, visit_id) for visit_id, status in statuses.items()]
        self._write("UPDATE visits SET panel_status = ? WHERE visit_id = ?", *values)

    def end(self, visit: Visit, outcome: Outcome) -> None:
        self._write(_END.format("visit_id"), (outcome, time.time(), visit.visit_id))

    def end_of_agent(self, agent_id: str, outcome: Outcome) -> None:
        """The visit with this unit ended so; one that is complete stays so."""
        self._write(_END.format("agent_id"), (outcome, time.time(), agent_id))

    def _write(self, sql: str, *values: tuple[object, ...]) -> None:
        with self._writing() as connection:
            connection.executemany(sql, values)

    def is_blocked(self, worker_id: str) -> bool:
        return bool(self._rows("SELECT 1 FROM blocked WHERE worker_id = ?", (worker_id,)))

    def set_blocked(self, worker_id: str, blocked: bool) -> None:
        statement = "INSERT OR IGNORE INTO blocked VALUES (?)" if blocked else "DELETE FROM blocked WHERE worker_id = ?"
        self._write(statement, (worker_id,))


def open_datastore(data_dir: Path, provider: str = LINK) -> LinkDatastore | None:
    """The store of a provider type, for another process than the launch; None: nobody ever came by a link."""
    folder = data_dir / provider
    return LinkDatastore(folder) if (folder / FILE).is_file() else None


def sessions(data_dir: Path, task_name: str, provider: str = LINK) -> list[Visit]:
    """The people who came to a task by a link, with their session and how that ended; oldest first."""
    store = open_datastore(data_dir, provider)
    return [] if store is None else store.of_task(task_name)
