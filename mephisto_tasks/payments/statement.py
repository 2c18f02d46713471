"""The books of a task, read only: work done, amounts owed, payments made, and payments proposed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TypeVar

from pydantic import BaseModel

from mephisto_tasks.payments.ledger import PAID, SETTLED, Due, Kind, Ledger, Owed, Payer, Payment, Proposal, Remaining
from mephisto_tasks.payments.policy import DOLLARS, MOST, PayError, Terms, money
from mephisto_tasks.storage.provider_names import CrowdError
from mephisto_tasks.storage.results import blueprints, currencies_of, query, read_records
from mephisto_tasks.storage.work import CENT, Work, cents, completed_work, unit_of
from parlai_humaneval._util.data_files import validated
from parlai_humaneval.quality import check_dialogue, check_workers, known_checks
from parlai_humaneval.schema.records import Rated
from parlai_humaneval.statistics.core.formatting import counted

NOTHING = Decimal("0.00")
LEAST_S = 30.0  # fewer seconds at work (a trial, or a click through) tell nothing of what an hour pays
K = TypeVar("K")
NAMED = 5  # workers in a note; of others only how many they are

Payers = Callable[[Path, str, str, str, Sequence[str]], Payer]
"""Makes the payer of a data directory, a task, a provider, a requester and the runs that they launched."""


class WorkerPay(BaseModel, extra="forbid", frozen=True):
    """One worker's line in one currency: units by outcome, seconds at work and in practice, and amounts."""

    worker: str
    complete: int
    partial: int
    stopped: int
    running: int
    practice_only: bool
    seconds: float
    due: Decimal
    paid: Decimal
    written: Decimal = NOTHING  # into files, and not known to be paid
    currency: str = DOLLARS

    @property
    def hourly(self) -> Decimal | None:
        """Effective pay: what is due for an hour, the practice included; None: too short a time was measured."""
        return hourly(self.due, self.seconds)

    def money(self, amount: Decimal) -> str:
        return money(amount, self.currency)


def hourly(amount: Decimal, seconds: float) -> Decimal | None:
    """What an hour comes to, in cents rounded down: nobody's pay looks better than it is."""
    if seconds < LEAST_S:
        return None
    return (amount * 3600 / Decimal(str(seconds))).quantize(CENT, rounding="ROUND_DOWN")


def added(amounts: Iterable[tuple[K, Decimal]]) -> dict[K, Decimal]:
    """Key → what its amounts come to; nothing for any other key."""
    total: dict[K, Decimal] = defaultdict(lambda: NOTHING)
    for key, amount in amounts:
        total[key] += amount
    return total


def sums(payments: Iterable[Payment]) -> dict[str, Decimal]:
    """Currency → what the payments come to in it: amounts in different currencies are never added."""
    return dict(added((payment.currency, payment.amount) for payment in payments))


def in_words(amounts: Mapping[str, Decimal]) -> str:
    """“$3.00 and £1.50”."""
    return " and ".join(money(amount, currency) for currency, amount in amounts.items()) or money(NOTHING)


@dataclass(frozen=True)
class Account:
    payer: Payer
    proposal: Proposal
    resumed: list[Payment]  # begun by an earlier run, and not known to have ended; none where the site cannot be asked
    not_asked: str = ""  # why the crowd's site could not be asked

    @property
    def to_send(self) -> list[Payment]:
        return [*self.resumed, *self.proposal.payments]


@dataclass(frozen=True)
class Books:
    task_name: str
    terms: Terms
    dues: list[Due]
    payments: list[Payment]
    """Payments of the ledger, with those that the site lists as paid marked as confirmed; they are recorded with the
    next sending."""
    accounts: list[Account]

    @cached_property
    def workers(self) -> list[WorkerPay]:
        """A line a worker and currency, in order of their first work."""
        lines: dict[tuple[str, str], list[Due]] = defaultdict(list)
        for one in self.dues:
            if not one.work.simulated:
                lines[one.work.worker, one.currency].append(one)
        found = [payment for account in self.accounts for payment in account.proposal.found]
        noted = [*(one for one in self.payments if one.state in PAID), *found]
        paid = added(((one.worker, one.currency), one.amount) for one in noted)
        of_files = (one for one in self.payments if one.state == "written")
        written = added(((one.worker, one.currency), one.amount) for one in of_files)
        return [_line(*key, dues, paid[key], written[key]) for key, dues in lines.items()]

    @property
    def currencies(self) -> list[str]:
        """In which people are owed or were paid anything; that of the first work first."""
        known = [*(one.currency for one in self.dues if not one.work.simulated), *(p.currency for p in self.payments)]
        return list(dict.fromkeys(known)) or [DOLLARS]

    def totals(self, currency: str) -> tuple[Decimal, Decimal, Decimal]:
        """Totals of all workers in this currency: amounts due, paid, and written into files."""
        lines = [line for line in self.workers if line.currency == currency]
        due, paid, written = (
            sum((getattr(one, name) for one in lines), NOTHING) for name in ("due", "paid", "written")
        )
        return due, paid, written

    def at_sites(self, providers: Collection[str]) -> tuple[Decimal, Decimal]:
        """The amounts owed, and the amounts paid according to the ledger, for work at these providers' sites."""
        owed = [one.amount for one in self.dues if one.work.provider in providers and not one.work.simulated]
        paid = [one.amount for one in self.payments if one.state in PAID and one.account.partition(":")[0] in providers]
        return sum(owed, NOTHING), sum(paid, NOTHING)

    @property
    def hourly(self) -> dict[str, Decimal]:
        """Currency → its median over the workers who are owed anything in it."""
        rates: dict[str, list[Decimal]] = defaultdict(list)
        for line in self.workers:
            if line.hourly is not None and line.due:
                rates[line.currency].append(line.hourly)
        return {currency: median(some).quantize(CENT, rounding="ROUND_DOWN") for currency, some in rates.items()}

    @property
    def remaining(self) -> list[Remaining]:
        return [one for account in self.accounts for one in account.proposal.remaining]

    @property
    def not_asked(self) -> list[str]:
        """Accounts whose site could not be asked, and why, as a clause each."""
        return [f"{one.payer.title} was not asked: {one.not_asked}" for one in self.accounts if one.not_asked]

    @property
    def in_between(self) -> list[Payment]:
        """Being paid when a run ended: only a person can say whether they were."""
        return [payment for payment in self.payments if payment.state == "paying"]

    @property
    def unlisted(self) -> list[Payment]:
        """Sent together, and not listed by the site yet. They are not sent again."""
        return [payment for payment in self.payments if payment.state == "sent" and payment.batch]

    @property
    def to_send(self) -> list[Payment]:
        return [payment for account in self.accounts for payment in account.to_send]

    def refused_of(self, proposed: Books) -> bool:
        """Whether something that the ``proposed`` books wanted to send was refused, or is not known to be paid."""
        settled = {one.token for one in self.payments if one.state in SETTLED and not one.is_unconfirmed}
        not_sent = any(payment.token not in settled for payment in proposed.to_send)
        return not_sent or bool(self.in_between) or any(one.refused for one in self.remaining)

    def fees_of(self, payments: Iterable[Payment]) -> dict[str, Decimal]:
        """Currency → fees of crowds' sites on top of these payments."""
        payers = {one.payer.account: one.payer for one in self.accounts}
        alike: dict[tuple[str, str], list[Payment]] = defaultdict(list)
        for payment in payments:
            alike[payment.account, payment.currency].append(payment)
        fees: dict[str, Decimal] = defaultdict(lambda: NOTHING)
        for (account, currency), some in alike.items():
            fees[currency] += payers[account].cost(some) if account in payers else NOTHING
        return dict(fees)

    @property
    def notes(self) -> list[str]:
        of_payers = (note for account in self.accounts for note in account.proposal.notes)
        return [*self._underpaid(), *of_payers, *self._overpaid(), *self._unpaid()]

    def _underpaid(self) -> Iterator[str]:
        for currency in self.currencies:
            lines = [line for line in self.workers if line.currency == currency]
            rates = (line.hourly for line in lines if line.hourly is not None and line.due)
            low = [rate for rate in rates if rate < self.terms.minimum]
            if low:
                least, minimum = money(min(low), currency), money(self.terms.minimum, currency)
                yield (
                    f"{len(low)} of {counted(len(lines), 'rater')} earn less than {minimum}/hour for the time that they "
                    f"spent, including practice (lowest: {least}). Raise the reward, or shorten the task"
                )

    def _overpaid(self) -> Iterator[str]:
        """A reward is approved whole or not at all, also where a share of it was paid before."""
        payments = list(self._paid_or_proposed())
        paid = [((one.worker_id, one.session), one.amount) for one in payments]
        surplus = added([*paid, *((one.key, -one.amount) for one in self.dues)])
        workers = {one.key: (one.work.worker, one.currency) for one in self.dues}
        over = added((worker, max(surplus[key], NOTHING)) for key, worker in workers.items())
        of_approvals = {(one.worker_id, one.session) for one in payments if not one.is_bonus}
        approved = any(surplus[key] > 0 for key in of_approvals & workers.keys())
        named = [f"{worker} {money(amount, currency)}" for (worker, currency), amount in over.items() if amount]
        if named:
            more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
            why = "An approval pays the whole reward, even if part of it has already been paid. " if approved else ""
            yield (
                f"Paid more than these terms owe: {', '.join(named[:NAMED])}{more}. {why}Raters keep it, and no other "
                "payment is reduced"
            )

    def _unpaid(self) -> Iterator[str]:
        """Nothing is owed yet for what may become more, and never to programs."""
        people = [one.work for one in self.dues if not one.work.simulated]
        running, resumable = sum(one.outcome == "running" for one in people), sum(one.resumable for one in people)
        if running:
            yield f"In progress: {counted(running, 'assignment')}"
        if resumable:
            yield (
                f"Left unfinished: {counted(resumable, 'assignment')}. Raters may resume while the launch runs; "
                "their finished work is owed when the launch has ended"
            )
        if programs := len(self.dues) - len(people):
            yield f"Done by programs of this package, so not paid: {counted(programs, 'assignment')}"

    def _paid_or_proposed(self) -> Iterable[Payment]:
        proposals = [account.proposal for account in self.accounts]
        proposed = [payment for one in proposals for payment in (*one.found, *one.payments)]
        payments = [payment for payment in self.payments if payment.state != "failed"]
        return {payment.token: payment for payment in [*proposed, *payments]}.values()

    def after_sending(self, payments: list[Payment]) -> Books:
        """The same books with the ledger as it is now: what was proposed is in it, and what could not be sent remains."""
        accounts = []
        for one in self.accounts:
            left = Proposal(remaining=one.proposal.remaining, notes=one.proposal.notes)
            resumed = [payment for payment in payments if payment.account == one.payer.account and payment.is_resumed]
            accounts.append(replace(one, proposal=left, resumed=resumed))
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
    """The books as they stand, with what is proposed. Crowds' sites are asked; nothing is changed. ``withhold``: checks
    whose failure withholds pay. ``without_sites``: open them where no site can be asked, to note what was paid
    otherwise; where only some cannot be asked, what they owe remains. Raises CrowdError (no site can be asked),
    ResultsError, CheckError, PayError."""
    works = completed_work(data_dir, task_name)
    withheld = failed_checks(read_records(data_dir, task_name), withhold) if withhold else {}
    payments = Ledger(data_dir, task_name).payments()
    launches: dict[tuple[str, str], list[str]] = defaultdict(list)  # provider and requester → their runs, oldest first
    for provider, requester, run in query(data_dir, "launches", [task_name]):
        launches[str(provider), str(requester)].append(str(run))
    paying = [(payers(data_dir, task_name, *by_whom, runs), runs) for by_whom, runs in launches.items()]
    currencies = currencies_of(data_dir, task_name)
    dues = [due(work, terms, withheld, currencies.get(work.task_run_id, DOLLARS)) for work in works]
    accounts, refusals = [], []
    for payer, runs in paying:
        here = [payment for payment in payments if payment.account == payer.account]
        owed = _owed([one for one in dues if one.work.task_run_id in runs], here)
        resumed = [payment for payment in here if payment.is_resumed]
        try:
            proposal = payer.propose(owed)
            known = {one.token for one in proposal.confirmed}
            accounts.append(Account(payer, proposal, [one for one in resumed if one.token not in known]))
        except CrowdError as error:
            left = [Remaining(one, one.left, str(error), refused=True) for one in owed if one.left > 0]
            refusals += [error] if left or resumed else []
            accounts.append(Account(payer, Proposal(remaining=left), [], str(error)))
    if refusals and len(refusals) == len(accounts) and not without_sites:
        raise refusals[0]
    confirmed = {one.token: one for account in accounts for one in account.proposal.confirmed}
    payments = [confirmed.get(payment.token, payment) for payment in payments]
    return Books(task_name, terms, dues, payments, accounts)


def terms_of(data_dir: Path, task_name: str, **given: object) -> Terms:
    """The terms of each launch of a task, under those ``given`` that are not None. Raises PayError."""
    said = {name: value for name, value in given.items() if value is not None}
    try:
        launches = blueprints(data_dir, task_name) or {"": {}}
        given_of = {run: {**(of.get("payment") or {}), **said} for run, of in launches.items()}
        terms = {run: validated(Terms, {k: str(v) for k, v in of.items()}) for run, of in given_of.items()}
        return next(iter(terms.values())).model_copy(update={"earlier": terms})
    except ValueError as error:
        raise PayError(error, where="these terms of pay cannot be used") from error


def _owed(dues: Sequence[Due], payments: Sequence[Payment]) -> list[Owed]:
    """What is left of every due. A unit that several visits took is one due: that of the last."""
    of_unit: dict[tuple[str, str], list[Payment]] = defaultdict(list)
    for payment in payments:
        if payment.state != "failed":
            of_unit[payment.worker_id, payment.session].append(payment)
    owed = []
    for one in dues:
        before = of_unit[one.key]
        bonuses = sum(payment.kind == "bonus" for payment in before)
        counts: dict[Kind, int] = {"approval": len(before) - bonuses, "bonus": bonuses}
        left = one.amount - sum((payment.amount for payment in before), NOTHING)
        owed.append(Owed(one, max(left, NOTHING), counts))
    return owed


def _line(worker: str, currency: str, dues: Sequence[Due], paid: Decimal, written: Decimal) -> WorkerPay:
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
        currency=currency,
    )


def pro_rata(reward: Decimal, done: int, whole: int) -> Decimal:
    """The share of a reward for ``done`` of ``whole`` parts, in whole cents, rounded up."""
    if whole <= 0 or done <= 0:
        return Decimal("0.00")
    of_reward = int(reward / CENT) * min(done, whole)
    return -(-of_reward // whole) * CENT


def due(work: Work, terms: Terms, withheld: Mapping[tuple[str, str], str], currency: str = DOLLARS) -> Due:
    """What is owed for a piece of work. ``withheld``: (pseudonym, unit) → the check that it failed. Raises PayError."""
    if not 0 <= work.reward <= MOST:
        reward = money(work.reward, currency)
        raise PayError(f"the reward of unit {work.unit_id} is {reward}, which is not a valid amount")
    amount, why = _amount(work, terms.of_launch(work.task_run_id), withheld.get((work.worker, work.session)))
    return Due(work=work, amount=cents(amount), why=why, currency=currency)


def _amount(work: Work, terms: Terms, failed: str | None) -> tuple[Decimal, str]:
    """An amount, and why. ``failed``: the check that withholds it."""
    if work.simulated:
        return NOTHING, "a program"
    if failed is not None and work.outcome in ("complete", "partial"):
        return NOTHING, f"withheld: failed {failed}"
    match work.outcome:
        case "complete":
            return work.reward, "complete"
        case "stopped":
            return work.reward, "interrupted by us: paid in full"
        case "partial":
            part = f"{work.done} of {work.whole} {work.counted}"
            if work.resumable:
                return NOTHING, f"{part}: can continue while the launch runs"
            match terms.partial:
                case "pro_rata":
                    return pro_rata(work.reward, work.done, work.whole), part
                case "full":
                    return work.reward if work.done else NOTHING, f"{part}, paid in full"
                case "none":
                    return NOTHING, f"{part}, not paid"
        case "practice_only":
            return terms.practice, "practice only"
        case "continued":
            return NOTHING, "continued: paid with the later visit"
        case "running":
            return NOTHING, "still at work"


def failed_checks(records: Sequence[Rated], checks: Collection[str]) -> dict[tuple[str, str], str]:
    """(Pseudonym, unit) → the first of ``checks`` that the worker or their work in it failed. Raises CheckError."""
    if not checks:
        return {}
    names = known_checks(checks)
    failed: dict[tuple[str, str], str] = {}
    of_workers = check_workers(records, names)
    for record in records:
        verdicts = [*check_dialogue(record, names), *of_workers.get(record.worker, [])]
        for verdict in verdicts:
            if verdict.passed is False:
                failed.setdefault((record.worker, unit_of(record)), verdict.check)
    return failed
