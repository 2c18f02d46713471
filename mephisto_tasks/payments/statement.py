"""The books of a task: what everybody did, what they are owed, what was paid, and what is proposed.

Reading them changes nothing. :class:`Books` is the one object that terminal, JSON and CSV draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from statistics import median

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.payments.ledger import OPEN, PAID, SETTLED, Kind, Ledger, Payment
from mephisto_tasks.payments.payer import Owed, Payer, Proposal, Remaining
from mephisto_tasks.payments.policy import Due, PayError, Terms, due, failed_checks
from mephisto_tasks.storage.crowd_errors import CrowdError
from mephisto_tasks.storage.results import query, read_records
from mephisto_tasks.storage.run_settings import blueprint_of_newest
from mephisto_tasks.storage.work import CENT, Work, work_done
from parlai_humaneval.statistics.core.formatting import counted

NOTHING = Decimal("0.00")
LEAST_S = 30.0
"""Fewer seconds at work (a trial, or a click through) tell nothing of what an hour pays."""
NAMED = 5
"""Workers in a note; of others only how many they are."""

Payers = Callable[[Path, str, str, str, Sequence[str]], Payer]
"""Makes the payer of a data directory, a task, a provider, a requester and the runs that they launched."""


class WorkerPay(BaseModel):
    """One worker's line: units by outcome, seconds at work and in practice, and dollars."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    complete: int
    partial: int
    stopped: int
    running: int
    practice_only: bool
    seconds: float
    due: Decimal
    paid: Decimal
    written: Decimal = NOTHING
    """Into files, and not known to be paid."""

    @property
    def hourly(self) -> Decimal | None:
        """Effective pay: dollars due for an hour, the practice included; None: too short a time was measured."""
        return hourly(self.due, self.seconds)


def hourly(dollars: Decimal, seconds: float) -> Decimal | None:
    """Dollars an hour, in cents rounded down: nobody's pay looks better than it is."""
    if seconds < LEAST_S:
        return None
    return (dollars * 3600 / Decimal(str(seconds))).quantize(CENT, rounding="ROUND_DOWN")


@dataclass(frozen=True)
class Account:
    """Who pays for some of the work, and what they would do."""

    payer: Payer
    proposal: Proposal
    resumed: list[Payment]
    """Begun by an earlier run, and not known to have ended; none where the site cannot be asked."""

    @property
    def to_send(self) -> list[Payment]:
        return [*self.resumed, *self.proposal.payments]


@dataclass(frozen=True)
class Books:
    """All of it."""

    task_name: str
    terms: Terms
    dues: list[Due]
    payments: list[Payment]
    """Of the ledger, those that the site says are paid as confirmed; it is told so when something is sent."""
    accounts: list[Account]

    @cached_property
    def workers(self) -> list[WorkerPay]:
        """A line a worker, in order of their first work."""
        lines: dict[str, list[Due]] = defaultdict(list)
        for one in self.dues:
            if not one.work.simulated:
                lines[one.work.worker].append(one)
        found = [payment for account in self.accounts for payment in account.proposal.found]
        paid: dict[str, Decimal] = defaultdict(lambda: NOTHING)
        for payment in [*(one for one in self.payments if one.state in PAID), *found]:
            paid[payment.worker] += payment.amount
        written: dict[str, Decimal] = defaultdict(lambda: NOTHING)
        for payment in self.payments:
            if payment.state == "written":
                written[payment.worker] += payment.amount
        return [_line(worker, dues, paid[worker], written[worker]) for worker, dues in lines.items()]

    def at_sites(self, providers: Collection[str]) -> tuple[Decimal, Decimal]:
        """Of what people are owed, and of what the ledger says was paid: what these providers' sites are for."""
        owed = [one.amount for one in self.dues if one.work.provider in providers and not one.work.simulated]
        paid = [one.amount for one in self.payments if one.state in PAID and one.account.partition(":")[0] in providers]
        return sum(owed, NOTHING), sum(paid, NOTHING)

    @property
    def median_hourly(self) -> Decimal | None:
        """Over the workers who are owed anything."""
        rates = [line.hourly for line in self.workers if line.hourly is not None and line.due]
        return median(rates).quantize(CENT, rounding="ROUND_DOWN") if rates else None

    @property
    def remaining(self) -> list[Remaining]:
        return [one for account in self.accounts for one in account.proposal.remaining]

    @property
    def in_between(self) -> list[Payment]:
        """Being paid when a run ended: only a person can say whether they were."""
        return [payment for payment in self.payments if payment.state == "paying"]

    @property
    def to_send(self) -> list[Payment]:
        return [payment for account in self.accounts for payment in account.to_send]

    def refused_of(self, proposed: Books) -> bool:
        """Whether something that the ``proposed`` books wanted to send was refused, or is not known to be paid."""
        settled = {payment.token for payment in self.payments if payment.state in SETTLED}
        not_sent = any(payment.token not in settled for payment in proposed.to_send)
        return not_sent or bool(self.in_between) or any(one.refused for one in self.remaining)

    def fees_of(self, payments: Iterable[Payment]) -> Decimal:
        """What crowds' sites take beside these payments."""
        of_account: dict[str, list[Payment]] = defaultdict(list)
        for payment in payments:
            of_account[payment.account].append(payment)
        return sum((one.payer.cost(of_account[one.payer.account]) for one in self.accounts), NOTHING)

    @property
    def notes(self) -> list[str]:
        """What whoever pays should know, in sentences."""
        return [
            *self._underpaid(),
            *(note for account in self.accounts for note in account.proposal.notes),
            *self._overpaid(),
            *self._unpaid(),
        ]

    def _underpaid(self) -> Iterator[str]:
        low = [
            (line.hourly, line.worker)
            for line in self.workers
            if line.hourly is not None and line.due and line.hourly < self.terms.minimum
        ]
        if low:
            yield (
                f"{len(low)} of {counted(len(self.workers), 'worker')} earn less than ${self.terms.minimum}/hour by the "
                f"time that they took, practice included (the least: ${min(low)[0]}). Raise the reward, or shorten the task"
            )

    def _overpaid(self) -> Iterator[str]:
        """A reward is approved whole or not at all, also where a share of it was paid before."""
        surplus: dict[tuple[str, str], Decimal] = defaultdict(lambda: NOTHING)
        for payment in self._paid_or_proposed():
            surplus[payment.worker_id, payment.session] += payment.amount
        for one in self.dues:
            surplus[one.key] -= one.amount
        over: dict[str, Decimal] = defaultdict(lambda: NOTHING)
        for key, worker in {one.key: one.work.worker for one in self.dues}.items():
            over[worker] += max(surplus[key], NOTHING)
        named = [f"{worker} ${amount}" for worker, amount in over.items() if amount]
        if named:
            more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
            yield (
                f"More than is owed by these terms get: {', '.join(named[:NAMED])}{more}. An approval pays the whole "
                "reward, also where a share was paid before. What was paid is theirs; nothing else of theirs is cut for it"
            )

    def _unpaid(self) -> Iterator[str]:
        """Nothing is owed yet for what may become more, and never to programs."""
        people = [one.work for one in self.dues if not one.work.simulated]
        running, resumable = sum(one.outcome == "running" for one in people), sum(one.resumable for one in people)
        if running:
            yield f"Still being done: {counted(running, 'piece')} of work"
        if resumable:
            yield (
                f"Left, and their workers can go on while the launch runs: {counted(resumable, 'piece')} of work. A share "
                "is owed when it has ended"
            )
        if programs := len(self.dues) - len(people):
            yield f"Done by programs of this package, and not paid: {counted(programs, 'piece')} of work"

    def _paid_or_proposed(self) -> Iterable[Payment]:
        proposed = [
            payment for account in self.accounts for payment in (*account.proposal.found, *account.proposal.payments)
        ]
        payments = [payment for payment in self.payments if payment.state != "failed"]
        return {payment.token: payment for payment in [*proposed, *payments]}.values()

    def after_sending(self, payments: list[Payment]) -> Books:
        """The same books with the ledger as it is now: what was proposed is in it, and what could not be sent remains."""
        accounts = [
            Account(
                account.payer,
                Proposal(remaining=account.proposal.remaining, notes=account.proposal.notes),
                [p for p in payments if p.account == account.payer.account and p.state in OPEN],
            )
            for account in self.accounts
        ]
        return replace(self, payments=payments, accounts=accounts)


def open_books(
    data_dir: Path,
    task_name: str,
    terms: Terms,
    payers: Payers,
    withhold: Collection[str] = (),
    *,
    without_sites: bool = False,
) -> Books:
    """The books as they stand, with what is proposed. Crowds' sites are asked; nothing is changed.

    Args:
        data_dir: of Mephisto.
        task_name: whose work is paid.
        terms: how.
        payers: who.
        withhold: checks whose failure withholds pay. Nothing is withheld unless somebody asks for it.
        without_sites: open them, too, where no crowd's site can be asked, to note what was paid otherwise. Where only some
            cannot be asked (one that has closed), what they owe remains, and the others pay.

    Raises:
        CrowdError: no crowd's site can be asked.
        ResultsError: no such task.
        CheckError: an unknown check.
        PayError: a ledger or an amount that cannot be used.
    """
    works = work_done(data_dir, task_name)
    withheld = failed_checks(read_records(data_dir, task_name), withhold) if withhold else {}
    dues = [due(work, terms, withheld) for work in works]
    payments = Ledger(data_dir, task_name).payments()
    requesters = _requesters(data_dir, task_name)
    accounts, refusals = [], []
    for (provider, requester), runs in requesters.items():
        payer = payers(data_dir, task_name, provider, requester, runs)
        here = [payment for payment in payments if payment.account == payer.account]
        owed = _owed([one for one in dues if one.work.task_run_id in runs], here)
        resumed = [payment for payment in here if payment.state in OPEN]
        try:
            accounts.append(Account(payer, payer.propose(owed), resumed))
        except CrowdError as error:
            left = [Remaining(one, one.left, str(error), refused=True) for one in owed if one.left > 0]
            refusals += [error] if left or resumed else []
            accounts.append(Account(payer, Proposal(remaining=left), []))
    if refusals and len(refusals) == len(accounts) and not without_sites:
        raise refusals[0]
    confirmed = {one.token: one for account in accounts for one in account.proposal.confirmed}
    payments = [confirmed.get(payment.token, payment) for payment in payments]
    return Books(task_name, terms, dues, payments, accounts)


def terms_of(data_dir: Path, task_name: str, **given: object) -> Terms:
    """The terms that the newest launch of a task was set to; those ``given`` that are not None go before them.

    Raises:
        PayError: amounts that cannot be meant.
    """
    configured = blueprint_of_newest(data_dir, task_name).get("payment") or {}
    wanted = {**configured, **{name: value for name, value in given.items() if value is not None}}
    try:
        return Terms.model_validate({name: str(value) for name, value in wanted.items()})
    except ValueError as error:
        raise PayError(f"these terms of pay cannot be used: {_first_problem(error)}") from error


def _first_problem(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']} (got {problem['input']!r})"


def _requesters(data_dir: Path, task_name: str) -> dict[tuple[str, str], list[str]]:
    rows = query(
        data_dir,
        """SELECT task_runs.provider_type, requesters.requester_name, task_runs.task_run_id
             FROM task_runs
             JOIN tasks ON tasks.task_id = task_runs.task_id
             JOIN requesters ON requesters.requester_id = task_runs.requester_id
            WHERE tasks.task_name = ? ORDER BY CAST(task_runs.task_run_id AS INTEGER)""",
        [task_name],
    )
    runs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for provider, requester, run in rows:
        runs[str(provider), str(requester)].append(str(run))
    return runs


def _owed(dues: Sequence[Due], payments: Sequence[Payment]) -> list[Owed]:
    """What is left of every due. A unit that several visits took is one due: that of the last."""
    of_unit: dict[tuple[str, str], list[Payment]] = defaultdict(list)
    for payment in payments:
        if payment.state != "failed":
            of_unit[payment.worker_id, payment.session].append(payment)
    owed = []
    for one in dues:
        before = of_unit[one.key]
        counts: dict[Kind, int] = {"approval": 0, "bonus": 0}
        for payment in before:
            counts[payment.kind] += 1
        left = one.amount - sum((payment.amount for payment in before), NOTHING)
        owed.append(Owed(one, max(left, NOTHING), counts))
    return owed


def _line(worker: str, dues: Sequence[Due], paid: Decimal, written: Decimal) -> WorkerPay:
    works: list[Work] = [one.work for one in dues]
    count = [work.outcome for work in works].count
    return WorkerPay(
        worker=worker,
        complete=count("complete"),
        partial=count("partial"),
        stopped=count("stopped"),
        running=count("running"),
        practice_only=count("practice_only") > 0,
        seconds=sum(work.seconds + work.practice_seconds for work in works if work.outcome != "running"),
        due=sum((one.amount for one in dues), NOTHING),
        paid=paid,
        written=written,
    )
