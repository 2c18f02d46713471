"""Paying by hand: a list of amounts owed, for the person who pays. Subclasses write files for sites.

A payment that is written into a file is not written again, and not yet paid: a person confirms it. Files are in the
study's folder, readable for their owner only, as they name people."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from mephisto_tasks.payments.ledger import Ledger, Note, Owed, Payment, Proposal
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.payments.statement import in_words, sums
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import query
from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.text import csv_text

FOLDER = "payments"  # in the study's folder
BY_HAND_FILE = "_owed"  # begins as no site's name can
BY_HAND = (
    "You must pay {total} by hand. --send writes a list of raters and amounts to {folder}, and marks these payments "
    "as written in the ledger. Once you have paid a rater, record the payment with --settled"
)
_NUMBERED = re.compile(r"-(\d+)\.(csv|txt)$")  # how the names of our files end


def worker_names(data_dir: Path) -> dict[str, str]:
    """Mephisto's worker id → the worker's name."""
    return {str(number): str(name) for number, name in query(data_dir, "workers")}


def compared_approvals(payments: Sequence[Payment], approved: set[str], what: str, site: str) -> Iterator[str]:
    """Where the ledger and a site differ on what is ``approved``, as sentences; ``what`` each is called there."""
    noted = [one.assignment for one in payments if not one.is_bonus and one.state in ("sent", "confirmed")]
    for name in sorted({*noted} - approved - {""}):
        yield f"the ledger lists {what} {name} as approved, but {site} does not"
    # For forgotten workers, the ledger knows how much was approved, but not for what.
    strange = sorted(approved - {*noted})
    for name in strange if len(strange) > noted.count("") else ():
        yield f"{site} lists {what} {name} as approved (by hand or automatically), but the ledger does not"


class FilePayer:
    witness = "the files in its folder (only you know what happened to them)"

    def __init__(
        self,
        data_dir: Path,
        task_name: str,
        provider: str,
        requester: str,
        title: str,
        people: Mapping[str, str] | None = None,
    ) -> None:
        """``people``: worker → the name by which a person knows them, where the database has a pseudonym."""
        self.account = f"{provider}:{requester}"
        self.title = title
        self._people = people or {}
        self._folder = study_folder(data_dir, task_name) / FOLDER
        self._names = worker_names(data_dir)
        self._ledger = Ledger(data_dir, task_name).payments()
        self._known = {payment.file for payment in self._ledger}
        numbers = [int(match[1]) for name in self._known if (match := _NUMBERED.search(name))]
        self._number = max(numbers, default=0) + 1

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        proposal = Proposal()
        for one in owed:
            if one.left > 0:
                self._propose(one, proposal)
        if by_hand := [payment for payment in proposal.payments if payment.file.startswith(BY_HAND_FILE)]:
            proposal.notes.append(BY_HAND.format(total=in_words(sums(by_hand)), folder=self._folder))
        return proposal

    def _propose(self, owed: Owed, proposal: Proposal) -> None:
        name = f"{BY_HAND_FILE}-{self._number}.csv"
        proposal.payments.append(owed.payment(self.account, "bonus", owed.due.work.agent_id, owed.left, name))

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        return Decimal("0.00")

    def check(self, payments: Sequence[Payment]) -> None:
        """Files that the ledger does not know were written with a lost ledger: their people may be paid already."""
        there = sorted(path.name for path in self._folder.glob("*") if _NUMBERED.search(path.name))
        strange = [name for name in there if name not in self._known]
        if payments and strange:
            what = f"{self._folder} holds {strange[0]}, which is not in the ledger, so nothing was written"
            ledger = "put back the ledger that it was written with (ledger.db)"
            raise PayError(what, try_=f"{ledger}, or, if nobody was paid with that file, move it away")

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        by_file: dict[str, list[Payment]] = defaultdict(list)
        for payment in payments:
            changed = None if (self._folder / payment.file).exists() else self._changed_since(payment)
            if changed is not None:  # an earlier run ended before it wrote this
                note(payment, "failed", changed)
            else:
                by_file[payment.file].append(payment)
        for name, of_file in by_file.items():
            path = self._folder / name
            if not path.exists():  # one that is there was written by a run that was ended before it noted that
                # The whole file, or none of it; it is on the disk before the ledger says so.
                write_private(path, self._text(name, of_file).encode(), outlasts_power=True)
            for payment in of_file:
                note(payment, "written", f"in {path}")

    def _changed_since(self, payment: Payment) -> str | None:
        return None

    def _text(self, name: str, payments: Sequence[Payment]) -> str:
        columns = ("worker", "name", "pseudonym", "unit", "amount", "for")
        workers = ((self._names[one.worker_id], one) for one in payments)
        rows = (
            (worker, self._people.get(worker, ""), one.worker, one.session, f"{one.amount:.2f}", one.why)
            for worker, one in workers
        )
        return csv_text(columns, rows)

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        files = sorted({payment.file for payment in payments if payment.state == "written"})
        gone = [name for name in files if not (self._folder / name).exists()]
        return [f"the ledger names {name}, which is not in {self._folder}" for name in gone]
