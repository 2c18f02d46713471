"""Prolific's data on a task (studies, submissions, bonuses), differences from the ledger, and rejections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mephisto_tasks.crowds.by_file import compared_approvals
from mephisto_tasks.crowds.crowd import SiteState
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import BRIEF, Prolific, asking, read_token
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore
from mephisto_tasks.payments.ledger import PAID, Payment, Rejection
from mephisto_tasks.payments.policy import DOLLARS, money
from parlai_humaneval._util.errors import misspelt

APPROVES_ITSELF_S = 21 * 24 * 3600.0  # so long after it was handed in, Prolific approves what nobody has looked at


@dataclass(frozen=True)
class Submission:
    """One participation; ``bonuses``: cents of each, screen-out payments too; None: unknown. ``handed_in`` 0: not yet."""

    id: str
    study: str
    participant: str
    status: str
    handed_in: float
    bonuses: tuple[int, ...] | None

    @classmethod
    def of(cls, entry: Mapping[str, Any], study: str) -> Submission:
        """Out of a list, or from a single answer, which name the participant differently."""
        bonuses, done = entry.get("bonus_payments"), entry.get("completed_at")
        return cls(
            id=str(entry["id"]),
            study=study,
            participant=str(entry.get("participant_id") or entry.get("participant") or ""),
            status=statuses.plain(entry.get("status")),
            handed_in=datetime.fromisoformat(str(done).replace("Z", "+00:00")).timestamp() if done else 0.0,
            bonuses=None if bonuses is None else tuple(int(cents) for cents in bonuses),
        )

    @property
    def is_approved(self) -> bool:
        return self.status in (statuses.APPROVED, statuses.PARTIALLY_APPROVED)

    @property
    def approves_itself_at(self) -> float:
        return self.handed_in + APPROVES_ITSELF_S

    @property
    def is_over(self) -> bool:
        return self.status in (statuses.RETURNED, statuses.TIMED_OUT)


@dataclass(frozen=True)
class HandedInStudy:
    """As Prolific has it; amounts are in its ``currency``, which is empty where nobody knows it."""

    id: str
    reward: Decimal
    screen_out: Decimal
    currency: str
    workspace: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> HandedInStudy:
        actions = [action for code in answer.get("completion_codes") or () for action in code.get("actions") or ()]
        paid = next((one["fixed_screen_out_reward"] for one in actions if one.get("fixed_screen_out_reward")), 0)
        return cls(
            id=str(answer["id"]),
            reward=major(answer["reward"]),
            screen_out=major(paid),
            currency=str(answer.get("currency_code") or "").upper(),
            workspace=str(answer.get("workspace") or ""),
        )


class HandedIn:
    """The studies of a task (``workspaces``: of each, where known), read when first asked for. Raises ProlificError."""

    def __init__(
        self, client: Prolific, study_ids: Collection[str], workspaces: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._client, self._ids, self._workspaces = client, sorted(study_ids), workspaces
        self._single: dict[str, tuple[int, ...]] = {}

    @cached_property
    def studies(self) -> dict[str, HandedInStudy]:
        """The studies that people could take part in: no drafts, and no deleted ones."""
        found = {}
        with asking("read the studies"):
            for one in self._ids:
                answer = self._client.find(f"studies/{one}/")
                if answer is None or statuses.plain(answer.get("status")) == statuses.UNPUBLISHED:
                    continue
                study = found[one] = HandedInStudy.of(answer)
                workspace = self._workspaces.get(study.id) or study.workspace
                if not study.currency and workspace:
                    balance = self._client.get(f"workspaces/{workspace}/balance/")
                    found[one] = replace(study, currency=str(balance["currency_code"]).upper())
        return found

    @cached_property
    def submissions(self) -> dict[str, Submission]:
        with asking("list the submissions"):
            return {
                str(entry["id"]): Submission.of(entry, study)
                for study in self.studies
                for entry in self._client.pages("submissions/", study=study, ordering="started_at")
            }

    def again(self) -> HandedIn:
        newer = HandedIn(self._client, self._ids, self._workspaces)
        newer.studies = self.studies
        return newer

    def listed(self, submission: str) -> Counter[int]:
        """Cents → how many bonuses of that amount Prolific lists for a submission."""
        known = self.submissions.get(submission)
        if known is None:
            return Counter()
        if known.bonuses is not None:
            return Counter(known.bonuses)
        if submission not in self._single:
            with asking(f"look at submission {submission}"):
                answer = Submission.of(self._client.get(f"submissions/{submission}/"), known.study)
            self._single[submission] = answer.bonuses or ()
        return Counter(self._single[submission])

    def screened_out(self, submission: Submission) -> Decimal:
        if submission.status != statuses.SCREENED_OUT:
            return Decimal("0.00")
        study = self.studies[submission.study]
        return study.screen_out or major(next(iter(self.listed(submission.id)), 0))


def major(cents: object) -> Decimal:
    return Decimal(int(str(cents))).scaleb(-2)


def day(at: float) -> str:
    """“5 December”."""
    return f"{datetime.fromtimestamp(at):%-d %B}"


def in_cents(amount: Decimal) -> int:
    return int(amount.scaleb(2))


def states(data_dir: Path, task_name: str) -> list[SiteState]:
    """One for each account that has studies of the task. Raises ProlificError."""
    studies = [study for study in ProlificStore(data_dir).studies(task_name) if study.study_id]
    studies.sort(key=lambda study: study.account)
    found = []
    for account, of_account in groupby(studies, key=lambda study: study.account):
        with Prolific(read_token(account), patience=BRIEF) as client, asking("look up the state of the study"):
            found.append(_state(client, f"Prolific ({account})", list(of_account)))
    return found


def _state(client: Prolific, title: str, studies: Sequence[OurStudy]) -> SiteState:
    read = {study.study_id: client.find(f"studies/{study.study_id}/") for study in studies}
    there = {one: answer for one, answer in read.items() if answer is not None}
    ids, answers = list(there), list(there.values())
    counts: Counter[str] = Counter()
    for one in ids:
        for word, count in client.get(f"studies/{one}/submissions/counts/").items():
            counts[statuses.plain(word)] += int(count or 0)
    submissions = (
        Submission.of(entry, one)
        for one in (ids if counts[statuses.AWAITING_REVIEW] else ())
        for entry in client.pages("submissions/", study=one, awaiting_review=True, ordering="started_at")
    )
    waiting = [each for each in submissions if each.status == statuses.AWAITING_REVIEW]
    messages = client.get("messages/unread/").get("results", ())
    return SiteState(
        title=title,
        status=statuses.plain(answers[-1].get("status")).lower() if answers else "deleted",
        places=sum(int(answer.get("total_available_places") or 0) for answer in answers),
        taken=sum(int(answer.get("places_taken") or 0) for answer in answers),
        at_work=counts[statuses.ACTIVE] + counts[statuses.RESERVED],
        returned=counts[statuses.RETURNED],
        timed_out=counts[statuses.TIMED_OUT],
        screened_out=counts[statuses.SCREENED_OUT],
        rejected=counts[statuses.REJECTED],
        approved=counts[statuses.APPROVED] + counts[statuses.PARTIALLY_APPROVED],
        waiting=len(waiting),
        approved_by_itself_at=min((one.approves_itself_at for one in waiting), default=None),
        unread=sum(((message.get("data") or {}).get("study_id") in ids) for message in messages),
    )


CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT", "MALINGERING",
    "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
SHORTEST_MESSAGE = 100  # characters that Prolific wants to read with a rejection


def differences(there: HandedIn, payments: Sequence[Payment]) -> Iterator[str]:
    """Between the ledger's payments and what Prolific says, to the cent."""
    approved = {one.id for one in there.submissions.values() if one.is_approved}
    yield from compared_approvals(payments, approved, "submission", "Prolific")
    yield from _bonuses(there, payments)
    for payment in payments:
        if payment.state == "paying":
            yield f"the bonus of {payment.money} for {payment.assignment} was interrupted (batch {payment.batch})"


def _bonuses(there: HandedIn, payments: Sequence[Payment]) -> Iterator[str]:
    noted: dict[str, Counter[int]] = defaultdict(Counter)
    for payment in payments:
        if payment.is_bonus and payment.state in PAID and (payment.batch or payment.state != "by_hand"):
            noted[payment.assignment][in_cents(payment.amount)] += 1
    forgotten = noted.pop("", Counter())
    currencies = {payment.currency for payment in payments}
    for one in there.submissions.values():
        listed, of_ledger = there.listed(one.id), noted.pop(one.id, Counter())
        # Whether Prolific lists a screen-out payment among bonuses, nobody can know.
        screened_out = Counter({in_cents(paid): 1}) if (paid := there.screened_out(one)) else Counter()
        if listed == of_ledger - screened_out:
            continue
        of_others = (listed - of_ledger) & forgotten
        forgotten -= of_others
        currency = there.studies[one.study].currency or min(currencies, default=DOLLARS)
        for cents in (listed - of_ledger - of_others).elements():
            amount = money(major(cents), currency)
            yield f"Prolific lists a bonus of {amount} for submission {one.id}, but the ledger does not"
        for cents in (of_ledger - listed).elements():
            amount = money(major(cents), currency)
            yield f"the ledger has a bonus of {amount} for submission {one.id}, but Prolific does not list it"
    for submission in noted:
        yield f"the ledger has a bonus for {submission}, which Prolific does not list at all"


def rejection_problem(
    rejection: Rejection, submission: Submission | None, paid: Collection[str], turned_away: Collection[str]
) -> str | None:
    """Why it cannot be rejected; ``paid``: submissions that the ledger has payments for; ``turned_away``: by us."""
    if submission is None:
        return f"{rejection.id}: this task has no such submission, or the worker has several: give the ID of one"
    if rejection.category not in CATEGORIES:
        meant = misspelt(rejection.category, CATEGORIES)
        question = f" Did you mean {meant}?" if meant else ""
        has = f"It has {', '.join(CATEGORIES)}"
        return f"{rejection.id}: Prolific has no category {rejection.category!r}.{question} {has}"
    written = len(rejection.message.strip())
    if written < SHORTEST_MESSAGE:
        return f"{rejection.id}: the message has {written} characters, and Prolific requires {SHORTEST_MESSAGE}"
    if submission.id in paid:
        return f"{rejection.id}: the ledger lists it as paid"
    if submission.id in turned_away:
        return f"{rejection.id}: it ended without work, so Prolific cannot reject it: ask its rater to return it"
    if submission.status != statuses.AWAITING_REVIEW:
        return f"{rejection.id}: it is {submission.status} on Prolific, and only AWAITING REVIEW can be rejected"
    return None
