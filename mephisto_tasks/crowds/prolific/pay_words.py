"""What ``pay`` says of submissions on Prolific, and what to do about each."""

from __future__ import annotations

BY_HAND = "Pay it on Prolific's site (bonus payments of the study), and note it with --settled {worker}"
DECIDE = "Decide what is right, do it on Prolific's site, and note it with --settled {worker}"
NO_SUBMISSION = "no submission of theirs is known. " + DECIDE
UNLISTED = "Prolific does not list submission {id}. " + DECIDE
STILL_OPEN = (
    "submission {id} is still {status} there: it is not handed in yet. Run this again once they have handed it in, or their "
    "time is over"
)
PART_HANDED_IN = (
    "submission {id} was handed in with a part of the work, and Prolific approves it as a whole on {day}. Approve it there, "
    "or ask the participant to return it: once it is RETURNED, their share is paid as a bonus"
)
REJECTED = "submission {id} was rejected there. If that was a mistake, ask Prolific's support, and run this again"
RETURNED = "submission {id} is {status} there, and pay_returned=false pays nothing for it. " + DECIDE
UNKNOWN = "submission {id} is {status} there, a status that this program does not know. " + DECIDE
IN_BETWEEN = "an earlier bonus for submission {id} is not settled. Settle it first"
STRANGE = (
    "Prolific lists a bonus of {amount} for submission {id} that the ledger does not know: it may be this payment, made by "
    "hand or with a ledger that is lost. If it is not, pay on Prolific's site. Then note it with --settled {worker}"
)
OTHER_CURRENCY = "Prolific pays the study in {there}, and the work was launched in {here}. " + BY_HAND
PAID_ALREADY = (
    "Handed in on Prolific, and paid by a bonus before: {number} ({ids}). Prolific pays them once more when it approves "
    "them by itself. Ask their raters to return them, or Prolific's support"
)
TURNED_AWAY_WAIT = (
    "Asked to return on Prolific, and not returned yet: {number} ({ids}). Nobody may reject these. Remind their raters "
    "there, or Prolific pays them the reward"
)
UNAPPROVED = (
    "Prolific took the request, and has not approved submission {id}. Run this again, which asks once more; if that does "
    "not help, approve it on Prolific's site"
)
NOT_APPROVED = "Prolific would approve no {status} submission ({error}): it is paid as a bonus"
MISMATCH = (
    "Prolific understood bonuses of {there}, and {here} were meant: nothing was paid. Please report this "
    "as a fault of parlai-humaneval"
)
OWED_NOTHING = (
    "Handed in on Prolific, and owed nothing by these terms: {number} ({ids}). They are not proposed. Reject them with "
    "--reject, or Prolific pays them"
)
