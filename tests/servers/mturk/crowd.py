"""MTurk as a whole: requesters on one side, workers on the other, and the rules between them.

:class:`Crowd` holds what is known, what workers can do, and what time does by itself. What requesters can do is in
:mod:`.operations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from threading import RLock
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from ..mechanics import Clock
from .errors import AwsError, insufficient_funds, invalid
from .qualifying import actions_guarded, lets_in
from .records import (
    ABANDONED,
    APPROVED,
    IN_PROGRESS,
    RETURNED,
    SUBMITTED,
    Account,
    Assignment,
    Hit,
    Names,
    QualificationType,
    Worker,
)

ANSWERS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
NO_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"


class NotAllowed(Exception):
    """What a worker is told who cannot do that."""


class Crowd:
    """All accounts, HITs and workers. Hold ``lock`` to read or change several things at one time."""

    def __init__(self, sandbox: bool, seed: int = 0) -> None:
        self.sandbox = sandbox
        self.clock = Clock()
        self.lock = RLock()
        self.names = Names(seed)
        self.accounts: dict[str, Account] = {}
        self.keys: dict[str, str] = {}
        """Access key id → account."""
        self.workers: dict[str, Worker] = {}
        self.qualification_types: dict[str, QualificationType] = {}

    def open_account(self, key: str, deposited: str = "100.00", name: str = "requester") -> Account:
        """Give a requester an account, or another key to theirs."""
        self.keys[key] = name
        return self.accounts.setdefault(name, Account(name, Decimal(deposited), self.sandbox))

    def add_worker(self, worker: Worker) -> Worker:
        self.workers[worker.id] = worker
        return worker

    def worker(self, worker_id: str) -> Worker:
        """Of that name; who is not known yet signs up by coming."""
        return self.workers.setdefault(worker_id, Worker(worker_id))

    # What there is

    def hits(self) -> list[Hit]:
        """Those that are not disposed of, oldest first."""
        with self.lock:
            self.pass_time()
            return [hit for account in self.accounts.values() for hit in account.hits.values() if not hit.disposed]

    def hit(self, hit_id: str) -> Hit | None:
        found = (account.hits.get(hit_id) for account in self.accounts.values())
        return next((hit for hit in found if hit is not None), None)

    def forget_hit(self, hit_id: str) -> None:
        """Let a HIT be gone as if it had never been: deleted by hand long ago."""
        with self.lock:
            for account in self.accounts.values():
                account.hits.pop(hit_id, None)

    def assignments(self, *statuses: str) -> list[Assignment]:
        """Of all HITs; those of these statuses if any are named."""
        with self.lock:
            self.pass_time()
            every = [a for account in self.accounts.values() for hit in account.hits.values() for a in hit.assignments]
        return [assignment for assignment in every if not statuses or assignment.status in statuses]

    def assignment(self, assignment_id: str) -> Assignment | None:
        """The last of that id: an id is used again for who accepts after somebody gave it back."""
        return next((a for a in reversed(self.assignments()) if a.id == assignment_id), None)

    # What time does

    def pass_time(self) -> None:
        """Give up work that took too long, and approve what nobody reviewed in time."""
        now = self.clock.now()
        with self.lock:
            for account in self.accounts.values():
                for hit in list(account.hits.values()):
                    for assignment in hit.assignments:
                        self._age(account, assignment, now)

    def _age(self, account: Account, assignment: Assignment, now: float) -> None:
        if assignment.status == IN_PROGRESS and now > assignment.deadline:
            self._give_up(assignment, ABANDONED)
        due = assignment.auto_approval
        if assignment.status == SUBMITTED and due is not None and now > due:
            self.approve(account, assignment, due)

    def approve(self, account: Account, assignment: Assignment, at: float) -> None:
        """Pay for the work: from what was held for it, or anew if it had been rejected."""
        hit = assignment.hit
        cost = hit.type.reward + hit.fee
        if assignment.status != SUBMITTED and cost > account.available(at):
            raise insufficient_funds()
        assignment.status, assignment.reviewed = APPROVED, at
        account.rewards += hit.type.reward
        account.fees += hit.fee
        self.worker(assignment.worker).number_approved += 1

    def _give_up(self, assignment: Assignment, status: str) -> None:
        assignment.status = status
        assignment.hit.free_ids.append(assignment.id)

    # What workers do

    def may(self, action: str, worker_id: str, hit: Hit) -> bool:
        """``action``: discover, preview or accept."""
        worker = self.worker(worker_id)
        if worker_id in self.accounts[hit.type.owner].blocks:
            return False
        return all(
            lets_in(requirement, worker, self.qualification_types)
            for requirement in hit.type.requirements
            if action in actions_guarded(requirement)
        )

    def offered(self, worker_id: str) -> list[Hit]:
        """The HITs that a worker finds in the list: one of them could be accepted each, were it but for its rules."""
        now = self.clock.now()
        with self.lock:
            return [
                hit
                for hit in self.hits()
                if hit.status(now) == "Assignable"
                and self.may("discover", worker_id, hit)
                and not any(a.worker == worker_id for a in hit.assignments if a.status not in (RETURNED, ABANDONED))
            ]

    def accept(self, worker_id: str, hit_id: str) -> Assignment:
        """Begin to work on a HIT."""
        with self.lock:
            hit = self.hit(hit_id)
            if hit is None or hit not in self.offered(worker_id):
                raise NotAllowed("There are no more of these HITs available for you.")
            if not self.may("accept", worker_id, hit):
                raise NotAllowed("You do not meet the qualifications of this HIT.")
            name = hit.free_ids.pop() if hit.free_ids else self.names.new()
            assignment = Assignment(name, hit, worker_id, self.clock.now())
            hit.assignments.append(assignment)
            return assignment

    def give_back(self, assignment_id: str) -> Assignment:
        """Return a HIT, so that others may do it."""
        with self.lock:
            assignment = self._in_progress(assignment_id)
            self._give_up(assignment, RETURNED)
            return assignment

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> Assignment:
        """Hand in the work: what a page posts to ``/mturk/externalSubmit``."""
        with self.lock:
            assignment = self._in_progress(assignment_id)
            if not answers:
                raise NotAllowed("A page must submit at least one field beside assignmentId.")
            assignment.answer = answers_xml(answers)
            assignment.status, assignment.submitted = SUBMITTED, self.clock.now()
            return assignment

    def _in_progress(self, assignment_id: str) -> Assignment:
        assignment = self.assignment(assignment_id)
        if assignment is None or assignment.status != IN_PROGRESS:
            raise NotAllowed("You are not working on this HIT: it was given back, submitted, or took too long.")
        return assignment


def answers_xml(answers: Mapping[str, str]) -> str:
    """As ListAssignmentsForHIT gives them."""
    fields = "".join(
        f"<Answer><QuestionIdentifier>{escape(name)}</QuestionIdentifier><FreeText>{escape(text)}</FreeText></Answer>"
        for name, text in answers.items()
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{ANSWERS}">{fields}</QuestionFormAnswers>'
    )


def external_url(question: str) -> str:
    """The address of an ExternalQuestion; empty for another kind of question.

    Raises:
        AwsError: the question is no XML, or its address is not one that workers' browsers load.
    """
    try:
        root = ElementTree.fromstring(question)
    except ElementTree.ParseError as error:
        raise AwsError(
            "RequestError",
            "There was an error parsing the XML question or answer data in your request. Please make sure the data is "
            "well-formed and validates against the appropriate schema.",
            turk_code="XMLParseError",
        ) from error
    if not root.tag.endswith("}ExternalQuestion"):
        return ""
    url = next((child.text or "" for child in root if child.tag.endswith("}ExternalURL")), "")
    if not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise invalid(f"The ExternalURL must begin with https:// (it is {url!r}).")
    return url
