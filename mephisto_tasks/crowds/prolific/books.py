"""The ledger next to Prolific: where they differ, and which submissions may be rejected."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.handed_in import HandedIn, Submission, in_cents, major
from mephisto_tasks.payments.ledger import PAID, Payment
from mephisto_tasks.payments.payer import Rejection
from mephisto_tasks.payments.quote import DOLLARS, money
from parlai_humaneval._util.errors import misspelt

CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT", "MALINGERING",
    "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
SHORTEST_MESSAGE = 100
"""Characters that Prolific wants to read with a rejection."""


def differences(there: HandedIn, payments: Sequence[Payment]) -> Iterator[str]:
    """Between the ledger's payments and what Prolific says, to the cent."""
    yield from _approvals(there, payments)
    yield from _bonuses(there, payments)
    for payment in payments:
        if payment.state == "paying":
            yield f"the bonus of {payment.money} for {payment.assignment} was left in the middle (batch {payment.batch})"


def _approvals(there: HandedIn, payments: Sequence[Payment]) -> Iterator[str]:
    noted = [one.assignment for one in payments if not one.is_bonus and one.state in ("sent", "confirmed")]
    approved = {one.id for one in there.submissions.values() if one.is_approved}
    for submission in sorted({*noted} - approved - {""}):
        yield f"the ledger has submission {submission} as approved, and Prolific does not"
    # Of workers who were forgotten the ledger knows how many submissions were approved, and not which.
    strange = sorted(approved - {*noted})
    for submission in strange if len(strange) > noted.count("") else ():
        yield f"Prolific has submission {submission} as approved, and the ledger does not: by hand, or by itself"


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
            yield f"Prolific lists a bonus of {amount} for submission {one.id}, and the ledger does not"
        for cents in (of_ledger - listed).elements():
            amount = money(major(cents), currency)
            yield f"the ledger has a bonus of {amount} for submission {one.id}, and Prolific does not list it"
    for submission in noted:
        yield f"the ledger has a bonus for {submission}, which Prolific does not list at all"


def rejection_problem(
    rejection: Rejection, submission: Submission | None, paid: Collection[str], turned_away: Collection[str]
) -> str | None:
    """Why it cannot be rejected; ``paid``: submissions that the ledger has payments for; ``turned_away``: by us."""
    if submission is None:
        return f"{rejection.id}: this task has no such submission, or the worker has several: write the id of one"
    if rejection.category not in CATEGORIES:
        meant = misspelt(rejection.category, CATEGORIES)
        question = f" Did you mean {meant}?" if meant else ""
        return (
            f"{rejection.id}: Prolific has no category {rejection.category!r}.{question} It has {', '.join(CATEGORIES)}"
        )
    written = len(rejection.message.strip())
    if written < SHORTEST_MESSAGE:
        return f"{rejection.id}: the message has {written} characters, and Prolific wants {SHORTEST_MESSAGE}"
    if submission.id in paid:
        return f"{rejection.id}: the ledger has it as paid"
    if submission.id in turned_away:
        return f"{rejection.id}: it was ended without work, and Prolific forbids to reject such: ask its rater to return it"
    if submission.status != statuses.AWAITING_REVIEW:
        return f"{rejection.id}: it is {submission.status} on Prolific, and only AWAITING REVIEW can be rejected"
    return None
