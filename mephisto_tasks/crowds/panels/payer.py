"""Paying at panels: a panel's list of submissions, by which places are freed and approvals confirmed; files that its site
takes; and a list of those whom no panel sent. Nothing is approved that the panel does not list as finished."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mephisto_tasks.admission.visits import Visit
from mephisto_tasks.crowds.by_file import BY_HAND_FILE, FilePayer
from mephisto_tasks.crowds.crowd import CrowdError, Freed
from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.crowds.link.datastore import LinkDatastore, open_datastore, sessions
from mephisto_tasks.crowds.panels.panel import NO_PANEL, Meaning, PanelStatuses, panel_named, plain_status
from mephisto_tasks.payments.ledger import Owed, Payment, Proposal, Remaining
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import newest_settings
from parlai_humaneval._util.data_files import read_text, read_yaml
from parlai_humaneval._util.text import clean_label

SESSION_COLUMNS = ("submission_id", "session_id", "assignment_id", "id")
STATUS_COLUMNS = ("status", "submission_status")
"""As panels call them, in small letters and without spaces; the first that is there counts."""


def read_submissions(path: Path) -> dict[str, str]:
    """Session → its status (see :func:`.panel.plain_status`) in the list that a panel exports (CSV); of one that is listed
    with several, all of them, which no panel says. Raises CrowdError."""
    rows = csv.DictReader(io.StringIO(read_text(path, error=CrowdError), newline=""), strict=True)
    try:
        columns = {"_".join(name.lower().split()): name for name in rows.fieldnames or []}
        session, status = _column(path, columns, SESSION_COLUMNS), _column(path, columns, STATUS_COLUMNS)
        statuses: dict[str, dict[str, None]] = defaultdict(dict)
        for row in rows:
            statuses[clean_label(row.get(session) or "")][plain_status(clean_label(row.get(status) or ""))] = None
    except csv.Error as error:
        raise CrowdError(f"is not a CSV file: {error}", where=path) from error
    return {session: " and ".join(of_session) for session, of_session in statuses.items() if session}


def _column(path: Path, columns: dict[str, str], wanted: tuple[str, ...]) -> str:
    if found := [columns[name] for name in wanted if name in columns]:
        return found[0]
    what = f"has no column {wanted[0]!r} (columns: {', '.join(columns.values()) or 'none'})"
    raise CrowdError(what, where=path, try_="use the panel's export of submissions")


@dataclass(frozen=True)
class PanelSubmissions:
    """A panel's list of a task's submissions. It is a :class:`~mephisto_tasks.crowds.crowd.Submissions`."""

    data_dir: Path
    task_name: str

    def free_returned(self, export: Path) -> Freed:
        said, (store, visits) = read_submissions(export), self._visits()
        meaning = meanings(self.data_dir, self.task_name)
        _note(store, visits, said)
        freed = Freed([], [], [])
        for session, status in said.items():
            visit = visits.get(session)
            if visit is None:
                freed.unknown.extend([session] if PanelStatuses().meaning(status) == "over" else [])
            elif meaning(visit.door, status) == "over":
                freed.done.extend([session] if visit.status == "complete" else [])
                if visit.status in ("here", "timed_out"):
                    store.end(visit, "returned")
                    freed.freed.append(session)
        return freed

    def note(self, export: Path) -> None:
        store, visits = self._visits()
        if not _note(store, visits, read_submissions(export)):
            what = f"{export} does not list any submission that came to task {self.task_name!r}"
            raise CrowdError(what, try_="use the export of its study")

    def _visits(self) -> tuple[LinkDatastore, dict[str, Visit]]:
        """Session → its visit. Raises CrowdError: nobody ever came to this task by a link."""
        store = open_datastore(self.data_dir)
        of_task = [] if store is None else store.of_task(self.task_name)
        visits = {visit.session: visit for visit in of_task if visit.session}
        if store is None or not visits:
            what = f"nobody came to task {self.task_name!r} from a panel ({self.data_dir})"
            raise CrowdError(what, try_="check --task-name and --data-dir")
        return store, visits


def _note(store: LinkDatastore, visits: dict[str, Visit], said: dict[str, str]) -> bool:
    known = {visits[session].visit_id: status for session, status in said.items() if session in visits}
    store.note_panel_status(known)
    return bool(known)


def meanings(data_dir: Path, task_name: str) -> Callable[[str, str], Meaning]:
    """What a panel's word means, by the name of the panel and the word, as the panel's file has it."""
    launched_with = str(newest_settings(data_dir, task_name, "provider").get("panel") or NO_PANEL)

    @cache
    def statuses_of(door: str) -> PanelStatuses:
        panel = panel_named(door, launched_with)
        return PanelStatuses() if panel is None else panel.statuses

    return lambda door, status: statuses_of(door).meaning(status)


WORDS: dict[str, Any] = read_yaml(Path(__file__).parents[1] / "words.yaml")


@dataclass(frozen=True)
class Participation:
    """As a panel knows it."""

    visit: Visit
    meaning: Meaning | Literal["unlisted"] | None  # of the panel's word; None where no list of its study was read

    @property
    def site(self) -> str:
        """The panel and its study, as files are named."""
        return f"{self.visit.door}-{re.sub('[^A-Za-z0-9]+', '_', self.visit.study)[:40]}".rstrip("-_")

    def words(self, worker: str) -> str:
        words: str = WORDS["as_listed"][self.meaning or "unlisted"]
        status = self.visit.panel_status or "nothing"
        return words.format(panel=self.visit.door, session=self.visit.session, status=status, worker=worker)


def participations(data_dir: Path, task_name: str) -> list[Participation]:
    """The participations in a task, by the panel's sessions; oldest first."""
    visits = [visit for visit in sessions(data_dir, task_name) if visit.session]
    meaning = meanings(data_dir, task_name) if visits else None
    listed = {(visit.door, visit.study) for visit in visits if visit.panel_status is not None}

    def means(visit: Visit) -> Meaning | Literal["unlisted"] | None:
        if visit.panel_status is not None and meaning is not None:
            return meaning(visit.door, visit.panel_status)
        return "unlisted" if (visit.door, visit.study) in listed else None

    return [Participation(visit, means(visit)) for visit in visits]


class PanelPayer(FilePayer):
    """Writes files for the panels that raters came from, and a list of the others."""

    witness = "the files in its folder (only the panel knows whether they were used)"

    def __init__(self, data_dir: Path, task_name: str, provider: str, requester: str, title: str) -> None:
        invited = InvitationStore(study_folder(data_dir, task_name)).names()
        super().__init__(data_dir, task_name, provider, requester, title, invited)
        came = participations(data_dir, task_name)
        self._of_agents = {one.visit.agent_id: one for one in came if one.visit.agent_id}
        self._of_workers = {one.visit.worker_name: one for one in came}
        self._of_sessions = {one.visit.session: one for one in came}

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        dues, looked_at = {one.due.key: one for one in owed}, Proposal()
        for one in self._ledger:
            if one.kind == "approval" and one.state == "written" and one.account == self.account:
                self._look_at(one, dues.get((one.worker_id, one.session)), looked_at)
        proposal = super().propose(owed)
        proposal.confirmed += looked_at.confirmed
        proposal.remaining = [*looked_at.remaining, *proposal.remaining]
        files = {payment.file.partition("-")[0] for payment in proposal.payments}
        approvals = [payment for payment in proposal.payments if payment.kind == "approval"]
        unasked = {one.file.partition("-")[0] for one in approvals if self._of_sessions[one.assignment].meaning is None}
        proposal.notes = [
            *(WORDS["by_panel"].format(panel=panel, folder=self._folder) for panel in sorted(files - {BY_HAND_FILE})),
            *(WORDS["not_asked"].format(panel=panel) for panel in sorted(unasked)),
            *proposal.notes,
        ]
        return proposal

    def _came(self, agent_id: str, worker_id: str) -> Participation | None:
        """How the worker came for this; for what has no unit (a practice), how they came last."""
        return self._of_agents.get(agent_id) or self._of_workers.get(self._names[worker_id])

    def _look_at(self, approval: Payment, owed: Owed | None, proposal: Proposal) -> None:
        """What the panel says of an approval that was written into a file, which it may have taken or not."""
        came = self._of_sessions.get(approval.assignment)
        if came is None or came.meaning in (None, "finished"):
            return
        if came.meaning == "paid":
            words = WORDS["confirmed"].format(panel=came.visit.door, status=came.visit.panel_status)
            proposal.confirmed.append(approval.model_copy(update={"state": "confirmed", "words": words}))
        elif owed is not None and came.meaning != "unlisted":
            proposal.remaining.append(Remaining(owed, approval.amount, came.words(approval.worker), written=approval))

    def _propose(self, owed: Owed, proposal: Proposal) -> None:
        work, left = owed.due.work, owed.left
        came = self._came(work.agent_id, work.worker_id)
        if came is None:
            super()._propose(owed, proposal)
            return
        # A share for work that was left needs no approval, and panels send bonuses for returned submissions, too.
        is_a_share = came.meaning == "over" and work.outcome != "complete"
        if came.meaning not in (None, "finished", "paid") and not is_a_share:
            proposal.remaining.append(Remaining(owed, left, came.words(work.worker)))
            return
        approvable = (
            came.visit.status == "complete" and work.outcome in ("complete", "stopped") and came.meaning != "over"
        )
        is_approved = came.meaning == "paid" and bool(work.session)
        if (approvable or is_approved) and not owed.paid.get("approval"):
            name = f"{came.site}-approvals-{self._number}.txt"
            approval = owed.payment(
                self.account, "approval", came.visit.session, work.reward, "" if is_approved else name
            )
            (proposal.found if is_approved else proposal.payments).append(approval)
            left -= work.reward
        if left > 0:
            name = f"{came.site}-bonuses-{self._number}.csv"
            proposal.payments.append(owed.payment(self.account, "bonus", came.visit.session, left, name))

    def _changed_since(self, payment: Payment) -> str | None:
        came = self._of_sessions.get(payment.assignment) if payment.kind == "approval" else None
        if came is None or came.meaning in (None, "finished", "paid"):
            return None
        return came.words(payment.worker)

    def _text(self, name: str, payments: Sequence[Payment]) -> str:
        """A submission a line; or a participant and what they get in all, as panels take one line for each."""
        if name.startswith(BY_HAND_FILE):
            return super()._text(name, payments)
        if payments[0].kind == "approval":
            return "".join(f"{payment.assignment}\n" for payment in payments)
        total: dict[str, Decimal] = defaultdict(Decimal)
        for payment in payments:
            came = self._came(payment.agent_id, payment.worker_id)
            assert came is not None  # otherwise it would be listed under raters without a panel
            total[came.visit.participant] += payment.amount
        return "".join(f"{participant},{amount:.2f}\n" for participant, amount in total.items())
