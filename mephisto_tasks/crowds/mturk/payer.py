"""Paying on MTurk: approvals of submissions, and bonuses through an assignment of the same worker for the rest.

MTurk pays a reward by approving a submitted assignment, and a bonus only with such an assignment. A worker who left
without submitting can be paid by another assignment of theirs, or by hand. Approving twice does nothing. A bonus
carries a token, which MTurk knows for 24 hours. The token is also in the reason that the worker reads, so that a bonus
whose sending was cut off is found among those that MTurk lists."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.by_file import compared_approvals, worker_names
from mephisto_tasks.crowds.mturk.client import MTurkError, asking, balance, client_for
from mephisto_tasks.crowds.mturk.launch import FEE_SHARE, fee, fee_share
from mephisto_tasks.crowds.mturk.settings import SANDBOX
from mephisto_tasks.payments.ledger import Note, Owed, Payment, Proposal, Remaining
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from mephisto_tasks.storage.results import query, query_file, rows_of
from mephisto_tasks.storage.work import Outcome, Work
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.statistics.core.formatting import counted

WORDS: dict[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"))
AT_ONCE = 8  # HITs that are looked at side by side
SLACK_S = 300.0  # by so much this machine's clock and MTurk's may differ
GONE = ("AWS.MechanicalTurk.HITDoesNotExist", "AWS.MechanicalTurk.AssignmentDoesNotExist")
NOT_HANDED_IN = "AWS.MechanicalTurk.InvalidAssignmentState"
"""MTurk's answer to whoever looks at an assignment that a worker still has, or gave back."""
USED_ALREADY = "AWS.MechanicalTurk.DuplicateRequest"
OF_THE_ACCOUNT = ("ServiceFault", "InsufficientFunds", "NotAuthorized", "AWSAccountNotLinked")
"""Refusals of MTurk's own that have nothing to do with the payment itself."""
INVALID = "ValidationException"  # AWS's own word for a payment that cannot be: all its other words are about the asking

HANDED_IN: tuple[Outcome, ...] = ("complete", "partial", "stopped")
"""Outcomes of work whose worker is gone; the rest of it may be owed later."""


@dataclass(frozen=True)
class Assignment:
    """One that was handed in, as MTurk tells. ``status``: Submitted, Approved or Rejected. Times are since 1970."""

    id: str
    worker_name: str
    status: str
    accepted: float
    submitted: float

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Assignment:
        name, worker, status = (str(answer[key]) for key in ("AssignmentId", "WorkerId", "AssignmentStatus"))
        moments = (answer.get(key) for key in ("AcceptTime", "SubmitTime"))
        accepted, submitted = (0.0 if moment is None else moment.timestamp() for moment in moments)
        return cls(name, worker, status, accepted, submitted)


@dataclass(frozen=True)
class Hit:
    """As the launch noted it: ``unit`` and ``assignment`` of the worker who has it still, ``seconds`` that one may take."""

    id: str
    run: str
    unit: str
    assignment: str
    seconds: float


def is_of_one(error: MTurkError) -> bool:
    """Whether MTurk refuses this one request, so that all others may go well."""
    of_mturk = error.code.startswith("AWS.MechanicalTurk.")
    return error.code == INVALID or (of_mturk and error.code.rpartition(".")[2] not in OF_THE_ACCOUNT)


class MTurkPayer:
    """Pays from one requester's account for what was done in the runs of a task."""

    def __init__(
        self, data_dir: Path, provider: str, requester: str, runs: Sequence[str], *, masters_only: bool
    ) -> None:
        """``masters_only``: their rewards cost more."""
        self._fee_share = {"approval": fee_share(masters_only)}
        self.account = f"{provider}:{requester}"
        self._is_sandbox = provider == SANDBOX
        site = "MTurk's sandbox" if self._is_sandbox else "MTurk"
        self.title = f"{site} ({requester.removesuffix(SANDBOX_SUFFIX)})"
        self.witness = "the crowd's site"
        self._data_dir, self._store = data_dir, data_dir / provider / "mturk.db"
        self._runs = list(runs)
        self._requester, self._provider = requester, provider
        self._unread: dict[str, str] = {}  # HITs of which MTurk does not tell what was handed in → its words

    @cached_property
    def _client(self) -> Any:
        return client_for(self._requester, self._provider)

    @cached_property
    def _handed_in(self) -> dict[str, Assignment]:
        hits = [hit.id for hit in self._hits.values() if hit.run in self._runs]
        with asking("find the AWS keys"):
            self._client.meta  # noqa: B018  # made here, and not by several threads at once
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look-at-hits") as pool:
            return {assignment.id: assignment for of_hit in pool.map(self._of_hit, hits) for assignment in of_hit}

    def _of_hit(self, hit_id: str) -> list[Assignment]:
        try:
            with asking(f"list the submissions for HIT {hit_id}"):
                # One page: a HIT of ours is for one worker.
                answer = self._client.list_assignments_for_hit(HITId=hit_id, MaxResults=100)
                return [Assignment.of(assignment) for assignment in answer["Assignments"]]
        except MTurkError as error:
            if error.code not in GONE:
                if not is_of_one(error):
                    raise
                self._unread[hit_id] = str(error)
            return []

    def _assignment(self, assignment_id: str) -> Assignment | None:
        """As it stands now; None: it was never handed in, or is gone."""
        try:
            with asking(f"look at assignment {assignment_id}"):
                return Assignment.of(self._client.get_assignment(AssignmentId=assignment_id)["Assignment"])
        except MTurkError as error:
            if error.code in (*GONE, NOT_HANDED_IN):
                return None
            raise

    @cached_property
    def _names(self) -> dict[str, str]:
        """Mephisto's worker id → MTurk's."""
        return {number: name.removesuffix(SANDBOX_SUFFIX) for number, name in worker_names(self._data_dir).items()}

    @cached_property
    def _noted(self) -> dict[str, tuple[str, str]]:
        """Agent → the HIT and the assignment that it had, where a launch has noted that."""
        sql = "SELECT agent_id, hit_id, assignment_id FROM agent_assignments"
        rows = rows_of(self._store, "agent_assignments", sql, [])
        return {str(agent): (str(hit), str(name)) for agent, hit, name in rows}

    @cached_property
    def _hits(self) -> dict[str, Hit]:
        sql = """SELECT hits.hit_id, run_id, COALESCE(unit_id, ''), COALESCE(assignment_id, ''),
                        COALESCE(assignment_time_in_seconds, 0) FROM hits JOIN run_mappings USING (hit_id)"""
        return {
            str(hit): Hit(str(hit), str(run), str(unit), str(assignment), float(str(seconds)))
            for hit, run, unit, assignment, seconds in query_file(self._store, sql)
        }

    @cached_property
    def _of_units(self) -> dict[str, Hit]:
        return {hit.unit: hit for hit in self._hits.values() if hit.unit and hit.assignment}

    def _hit_of(self, work: Work) -> Hit | None:
        noted = self._noted.get(work.agent_id)
        return self._of_units.get(work.unit_id) if noted is None else self._hits.get(noted[0])

    def _unread_of(self, work: Work) -> str:
        """Why nobody knows what the worker handed in, empty where it is known; an unknown HIT may be any of those."""
        if not self._unread or not work.agent_id:
            return ""
        hit = self._hit_of(work)
        return next(iter(self._unread.values())) if hit is None else self._unread.get(hit.id, "")

    @cached_property
    def _returned(self) -> set[str]:
        return {str(agent) for (agent,) in query(self._data_dir, "returned")}

    def _matched(self, owed: Sequence[Owed]) -> dict[str, Assignment]:
        """Agent → what it handed in. No assignment is given to two. By what the launch noted; what it did not (it was
        killed, or of an older version) by worker and time, and where clocks differ too much by worker alone: a bonus
        for work that MTurk approves later would pay it twice. MTurk gives an assignment that was returned to the next
        worker under the same id, so that the worker has to be the right one, and of several visits the last."""
        matched: dict[str, Assignment] = {}
        left = dict(self._handed_in)
        works = sorted((one.due.work for one in owed if one.due.work.agent_id), key=lambda work: -work.begun)

        def match(works: Iterable[Work], fits: Callable[[Assignment, Work], bool]) -> None:
            for work in works:
                own = (one for one in left.values() if one.worker_name == self._names.get(work.worker_id))
                assignment = None if work.agent_id in matched else next((one for one in own if fits(one, work)), None)
                if assignment is not None:
                    matched[work.agent_id] = left.pop(assignment.id)

        def is_noted(one: Assignment, work: Work) -> bool:
            if work.agent_id in self._noted:
                return one.id == self._noted[work.agent_id][1]
            return work.unit_id in self._of_units and one.id == self._of_units[work.unit_id].assignment

        match(works, is_noted)
        unnoted = [work for work in works if work.agent_id not in self._noted]
        match(unnoted, lambda one, work: one.accepted - SLACK_S <= work.begun <= one.submitted + SLACK_S)
        unnoted.sort(key=lambda work: work.outcome not in ("complete", "stopped"))
        match(unnoted, lambda one, work: True)
        return matched

    def _vehicle(self, work: Work, own: Assignment | None) -> str:
        """An assignment by which a bonus can be sent to the worker: their first, so that it is always the same one."""
        if own is not None:
            return own.id
        name = self._names.get(work.worker_id)
        mine = [one for one in self._handed_in.values() if one.worker_name == name and one.status != "Rejected"]
        if mine:
            return min(mine, key=lambda one: (one.submitted, one.id)).id
        for row in query(self._data_dir, "parts_of_worker", [work.worker_id]):  # MTurk knows those of its requester
            noted = self._noted.get(str(row[0]))
            other = None if noted is None else self._assignment(noted[1])
            if other is not None and other.worker_name == name and other.status != "Rejected":
                return other.id
        return ""

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        proposal = Proposal()
        matched = self._matched(owed)
        for one in owed:
            if one.left > 0:
                self._propose(one, matched.get(one.due.work.agent_id), proposal)
        known = {assignment.id for assignment in matched.values()}
        due = [one.due for one in owed if one.due.work.agent_id in matched]
        unpaid = {matched[one.work.agent_id].id for one in due if not one.amount and one.work.outcome in HANDED_IN}
        waiting = {one.id for one in self._handed_in.values() if one.status == "Submitted"}
        for words, ids in ((WORDS["without_work"], waiting - known), (WORDS["owed_nothing"], waiting & unpaid)):
            if ids:
                many = counted(len(ids), "assignment")
                proposal.notes.append(words.format(assignments=many, ids=", ".join(sorted(ids))))
        if self._is_sandbox and proposal.payments:
            amount = sum(payment.amount for payment in proposal.payments)
            proposal.notes.append(WORDS["in_sandbox"].format(amount=amount))
        return proposal

    def _propose(self, owed: Owed, own: Assignment | None, proposal: Proposal) -> None:
        work, left = owed.due.work, owed.left
        if own is None and (unread := self._unread_of(work)):
            proposal.remaining.append(Remaining(owed, left, WORDS["unread"].format(error=unread), refused=True))
            return
        if own is not None and own.status == "Rejected":
            proposal.remaining.append(Remaining(owed, left, WORDS["rejected"]))
            return
        if own is not None and not owed.paid.get("approval"):
            approval = owed.payment(self.account, "approval", own.id, work.reward)
            (proposal.payments if own.status == "Submitted" else proposal.found).append(approval)
            left = max(left - work.reward, Decimal("0.00"))
        hit = self._hit_of(work)
        of_run = [one.seconds for one in self._hits.values() if one.run == work.task_run_id]
        until = work.begun + (max(of_run, default=0.0) if hit is None else hit.seconds)
        if own is None and work.agent_id and work.agent_id not in self._returned and time.time() < until:
            words = WORDS["still_open"].format(until=f"{datetime.fromtimestamp(until):%H:%M}")
            proposal.remaining.append(Remaining(owed, left, words))
            return
        if left:
            try:
                vehicle = self._vehicle(owed.due.work, own)
                if vehicle:
                    bonus = owed.payment(self.account, "bonus", vehicle, left)
                    (proposal.found if self._listed(bonus) else proposal.payments).append(bonus)
                else:
                    words = WORDS["by_hand"].format(worker=work.worker)
                    proposal.remaining.append(Remaining(owed, left, words))
            except MTurkError as error:
                if not is_of_one(error):
                    raise
                proposal.remaining.append(Remaining(owed, left, WORDS["unread"].format(error=error), refused=True))

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        """MTurk's fees; of bonuses for Masters what it takes of all others."""
        fees = (fee(payment.amount, self._fee_share.get(payment.kind, FEE_SHARE)) for payment in payments)
        return sum(fees, Decimal("0.00"))

    def check(self, payments: Sequence[Payment]) -> None:
        """Enough money for the bonuses: that of the rewards was put aside when their HITs were made."""
        bonuses = [payment for payment in payments if payment.kind == "bonus"]
        needed = sum((payment.amount for payment in bonuses), self.cost(bonuses))
        there = balance(self._client)
        if needed > there:
            lacks = f"{self.title} has ${there:.2f}, and ${needed:.2f} are needed for bonuses and their fees"
            advice = "add money at requester.mturk.com/account, and run this again"
            raise PayError(f"{lacks}: nothing was sent", try_=advice)

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        for payment in payments:
            try:
                (self._approve if payment.kind == "approval" else self._send_bonus)(payment, note)
            except MTurkError as error:
                if not is_of_one(error):
                    raise
                # A payment that an earlier run may have sent must not be repeated because MTurk has forgotten the work.
                uncertain = error.code in GONE and payment.intended_at > 0
                note(payment, payment.state if uncertain else "failed", str(error))

    def _approve(self, payment: Payment, note: Note) -> None:
        if self._confirmed(payment, note, "was already approved"):
            return
        try:
            with asking(f"approve assignment {payment.assignment}"):
                self._client.approve_assignment(AssignmentId=payment.assignment)
        except MTurkError:
            if self._confirmed(payment, note, "has been approved in the meantime"):
                return
            raise
        note(payment, "sent", "")
        self._confirmed(payment, note, "approved")

    def _confirmed(self, payment: Payment, note: Note, words: str) -> bool:
        assignment = self._assignment(payment.assignment)
        if assignment is None or assignment.status != "Approved":
            return False
        note(payment, "confirmed", words)
        return True

    def _send_bonus(self, payment: Payment, note: Note) -> None:
        if self._listed(payment):
            note(payment, "confirmed", "was already sent")
            return
        words = ""
        try:
            with asking(f"send a bonus through assignment {payment.assignment}"):
                self._client.send_bonus(
                    WorkerId=self._names[payment.worker_id],
                    AssignmentId=payment.assignment,
                    BonusAmount=f"{payment.amount:.2f}",
                    Reason=reason(payment),
                    UniqueRequestToken=payment.token,
                )
        except MTurkError as error:
            if error.code != USED_ALREADY:
                raise
            words = str(error)
        note(payment, "sent", words)
        if self._listed(payment):
            note(payment, "confirmed", "sent")

    def _listed(self, payment: Payment) -> bool:
        return any(reference(payment) in bonus["Reason"] for bonus in self._bonuses(payment.assignment))

    def _bonuses(self, assignment_id: str) -> Iterator[dict[str, Any]]:
        try:
            with asking(f"list the bonuses by assignment {assignment_id}"):
                pages = self._client.get_paginator("list_bonus_payments").paginate(AssignmentId=assignment_id)
                for page in pages:
                    yield from page["BonusPayments"]
        except MTurkError as error:
            if error.code not in (*GONE, NOT_HANDED_IN):
                raise

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        approved = {one.id for one in self._handed_in.values() if one.status == "Approved"}
        of_approvals = compared_approvals(payments, approved, "assignment", "MTurk")
        return [*self._unread.values(), *of_approvals, *self._audit_bonuses(payments)]

    def _audit_bonuses(self, payments: Sequence[Payment]) -> Iterator[str]:
        noted: dict[str, list[Payment]] = defaultdict(list)
        for payment in payments:
            if payment.kind == "bonus" and payment.assignment:  # not one that was paid by hand
                noted[payment.assignment].append(payment)
        for assignment in sorted({*noted, *self._handed_in}):
            try:
                listed = list(self._bonuses(assignment))
            except MTurkError as error:
                if not is_of_one(error):
                    raise
                yield str(error)
                continue
            for payment in noted[assignment]:
                amounts = [Decimal(bonus["BonusAmount"]) for bonus in listed if reference(payment) in bonus["Reason"]]
                yield from _compared(payment, amounts)
            ours = [reference(payment) for payment in payments]
            for bonus in listed:
                if not any(name in bonus["Reason"] for name in ours):
                    yield f"MTurk lists a bonus of ${bonus['BonusAmount']} for {assignment}, but the ledger does not"


_PAID = ("sent", "confirmed")


def _compared(payment: Payment, amounts: Sequence[Decimal]) -> Iterator[str]:
    what = f"the bonus of ${payment.amount:.2f} by assignment {payment.assignment} ({reference(payment)})"
    if len(amounts) > 1:
        yield f"{what} was sent {len(amounts)} times"
    elif amounts and amounts[0] != payment.amount:
        yield f"{what} is one of ${amounts[0]:.2f} on MTurk"
    elif not amounts and payment.state in _PAID:
        yield f"{what} is {payment.state} in the ledger, but MTurk does not list it"
    elif amounts and payment.state not in _PAID:
        yield f"{what} was sent, but is {payment.state} in the ledger: run --send, which will find it"


def reference(payment: Payment) -> str:
    """The unique reference of a bonus, in the reason that its worker reads."""
    return f"reference {payment.token}"


def reason(payment: Payment) -> str:
    return f"Thank you for your work in our study ({payment.why}). This pays for it; {reference(payment)}."
