"""Paying by file: what a panel's site takes (approvals, bonuses), or a list for whoever pays by hand.

A payment that is written into a file is not written again, and not yet paid: the panel's list of submissions confirms its
approvals, and a person all else. Nothing is approved that the panel does not list as finished. Files stand in the study's
folder, readable for their owner only: they name people by the ids that the panel knows.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mephisto_tasks.payments.ledger import Ledger, Payment
from mephisto_tasks.payments.payer import Note, Owed, Proposal, Remaining
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import query
from parlai_humaneval._util.csv_cells import write_rows
from parlai_humaneval._util.files import write_private

if TYPE_CHECKING:  # they load what only who launches by link needs
    from mephisto_tasks.crowds.panels.datastore import Visit
    from mephisto_tasks.crowds.panels.panel_statuses import Meaning

FOLDER = "payments"
"""In the study's folder."""
BY_HAND_FILE = "_owed"
"""Begins as no panel's name can."""
BY_PANEL = (
    "{panel}: the files that --send writes are in {folder}. Paste the approvals (submission ids) into the study's bulk "
    "approval, and the bonuses (participant id, amount) into its bulk bonus payments. Who did not come back to the panel as "
    "complete has all that they are owed among the bonuses: do not approve those submissions as well"
)
NOT_ASKED = (
    "{panel}: no list of its submissions was read, so that the approvals may hold some that were returned there, or timed "
    "out. Download its export and add --submissions FILE"
)
BY_HAND = (
    "You pay ${total} of this by hand: --send writes a list of who is owed what in {folder}. The ledger has it as written; "
    "once you have paid a worker, --settled notes it as paid"
)
DECIDE = "Decide what is right, do it on the panel's site, and note it with --settled {worker}"
AS_LISTED: dict[Meaning, str] = {
    "at_work": "{panel} lists submission {session} as {status}: it is not handed in yet. Once it is, read a newer list with "
    "--submissions FILE",
    "over": "{panel} lists submission {session} as {status}, although the work is complete here: it is not approved. "
    + DECIDE,
    "rejected": "{panel} lists submission {session} as {status}: nothing is paid for it. " + DECIDE,
    "unknown": "{panel} lists submission {session} as {status}, a status that this program does not know: nothing is paid "
    "for it. " + DECIDE,
}
UNLISTED = (
    "{panel}'s list has other submissions of the study, and not {session}: nothing is paid for it. Read a newer list with "
    "--submissions FILE"
)
CONFIRMED = "{panel} lists the submission as {status}"


_NUMBERED = re.compile(r"-(\d+)\.(csv|txt)$")
"""How the names of our files end."""


@dataclass(frozen=True)
class Participation:
    """As a panel knows it.

    ``site``: the panel and its study, as files are named. ``handed_in``: the worker went back to the panel as complete.
    ``status``: the panel's word, ``meaning`` what it means; both None where no list of its study was read.
    """

    agent_id: str
    worker_name: str
    participant: str
    session: str
    site: str
    handed_in: bool
    panel: str = ""
    status: str | None = None
    meaning: Meaning | Literal["unlisted"] | None = None

    def words(self, worker: str) -> str:
        """Why a person must decide."""
        words = UNLISTED if self.meaning == "unlisted" or self.meaning is None else AS_LISTED[self.meaning]
        return words.format(panel=self.panel, session=self.session, status=self.status or "nothing", worker=worker)


def participations(data_dir: Path, task_name: str) -> list[Participation]:
    """Those of a task, whose sessions a panel counts; oldest first."""
    from mephisto_tasks.crowds.panels.datastore import sessions  # loads what only who launches by link needs
    from mephisto_tasks.crowds.panels.submissions import meanings

    visits = [visit for visit in sessions(data_dir, task_name) if visit.session]
    if not visits:
        return []
    meaning = meanings(data_dir, task_name)
    listed = {(visit.arrival.door, visit.study) for visit in visits if visit.panel_status is not None}

    def means(visit: Visit) -> Meaning | Literal["unlisted"] | None:
        if visit.panel_status is not None:
            return meaning(visit.arrival.door, visit.panel_status)
        return "unlisted" if (visit.arrival.door, visit.study) in listed else None

    return [
        Participation(
            agent_id=visit.agent_id or "",
            worker_name=visit.worker_name,
            participant=visit.participant,
            session=visit.session,
            site=f"{visit.arrival.door}-{re.sub('[^A-Za-z0-9]+', '_', visit.study)[:40]}".rstrip("-_"),
            handed_in=visit.status == "complete",
            panel=visit.arrival.door,
            status=visit.panel_status,
            meaning=means(visit),
        )
        for visit in visits
    ]


def names_of_invited(data_dir: Path, task_name: str) -> dict[str, str]:
    """Worker → the name under which they were invited: the database has a pseudonym, and nobody can pay that."""
    from mephisto_tasks.crowds.invitations.store import Book  # as above

    return Book(study_folder(data_dir, task_name)).names()


class FilePayer:
    """Writes files for the panels that raters came from, and a list for those who came by none."""

    def __init__(self, data_dir: Path, task_name: str, provider: str, requester: str) -> None:
        self.account = f"{provider}:{requester}"
        self.title = "Panels and invitations" if provider == "link" else "On this machine"
        self.witness = "the files in its folder (what became of them only the panel knows)"
        self._folder = study_folder(data_dir, task_name) / FOLDER
        rows = query(data_dir, "SELECT worker_id, worker_name FROM workers")
        self._names = {str(number): str(name) for number, name in rows}
        came = participations(data_dir, task_name) if provider == "link" else []
        self._invited = names_of_invited(data_dir, task_name) if provider == "link" else {}
        self._of_agents = {one.agent_id: one for one in came if one.agent_id}
        self._of_workers = {one.worker_name: one for one in came}
        self._of_sessions = {one.session: one for one in came}
        ledger = Ledger(data_dir, task_name).payments()
        self._approvals = [
            one for one in ledger if one.kind == "approval" and one.state == "written" and one.account == self.account
        ]
        self._known = {payment.file for payment in ledger}
        numbers = [int(match[1]) for name in self._known if (match := _NUMBERED.search(name))]
        self._number = max(numbers, default=0) + 1

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        proposal = Proposal()
        dues = {one.due.key: one for one in owed}
        for approval in self._approvals:
            self._look_at(approval, dues.get((approval.worker_id, approval.session)), proposal)
        for one in owed:
            if one.left > 0:
                self._propose(one, proposal)
        by_hand = [payment.amount for payment in proposal.payments if payment.file.startswith(BY_HAND_FILE)]
        panels = {payment.file.partition("-")[0] for payment in proposal.payments}
        proposal.notes += [
            BY_PANEL.format(panel=panel, folder=self._folder) for panel in sorted(panels - {BY_HAND_FILE})
        ]
        unasked = {
            payment.file.partition("-")[0]
            for payment in proposal.payments
            if payment.kind == "approval" and self._of_sessions[payment.assignment].meaning is None
        }
        proposal.notes += [NOT_ASKED.format(panel=panel) for panel in sorted(unasked)]
        if by_hand:
            proposal.notes.append(BY_HAND.format(total=sum(by_hand), folder=self._folder))
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
            words = CONFIRMED.format(panel=came.panel, status=came.status)
            proposal.confirmed.append(approval.model_copy(update={"state": "confirmed", "words": words}))
        elif owed is not None and came.meaning != "unlisted":
            proposal.remaining.append(Remaining(owed, approval.amount, came.words(approval.worker), written=approval))

    def _propose(self, owed: Owed, proposal: Proposal) -> None:
        work, left = owed.due.work, owed.left
        came = self._came(work.agent_id, work.worker_id)
        if came is None:
            name = f"{BY_HAND_FILE}-{self._number}.csv"
            proposal.payments.append(owed.payment(self.account, "bonus", work.agent_id, left, name))
            return
        # A share for work that was left needs no approval, and panels send bonuses for returned submissions, too.
        is_a_share = came.meaning == "over" and work.outcome != "complete"
        if came.meaning not in (None, "finished", "paid") and not is_a_share:
            proposal.remaining.append(Remaining(owed, left, came.words(work.worker)))
            return
        approvable = came.handed_in and work.outcome in ("complete", "stopped") and came.meaning != "over"
        is_approved = came.meaning == "paid" and bool(work.session)
        if (approvable or is_approved) and not owed.paid.get("approval"):
            name = f"{came.site}-approvals-{self._number}.txt"
            approval = owed.payment(self.account, "approval", came.session, work.reward, "" if is_approved else name)
            (proposal.found if is_approved else proposal.payments).append(approval)
            left -= work.reward
        if left > 0:
            name = f"{came.site}-bonuses-{self._number}.csv"
            proposal.payments.append(owed.payment(self.account, "bonus", came.session, left, name))

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        """The panel says itself what it takes."""
        return Decimal("0.00")

    def check(self, payments: Sequence[Payment]) -> None:
        """Files that the ledger does not know were written with one that is lost: who is in them may be paid already."""
        there = sorted(path.name for path in self._folder.glob("*") if _NUMBERED.search(path.name))
        strange = [name for name in there if name not in self._known]
        if payments and strange:
            raise PayError(
                f"{self._folder} holds {strange[0]}, of which the ledger knows nothing: nothing was written. Put back the "
                "ledger that it was written with (ledger.db), or, if nobody was paid by that file, move it away"
            )

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        by_file: dict[str, list[Payment]] = defaultdict(list)
        for payment in payments:
            came = self._of_sessions.get(payment.assignment) if payment.kind == "approval" else None
            is_there = (self._folder / payment.file).exists()
            if came is not None and came.meaning not in (None, "finished", "paid") and not is_there:
                # An earlier run ended before it wrote this, and the panel has said otherwise since.
                note(payment, "failed", came.words(payment.worker))
                continue
            by_file[payment.file].append(payment)
        for name, of_file in by_file.items():
            path = self._folder / name
            if not path.exists():  # one that is there was written by a run that was ended before it noted that
                self._write(path, of_file)
            for payment in of_file:
                note(payment, "written", f"in {path}")

    def _write(self, path: Path, payments: Sequence[Payment]) -> None:
        """The whole file, or none of it; it is on the disk before the ledger says so."""
        by_hand = path.name.startswith(BY_HAND_FILE)
        text = self._list(payments) if by_hand else "".join(f"{line}\n" for line in self._lines(payments))
        write_private(path, text.encode(), outlasts_power=True)

    def _lines(self, payments: Sequence[Payment]) -> list[str]:
        """A submission a line; or a participant and what they get in all, as panels take one line for each."""
        if payments[0].kind == "approval":
            return [payment.assignment for payment in payments]
        total: dict[str, Decimal] = defaultdict(Decimal)
        for payment in payments:
            came = self._came(payment.agent_id, payment.worker_id)
            assert came is not None  # else it would stand in the list of those who came by no panel
            total[came.participant] += payment.amount
        return [f"{participant},{amount:.2f}" for participant, amount in total.items()]

    def _list(self, payments: Sequence[Payment]) -> str:
        """The table for whoever pays by hand."""
        text = io.StringIO(newline="")
        columns = ("worker", "name", "pseudonym", "unit", "amount", "for")
        write_rows(text, columns, map(self._row, payments))
        return text.getvalue()

    def _row(self, payment: Payment) -> tuple[str, ...]:
        worker = self._names[payment.worker_id]
        name = self._invited.get(worker, "")
        return worker, name, payment.worker, payment.session, f"{payment.amount:.2f}", payment.why

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        """Every file is there."""
        files = sorted({payment.file for payment in payments if payment.state == "written"})
        return [
            f"the ledger names {name}, which is not in {self._folder}"
            for name in files
            if not (self._folder / name).exists()
        ]
