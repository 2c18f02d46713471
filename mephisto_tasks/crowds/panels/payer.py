"""Paying at panels: files that a panel's site takes (approvals, bonuses), and a list of those whom no panel sent.

The panel's list of submissions confirms its approvals, and a person all else. Nothing is approved that the panel does not
list as finished.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from mephisto_tasks.admission.visits import Visit
from mephisto_tasks.crowds.by_file import BY_HAND_FILE, FilePayer
from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.crowds.link.datastore import sessions
from mephisto_tasks.crowds.panels.panel import Meaning
from mephisto_tasks.crowds.panels.submissions import meanings
from mephisto_tasks.payments.ledger import Payment
from mephisto_tasks.payments.payer import Owed, Proposal, Remaining
from mephisto_tasks.storage.locks import study_folder

BY_PANEL = (
    "{panel}: the files that --send writes are in {folder}. Paste the approvals (submission ids) into the study's bulk "
    "approval, and the bonuses (participant id, amount) into its bulk bonus payments. Who did not come back to the panel as "
    "complete has all that they are owed among the bonuses: do not approve those submissions as well"
)
NOT_ASKED = (
    "{panel}: no list of its submissions was read, so that the approvals may hold some that were returned there, or timed "
    "out. Download its export and add --submissions FILE"
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


class PanelPayer(FilePayer):
    """Writes files for the panels that raters came from, and a list of the others."""

    witness = "the files in its folder (what became of them only the panel knows)"

    def __init__(self, data_dir: Path, task_name: str, provider: str, requester: str, title: str) -> None:
        invited = InvitationStore(study_folder(data_dir, task_name)).names()
        super().__init__(data_dir, task_name, provider, requester, title, invited)
        came = participations(data_dir, task_name)
        self._of_agents = {one.agent_id: one for one in came if one.agent_id}
        self._of_workers = {one.worker_name: one for one in came}
        self._of_sessions = {one.session: one for one in came}

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        dues, looked_at = {one.due.key: one for one in owed}, Proposal()
        for one in self._ledger:
            if one.kind == "approval" and one.state == "written" and one.account == self.account:
                self._look_at(one, dues.get((one.worker_id, one.session)), looked_at)
        proposal = super().propose(owed)
        proposal.confirmed += looked_at.confirmed
        proposal.remaining = [*looked_at.remaining, *proposal.remaining]
        files = {payment.file.partition("-")[0] for payment in proposal.payments}
        unasked = {
            payment.file.partition("-")[0]
            for payment in proposal.payments
            if payment.kind == "approval" and self._of_sessions[payment.assignment].meaning is None
        }
        proposal.notes = [
            *(BY_PANEL.format(panel=panel, folder=self._folder) for panel in sorted(files - {BY_HAND_FILE})),
            *(NOT_ASKED.format(panel=panel) for panel in sorted(unasked)),
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
            words = CONFIRMED.format(panel=came.panel, status=came.status)
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
            assert came is not None  # else it would stand in the list of those who came by no panel
            total[came.participant] += payment.amount
        return "".join(f"{participant},{amount:.2f}\n" for participant, amount in total.items())
