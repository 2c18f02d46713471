"""A panel's list of submissions: those that were returned, or ran out of time, free what they hold."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from mephisto_tasks.crowds.contract import CrowdError
from mephisto_tasks.crowds.link.datastore import LinkDatastore, Visit, open_datastore
from parlai_humaneval.labels import clean_label

SESSION_COLUMNS = ("submission_id", "session_id", "assignment_id", "id")
STATUS_COLUMNS = ("status", "submission_status")
"""As panels call them, in small letters and without spaces; the first that is there counts."""

OVER = frozenset({"RETURNED", "TIMED-OUT", "EXPIRED"})
"""Prolific's words for a submission that nobody will finish, and those of other panels."""


@dataclass(frozen=True)
class Submission:
    """One line of the list."""

    session: str
    status: str


@dataclass(frozen=True)
class Freed:
    """What a list has changed. Each is a session of the panel."""

    freed: list[str]
    """Their place is for somebody else now."""
    done: list[str]
    """Returned at the panel, though their work was complete here: it stays, and is for you to leave out or to pay."""
    unknown: list[str]
    """Returned before they came here, or of another study."""


def read_submissions(path: Path) -> list[Submission]:
    """The list as a panel exports it (CSV).

    Raises:
        CrowdError: there is no such file, it is no table, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            columns = {_plain(name): name for name in rows.fieldnames or []}
            session, status = _column(path, columns, SESSION_COLUMNS), _column(path, columns, STATUS_COLUMNS)
            return [Submission(_cell(row, session), _cell(row, status).upper().replace("_", "-")) for row in rows]
    except OSError as error:
        raise CrowdError(f"{path} cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise CrowdError(f"{path} is no CSV file: {error}") from error


def _plain(name: str) -> str:
    return "_".join(name.lower().split())


def _cell(row: dict[str, str], column: str) -> str:
    return clean_label(row.get(column) or "")


def _column(path: Path, columns: dict[str, str], wanted: tuple[str, ...]) -> str:
    for name in wanted:
        if name in columns:
            return columns[name]
    there = ", ".join(columns.values()) or "none"
    raise CrowdError(f"{path} has no column {wanted[0]!r} (columns: {there}); take the panel's export of submissions")


def free_returned(data_dir: Path, task_name: str, submissions: list[Submission]) -> Freed:
    """Free what submissions hold that are over at the panel; a running launch gives it out again within seconds.

    Raises:
        CrowdError: nobody ever came to this task by a link.
    """
    store = open_datastore(data_dir)
    visits = {} if store is None else {visit.session: visit for visit in store.of_task(task_name) if visit.session}
    if store is None or not visits:
        raise CrowdError(
            f"nobody came to task {task_name!r} from a panel ({data_dir}); check --task-name and --data-dir"
        )
    over = dict.fromkeys(submission.session for submission in submissions if submission.status in OVER)
    found = {session: visits[session] for session in over if session in visits}
    return Freed(
        freed=[session for session, visit in found.items() if _free(store, visit)],
        done=[session for session, visit in found.items() if visit.status == "complete"],
        unknown=[session for session in over if session not in visits],
    )


def _free(store: LinkDatastore, visit: Visit) -> bool:
    """Whether this changed anything."""
    if visit.status not in ("here", "timed_out"):
        return False
    store.end(visit, "returned")
    return True
