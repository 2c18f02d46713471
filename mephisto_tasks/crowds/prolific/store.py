"""What we know of our studies on Prolific: a small SQLite file, which is written before Prolific is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.prolific.errors import ProlificError
from mephisto_tasks.storage.sqlite import Database

PROVIDER = "prolific"
FILE = "prolific.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS studies (
    mark TEXT PRIMARY KEY,
    task_name TEXT NOT NULL,
    account TEXT NOT NULL,
    workspace TEXT NOT NULL,
    project TEXT NOT NULL,
    study_id TEXT NOT NULL,
    body TEXT NOT NULL,
    made REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS endings (
    session TEXT PRIMARY KEY,
    study_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    due REAL NOT NULL,
    tries INTEGER NOT NULL,
    said TEXT NOT NULL,
    done REAL
);
CREATE TABLE IF NOT EXISTS lacking (workspace TEXT NOT NULL, feature TEXT NOT NULL, PRIMARY KEY (workspace, feature));
"""
_STUDY = "mark, task_name, account, workspace, project, study_id, body, made"
_ENDING = "session, study_id, kind, due, tries, said, done"


@dataclass(frozen=True)
class OurStudy:
    """A study that we made, or are about to make (``study_id`` empty).

    ``mark``: stands in its ``metadata`` on Prolific, so that it is found there after a lost answer. ``body``: as it was
    sent, with the codes.
    """

    mark: str
    task_name: str
    account: str
    workspace: str
    project: str
    study_id: str
    body: Mapping[str, Any]
    made: float


@dataclass(frozen=True)
class Ending:
    """How a submission is to end on Prolific; ``done``: when Prolific took it. ``said``: its status then, or the trouble."""

    session: str
    study_id: str
    kind: str
    due: float
    tries: int
    said: str
    done: float | None


class ProlificStore:
    """The file of a data directory. Any thread or process may call it at any time."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._database = Database(data_dir / PROVIDER / FILE, error=ProlificError, migrations=(_TABLES,))

    # -- studies --------------------------------------------------------------------------------

    def add(self, study: OurStudy) -> None:
        """A study that is about to be made on Prolific."""
        values = (*list(study.__dict__.values())[:6], json.dumps(study.body), study.made)
        self._write(f"INSERT INTO studies ({_STUDY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def made(self, mark: str, study_id: str) -> None:
        """Prolific has it under this id."""
        self._write("UPDATE studies SET study_id = ? WHERE mark = ?", (study_id, mark))

    def changed(self, mark: str, body: Mapping[str, Any]) -> None:
        """Prolific has it like this now."""
        self._write("UPDATE studies SET body = ? WHERE mark = ?", (json.dumps(body), mark))

    def forget(self, mark: str) -> None:
        """It was never made, or is deleted on Prolific."""
        self._write("DELETE FROM studies WHERE mark = ?", (mark,))

    def studies(self, task_name: str | None = None) -> list[OurStudy]:
        """Those of a task, or all; oldest first."""
        where, values = ("", ()) if task_name is None else (" WHERE task_name = ?", (task_name,))
        rows = self._database.rows(f"SELECT {_STUDY} FROM studies{where} ORDER BY made, rowid", values)
        names = _STUDY.split(", ")
        found = (dict(zip(names, row, strict=True)) for row in rows)
        return [OurStudy(**{**one, "body": json.loads(one["body"])}) for one in found]

    # -- endings --------------------------------------------------------------------------------

    def end(self, session: str, study_id: str, kind: str, in_s: float) -> None:
        """Note how a submission is to end, in so many seconds at the latest; the first word for it holds."""
        due = time.time() + in_s
        self._write(
            "INSERT INTO endings VALUES (?, ?, ?, ?, 0, '', NULL) ON CONFLICT DO UPDATE SET due = MIN(due, excluded.due)",
            (session, study_id, kind, due),
        )

    def tried(self, ending: Ending, said: str, *, done: bool, again_s: float = 0.0) -> None:
        """Prolific was asked to end it."""
        now = time.time()
        self._write(
            "UPDATE endings SET tries = tries + 1, said = ?, done = ?, due = ? WHERE session = ?",
            (said, now if done else None, now + again_s, ending.session),
        )

    def change_kind(self, ending: Ending, kind: str) -> Ending:
        """Prolific refused to end it like that."""
        self._write("UPDATE endings SET kind = ? WHERE session = ?", (kind, ending.session))
        return replace(ending, kind=kind)

    def due(self) -> list[Ending]:
        """Those that Prolific is to be asked for now."""
        return self.endings("done IS NULL AND due <= ?", time.time())

    def endings(self, where: str = "TRUE", *values: object) -> list[Ending]:
        return [
            Ending(*row)
            for row in self._database.rows(f"SELECT {_ENDING} FROM endings WHERE {where} ORDER BY rowid", values)
        ]

    # -- what workspaces lack -------------------------------------------------------------------

    def lacks(self, workspace: str, feature: str) -> bool:
        """Whether Prolific refused a feature to the workspace the last time."""
        found = self._database.rows("SELECT 1 FROM lacking WHERE workspace = ? AND feature = ?", (workspace, feature))
        return bool(found)

    def note_lack(self, workspace: str, feature: str) -> None:
        self._write("INSERT OR IGNORE INTO lacking VALUES (?, ?)", (workspace, feature))

    def _write(self, sql: str, values: Sequence[object]) -> None:
        with self._database.writing() as connection:
            connection.execute(sql, values)
