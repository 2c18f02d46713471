"""Sending proposed payments: to the ledger first, then to the crowd's site, then to Mephisto's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from mephisto_tasks.payments.ledger import Ledger, Note, Payment, State
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.payments.statement import Books
from mephisto_tasks.storage.results import ResultsError, database_file, query

APPROVED, ACCEPTED = "approved", "accepted"  # Mephisto's statuses of an agent whose work was approved, and of its unit

Answer = Literal["paid", "unpaid"]  # what a person found at the crowd's site


def send(data_dir: Path, books: Books, done: Callable[[Payment, State], None] = lambda payment, state: None) -> None:
    """Send everything that the books propose, which were opened while ``only_payer`` was held. Killed anywhere, it can
    be run again: unsent payments are sent then, and sent ones are known. ``done``: called at each step. Raises PayError:
    nothing was sent; CrowdError: a site could not be asked any more, and the rest waits."""
    ledger = Ledger(data_dir, books.task_name)
    for account in books.accounts:
        if account.to_send:  # a site that has closed is asked nothing
            account.payer.check(account.to_send)

    note = Note(ledger, done)
    try:
        for account in books.accounts:
            ledger.intend(account.proposal.found, "confirmed", "was already paid, but not by this program")
            ledger.intend(account.proposal.payments)
            for payment in account.proposal.confirmed:
                note(payment, "confirmed", payment.words)
            account.payer.send(account.to_send, note)
    finally:
        _tell_mephisto(data_dir, ledger.payments())


def _tell_mephisto(data_dir: Path, payments: Sequence[Payment]) -> None:
    """Approved is in Mephisto's database what the crowd's site says is approved, for Mephisto's own tools."""
    paid = {payment.agent_id for payment in payments if payment.kind == "approval" and payment.state == "confirmed"}
    try:
        rows = [row for row in query(data_dir, "statuses") if str(row[0]) in paid]
        agents = [str(agent) for agent, status, *_ in rows if status != APPROVED]
        units = [str(unit) for *_, unit, status in rows if status in ("completed", "assigned")]
        if not agents and not units:
            return
        from mephisto_tasks.crowds.registry import opened  # loads Mephisto, which a look at the books need not wait for

        with opened(database_file(data_dir)) as db:
            for agent in agents:
                db.update_agent(agent, status=APPROVED)
            for unit in units:
                db.update_unit(unit, status=ACCEPTED)
    except (sqlite3.OperationalError, ResultsError) as error:
        what = f"the ledger has what was sent, but Mephisto's database could not be updated ({error})"
        raise PayError(what, try_="run this again: nothing is sent twice") from error


def settle(data_dir: Path, books: Books, workers: Collection[str]) -> list[Payment]:
    """Note that what remains for these workers, or is in a file, is paid; all or none, under the lock. Raises PayError."""
    settled: list[Payment] = []
    written: list[Payment] = []
    for worker in workers:
        of_files = [one for one in books.payments if one.worker == worker and one.state == "written"]
        everything = [(account, one) for account in books.accounts for one in account.proposal.remaining]
        remaining = [(account, one) for account, one in everything if one.worker == worker]
        if not remaining and not of_files:
            if any(one.worker == worker for one in books.to_send):
                what = f"what is due to {worker} is waiting to be sent"
                raise PayError(
                    what, try_="pay it with --send first, or let --send write it to a file for you to pay by hand"
                )
            claimed = {one.worker for one in books.payments if one.state == "written"}
            known = ", ".join(sorted({one.worker for one in books.remaining} | claimed))
            others = f", only to {known}" if known else ", nor to anybody else, so there is nothing to record"
            raise PayError(f"nothing is left to pay to {worker}{others}")
        written += of_files
        unwritten = [(account.payer.account, one) for account, one in remaining if one.written is None]
        settled += [one.owed.payment(account, "bonus", "", one.amount) for account, one in unwritten]
    ledger = Ledger(data_dir, books.task_name)
    ledger.intend(settled)
    for payment in (*settled, *written):
        ledger.note(payment.token, "by_hand", "recorded with --settled")
    return [*settled, *written]


def settle_by_hand(data_dir: Path, books: Books, answers: Sequence[tuple[Answer, str]]) -> list[Payment]:
    """Note what a person saw of payments that a run left in the middle. The caller holds the lock. What is unpaid is
    proposed again; what is paid never is. Raises PayError: nothing was noted."""
    there = {payment.token: payment for payment in (*books.in_between, *books.unlisted)}
    listed = {one.token: one for account in books.accounts for one in account.proposal.confirmed}
    there |= listed
    for answer, token in answers:
        if answer == "unpaid" and token in listed:
            what = f"the crowd's site now lists the payment {token} as paid"
            raise PayError(what, try_="run --send, which records it")
        if token not in there:
            known = ", ".join(there) or "none"
            what = f"no payment with the token {token} was interrupted. Tokens of interrupted payments: {known}"
            raise PayError(what)
        if answer == "unpaid" and (until := there[token].listed_by):
            what = f"the crowd's site may list the payment {token} as late as {datetime.fromtimestamp(until):%H:%M}"
            raise PayError(f"{what}, so it is too early to call it unpaid", try_="run this again then")
    ledger = Ledger(data_dir, books.task_name)
    for answer, token in answers:
        ledger.note(token, "by_hand" if answer == "paid" else "failed", f"{answer}, recorded with --by-hand")
    return [there[token] for _, token in answers]
