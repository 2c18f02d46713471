"""Sending what was proposed: into the ledger first, then to the crowd's site, then into Mephisto's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from mephisto_tasks.payments.ledger import Ledger, Payment, State
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.payments.statement import Books
from mephisto_tasks.storage.results import ResultsError, database_file, query

APPROVED, ACCEPTED = "approved", "accepted"
"""Mephisto's statuses of an agent whose work was approved, and of its unit."""

Answer = Literal["paid", "unpaid"]
"""What a person found at the crowd's site."""

_STATUSES = """
    SELECT agents.agent_id, agents.status, units.unit_id, units.status
      FROM agents LEFT JOIN units ON units.agent_id = agents.agent_id
"""


def send(data_dir: Path, books: Books, done: Callable[[Payment, State], None] = lambda payment, state: None) -> None:
    """Send everything that the books propose. The caller holds :func:`~mephisto_tasks.payments.ledger.only_payer`.

    Killed anywhere, it can be run again: what was not sent is sent then, and what was is found.

    Args:
        data_dir: of Mephisto.
        books: just opened, while the lock was held.
        done: told of each step of each payment.

    Raises:
        PayError: there is not enough money, say; then nothing was sent.
        CrowdError: a crowd's site could not be asked any more; the rest waits for the next run.
    """
    ledger = Ledger(data_dir, books.task_name)
    for account in books.accounts:
        if account.to_send:  # a site that has closed is asked nothing
            account.payer.check(account.to_send)

    note = _LedgerNote(ledger, done)
    try:
        for account in books.accounts:
            ledger.intend(account.proposal.found, "confirmed", "was paid already, not by this program")
            ledger.intend(account.proposal.payments)
            for payment in account.proposal.confirmed:
                note(payment, "confirmed", payment.words)
            account.payer.send(account.to_send, note)
    finally:
        _tell_mephisto(data_dir, ledger.payments())


@dataclass(frozen=True)
class _LedgerNote:
    """It is a :class:`~mephisto_tasks.payments.payer.Note`."""

    ledger: Ledger
    done: Callable[[Payment, State], None]

    def __call__(self, payment: Payment, state: State, words: str, batch: str | None = None) -> None:
        self.ledger.note(payment.token, state, words, batch)
        self.done(payment, state)

    def batch(self, payments: Sequence[Payment], state: State, words: str = "") -> None:
        self.ledger.note_batch(payments, state, words)
        for payment in payments:
            self.done(payment, state)


def _tell_mephisto(data_dir: Path, payments: Sequence[Payment]) -> None:
    """Approved is in Mephisto's database what the crowd's site says is approved, for Mephisto's own tools."""
    paid = {payment.agent_id for payment in payments if payment.kind == "approval" and payment.state == "confirmed"}
    try:
        rows = [row for row in query(data_dir, _STATUSES) if str(row[0]) in paid]
        agents = [str(agent) for agent, status, *_ in rows if status != APPROVED]
        units = [str(unit) for *_, unit, status in rows if status in ("completed", "assigned")]
        if not agents and not units:
            return
        from mephisto_tasks.crowds.database import opened  # loads Mephisto, which a look at the books need not wait for

        with opened(database_file(data_dir)) as db:
            for agent in agents:
                db.update_agent(agent, status=APPROVED)
            for unit in units:
                db.update_unit(unit, status=ACCEPTED)
    except (sqlite3.OperationalError, ResultsError) as error:
        raise PayError(
            f"what was sent stands in the ledger, but Mephisto's database could not be told ({error})",
            try_="run this again: nothing is sent twice",
        ) from error


def settle(data_dir: Path, books: Books, workers: Collection[str]) -> list[Payment]:
    """Note that what remains for these workers, or was written into a file for them, is paid. The caller holds the lock.

    Raises:
        PayError: nothing remains for one of them; then nothing was noted.
    """
    settled: list[Payment] = []
    written: list[Payment] = []
    for worker in workers:
        of_files = [one for one in books.payments if one.worker == worker and one.state == "written"]
        remaining = [
            (account, one) for account in books.accounts for one in account.proposal.remaining if one.worker == worker
        ]
        if not remaining and not of_files:
            claimed = {one.worker for one in books.payments if one.state == "written"}
            known = ", ".join(sorted({one.worker for one in books.remaining} | claimed))
            others = f", only to {known}" if known else ", nor to anybody else: there is nothing to note"
            raise PayError(f"nothing remains to be paid to {worker}{others}")
        written += of_files
        settled += [
            one.owed.payment(account.payer.account, "bonus", "", one.amount)
            for account, one in remaining
            if one.written is None
        ]
    ledger = Ledger(data_dir, books.task_name)
    ledger.intend(settled)
    for payment in (*settled, *written):
        ledger.note(payment.token, "by_hand", "noted with --settled")
    return [*settled, *written]


def settle_by_hand(data_dir: Path, books: Books, answers: Sequence[tuple[Answer, str]]) -> list[Payment]:
    """Note what a person found of payments that a run left in the middle of paying. The caller holds the lock.

    What is unpaid is proposed again; what is paid never is.

    Raises:
        PayError: a token that no such payment has, or the site lists it by now, or may list it yet; then nothing was noted.
    """
    there = {payment.token: payment for payment in (*books.in_between, *books.unlisted)}
    listed = {one.token: one for account in books.accounts for one in account.proposal.confirmed}
    there |= listed
    for answer, token in answers:
        if answer == "unpaid" and token in listed:
            raise PayError(
                f"the crowd's site lists the payment {token} as paid by now", try_="run --send, which notes it"
            )
        if token not in there:
            known = ", ".join(there) or "none"
            raise PayError(
                f"no payment with the token {token} was left in the middle of paying. Tokens of such payments: {known}"
            )
        if answer == "unpaid" and (until := there[token].listed_by):
            raise PayError(
                f"the crowd's site may list the payment {token} as late as {datetime.fromtimestamp(until):%H:%M}: nobody "
                "can know yet that it is unpaid",
                try_="run this again then",
            )
    ledger = Ledger(data_dir, books.task_name)
    for answer, token in answers:
        ledger.note(token, "by_hand" if answer == "paid" else "failed", f"{answer}, noted with --by-hand")
    return [there[token] for _, token in answers]
