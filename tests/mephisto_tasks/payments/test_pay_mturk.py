"""Paying on MTurk: everybody gets what they are owed, once, whatever happens on the way."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from killing import kill_everywhere, on_mturk, table
from live import rows
from paying import as_json, pay
from servers.mturk import CUT_AFTER, CUT_BEFORE, DENIED, NOT_LINKED, SERVICE_FAULT, THROTTLED, StandIn
from servers.mturk.errors import request_error
from test_work import conversation
from turk_study import REWARD, TASK, TurkStudy, everybody, got, part, take_back, whole

from mephisto_tasks.crowds.mturk.launch import fee, fee_share
from mephisto_tasks.payments.ledger import Ledger, only_payer
from mephisto_tasks.storage.results import RunSettings, note_settings

DEPOSITED = Decimal("100.00")


@dataclasses.dataclass(frozen=True)
class Stage:
    """A study of everybody, the server that they worked on, and what each is owed."""

    data_dir: Path
    mturk: StandIn
    owed: dict[str, Decimal]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Made once; :func:`stage` is a copy to pay from."""
    with StandIn(sandbox=False, deposited=str(DEPOSITED)) as server:
        data_dir = tmp_path_factory.mktemp("pay") / "data"
        yield Stage(data_dir, server, everybody(data_dir, server))


@pytest.fixture
def stage(first: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Nobody has been paid."""
    take_back(first.mturk)
    first.mturk.clock.moved_s = 0.0
    first.mturk.account.deposited = DEPOSITED
    _use(first.mturk, tmp_path, monkeypatch)
    return Stage(Path(shutil.copytree(first.data_dir, tmp_path / "data")), first.mturk, first.owed)


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """An MTurk on which nobody has worked."""
    with StandIn(sandbox=False, deposited=str(DEPOSITED)) as server:
        _use(server, tmp_path, monkeypatch)
        yield server


def _use(mturk: StandIn, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    for name, value in mturk.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_everybody_gets_what_they_are_owed(stage: Stage) -> None:
    """Looking changes nothing; what is owed is sent; what cannot be sent is said; a second run sends nothing."""
    looked = as_json(stage.data_dir)
    assert got(stage.mturk) == {}
    assert not Ledger(stage.data_dir, TASK).path.exists()
    assert {payment["kind"] for payment in looked["to_send"]} == {"approval", "bonus"}
    masters = RunSettings(task="pw_turn", task_run_id="1", settings={"blueprint.workers.masters": True})
    note_settings(stage.data_dir, TASK, masters)
    approved = sum(payment["kind"] == "approval" for payment in looked["to_send"])
    more = approved * (fee(REWARD, fee_share(masters_only=True)) - fee(REWARD))
    assert more > 0
    assert Decimal(as_json(stage.data_dir)["fees"]) == Decimal(looked["fees"]) + more
    (remaining,) = looked["remaining"]
    assert remaining["amount"] == "1.67"
    assert "compensation HIT" in remaining["why"]
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed
    assert sent["to_send"] == []
    assert {payment["state"] for payment in sent["ledger"]} == {"confirmed"}
    assert sum(Decimal(payment["amount"]) for payment in sent["ledger"]) == sum(stage.owed.values())
    assert as_json(stage.data_dir, "--send", "--yes")["ledger"] == sent["ledger"]
    assert got(stage.mturk) == stage.owed
    audit = pay(stage.data_dir, "--audit")
    assert (audit.exit_code, audit.stdout) == (0, "The ledger (9 payments, $18.35) and the crowd's site agree.\n")


def test_killed_anywhere_and_run_again(tmp_path: Path) -> None:
    """SIGKILL at 20 places, of each kind of step: after the next run everybody has what they are owed, to the cent, once."""
    with StandIn(sandbox=False, deposited="100.00") as mturk:
        owed, kills = kill_everywhere(tmp_path, on_mturk(mturk), number=20, seed=7)
    print(table(owed, kills))
    assert len(kills) == 20
    assert {state for kill in kills for state in kill.ledger} == {"intended", "sent", "confirmed"}
    assert {sum(kill.after_kill.values()) for kill in kills} >= {0, sum(owed.values())}, (
        "from the first step to the last"
    )
    for kill in kills:
        assert (kill.place, kill.after_next, kill.noted) == (kill.place, owed, sum(owed.values()))


def test_throttled_cut_off_and_broken(stage: Stage) -> None:
    """What passes is tried again with the same token, whether or not the first try was done."""
    stage.mturk.faults.next("SendBonus", THROTTLED, CUT_AFTER, SERVICE_FAULT, CUT_BEFORE)
    stage.mturk.faults.next("ApproveAssignment", CUT_AFTER, THROTTLED, CUT_BEFORE)
    stage.mturk.faults.next("ListAssignmentsForHIT", THROTTLED, CUT_AFTER)
    stage.mturk.faults.next("ListBonusPayments", THROTTLED, CUT_AFTER)
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed
    assert {payment["state"] for payment in sent["ledger"]} == {"confirmed"}


def test_a_site_that_goes_away_leaves_the_rest_for_later(stage: Stage) -> None:
    """The error says what to do; what was sent stays sent, and the next run sends the rest."""
    stage.mturk.faults.next("SendBonus", None, DENIED)
    result = pay(stage.data_dir, "--send", "--yes")
    assert result.exit_code == 1
    assert "AmazonMechanicalTurkFullAccess" in result.stderr
    assert len(stage.mturk.account.bonuses) == 1
    looked = pay(stage.data_dir)
    assert (
        "Payments from an earlier run whose outcome is unknown: 5 payments. --send checks them first." in looked.stdout
    )
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed


@pytest.mark.parametrize("hours", [1, 30])
def test_a_bonus_whose_answer_was_lost(stage: Stage, hours: int) -> None:
    """Within the day that MTurk remembers tokens, and after it: the list of bonuses decides."""
    as_json(stage.data_dir, "--send", "--yes")
    ledger = Ledger(stage.data_dir, TASK)
    for payment in ledger.payments():
        ledger.note(payment.token, "intended")  # as if killed before any answer was written down
    stage.mturk.clock.move(hours * 3600)
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed
    assert {payment["state"] for payment in sent["ledger"]} == {"confirmed"}


def test_a_bonus_that_was_taken_and_is_not_listed_yet(stage: Stage) -> None:
    """MTurk knows the token, and lists nothing: it is not sent anew, and not called confirmed either."""
    as_json(stage.data_dir, "--send", "--yes")
    ledger = Ledger(stage.data_dir, TASK)
    bonus = next(payment for payment in ledger.payments() if payment.kind == "bonus")
    ledger.note(bonus.token, "intended")
    hidden = [one for one in stage.mturk.account.bonuses if one.token == bonus.token]
    stage.mturk.account.bonuses = [one for one in stage.mturk.account.bonuses if one.token != bonus.token]
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert [payment["state"] for payment in sent["ledger"] if payment["token"] == bonus.token] == ["sent"]
    assert bonus.token not in [one.token for one in stage.mturk.account.bonuses]
    audit = pay(stage.data_dir, "--audit")
    assert audit.exit_code == 1
    assert "is sent in the ledger, but MTurk does not list it" in audit.stdout
    stage.mturk.account.bonuses += hidden
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert {payment["state"] for payment in sent["ledger"]} == {"confirmed"}


def test_work_that_mturk_has_forgotten_is_not_paid_by_another_way(data_dir: Path, mturk: StandIn) -> None:
    """A bonus was sent, nothing was noted, and its HIT was deleted by hand: whether it was paid nobody can tell here."""
    study = TurkStudy(data_dir, mturk)
    assignment = study.does("AANN", whole("a"), hands_in=True)
    study.does("AANN", part("b", 1), hands_in=False, status="returned")
    as_json(data_dir, "--send", "--yes")
    paid = got(mturk)
    study.does("AANN", whole("c"), hands_in=True)
    ledger = Ledger(data_dir, TASK)
    for payment in ledger.payments():
        ledger.note(payment.token, "intended")
    (hit,) = [hit for hit in mturk.crowd.hits() if assignment in [one.id for one in hit.assignments]]
    mturk.crowd.forget_hit(hit.id)
    for _ in range(2):
        result = pay(data_dir, "--send", "--yes")
        assert "Uncertain: bonus of $0.84" in result.stdout
    assert [bonus.amount for bonus in mturk.account.bonuses] == [paid["AANN"] - REWARD]
    assert len(mturk.crowd.assignments("Approved")) == 1


def test_a_lost_ledger_pays_nobody_twice(stage: Stage) -> None:
    """What was paid is found on MTurk: approvals by their status, bonuses by the reference in their reasons."""
    as_json(stage.data_dir, "--send", "--yes")
    Ledger(stage.data_dir, TASK).path.unlink()
    stage.mturk.clock.move(30 * 3600)
    sent = as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed
    assert sum(Decimal(payment["amount"]) for payment in sent["ledger"]) == sum(stage.owed.values())


def test_approved_by_hand_or_by_time_is_not_owed_again(stage: Stage) -> None:
    stage.mturk.clock.move(8 * 24 * 3600)
    looked = as_json(stage.data_dir)
    assert {payment["kind"] for payment in looked["to_send"]} == {"bonus"}
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed


def test_mephisto_says_approved_where_mturk_does(stage: Stage) -> None:
    """By its own statuses, for its own tools; work that was not handed in is not approved."""
    as_json(stage.data_dir, "--send", "--yes")
    statuses = [row[0] for row in rows(stage.data_dir, "SELECT status FROM agents ORDER BY agent_id")]
    assert statuses.count("approved") == len(stage.mturk.crowd.assignments("Approved")) == 5
    assert statuses.count("disconnect") == 3
    (accepted,) = rows(stage.data_dir, "SELECT COUNT(*) FROM units WHERE status = 'accepted'")
    assert accepted[0] <= 5


def test_not_enough_money_sends_nothing(stage: Stage) -> None:
    stage.mturk.account.deposited = Decimal("31.00")
    result = pay(stage.data_dir, "--send", "--yes")
    assert result.exit_code == 1
    assert "are needed for bonuses and their fees: nothing was sent" in result.stderr
    assert got(stage.mturk) == {}
    assert Ledger(stage.data_dir, TASK).payments() == []


def test_no_keys(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    result = pay(stage.data_dir)
    assert result.exit_code == 1
    assert "there are no AWS keys" in result.stderr


def test_nobody_to_ask_sends_nothing(stage: Stage) -> None:
    result = pay(stage.data_dir, "--send")
    assert result.exit_code == 1
    assert "add --yes" in result.stderr
    assert got(stage.mturk) == {}


def test_two_at_once(stage: Stage) -> None:
    """The second is told who pays; a look is free."""
    with only_payer(stage.data_dir, TASK):
        result = pay(stage.data_dir, "--send", "--yes")
        assert result.exit_code == 1
        assert f"is already being paid (process {os.getpid()})" in result.stderr
        assert pay(stage.data_dir).exit_code == 0
    assert got(stage.mturk) == {}


def test_who_may_still_hand_in_is_waited_for(data_dir: Path, mturk: StandIn) -> None:
    """A bonus now, and an approval when the page comes back, would be twice the pay."""
    study = TurkStudy(data_dir, mturk)
    study.does("AANN", whole("a"), hands_in=True)
    now = time.time()
    late = [event.model_copy(update={"at": now}) for event in whole("b")]
    study.does("AANN", late, hands_in=False)
    looked = as_json(data_dir)
    assert [payment["kind"] for payment in looked["to_send"]] == ["approval"]
    (remaining,) = looked["remaining"]
    assert "may still submit the assignment" in remaining["why"]


def test_another_workers_assignment_of_the_same_id(data_dir: Path, mturk: StandIn) -> None:
    """MTurk gives an assignment that was returned to the next worker under its old id: each is paid for their own part."""
    study = TurkStudy(data_dir, mturk)
    returned = study.does("AANN", part("a", 1), hands_in=False, status="returned")
    study.takes_over("ABOB", whole("b"), returned)
    looked = as_json(data_dir)
    assert [(payment["kind"], payment["amount"]) for payment in looked["to_send"]] == [("approval", "2.50")]
    assert [one["amount"] for one in looked["remaining"]] == ["0.84"]


def test_a_share_was_paid_before_the_unit_was_completed(data_dir: Path, mturk: StandIn) -> None:
    """An approval cannot pay less than the reward: that the worker keeps the share is told, and nothing is cut for it."""
    study = TurkStudy(data_dir, mturk)
    study.does("AANN", whole("a"), hands_in=True)
    study.does("AANN", conversation(1), hands_in=False, status="disconnect")
    assert as_json(data_dir, "--send", "--yes", "--minimum", "0")["notes"] == []
    share = Decimal("0.84")  # two of six turns
    assert got(mturk)["AANN"] == REWARD + share
    study.does("AANN", [*conversation(2), *conversation(3)], hands_in=True)
    study.does("AANN", part("b", 2), hands_in=False, status="disconnect")
    sent = as_json(data_dir, "--send", "--yes", "--minimum", "0")
    (worker,) = sent["workers"]
    assert got(mturk)["AANN"] == Decimal(worker["due"]) + share == REWARD * 2 + Decimal("1.67") + share
    (note,) = sent["notes"]
    assert note.startswith(f"Paid more than these terms owe: {worker['worker']} $0.84. An approval pays the whole")
    assert pay(data_dir, "--audit").exit_code == 0


def test_rejected_on_the_site_is_told_and_not_overridden(data_dir: Path, mturk: StandIn) -> None:
    study = TurkStudy(data_dir, mturk)
    assignment = study.does("AANN", whole("a"), hands_in=True)
    study.client.reject_assignment(AssignmentId=assignment, RequesterFeedback="no")
    looked = as_json(data_dir, "--send", "--yes")
    assert looked["to_send"] == []
    assert "was rejected on MTurk's site" in looked["remaining"][0]["why"]
    assert got(mturk) == {}


def test_what_is_withheld_is_told_as_mturk_will_pay_it(data_dir: Path, mturk: StandIn) -> None:
    """MTurk approves by itself what nobody rejects; nothing is rejected here."""
    study = TurkStudy(data_dir, mturk)
    assignment = study.does("AANN", whole("a", 6), hands_in=True)
    withheld = as_json(data_dir, "--send", "--yes", "--withhold-failed", "same_position", "--minimum", "0")
    assert (withheld["to_send"], got(mturk)) == ([], {})
    (note,) = withheld["notes"]
    assert note.startswith(f"Submitted, but owed nothing under these terms: 1 assignment ({assignment}).")
    assert [one.status for one in mturk.crowd.assignments("Submitted")] == ["Submitted"]


def test_handed_in_without_any_work(data_dir: Path, mturk: StandIn) -> None:
    """Somebody who submitted an empty page is told of, and not proposed."""
    study = TurkStudy(data_dir, mturk)
    assignment = study.does("AANN", [], hands_in=True)
    assert assignment in pay(data_dir, "--json").stdout


def test_the_sandbox(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mephisto has other names there for workers and requesters than MTurk."""
    with StandIn(sandbox=True) as sandbox:
        _use(sandbox, tmp_path, monkeypatch)
        study = TurkStudy(data_dir, sandbox)
        study.does("AANN", whole("a"), hands_in=True)
        study.does("AANN", part("b", 1), hands_in=False, status="returned")
        said = as_json(data_dir, "--send", "--yes")
        assert got(sandbox) == {"AANN": REWARD + Decimal("0.84")}
    assert f"${REWARD + Decimal('0.84')} of this is in MTurk's sandbox" in said["notes"][-1], (
        "beside it may be real money"
    )


def test_one_refusal_does_not_stop_the_rest(stage: Stage) -> None:
    """It is told in MTurk's words, and tried again by the next run."""
    refusal = request_error("InvalidParameterValue", "This worker cannot be paid today.")
    stage.mturk.faults.next("SendBonus", refusal)
    result = pay(stage.data_dir, "--send", "--yes")
    assert result.exit_code == 1, "a script must learn that something is left"
    assert "This worker cannot be paid today" in result.stdout
    assert sum(got(stage.mturk).values()) == sum(stage.owed.values()) - Decimal("1.67")
    assert (
        "Sent: 5 approvals ($12.50) and 3 bonuses ($4.18), $3.34 of fees: $20.02 in all. Not sent: 1 of 9"
        in result.stdout
    )
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed


def test_an_odd_row_does_not_stop_the_rest(stage: Stage) -> None:
    """What MTurk refuses to show of one HIT, or of one worker's bonuses, is told of that work alone."""
    odd = request_error("InvalidHITState", "Nobody may look at this HIT.")
    stage.mturk.faults.next("ListAssignmentsForHIT", odd)
    stage.mturk.faults.next("ListBonusPayments", request_error("InvalidParameterValue", "These bonuses are odd."))
    result = pay(stage.data_dir, "--send", "--yes")
    assert result.exit_code == 1
    assert "Nobody may look at this HIT" in result.stdout
    assert "These bonuses are odd" in result.stdout
    some = got(stage.mturk)
    assert some
    assert sum(some.values()) < sum(stage.owed.values())
    as_json(stage.data_dir, "--send", "--yes")
    assert got(stage.mturk) == stage.owed


def test_an_account_that_may_not_ask_stops_it(stage: Stage) -> None:
    """That is no fault of one payment: nothing is called refused, and the next run sends all."""
    stage.mturk.faults.always("ListAssignmentsForHIT", NOT_LINKED)
    result = pay(stage.data_dir, "--send", "--yes")
    assert (result.exit_code, "link the AWS" in result.stderr) == (1, True)
    assert Ledger(stage.data_dir, TASK).payments() == []


def test_the_time_of_the_workers_own_hit_is_waited_for(data_dir: Path, mturk: StandIn) -> None:
    """A pilot of a day in the same data directory keeps nobody waiting who had an hour."""
    study = TurkStudy(data_dir, mturk)
    study.does("AANN", whole("a"), hands_in=True)
    begun = time.time() - 2 * 3600
    late = [event.model_copy(update={"at": begun}) for event in part("b", 1)]
    study.does("AANN", late, hands_in=False, status="disconnect")
    study.does("AZOE", whole("z"), hands_in=True)
    with closing(sqlite3.connect(data_dir / "mturk" / "mturk.db")) as connection, connection:
        connection.execute(
            "UPDATE hits SET assignment_time_in_seconds = 86400 WHERE hit_id = (SELECT hit_id FROM agent_assignments "
            "ORDER BY agent_id DESC LIMIT 1)"
        )
    looked = as_json(data_dir)
    assert looked["remaining"] == []
    assert [payment["kind"] for payment in looked["to_send"]] == ["approval", "bonus", "approval"]


def test_settled_by_hand(stage: Stage) -> None:
    as_json(stage.data_dir, "--send", "--yes")
    (remaining,) = as_json(stage.data_dir)["remaining"]
    settled = as_json(stage.data_dir, "--settled", remaining["worker"])
    assert settled["remaining"] == []
    again = pay(stage.data_dir, "--settled", remaining["worker"])
    assert again.exit_code == 1
    assert f"nothing is left to pay to {remaining['worker']}, nor to anybody else" in again.stderr
    assert pay(stage.data_dir, "--audit").exit_code == 0


def test_the_audit_finds_what_was_done_behind_the_ledgers_back(stage: Stage) -> None:
    as_json(stage.data_dir, "--send", "--yes")
    bonus = stage.mturk.account.bonuses[0]
    stage.mturk.account.bonuses += [bonus, dataclasses.replace(bonus, reason="a present", amount=Decimal("5.00"))]
    audit = pay(stage.data_dir, "--audit")
    assert audit.exit_code == 1
    assert "was sent 2 times" in audit.stdout
    assert "MTurk lists a bonus of $5.00" in audit.stdout


def test_a_later_policy_pays_the_difference_only(stage: Stage) -> None:
    as_json(stage.data_dir, "--send", "--yes")
    as_json(stage.data_dir, "--send", "--yes", "--partial", "full")
    paid = got(stage.mturk)
    assert paid["ABOB"] == REWARD * 2
    assert paid["AANN"] == stage.owed["AANN"]
    as_json(stage.data_dir, "--send", "--yes", "--partial", "none")
    assert got(stage.mturk) == paid


def test_files_are_for_their_owner_only(stage: Stage) -> None:
    as_json(stage.data_dir, "--send", "--yes")
    path = Ledger(stage.data_dir, TASK).path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"AANN" not in path.read_bytes()
