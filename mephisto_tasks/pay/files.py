"""Paying by file: what a panel's site takes (approvals, bonuses), or a list for whoever pays by hand.

A payment counts as made when its file is written, so that a second run does not write it again; who pays by the file sees to
the rest. Files stand in the study's folder, readable for their owner only: they name people by the ids that the panel knows.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from mephisto_tasks.pay.ledger import Ledger, Payment
from mephisto_tasks.pay.payer import Note, Owed, Proposal
from mephisto_tasks.pay.policy import PayError
from mephisto_tasks.stored.results import query
from mephisto_tasks.stored.study_folder import study_folder
from parlai_humaneval.private_files import write_private
from parlai_humaneval.tables.formulas import write_rows

FOLDER = "payments"
"""In the study's folder."""
BY_HAND_FILE = "_owed"
"""Begins as no panel's name can."""
BY_PANEL = (
    "{panel}: the files that --send writes are in {folder}. Paste the approvals (submission ids) into the study's bulk "
    "approval, and the bonuses (participant id, amount) into its bulk bonus payments. Who did not come back to the panel as "
    "complete has all that they are owed among the bonuses: do not approve those submissions as well"
)
BY_HAND = (
    "You pay ${total} of this by hand: --send writes a list of who is owed what in {folder}, and the ledger has it as paid "
    "from then on"
)


_NUMBERED = re.compile(r"-(\d+)\.(csv|txt)$")
"""How the names of our files end."""


@dataclass(frozen=True)
class Participation:
    """As a panel knows it.

    ``site``: the panel and its study, as files are named. ``handed_in``: the worker went back to the panel as complete.
    """

    agent_id: str
    worker_name: str
    participant: str
    session: str
    site: str
    handed_in: bool


def participations(data_dir: Path, task_name: str) -> list[Participation]:
    """Those of a task, whose sessions a panel counts; oldest first."""
    from mephisto_tasks.crowds.link.datastore import sessions  # loads what only who launches by link needs

    return [
        Participation(
            agent_id=visit.agent_id or "",
            worker_name=visit.worker_name,
            participant=visit.participant,
            session=visit.session,
            site=f"{visit.arrival.door}-{re.sub('[^A-Za-z0-9]+', '_', visit.study)[:40]}".rstrip("-_"),
            handed_in=visit.status == "complete",
        )
        for visit in sessions(data_dir, task_name)
        if visit.session
    ]


def names_of_invited(data_dir: Path, task_name: str) -> dict[str, str]:
    """Worker → the name under which they were invited: the database has a pseudonym, and nobody can pay that."""
    from mephisto_tasks.crowds.link.invitations.book import Book  # as above

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
        self._known = {payment.file for payment in Ledger(data_dir, task_name).payments()}
        numbers = [int(match[1]) for name in self._known if (match := _NUMBERED.search(name))]
        self._number = max(numbers, default=0) + 1

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        proposal = Proposal()
        for one in owed:
            if one.left > 0:
                proposal.payments += self._payments(one)
        by_hand = [payment.amount for payment in proposal.payments if payment.file.startswith(BY_HAND_FILE)]
        panels = {payment.file.partition("-")[0] for payment in proposal.payments}
        proposal.notes += [
            BY_PANEL.format(panel=panel, folder=self._folder) for panel in sorted(panels - {BY_HAND_FILE})
        ]
        if by_hand:
            proposal.notes.append(BY_HAND.format(total=sum(by_hand), folder=self._folder))
        return proposal

    def _came(self, agent_id: str, worker_id: str) -> Participation | None:
        """How the worker came for this; for what has no unit (a practice), how they came last."""
        return self._of_agents.get(agent_id) or self._of_workers.get(self._names[worker_id])

    def _payments(self, owed: Owed) -> list[Payment]:
        work, left = owed.due.work, owed.left
        came = self._came(work.agent_id, work.worker_id)
        if came is None:
            return [owed.payment(self.account, "bonus", work.agent_id, left, f"{BY_HAND_FILE}-{self._number}.csv")]
        payments = []
        approvable = came.handed_in and work.outcome in ("complete", "stopped")
        if approvable and not owed.paid.get("approval"):
            name = f"{came.site}-approvals-{self._number}.txt"
            payments.append(owed.payment(self.account, "approval", came.session, work.reward, name))
            left -= work.reward
        if left > 0:
            name = f"{came.site}-bonuses-{self._number}.csv"
            payments.append(owed.payment(self.account, "bonus", came.session, left, name))
        return payments

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
