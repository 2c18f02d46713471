"""Paying on Prolific: everybody gets what they are owed, once, in their currency, whatever happens on the way."""

from __future__ import annotations

import dataclasses
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from killing import kill_everywhere, on_prolific, table
from paying import as_json, pay
from prolific_stage import Stage, send
from prolific_study import ProlificStudy, got
from servers.prolific import (
    BAD_GATEWAY,
    BUSY,
    BUSY_FOR_A_SECOND,
    CUT_AFTER,
    CUT_BEFORE,
    EMPTY_GATEWAY,
    ERROR_AFTER,
    SERVER_ERROR,
    WRONG_TOKEN,
    Fault,
    StandIn,
)
from turk_study import TASK, part

from mephisto_tasks.crowds.prolific.store import ProlificStore
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.monitoring.view import rater_facts
from mephisto_tasks.payments import ledger
from mephisto_tasks.payments.ledger import Ledger


def charged(site: StandIn) -> dict[str, Decimal]:
    """Currency → what participants were paid in all."""
    totals: dict[str, Decimal] = {}
    for (currency, _), amount in got(site).items():
        totals[currency] = totals.get(currency, Decimal(0)) + amount
    return totals


def look_up(stage: Stage) -> int:
    """A person looks up what was left in the middle, half an hour later, and says so; how many those were."""
    left = [payment for payment in Ledger(stage.data_dir, TASK).payments() if payment.state == "paying"]
    paid = {charge.batch for workspace in stage.site.market.workspaces.values() for charge in workspace.charges}
    for payment in left:
        answer = "paid" if payment.batch in paid else "unpaid"
        with pytest.MonkeyPatch.context() as later:
            later.setattr(ledger, "LISTED_LATE_S", 0.0)
            assert pay(stage.data_dir, "--by-hand", answer, payment.token).exit_code == 0
    return len(left)


def test_everybody_gets_what_they_are_owed(stage: Stage) -> None:
    """Looking changes nothing; each is paid in the currency of the study; ledger and site agree to the cent."""
    looked = as_json(stage.data_dir)
    assert not Ledger(stage.data_dir, TASK).path.exists()
    assert looked["currencies"] == ["GBP", "USD"]
    assert (looked["fees"], looked["fees_in"]) == (None, {"GBP": "4.97", "USD": "1.33"}), (
        "pounds and dollars have no sum"
    )
    (remaining,) = looked["remaining"]
    assert "is still ACTIVE there" in remaining["why"]
    shown = pay(stage.data_dir).stdout
    assert "4 approvals (£10.00) and 3 bonuses (£2.42), £4.97 of fees: £17.39 in all; 1 approval ($2.50)" in shown
    assert "Waiting for approval on Prolific (lab): 2 submissions. Prolific approves them automatically from" in shown
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.site) == stage.owed
    ledger = as_json(stage.data_dir)["ledger"]
    assert {payment["state"] for payment in ledger} == {"confirmed"}
    audit = json.loads(pay(stage.data_dir, "--audit", "--json").stdout)
    totals = {currency: str(amount) for currency, amount in charged(stage.site).items()}
    assert audit == {"ledger_total": None, "ledger_total_in": totals, "differences": []}
    assert "There is nothing to send." in send(stage.data_dir)
    assert got(stage.site) == stage.owed


def test_killed_anywhere_and_run_again(tmp_path: Path) -> None:
    """SIGKILL at 24 places, of each kind of step: after the next run everybody has what they are owed, to the cent, once."""
    with StandIn() as server:
        owed, kills = kill_everywhere(tmp_path, on_prolific(server), number=24, seed=7)
    print(table(owed, kills))
    assert len(kills) == 24
    assert {state for kill in kills for state in kill.ledger} == {"intended", "paying", "sent", "confirmed"}
    for kill in kills:
        assert (kill.place, kill.after_next, kill.noted) == (kill.place, owed, sum(owed.values()))
    unsure = [kill.place for kill in kills if kill.by_hand]
    assert set(unsure) <= {"after noting “paying”", "before POST bulk-bonus-payments/…/pay/"}, "all else settles itself"


BULK, SET_UP = "POST submissions/bulk-approve/", "POST submissions/bonus-payments/"
PAY, ONE = "POST bulk-bonus-payments/{}/pay/", "POST submissions/{}/transition/ APPROVE"
FAULTS = [BUSY, BUSY_FOR_A_SECOND, SERVER_ERROR, BAD_GATEWAY, EMPTY_GATEWAY, CUT_BEFORE, CUT_AFTER, ERROR_AFTER]


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        *((PAY, fault) for fault in FAULTS),
        *(
            (name, fault)
            for name in ("GET submissions/", BULK, ONE, SET_UP)
            for fault in (BUSY, CUT_AFTER, ERROR_AFTER)
        ),
    ],
    ids=str,
)
def test_a_fault_at_each_step(stage: Stage, operation: str, fault: Any) -> None:
    """Nobody is paid twice and nobody is forgotten; only a lost answer to the payment itself may need a person."""
    stage.site.faults.next(operation, fault)
    send(stage.data_dir)
    send(stage.data_dir)
    asked = look_up(stage)
    if asked:
        assert operation == PAY
        assert fault not in (BUSY, BUSY_FOR_A_SECOND, CUT_AFTER, ERROR_AFTER), "Prolific's list says what was paid"
        send(stage.data_dir)
    assert (operation, got(stage.site)) == (operation, stage.owed)
    assert {payment.state for payment in Ledger(stage.data_dir, TASK).payments()} <= {"confirmed", "by_hand"}
    assert pay(stage.data_dir, "--audit").exit_code == 0
    batches = [batch.paid for batch in stage.site.market.batches.values()]
    assert max(batches) == 1


def test_a_storm(stage: Stage) -> None:
    """Every second call goes wrong somehow, until all is paid."""
    for operation in (BULK, ONE, SET_UP, PAY, "GET submissions/", "GET studies/{}/"):
        stage.site.faults.next(operation, *(fault for each in FAULTS for fault in (each, None)))
    for _ in range(12):
        send(stage.data_dir)
        look_up(stage)
    stage.site.faults.clear()
    send(stage.data_dir)
    assert got(stage.site) == stage.owed
    assert pay(stage.data_dir, "--audit").exit_code == 0


def test_a_lost_answer_is_never_asked_again(stage: Stage) -> None:
    """Prolific lists late what it paid: until then it is not known, and afterwards it is paid."""
    stage.site.faults.next(PAY, CUT_AFTER)
    stage.site.market.delays.bonus_seen_s = 600.0
    said = send(stage.data_dir)
    assert "Prolific could not be reached" in said
    left = [payment for payment in Ledger(stage.data_dir, TASK).payments() if payment.state == "paying"]
    assert {payment.currency for payment in left} == {"GBP"}
    looked = pay(stage.data_dir)
    assert "Prolific lists bonuses late. Run this again after" in " ".join(looked.stdout.split())
    assert f"--by-hand paid {left[0].token}" in looked.stdout
    assert "--by-hand unpaid" not in looked.stdout
    early = pay(stage.data_dir, "--by-hand", "unpaid", left[0].token)
    assert (early.exit_code, "so it is too early to call it unpaid" in " ".join(early.output.split())) == (1, True)
    paid = len(stage.site.journal.of(PAY))
    send(stage.data_dir)
    assert len(stage.site.journal.of(PAY)) == paid
    stage.site.clock.move(600)
    assert pay(stage.data_dir, "--send", "--yes").exit_code == 0
    assert {payment.state for payment in Ledger(stage.data_dir, TASK).payments()} == {"confirmed"}
    assert got(stage.site) == stage.owed


def test_the_site_knows_better_than_a_person(stage: Stage) -> None:
    stage.site.faults.next(PAY, CUT_AFTER)
    stage.site.market.delays.bonus_seen_s = 600.0
    send(stage.data_dir)
    first, *_ = [payment.token for payment in Ledger(stage.data_dir, TASK).payments() if payment.state == "paying"]
    stage.site.clock.move(600)
    said = " ".join(pay(stage.data_dir, "--by-hand", "unpaid", first).output.split())
    assert f"lists the payment {first} as paid" in said
    assert pay(stage.data_dir, "--by-hand", "paid", first).exit_code == 0
    send(stage.data_dir)
    assert got(stage.site) == stage.owed


def test_other_sums_than_were_meant_are_never_paid(stage: Stage) -> None:
    """30 for 0.30: what Prolific understood is looked at before it is asked to pay."""
    wrong = Fault(change=lambda answer: {**answer, "amount": answer["amount"] * 100})
    stage.site.faults.next(SET_UP, wrong)
    said = send(stage.data_dir)
    assert "Prolific calculated bonuses of £" in said
    assert not stage.site.journal.of(PAY)
    send(stage.data_dir)
    assert got(stage.site) == stage.owed


@pytest.mark.parametrize("takes_them", [False, True])
def test_whole_work_that_was_returned(stage: Stage, takes_them: bool) -> None:
    """Approved where Prolific does that, otherwise paid as a bonus: once, and with one line in the ledger."""
    stage.site.market.unknowns.approves_returned = takes_them
    send(stage.data_dir)
    stage.site.market.unknowns.approves_returned = False
    assert got(stage.site) == stage.owed
    kinds = [charge.kind for workspace in stage.site.market.workspaces.values() for charge in workspace.charges]
    assert kinds.count("reward") == (6 if takes_them else 4)
    assert len(Ledger(stage.data_dir, TASK).payments()) == 11
    assert pay(stage.data_dir, "--audit").exit_code == 0


def test_a_lost_ledger_pays_no_bonus_twice(stage: Stage) -> None:
    send(stage.data_dir)
    Ledger(stage.data_dir, TASK).path.unlink()
    said = send(stage.data_dir)
    assert "a bonus of £1.67 for submission" in said
    assert as_json(stage.data_dir)["remaining"]
    assert got(stage.site) == stage.owed


def test_too_little_money(stage: Stage) -> None:
    """Nothing is sent, of rewards either, and it is said how much is lacking."""
    stage.site.workspace.total -= stage.site.market.available(stage.site.workspace) - 100
    said = send(stage.data_dir)
    assert "the workspace has £1.00, but bonuses with their fees cost £" in said
    assert not stage.site.journal.of(BULK)


def test_unlisted_screen_outs(stage: Stage) -> None:
    """Nobody knows whether Prolific lists a screen-out among bonuses: either way people get what they are owed."""
    for submission in stage.site.market.submissions("SCREENED OUT"):
        submission.bonuses.clear()
    send(stage.data_dir)
    assert got(stage.site) == stage.owed
    assert pay(stage.data_dir, "--audit").exit_code == 0


def test_audit_sees_what_was_done_by_hand(stage: Stage) -> None:
    send(stage.data_dir)
    (inside,) = stage.site.market.submissions("ACTIVE")
    inside.bonuses.append(77)
    inside.status = "APPROVED"
    audit = pay(stage.data_dir, "--audit")
    assert audit.exit_code == 1
    assert (
        f"Prolific lists submission {inside.id} as approved (by hand or automatically), but the ledger does not"
        in audit.stdout
    )
    assert f"Prolific lists a bonus of £0.77 for submission {inside.id}, but the ledger does not" in audit.stdout


def test_two_hundred_at_once(site: StandIn, tmp_path: Path) -> None:
    """No request has more than Prolific takes, and all are paid."""
    site.workspace.total = 10_000_00
    study = ProlificStudy(tmp_path / "data", site, places=230)
    people = [study.does(part(str(number), 1), "returned") for number in range(225)]
    study.set_terms()
    assert pay(study.data_dir, "--send", "--yes").exit_code == 0
    assert got(site) == {("GBP", person): Decimal("0.84") for person in people}
    assert sorted(len(batch.rows) for batch in site.market.batches.values()) == [25, 200]


def test_a_draft_that_was_deleted_there_stops_nobody(stage: Stage) -> None:
    store = ProlificStore(stage.data_dir)
    known = store.studies(TASK)[0]
    store.add(dataclasses.replace(known, mark="a draft", study_id="f" * 24))
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.site) == stage.owed
    assert len(Observer(stage.data_dir, TASK, draws=10).standing().sites) == 2


def rejecting(stage: Stage, text: str) -> str:
    path = stage.data_dir.parent / "reject.csv"
    path.write_text("id,category,message\n" + text, encoding="utf-8")
    return " ".join(pay(stage.data_dir, "--reject", str(path), "--yes").output.split())


def test_rejecting_by_a_file(stage: Stage) -> None:
    """All lines or none; nothing else is ever rejected."""
    waiting = list(stage.site.market.submissions("AWAITING REVIEW"))
    first, second = waiting[0].id, waiting[1].id
    message = (
        "You answered every question within a second, and wrote the same two letters in each of your messages to us."
    )
    assert "put messages in quotes" in rejecting(stage, f"{first},OTHER,{message}\n")
    message = f'"{message}"'
    said = rejecting(stage, f"{first},LOW_EFFORT,{message}\n{second},RUDE,{message}\nnobody,OTHER,{message}\n")
    assert "Prolific has no category 'RUDE'" in said
    assert "nobody: this task has no such submission" in said
    assert "the message has 5 characters, and Prolific requires 100" in rejecting(stage, f"{first},OTHER,sorry\n")
    assert not stage.site.market.submissions("REJECTED")
    assert "Rejected: 1 of 1." in rejecting(stage, f"{first},LOW_EFFORT,{message}\n")
    assert [one.id for one in stage.site.market.submissions("REJECTED")] == [first]
    assert "was rejected there" in send(stage.data_dir)
    assert f"{second}: the ledger lists it as paid" in rejecting(stage, f"{second},OTHER,{message}\n")


def test_watch_says_how_it_stands_there(stage: Stage) -> None:
    """Places, people, what waits for approval and until when, and messages; what was known stays where nobody answers."""
    study = next(iter(stage.site.market.studies))
    (user,) = stage.site.market.users.values()
    user.messages[:] = [{"id": "1", "body": "Hi", "data": {"study_id": study}}, {"id": "2", "body": "?", "data": None}]
    now = [time.time()]
    observer = Observer(stage.data_dir, TASK, draws=10, clock=lambda: now[0])
    standing = observer.standing()
    lab, abroad = standing.sites
    assert (lab.places, lab.at_work, lab.timed_out, lab.screened_out) == (10, 1, 2, 1)
    assert (lab.returned, lab.approved, lab.waiting, lab.unread) == (2, 1, 2, 1)
    assert lab.approved_by_itself_at is not None
    assert 20 < (lab.approved_by_itself_at - now[0]) / 86400 < 22
    assert abroad.waiting == 1
    facts = dict(rater_facts(standing))
    assert "2 wait for approval (the first is approved automatically on " in facts["Prolific (lab)"]
    assert facts["Prolific (lab)"].endswith("; 1 unread message.")
    assert facts["Money"].startswith("$3.34 earned: $0.00 paid")
    assert facts["In GBP"].startswith("£16.01 earned")
    asked = len(stage.site.journal.calls)
    observer.standing()
    assert len(stage.site.journal.calls) == asked, "once a minute"
    now[0] += 61
    stage.site.faults.always("*", WRONG_TOKEN)
    standing = observer.standing()
    assert standing.sites == [lab, abroad]
    assert "API token" in dict(rater_facts(standing))["Not asked"]
    assert json.loads(standing.model_dump_json())["sites"][0]["waiting"] == 2
