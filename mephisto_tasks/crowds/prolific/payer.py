"""Paying on Prolific: approvals of submissions, and bonuses for the rest.

Approving twice does nothing. A bonus that is asked for twice is paid twice, and Prolific knows it by no name of ours. So
bonuses go in this order: they are set up, which charges nothing; what Prolific understood is compared with what was
meant; they are noted as ``paying``; Prolific is asked once. Where the answer is lost, what it lists for the submission
decides, and where it lists nothing, a person."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

from mephisto_tasks.crowds.by_file import worker_names
from mephisto_tasks.crowds.link.datastore import sessions
from mephisto_tasks.crowds.prolific import handed_in, statuses
from mephisto_tasks.crowds.prolific.client import Prolific, ProlificError, Uncertain, asking, read_token
from mephisto_tasks.crowds.prolific.store import COMPLETE, PROVIDER, ProlificStore
from mephisto_tasks.payments.ledger import LISTED_LATE_S, Ledger, Note, Owed, Payment, Proposal, Rejection, Remaining
from mephisto_tasks.payments.policy import PayError, money
from mephisto_tasks.storage.results import newest_settings
from mephisto_tasks.storage.work import Work
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.statistics.core.formatting import counted

WORDS: dict[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"))
ONCE = 200  # submissions, or bonuses, in one request
DID_NOTHING = (0, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
"""Refusals of a payment that certainly paid nothing; 0: Prolific was out of reach. Others may come after the effect."""
BUSY_PAUSES_S = (5.0, 15.0, 45.0)  # between tries to pay while Prolific is busy, which says that it did nothing
LISTED_SCREEN_OUTS = "screen-out payments among bonuses"  # what a workspace's lists may lack


@dataclass(frozen=True)
class Waits:
    """Seconds to wait for what Prolific does later: approvals, bonuses that are listed; ``poll``: between two looks."""

    approved: float = 180.0
    listed: float = 60.0
    poll: float = 3.0


WAITS = Waits()


class ProlificPayer:
    """Pays from one account for what was done in the studies of a task."""

    witness = "Prolific"

    def __init__(self, data_dir: Path, task_name: str, requester: str) -> None:
        self.account = f"{PROVIDER}:{requester}"
        self.title = f"Prolific ({requester})"
        self._requester = requester
        self._pays_returned = bool(newest_settings(data_dir, task_name, "provider").get("pay_returned", True))
        self._payments = [one for one in Ledger(data_dir, task_name).payments() if one.account == self.account]
        self._store = ProlificStore(data_dir)
        studies = self._store.studies(task_name)
        others = {study.study_id for study in studies if study.account != requester}
        visits = [one for one in sessions(data_dir, task_name, PROVIDER) if one.study not in others]
        self._study_ids = {*(study.study_id for study in studies), *(visit.study for visit in visits)} - {"", *others}
        self._workspaces = {study.study_id: study.workspace for study in studies}
        self._of_agent = {visit.agent_id: visit.session for visit in visits if visit.agent_id}
        self._of_worker = {visit.worker_name: visit.session for visit in visits}
        self._turned_away = {one.session for one in self._store.endings("kind <> ?", COMPLETE)}
        """Submissions that were ended without work, by us or by a failed practice: Prolific forbids to reject them."""
        self._names = worker_names(data_dir)
        self._submissions_of: dict[str, set[str]] = defaultdict(set)  # pseudonym → submissions, of all that is owed

    @cached_property
    def _client(self) -> Prolific:
        return Prolific(read_token(self._requester))

    @cached_property
    def _there(self) -> handed_in.HandedIn:
        return handed_in.HandedIn(self._client, self._study_ids, self._workspaces)

    def _look_again(self) -> None:
        self._there = self._there.again()

    def _session(self, work: Work) -> str:
        """The session; for work without a unit (a practice), the worker's last session."""
        if work.agent_id:
            return self._of_agent.get(work.agent_id, "")
        return self._of_worker.get(self._names[work.worker_id], "")

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        proposal = Proposal()
        for payment in self._payments:
            if payment.state in ("paying", "sent") and self._is_paid(payment):
                words = "Prolific lists it"
                proposal.confirmed.append(payment.model_copy(update={"state": "confirmed", "words": words}))
        due: set[str] = set()
        for one in owed:
            session = self._session(one.due.work)
            self._submissions_of[one.due.work.worker] |= {session} - {""}
            if one.due.work.outcome == "practice_only":
                self._turned_away.add(session)
            if one.due.work.outcome not in ("running", "continued"):
                due |= {session} if one.due.amount else set()
                self._propose(one, session, proposal)
        proposal.notes += self._notes(due, proposal)
        return proposal

    def _propose(self, owed: Owed, session: str, proposal: Proposal) -> None:
        work, left = owed.due.work, owed.left
        there = self._there.submissions.get(session)

        def remains(words: str, *, refused: bool = False, **more: str) -> None:
            if left > 0:
                status = there.status if there is not None else ""
                until = handed_in.day(there.approves_itself_at) if there is not None else ""
                said = words.format(id=session, status=status, worker=work.worker, day=until, **more)
                proposal.remaining.append(Remaining(owed, left, said, refused=refused))

        if there is None:
            remains(WORDS["unlisted"] if session else WORDS["no_submission"], refused=bool(session))
            return
        study, is_approved = self._there.studies[there.study], bool(owed.paid.get("approval"))
        if study.currency not in ("", owed.due.currency):
            remains(WORDS["other_currency"], refused=True, there=study.currency, here=owed.due.currency)
            return
        approval = owed.payment(self.account, "approval", session, study.reward)
        is_whole = owed.due.amount >= work.reward > 0
        if there.is_approved:
            if not is_approved:
                proposal.found.append(approval)
                left -= study.reward
        elif there.status == statuses.SCREENED_OUT:
            paid = self._there.screened_out(there)
            if paid and not owed.paid.get("bonus"):
                proposal.found.append(owed.payment(self.account, "bonus", session, paid))
                owed = replace(owed, paid={**owed.paid, "bonus": 1})
                left -= paid
        elif there.status == statuses.REJECTED:
            remains(WORDS["rejected"])
            return
        elif there.status in (statuses.RESERVED, statuses.ACTIVE):
            remains(WORDS["still_open"])
            return
        elif there.status == statuses.AWAITING_REVIEW or there.is_over:
            if is_whole and not is_approved and there.is_over and not self._pays_returned:
                remains(WORDS["returned"])
                return
            is_paid_in_part = there.is_over and (owed.paid.get("bonus") or self._strange_bonus(there))
            if is_whole and not is_approved and not is_paid_in_part:
                proposal.payments.append(approval)
                left -= study.reward
            elif not is_approved and not there.is_over:
                remains(WORDS["part_handed_in"])
                return
        else:
            remains(WORDS["unknown"])
            return
        if left <= 0:
            return
        between = (one for one in self._payments if one.state == "paying" and one.assignment == session)
        if not all(map(self._is_paid, between)):
            remains(WORDS["in_between"])
        elif strange := self._strange_bonus(there):
            remains(WORDS["strange"], amount=money(strange, owed.due.currency))
        else:
            proposal.payments.append(owed.payment(self.account, "bonus", session, left))

    def _strange_bonus(self, there: handed_in.Submission) -> Decimal:
        """One that Prolific lists, and that neither we nor a screen-out can have paid."""
        ours = [one for one in self._payments if one.assignment == there.id and one.batch and one.state != "failed"]
        known = Counter(handed_in.in_cents(one.amount) for one in ours)
        if self._lists_screen_outs(there):
            known[handed_in.in_cents(self._there.screened_out(there))] += 1
        return handed_in.major(next(iter(self._there.listed(there.id) - known), 0))

    def _lists_screen_outs(self, of: handed_in.Submission) -> bool:
        """Whether screen-out payments may be among the bonuses that Prolific lists; as long as nobody knows, they may."""
        return not self._store.lacks(self._workspaces.get(of.study, ""), LISTED_SCREEN_OUTS)

    def _is_paid(self, payment: Payment) -> bool:
        if payment.is_bonus:
            return self._there.listed(payment.assignment)[handed_in.in_cents(payment.amount)] > payment.before
        there = self._there.submissions.get(payment.assignment)
        return there is not None and there.is_approved

    def _notes(self, due: Collection[str], proposal: Proposal) -> Iterator[str]:
        settled = [one for one in self._payments if one.state != "failed"]
        proposed = {one.assignment for one in (*proposal.payments, *settled) if not one.is_bonus}
        by_bonus = {one.assignment or self._of_agent.get(one.agent_id) for one in settled if one.is_bonus} - proposed
        waiting = [one for one in self._there.submissions.values() if one.status == statuses.AWAITING_REVIEW]
        if waiting:
            first = handed_in.day(min(one.approves_itself_at for one in waiting))
            many = counted(len(waiting), "submission")
            yield f"Waiting for approval on {self.title}: {many}. Prolific approves them automatically from {first} on"
        nothing = sorted(one.id for one in waiting if one.id not in {*due, *proposed, *by_bonus})
        for words, named in (
            (WORDS["paid_already"], sorted(one.id for one in waiting if one.id in by_bonus)),
            (WORDS["turned_away_wait"], [one for one in nothing if one in self._turned_away]),
            (WORDS["owed_nothing"], [one for one in nothing if one not in self._turned_away]),
        ):
            if named:
                yield words.format(number=counted(len(named), "submission"), ids=", ".join(named))
        confirmed = {one.token for one in proposal.confirmed}
        if until := max((one.listed_by for one in self._payments if one.token not in confirmed), default=0.0):
            at = f"{datetime.fromtimestamp(until):%H:%M}"
            yield f"Prolific lists bonuses late. Run this again after {at}, before you look for them there"

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        """The cost from Prolific's calculator, which knows the account's fee and its tax."""
        amount = sum(handed_in.in_cents(payment.amount) for payment in payments)
        return handed_in.major(round(self._client.cost(amount, 1, "its fees")) - amount)

    def check(self, payments: Sequence[Payment]) -> None:
        """Enough money for bonuses, and for work that was returned: that of other rewards was set aside by the studies."""
        needed: dict[str, list[Payment]] = defaultdict(list)
        for payment in payments:
            there = self._there.submissions.get(payment.assignment)
            if there is not None and (payment.is_bonus or there.is_over):
                study = self._there.studies[there.study]
                needed[self._workspaces.get(study.id) or study.workspace].append(payment)
        for workspace, some in needed.items():
            if not workspace:  # Prolific checks it once more as it pays
                continue
            with asking("read the balance"):
                balance = handed_in.major(self._client.get(f"workspaces/{workspace}/balance/")["available_balance"])
            total = sum((payment.amount for payment in some), Decimal(0)) + self.cost(some)
            if total > balance:
                currency = some[0].currency
                has, comes_to = (money(amount, currency) for amount in (balance, total))
                what = f"the workspace has {has}, but bonuses with their fees cost {comes_to}, so nothing was sent"
                raise PayError(what, try_="top up the workspace in Prolific's web app, and run this again")

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        # Note where one is not among the bonuses: a lost ledger does not take a bonus for it later
        for one in self._there.submissions.values():
            paid = handed_in.in_cents(self._there.screened_out(one))
            if paid and time.time() > one.handed_in + LISTED_LATE_S and not self._there.listed(one.id)[paid]:
                self._store.note_lack(self._workspaces.get(one.study, ""), LISTED_SCREEN_OUTS)
        bonuses = [payment for payment in payments if payment.is_bonus]
        # First, and to their end: both at once are too much for the workspace's wallet.
        bonuses += self._approve([payment for payment in payments if not payment.is_bonus], note)
        sent: list[Payment] = []
        by_study: dict[str, list[Payment]] = defaultdict(list)
        for payment in bonuses:
            by_study[self._there.submissions[payment.assignment].study].append(payment)
        for study, some in sorted(by_study.items()):
            for batch in _batches(some):
                sent += self._pay(study, batch, note)
        self._until_paid(sent, note, WAITS.listed)

    def _approve(self, approvals: Sequence[Payment], note: Note) -> list[Payment]:
        """Approve all, and wait until Prolific has done it; returns those that it refused, to be paid as a bonus."""
        if not approvals:
            return []
        self._look_again()
        several, single, asked, refused = (list[Payment]() for _ in range(4))
        for payment in approvals:
            there = self._there.submissions.get(payment.assignment)
            if there is None:
                note(payment, payment.state, WORDS["unlisted"].format(id=payment.assignment, worker=payment.worker))
            elif there.is_approved:
                note(payment, "confirmed", "was already approved")
            elif there.status == statuses.AWAITING_REVIEW:
                several.append(payment)
            elif there.is_over and self._pays_returned:
                single.append(payment)
            else:
                note(payment, "failed", f"submission {there.id} is {there.status} on Prolific")
        for some in (several[at : at + ONCE] for at in range(0, len(several), ONCE)):
            try:
                with asking(f"approve {counted(len(some), 'submission')}"):
                    body = {"submission_ids": [payment.assignment for payment in some]}
                    self._client.post("submissions/bulk-approve/", body, repeat=True)
            except ProlificError as error:
                if _is_of_all(error):
                    raise
                single = [*some, *single]
            else:
                note.batch(some, "sent")
                asked += some
        for payment in single:
            (asked if self._approve_one(payment, note) else refused).append(payment)
        for payment in self._until_paid(asked, note, WAITS.approved):
            note(payment, "sent", WORDS["unapproved"].format(id=payment.assignment))
        if refused:
            self._look_again()  # a refusal may come after the effect
        for payment in refused:
            if self._is_paid(payment):
                note(payment, "confirmed", "Prolific lists it")
        return [payment for payment in refused if self._there.submissions[payment.assignment].is_over]

    def _approve_one(self, payment: Payment, note: Note) -> bool:
        try:
            with asking(f"approve submission {payment.assignment}"):
                path = f"submissions/{payment.assignment}/transition/"
                self._client.post(path, {"action": "APPROVE"}, repeat=True)
        except ProlificError as error:
            if _is_of_all(error):
                raise
            status = self._there.submissions[payment.assignment].status
            is_over = status in (statuses.RETURNED, statuses.TIMED_OUT)
            words = WORDS["not_approved"].format(status=status, error=error.problems[0].what) if is_over else str(error)
            note(payment, "intended" if is_over else "failed", words)
            return False
        note(payment, "sent", "")
        return True

    def _until_paid(self, payments: Sequence[Payment], note: Note, patience_s: float) -> list[Payment]:
        """Note what Prolific says is paid, until that is all, or patience ends; what it does not say of."""
        left, end = list(payments), time.monotonic() + patience_s
        while left:
            self._look_again()
            paid = [payment for payment in left if self._is_paid(payment)]
            for payment in paid:
                note(payment, "confirmed", "Prolific lists it")
            left = [payment for payment in left if payment not in paid]
            if time.monotonic() > end:
                break
            if left:
                time.sleep(WAITS.poll)
        return left

    def _pay(self, study: str, payments: Sequence[Payment], note: Note) -> list[Payment]:
        """Bonuses of one study, each for another submission; returns those that Prolific was asked to pay."""
        self._look_again()
        payments = [one for one in payments if not self._may_be_paid(one, note)]
        if not payments:
            return []
        people = {one.assignment: self._there.submissions[one.assignment].participant for one in payments}
        rows = "".join(f"{people[one.assignment]},{one.amount:.2f}\n" for one in payments)
        try:
            with asking(f"set up {counted(len(payments), 'bonus payment')}"):
                # One that nobody pays costs nothing, so that it may be set up again.
                body = {"study_id": study, "csv_bonuses": rows}
                answer = self._client.post("submissions/bonus-payments/", body, repeat=True)
        except ProlificError as error:
            if _is_of_all(error):
                raise
            if len(payments) == 1:
                note(payments[0], "failed", str(error))
                return []
            middle = len(payments) // 2  # somebody among them cannot be paid
            return [*self._pay(study, payments[:middle], note), *self._pay(study, payments[middle:], note)]
        meant, understood = sum(handed_in.in_cents(one.amount) for one in payments), round(float(answer["amount"]))
        if meant != understood:
            currency = payments[0].currency
            here, there = (money(handed_in.major(cents), currency) for cents in (meant, understood))
            raise PayError(WORDS["mismatch"].format(here=here, there=there))
        set_up = str(answer["id"])
        batch = [one.model_copy(update={"batch": set_up, "before": self._equal_before(one)}) for one in payments]
        # What is paid next for the same work must know of these.
        tokens = {one.token for one in batch}
        others = [one for one in self._payments if one.token not in tokens]
        self._payments = [*others, *(one.model_copy(update={"state": "paying"}) for one in batch)]
        for pause_s in (*BUSY_PAUSES_S, None):
            note.batch(batch, "paying")
            try:
                with asking(f"pay {counted(len(batch), 'bonus payment')}"):
                    self._client.post(f"bulk-bonus-payments/{batch[0].batch}/pay/")
            except Uncertain as error:
                note.batch(batch, "paying", str(error))
                return list(batch)
            except ProlificError as error:
                if error.status not in DID_NOTHING:
                    note.batch(batch, "paying", str(error))
                    raise
                unpaid = [one.model_copy(update={"batch": "", "before": 0}) for one in batch]
                note.batch(unpaid, "intended", str(error))
                if error.status != HTTPStatus.TOO_MANY_REQUESTS or pause_s is None:
                    raise
                time.sleep(pause_s)
            else:
                note.batch(batch, "sent")
                return list(batch)
        raise AssertionError("the last try returns or raises")

    def _may_be_paid(self, payment: Payment, note: Note) -> bool:
        """Whether it was paid in a way that the ledger does not know: another copy of it did, say. Then it is noted so."""
        there = self._there.submissions[payment.assignment]
        if payment.kind == "approval" and there.is_approved:
            note(payment, "confirmed", "Prolific lists it")
        elif strange := self._strange_bonus(there):
            amount = money(strange, payment.currency)
            note(payment, "failed", WORDS["strange"].format(amount=amount, id=there.id, worker=payment.worker))
        else:
            return False
        return True

    def _equal_before(self, payment: Payment) -> int:
        """Equal bonuses for the same submission: those that Prolific lists, or that the ledger knows, if those are more."""
        known = [
            one
            for one in self._payments
            if (one.assignment, one.amount, one.is_bonus) == (payment.assignment, payment.amount, True)
            and one.token != payment.token
            and one.batch  # not a screen-out payment, which Prolific may list or not
            and one.state in ("paying", "sent", "confirmed", "by_hand")
        ]
        there = self._there.submissions[payment.assignment]
        just_screened_out = time.time() - there.handed_in < LISTED_LATE_S
        may_follow = just_screened_out and self._lists_screen_outs(there)
        late = may_follow and self._there.screened_out(there) == payment.amount
        return max(self._there.listed(payment.assignment)[handed_in.in_cents(payment.amount)], len(known) + late)

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        self._look_again()
        return list(handed_in.differences(self._there, payments))

    def problems(self, rejections: Sequence[Rejection]) -> list[str]:
        paid = {one.assignment for one in self._payments if one.state != "failed"}
        found = (
            handed_in.rejection_problem(one, self._submission_of(one), paid, self._turned_away) for one in rejections
        )
        return [words for words in found if words]

    def _submission_of(self, rejection: Rejection) -> handed_in.Submission | None:
        mine = self._submissions_of.get(rejection.id, set())
        return self._there.submissions.get(next(iter(mine)) if len(mine) == 1 else rejection.id)

    def reject(self, rejection: Rejection) -> None:
        submission = self._submission_of(rejection)
        assert submission is not None, "its problems are asked for first"
        with asking(f"reject submission {submission.id}"):
            body = {"action": "REJECT", "rejection_category": rejection.category, "message": rejection.message.strip()}
            self._client.post(f"submissions/{submission.id}/transition/", body, repeat=True)


def _batches(payments: Sequence[Payment]) -> Iterator[list[Payment]]:
    """Split payments into parts of a size that Prolific takes, with at most one bonus per submission in each."""
    left = list(payments)
    while left:
        firsts: dict[str, Payment] = {}
        for payment in left:
            if len(firsts) < ONCE:
                firsts.setdefault(payment.assignment, payment)
        yield list(firsts.values())
        left = [payment for payment in left if firsts.get(payment.assignment) is not payment]


def _is_of_all(error: ProlificError) -> bool:
    """Whether it concerns the account or the site, and not these payments alone."""
    return error.may_pass or error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT)
