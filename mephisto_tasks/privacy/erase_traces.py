"""Where a worker leaves traces, a function for each place. Each may be run again after it was cut off, and ends the same.

Rows taken out of SQLite files so that nothing of them is left in the files' bytes.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.browsers import FILE as BROWSERS
from mephisto_tasks.admission.browsers import names_of
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.payments.ledger import LEDGER
from mephisto_tasks.privacy.erasure_plan import RUNS, SHORTEST, Going
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import erase_lines
from mephisto_tasks.storage.results import PATIENCE_S, ResultsError, rows_of
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.workers.roster import names_of as names_of_worker
from parlai_humaneval._util.files import write_private

Statement = tuple[str, Sequence[object]]


def erase(path: Path, statements: Sequence[Statement]) -> int:
    """Do all statements, or none, and write the file anew without what they took out. Returns how many rows changed.

    A file that is not there has no rows, and neither has a table of a version before it.
    """
    if not path.is_file():
        return 0
    database = Database(
        path,
        error=ResultsError,
        if_busy="run `parlai-humaneval forget --finish` after that: it completes what was begun",
        patience_s=PATIENCE_S,
        pragmas=["secure_delete = ON"],
    )
    with closing(database.connect()) as connection, database.checked():
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
            raise sqlite3.OperationalError("the file is locked by a reader")
    return changed


def _table_of(sql: str) -> str:
    words = sql.split()
    return words[1] if words[0] == "UPDATE" else words[2]


DELETED = "[deleted]"
"""Stands where somebody's words stood in what others did."""


def database(data_dir: Path, person: Going) -> int:
    """Mephisto's own: the worker's parts, what they were granted, and their name last."""
    units, practices = _ids(person.units), _ids(person.practices)
    statements: list[Statement] = [
        (
            "UPDATE units SET agent_id = NULL, worker_id = NULL, status = 'expired' WHERE agent_id IN "
            "(SELECT agent_id FROM agents WHERE worker_id = ? AND agent_id IN (SELECT value FROM json_each(?)))",
            (person.worker_id, units),
        ),
        (
            "DELETE FROM agents WHERE worker_id = ? AND agent_id IN (SELECT value FROM json_each(?))",
            (person.worker_id, units),
        ),
        (
            "DELETE FROM onboarding_agents WHERE worker_id = ? AND onboarding_agent_id IN (SELECT value FROM json_each(?))",
            (person.worker_id, practices),
        ),
    ]
    if person.everywhere:
        mine = (person.worker_id,)
        statements += [
            ("UPDATE units SET agent_id = NULL, worker_id = NULL WHERE worker_id = ?", mine),
            ("DELETE FROM granted_qualifications WHERE worker_id = ?", mine),
            # Ids count up for ever: this one is never anybody else's.
            ("DELETE FROM workers WHERE worker_id = ? AND worker_name = ?", (person.worker_id, person.name)),
        ]
    return erase(data_dir / "database.db", statements)


def providers(data_dir: Path, person: Going) -> int:
    """What the crowds keep in stores of their own."""
    changed = 0
    if person.everywhere:
        changed += erase(data_dir / BROWSERS, [("DELETE FROM held WHERE worker IN (?, ?)", names_of(person.name))])
    for crowd in crowds():
        for trace in crowd.traces(data_dir, person.forgotten):
            changed += erase(trace.store, trace.statements)
    return changed


def _ids(parts: Sequence[Any]) -> str:
    return json.dumps([int(part.agent_id) for part in parts])


def files(data_dir: Path, person: Going) -> int:
    """Dialogues, judgements and practices, with all that lies beside them."""
    there = [folder for part in person.parts if (folder := data_dir / part.folder).is_dir()]
    for folder in there:
        shutil.rmtree(folder)
    return len(there)


def judged_by_others(data_dir: Path, person: Going) -> int:
    """The worker's dialogues in what others were given to judge: their judgements stay, the words go."""
    changed = list(judging_files(data_dir, person))
    for path, clean in changed:
        write_private(path, json.dumps(clean, ensure_ascii=False).encode(), outlasts_power=True)
    return len(changed)


def judging_files(data_dir: Path, person: Going) -> Iterator[tuple[Path, Any]]:
    """State files of others that hold words of the worker's dialogues, and what is to stand in them."""
    mine = {data_dir / part.folder for part in person.parts}
    for path in sorted((data_dir / RUNS).rglob("state.json")) if person.dialogues else ():
        content = path.read_bytes()
        if path.parent not in mine and b"judging_started" in content:
            state = json.loads(content)
            clean = _blanked(state, person)
            if clean != state:
                yield path, clean


_WORDS = frozenset({"reason", "written", "message", "feedback", "note", "withdrawn", "topic", "opinion"})
"""Keys of what people and models say, beside those that end with “text”."""


def _blanked(data: Any, person: Going, inside: bool = False) -> Any:
    """``data`` in which the worker's dialogues have no words any more."""
    if isinstance(data, list):
        return [_blanked(item, person, inside) for item in data]
    if not isinstance(data, dict):
        return data
    # Of several models that were talked to side by side, the dialogue with each has the id, a colon, and more.
    own_id = str(data.get("dialogue_id", "")).partition(":")[0]
    inside = inside or (own_id in person.dialogues and data.get("source", "") in ("", *person.tasks))
    return {key: _without_words(key, item, person, inside) for key, item in data.items()}


def _without_words(key: str, item: Any, person: Going, inside: bool) -> Any:
    if inside and key == "worker":
        return ""
    is_said = inside and (key.endswith("text") or key in _WORDS)
    return DELETED if is_said and isinstance(item, str) and item else _blanked(item, person, inside)


def lines(data_dir: Path, person: Going) -> int:
    """The worker's lines in all logs, with what judges read and said of their dialogues."""
    return erase_lines(data_dir, person.pseudonym, person.dialogues, person.tasks, everywhere=person.everywhere)


def snapshots(data_dir: Path, person: Going) -> int:
    """What the last launch said of who was inside."""
    changed = 0
    for task in person.tasks:
        path = study_folder(data_dir, task) / "snapshot.json"
        if path.is_file() and person.pseudonym.encode() in path.read_bytes():
            path.unlink()
            changed += 1
    return changed


def invited_as(data_dir: Path, person: Going) -> list[str]:
    """Names and addresses by which crowds know a worker, which the list of who is owed what may hold."""
    return [name for crowd in crowds() for name in crowd.people(data_dir, person.tasks, person.name)]


def payments(data_dir: Path, person: Going, called: Sequence[str]) -> int:
    """The ledger, and the files by which was paid: amounts and dates stay, and nothing by which anybody finds the person.

    ``called``: names and addresses under which the worker was invited.
    """
    changed = 0
    names = {person.pseudonym, *names_of_worker(person.name), *called, *person.outside_ids}
    for task in person.tasks:
        folder = study_folder(data_dir, task)
        # The files first: only the ledger, and what was noted as this began, knows the ids that are in them.
        found = rows_of(
            folder / LEDGER, "payments", "SELECT session FROM payments WHERE worker = ?", [person.pseudonym]
        )
        units = {str(session) for (session,) in found}
        for path in sorted([*(folder / "payments").glob("*.csv"), *(folder / "payments").glob("*.txt")]):
            _renamed(path, names, units, person.stands_for)
        # What a site said of a payment may name its submission; where the file is may stay.
        changed += erase(
            folder / LEDGER,
            [
                (
                    "UPDATE payments SET worker = ?, worker_id = '', agent_id = '', session = '', assignment = '', "
                    "words = CASE state WHEN 'written' THEN words ELSE '' END WHERE worker = ?",
                    (person.stands_for, person.pseudonym),
                )
            ],
        )
    return changed


def _renamed(path: Path, names: Collection[str], units: Collection[str], stands_for: str) -> bool:
    """In a file of payments, cells that are a worker's name get another, and units in their rows go; nothing else does."""
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
    clean = []
    for row in rows:
        named = [stands_for if cell.removeprefix("'") in names else cell for cell in row]
        clean.append(named if named == row else ["" if cell in units else cell for cell in named])
    if clean != rows:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(clean)
        write_private(path, text.getvalue().encode(), outlasts_power=True)
    return clean != rows


def left_over(data_dir: Path, person: Going, called: Sequence[str], others: Sequence[str]) -> list[str]:
    """Files of the data directory in which the worker's name, pseudonym or one of their participations stands still.

    ``others``: names of other workers, of which the name may be a part.
    """
    marks = [form.encode() for form in (*person.forms, *called, *person.outside_ids) if len(form) >= SHORTEST]
    longer = [other.encode() for other in others if any(mark.decode() in other for mark in marks)]
    found = []
    for path in sorted(data_dir.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            for other in longer:
                content = content.replace(other, b"")
            if any(mark in content for mark in marks):
                found.append(str(path.relative_to(data_dir)))
    return found
