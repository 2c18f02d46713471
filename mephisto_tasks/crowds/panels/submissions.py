"""A panel's list of submissions: its statuses are noted, and those that are over there free what they hold."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mephisto_tasks.admission.visits import Visit
from mephisto_tasks.crowds.base import CrowdError
from mephisto_tasks.crowds.link.datastore import LinkDatastore, open_datastore
from mephisto_tasks.crowds.panels.panel import NO_PANEL, Meaning, PanelStatuses, panel_named, plain_status
from mephisto_tasks.storage.run_settings import provider_of_newest
from parlai_humaneval._util.text import clean_label

SESSION_COLUMNS = ("submission_id", "session_id", "assignment_id", "id")
STATUS_COLUMNS = ("status", "submission_status")
"""As panels call them, in small letters and without spaces; the first that is there counts."""


@dataclass(frozen=True)
class Submission:
    """One line of the list; ``status`` as :func:`.panel.plain_status` has it."""

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
            return [Submission(_cell(row, session), plain_status(_cell(row, status))) for row in rows]
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
    raise CrowdError(
        f"{path} has no column {wanted[0]!r} (columns: {there})", try_="take the panel's export of submissions"
    )


def free_returned(data_dir: Path, task_name: str, submissions: list[Submission]) -> Freed:
    """Free what submissions hold that are over at the panel; a running launch gives it out again within seconds.

    Raises:
        CrowdError: nobody ever came to this task by a link.
    """
    store, visits = _visits(data_dir, task_name)
    meaning = meanings(data_dir, task_name)
    said = _said(submissions)
    store.note_panel_status({visits[session].visit_id: status for session, status in said.items() if session in visits})
    default = PanelStatuses()
    over = [
        session
        for session, status in said.items()
        if (meaning(visits[session].arrival.door, status) if session in visits else default.meaning(status)) == "over"
    ]
    found = {session: visits[session] for session in over if session in visits}
    return Freed(
        freed=[session for session, visit in found.items() if _free(store, visit)],
        done=[session for session, visit in found.items() if visit.status == "complete"],
        unknown=[session for session in over if session not in visits],
    )


def note_statuses(data_dir: Path, task_name: str, path: Path) -> None:
    """Note what a panel's list says of the submissions that came to a task; ``pay`` goes by it.

    Raises:
        CrowdError: the list cannot be read, or has none of them.
    """
    store, visits = _visits(data_dir, task_name)
    said = {session: status for session, status in _said(read_submissions(path)).items() if session in visits}
    if not said:
        raise CrowdError(
            f"{path} lists no submission that came to task {task_name!r}", try_="take the export of its own study"
        )
    store.note_panel_status({visits[session].visit_id: status for session, status in said.items()})


def _visits(data_dir: Path, task_name: str) -> tuple[LinkDatastore, dict[str, Visit]]:
    """Session → its visit. Raises CrowdError: nobody ever came to this task by a link."""
    store = open_datastore(data_dir)
    visits = {} if store is None else {visit.session: visit for visit in store.of_task(task_name) if visit.session}
    if store is None or not visits:
        raise CrowdError(
            f"nobody came to task {task_name!r} from a panel ({data_dir})", try_="check --task-name and --data-dir"
        )
    return store, visits


def _said(submissions: list[Submission]) -> dict[str, str]:
    """Session → its status; of one that is listed with several, all of them, which is no panel's word."""
    statuses: dict[str, list[str]] = {}
    for submission in submissions:
        of_session = statuses.setdefault(submission.session, [])
        if submission.status not in of_session:
            of_session.append(submission.status)
    return {session: " and ".join(of_session) for session, of_session in statuses.items() if session}


def meanings(data_dir: Path, task_name: str) -> Callable[[str, str], Meaning]:
    """What a panel's word means, by the name of the panel and the word, as the panel's file has it."""
    launched_with = str(provider_of_newest(data_dir, task_name).get("panel") or NO_PANEL)

    @cache
    def statuses_of(door: str) -> PanelStatuses:
        panel = panel_named(door, launched_with)
        return PanelStatuses() if panel is None else panel.statuses

    return lambda door, status: statuses_of(door).meaning(status)


def _free(store: LinkDatastore, visit: Visit) -> bool:
    if visit.status not in ("here", "timed_out"):
        return False
    store.end(visit, "returned")
    return True
