"""Submissions and bonuses: read, approved, rejected, completed, and paid beyond the reward."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from .errors import BUSY, BUSY_FOR_A_SECOND, ApiError, bad, not_found
from .market import GIVEN_BACK, Market, stamp
from .records import (
    ACTIVE,
    APPROVED,
    AWAITING_REVIEW,
    INSIDE,
    NOTHING,
    REJECTED,
    RESERVED,
    STATUSES,
    TIMED_OUT,
    Batch,
    Price,
    Study,
    Submission,
)
from .wire import Ask, listed, ordered, route, whole

MOST_ROWS, MOST_IDS = 200, 1000
FEWEST_CHARACTERS = 100
CATEGORIES = {
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT", "MALINGERING",
    "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
}  # fmt: skip
KEYS = {
    "started_at": lambda s: s.started,
    "completed_at": lambda s: s.completed,
    "status": lambda s: s.status,
    "time_taken": lambda s: s.seconds,
    "participant_id": lambda s: s.person,
    "study_code": lambda s: s.code,
    "ip": lambda s: s.id,
    "submission_reward": lambda s: s.study.reward,
    "study_name": lambda s: s.study.fields["name"],
}


@route("GET submissions/")
def list_submissions(ask: Ask) -> dict[str, Any]:
    if not ask.query.get("study"):
        raise bad({"study": ["This query parameter is required."]})
    chosen = ask.study(ask.query["study"]).submissions
    if wanted := ask.query.get("status"):
        word = wanted.upper().replace("_", " ").replace("TIMED OUT", TIMED_OUT)
        chosen = [submission for submission in chosen if submission.status == word]
    return listed(ask, ordered(ask, chosen, KEYS, "started_at"), _row)


@route("GET studies/{}/submissions/")
def list_of_study(ask: Ask) -> dict[str, Any]:
    every = ordered(ask, ask.study().submissions, KEYS, "started_at")
    return listed(ask, every, _row) if ask.market.unknowns.pages_study_submissions else whole(every, _row)


@route("GET studies/{}/submissions/counts/")
def counts(ask: Ask) -> dict[str, int]:
    study = ask.study()
    return {**{status: study.count(status) for status in STATUSES}, "TOTAL": len(study.submissions)}


@route("GET submissions/{}/")
def read_submission(ask: Ask) -> dict[str, Any]:
    return submission_view(ask.submission())


@route("POST submissions/{}/transition/")
def move_submission(ask: Ask) -> dict[str, Any]:
    submission, action = ask.submission(), ask.field("action")
    if action == "APPROVE":
        _approve(ask.market, submission)
    elif action == "REJECT":
        _reject(ask, submission)
    elif action == "COMPLETE":
        _complete(ask, submission)
    else:
        raise bad({"action": [f"{action} is not possible for this submission."]})
    return submission_view(submission)


def _approve(market: Market, submission: Submission) -> None:
    if submission.status == APPROVED:
        return
    allowed = (AWAITING_REVIEW, *(GIVEN_BACK if market.unknowns.approves_returned else ()))
    if submission.status not in allowed:
        raise bad(f"You can't approve a submission that is {submission.status}.")
    market.approve(submission)


def _reject(ask: Ask, submission: Submission) -> None:
    if submission.status == REJECTED:
        return
    if submission.status != AWAITING_REVIEW:
        raise bad(f"You can't reject a submission that is {submission.status}.")
    if ask.field("rejection_category") not in CATEGORIES:
        raise bad({"rejection_category": ["Not a valid choice."]})
    if len(ask.field("message")) < FEWEST_CHARACTERS:
        raise bad({"message": [f"Ensure this field has at least {FEWEST_CHARACTERS} characters."]})
    ask.market.person(submission.person).mails.append({"study_id": submission.study.id, "body": ask.body["message"]})
    ask.market.become(submission, REJECTED)


def _complete(ask: Ask, submission: Submission) -> None:
    market, name = ask.market, ask.field("completion_code")
    entry = next((e for e in submission.study.codes if e["code"] == name and e.get("actor") == "researcher"), None)
    if entry is None:
        raise bad({"completion_code": ["There is no such code of the researcher."]})
    if submission.code == name:
        return
    allowed = [ACTIVE]
    allowed += [RESERVED] if market.unknowns.completes_reserved else []
    allowed += [TIMED_OUT] if market.unknowns.completes_timed_out else []
    if submission.status not in allowed:
        raise bad(f"You can't complete a submission that is {submission.status}.")
    actions = {action["action"]: action for action in entry.get("actions") or []}
    paid = actions.get("FIXED_SCREEN_OUT_PAYMENT")
    if paid is not None and submission.study.screened_out >= paid["slots"]:
        raise bad("There are no screen-out slots left.")
    share = (ask.body.get("completion_code_data") or {}).get("percentage_of_reward")
    if "DYNAMIC_PAYMENT" in actions and not (isinstance(share, int) and 8 <= share <= 99):
        raise bad({"completion_code_data": {"percentage_of_reward": ["Must be between 8 and 99."]}})
    market.finish(submission, entry, share or 0)


@route("POST submissions/bulk-approve/")
def bulk_approve(ask: Ask) -> dict[str, Any]:
    """It says yes before anything has happened; what cannot be approved then is passed over without a word."""
    market = ask.market
    if isinstance(ask.body, dict) and "submission_ids" in ask.body:
        ids = ask.field("submission_ids", list)
        if len(ids) > MOST_IDS:
            raise bad({"submission_ids": [f"Ensure this field has no more than {MOST_IDS} elements."]})
        chosen = [ask.submission(name) for name in ids]
    else:
        study, people = ask.study(ask.field("study_id")), set(ask.field("participant_ids", list))
        chosen = [submission for submission in study.submissions if submission.person in people]
    workspaces = {market.workspace_of(submission.study).id for submission in chosen}
    for name in workspaces:
        market.busy[name] = market.busy.get(name, 0) + 1

    def approve() -> None:
        for submission in chosen:
            try:
                _approve(market, submission)
            except ApiError:
                continue
        for name in workspaces:
            market.busy[name] -= 1

    market.later(market.delays.approve_s, approve)
    return {"message": "The request to bulk approve has been made successfully."}


@route("POST submissions/{}/request-return/")
def request_return(ask: Ask) -> dict[str, Any]:
    submission = ask.submission()
    reasons = ask.field("request_return_reasons", list)
    if submission.status not in (ACTIVE, AWAITING_REVIEW):
        raise bad(f"You can't ask for the return of a submission that is {submission.status}.")
    submission.return_requested = ask.market.now
    ask.market.person(submission.person).mails += [{"study_id": submission.study.id, "body": text} for text in reasons]
    view = submission_view(submission)
    return {name: view[name] for name in ("id", "status", "participant", "return_requested")}


@route("POST submissions/bonus-payments/", 201)
def set_up_bonuses(ask: Ask) -> dict[str, Any]:
    """Charges nothing."""
    study, market = ask.study(ask.field("study_id")), ask.market
    lines = [line for line in ask.field("csv_bonuses").splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_ROWS:
        raise bad({"csv_bonuses": [f"Give between 1 and {MOST_ROWS} rows."]})
    rows, strangers = [], []
    for line in lines:
        who, _, said = (part.strip() for part in line.partition(","))
        amount = _amount(said)
        if amount is None:
            raise bad({"csv_bonuses": [f"{line}: not a valid amount."]})
        submission = _who_took_part(study, who)
        if submission is None:
            strangers.append(who)
        else:
            rows.append((submission, amount))
    if strangers:
        raise bad({"csv_bonuses": [f"These did not take part in the study: {', '.join(strangers)}."]})
    workspace = market.workspace_of(study)
    price = sum((workspace.price(amount) for _, amount in rows), NOTHING)
    batch = Batch(market.ids.opaque(), study, rows, price)
    market.batches[batch.id] = batch
    return {
        "id": batch.id,
        "study": study.id,
        "amount": price.amount,
        "fees": price.fee,
        "vat": price.vat,
        "total_amount": price.total,
    }


@route("POST bulk-bonus-payments/{}/pay/", 202)
def pay_bonuses(ask: Ask) -> str:
    """It pays all of the set-up, each time it is asked."""
    market, batch = ask.market, ask.market.batches.get(ask.ids[0])
    if batch is None:
        raise not_found("Bonus")
    ask.study(batch.study.id)
    workspace = market.workspace_of(batch.study)
    if market.unknowns.wallet_is_shared and market.busy.get(workspace.id):
        raise BUSY_FOR_A_SECOND if market.unknowns.retry_after else BUSY
    before = market.owed.get(workspace.id, NOTHING)
    market.owed[workspace.id] = before + batch.price
    try:
        market.must_afford(workspace)
    except ApiError:
        market.owed[workspace.id] = before
        raise
    batch.paid += 1

    def pay() -> None:
        market.owed[workspace.id] += Price(-batch.price.amount, -batch.price.fee, -batch.price.vat)
        for submission, amount in batch.rows:
            market.charge("bonus", submission, amount, batch.id)

    market.later(market.delays.pay_s, pay)
    return "The bonuses are being paid."


def _amount(text: str) -> int | None:
    """Sub-currency of a decimal number; None: it is none, or has more than two places."""
    try:
        cents = Decimal(text) * 100
    except InvalidOperation:
        return None
    return int(cents) if cents.is_finite() and cents > 0 and cents == cents.to_integral_value() else None


def _who_took_part(study: Study, who: str) -> Submission | None:
    """By a participant's or a submission's id; of several submissions the last."""
    every = (s for s in reversed(study.submissions) if who in (s.id, s.person) and s.status != RESERVED)
    return next(every, None)


def submission_view(submission: Submission) -> dict[str, Any]:
    """A single one as it is answered."""
    return {
        "id": submission.id,
        "participant": submission.person,
        "study_id": submission.study.id,
        "parent_study_id": None,
        "status": submission.status,
        "started_at": stamp(submission.started),
        "completed_at": stamp(submission.completed),
        "entered_code": submission.code,
        "bonus_payments": list(submission.bonuses),
        "return_requested": stamp(submission.return_requested),
    }


def _row(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.id,
        "participant_id": submission.person,
        "status": submission.status,
        "started_at": stamp(submission.started),
        "completed_at": stamp(submission.completed),
        "has_siblings": False,
        "study_code": submission.code,
        "return_requested": stamp(submission.return_requested),
        "is_complete": submission.status not in INSIDE,
        "time_taken": submission.seconds,
        "reward": submission.study.reward,
        "bonus_payments": list(submission.bonuses),
        "ip": "203.0.113.7",
        "star_awarded": False,
        "strata": None,
    }
