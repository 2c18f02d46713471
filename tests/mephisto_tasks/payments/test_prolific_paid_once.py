"""Money on Prolific that could be paid twice: each way in which that has happened on the stand-in, and what prevents it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from paying import as_json, pay
from prolific_stage import Stage, send
from prolific_study import DONE, PRACTICE, REWARD, ProlificStudy, got
from prolific_study import TURNED_AWAY as AWAY
from servers.prolific import (
    CUT_AFTER,
    CUT_BEFORE,
    WRONG_TOKEN,
    ApiError,
    Fault,
    Market,
    StandIn,
    Submission,
    refused_after,
    submissions,
)
from turk_study import TASK, part, whole

from mephisto_tasks.crowds.prolific import payer
from mephisto_tasks.crowds.prolific.arrivals import Endings
from mephisto_tasks.crowds.prolific.store import COMPLETE, NO_CONSENT, TURNED_AWAY, ProlificStore
from mephisto_tasks.payments.ledger import Ledger

SET_UP, PAY = "POST submissions/bonus-payments/", "POST bulk-bonus-payments/{}/pay/"
BULK, ONE = "POST submissions/bulk-approve/", "POST submissions/{}/transition/ APPROVE"
DAY_S = 24 * 3600.0


def said(study: ProlificStudy | Stage, *arguments: str) -> str:
    return " ".join(pay(study.data_dir, *arguments).output.split())


@pytest.fixture
def study(site: StandIn, tmp_path: Path) -> ProlificStudy:
    return ProlificStudy(tmp_path / "data", site)


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_was_paid_is_not_completed_afterwards(study: ProlificStudy, site: StandIn, by_hand: bool) -> None:
    """The launch could not end it in time, ``pay`` paid it, and the next launch asks for all that is left to end."""
    ann = study.does(whole("a"), "timed out")
    study.set_terms(pay_returned=not by_hand)
    store = ProlificStore(study.data_dir)
    store.end(study.submission_of(ann), study.id, COMPLETE, 0.0)
    paid = send(study.data_dir)
    if by_hand:
        (worker,) = {one["worker"] for one in as_json(study.data_dir)["remaining"]}
        assert pay(study.data_dir, "--settled", worker).exit_code == 0, paid
    Endings(study.client, store, TASK).flush()
    site.clock.move(22 * DAY_S)
    assert got(site) == ({} if by_hand else {("GBP", ann): REWARD})
    assert not store.due()


def test_what_is_paid_and_waits_for_approval_is_named(study: ProlificStudy) -> None:
    ann = study.does(whole("a"), "timed out")
    study.set_terms()
    send(study.data_dir)
    study._complete(study.submission_of(ann), DONE)
    words = said(study)
    assert f"but already paid by a bonus: 1 submission ({study.submission_of(ann)})" in words
    assert "--reject" not in words


def test_a_copy_of_the_ledger_from_before_the_payment(stage: Stage) -> None:
    """It says what was intended, and Prolific lists it: a person has to look, and nobody is paid anew."""
    stage.site.faults.next(SET_UP, WRONG_TOKEN)
    send(stage.data_dir)
    ledger = Ledger(stage.data_dir, TASK).path
    copy = ledger.read_bytes()
    assert "intended" in {one.state for one in Ledger(stage.data_dir, TASK).payments()}
    send(stage.data_dir)
    assert got(stage.site) == stage.owed
    for path in ledger.parent.glob("ledger.db*"):
        path.unlink()
    ledger.write_bytes(copy)
    words = send(stage.data_dir)
    assert got(stage.site) == stage.owed
    assert "a bonus of £1.67 for submission" in words
    assert "but the ledger does not" in words
    remaining = {
        one["worker"] for one in as_json(stage.data_dir)["remaining"] if "but the ledger does not" in one["why"]
    }
    assert remaining
    for worker in remaining:
        assert pay(stage.data_dir, "--settled", worker).exit_code == 0
    send(stage.data_dir)
    assert got(stage.site) == stage.owed


@pytest.mark.parametrize("status", [400, 404, 409, 422])
def test_a_refusal_of_a_payment_says_not_that_nothing_was_paid(stage: Stage, status: int) -> None:
    stage.site.faults.next(PAY, refused_after(status))
    stage.site.market.delays.bonus_seen_s = 600.0
    send(stage.data_dir)
    assert {one.currency for one in Ledger(stage.data_dir, TASK).payments() if one.state == "paying"} == {"GBP"}
    send(stage.data_dir)
    stage.site.clock.move(600)
    send(stage.data_dir)
    assert got(stage.site) == stage.owed
    assert {one.state for one in Ledger(stage.data_dir, TASK).payments()} == {"confirmed"}


def test_an_approval_of_returned_work_that_was_done_and_refused(study: ProlificStudy, site: StandIn) -> None:
    ann = study.does(whole("a"), "timed out")
    study.set_terms()
    site.market.unknowns.approves_returned = True
    site.faults.next(ONE, refused_after(400))
    send(study.data_dir)
    send(study.data_dir)
    assert got(site) == {("GBP", ann): REWARD}
    assert [(one.state, one.batch) for one in Ledger(study.data_dir, TASK).payments()] == [("confirmed", "")]
    assert pay(study.data_dir, "--audit").exit_code == 0


def test_a_lost_ledger_where_screen_outs_are_not_listed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bonus of the same amount is not taken for the screen-out payment."""
    monkeypatch.setattr(payer, "LISTED_LATE_S", -60.0)
    for submission in stage.site.market.submissions("SCREENED OUT"):
        submission.bonuses.clear()
    send(stage.data_dir)
    Ledger(stage.data_dir, TASK).path.unlink()
    assert "a bonus of £0.25 for submission" in send(stage.data_dir)
    assert got(stage.site) == stage.owed


def test_an_approval_that_prolific_passed_over(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says yes to all of them, and does all but one: that is said, and no success."""
    victim, approve = stage.site.market.submissions("AWAITING REVIEW")[0], submissions._approve

    def passes_over(market: Market, submission: Submission) -> None:
        if submission is victim:
            raise ApiError(400, "not now")
        approve(market, submission)

    with monkeypatch.context() as odd:
        odd.setattr(submissions, "_approve", passes_over)
        sent = pay(stage.data_dir, "--send", "--yes")
    words = " ".join(sent.output.split())
    assert (sent.exit_code, f"has not approved submission {victim.id}" in words) == (1, True)
    assert "Sent: 3 approvals" in words
    send(stage.data_dir)
    assert got(stage.site) == stage.owed


@pytest.mark.parametrize("says", [True, False])
def test_another_currency_than_that_of_the_launch_is_never_paid(
    study: ProlificStudy, site: StandIn, says: bool
) -> None:
    """The workspace pays in pounds; where the study does not say so, its balance does."""
    study.does(whole("a"))
    study.set_terms(currency="USD")
    if not says:
        without = Fault(change=lambda answer: {**answer, "currency_code": None})
        site.faults.always("GET studies/{}/", without)
    sent = pay(study.data_dir, "--send", "--yes")
    words = " ".join(sent.output.split())
    assert "Prolific pays the study in GBP, but the work was launched in USD" in words
    assert (sent.exit_code, got(site)) == (1, {})


@pytest.mark.parametrize("kind", [TURNED_AWAY, NO_CONSENT, None])
def test_whoever_was_turned_away_is_not_to_be_rejected(study: ProlificStudy, kind: str | None) -> None:
    """By our own note of the ending, or because a practice is all that they did."""
    study.does(whole("a"))
    dan = study.submission_of(study.does(None if kind is None else part("d", 0), AWAY))
    study.set_terms()
    if kind is not None:
        ProlificStore(study.data_dir).end(dan, study.id, kind, 0.0)
    words = said(study, "--practice", "0")
    assert f"not returned yet: 1 submission ({dan}). You may not reject these" in words
    assert "--reject" not in words
    file = study.data_dir.parent / "reject.csv"
    file.write_text(f'id,category,message\n{dan},LOW_EFFORT,"{"You wrote nothing. " * 8}"\n', encoding="utf-8")
    assert "Prolific cannot reject it" in said(study, "--reject", str(file), "--yes")


def test_nothing_more_is_sent_while_a_bonus_is_in_the_middle(stage: Stage) -> None:
    """Not for the same submission: two equal ones could not be told apart. Higher terms wait."""
    stage.site.market.delays.bonus_seen_s = 600.0
    stage.site.faults.next(PAY, CUT_AFTER)
    send(stage.data_dir)
    asked = len(stage.site.journal.of(PAY))
    more = said(stage, "--practice", "0.75", "--send", "--yes")
    assert "an earlier bonus for submission" in more
    assert "is not settled. Settle it first" in more
    assert len(stage.site.journal.of(PAY)) == asked
    stage.site.clock.move(600)
    assert pay(stage.data_dir, "--practice", "0.75", "--send", "--yes").exit_code == 0
    practised = Decimal(len([one for one in stage.owed.values() if one == PRACTICE])) / 4
    assert sum(got(stage.site).values()) == sum(stage.owed.values()) + practised


def test_a_screen_out_that_is_listed_late_is_not_taken_for_the_bonus(stage: Stage) -> None:
    """Its amount is that of the bonus, whose request was lost on the way."""
    (out,) = stage.site.market.submissions("SCREENED OUT")
    listed, out.bonuses[:] = list(out.bonuses), []
    stage.site.faults.next(PAY, CUT_BEFORE)
    send(stage.data_dir)
    out.bonuses[:] = listed
    send(stage.data_dir)
    (bonus,) = [one for one in Ledger(stage.data_dir, TASK).payments() if one.assignment == out.id and one.batch]
    assert (listed, bonus.amount, bonus.state) == ([25], Decimal("0.25"), "paying")


@pytest.mark.parametrize("takes_it", [False, True])
def test_a_share_that_was_paid_is_no_part_of_what_is_left(study: ProlificStudy, site: StandIn, takes_it: bool) -> None:
    """By other terms the whole is owed: neither an approval nor a bonus pays all of it on top."""
    ann = study.does(part("a", 2), "timed out")
    study.set_terms()
    send(study.data_dir)
    assert got(site) == {("GBP", ann): Decimal("1.67")}
    site.market.unknowns.approves_returned = takes_it
    assert pay(study.data_dir, "--partial", "full", "--send", "--yes").exit_code == 0
    assert got(site) == {("GBP", ann): REWARD}
