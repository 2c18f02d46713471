"""Paying by file: what a panel's site takes, a list for whoever pays by hand; each payment is written once."""

from __future__ import annotations

import csv
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from paying import as_json, pay, refused
from stored_study import StoredStudy
from test_work import conversation, set_status
from turk_study import TASK, part, stopped, whole

from mephisto_tasks.admission.visits import Arrival
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.invitations.store import InvitationStore, Person
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.mturk.settings import CLOSED
from mephisto_tasks.crowds.panels.panel import panel_names, read_panel
from mephisto_tasks.crowds.panels.payer import PanelPayer
from mephisto_tasks.payments.ledger import Ledger, Payment
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import stored_agents
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval.cli import main


def files(data_dir: Path) -> dict[str, str]:
    """Name → text of what was written."""
    folder = study_folder(data_dir, TASK) / "payments"
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*"))}


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Work on this machine; a worker's name begins as a formula does."""
    study = StoredStudy(tmp_path / "data", reward=1.0)
    study.add(TASK, "=ann", whole("a"))
    study.add(TASK, "bob", part("b", 1))
    set_status(study.data_dir, "disconnect")
    return study.data_dir


@pytest.fixture
def prolific(tmp_path: Path) -> Path:
    """Two studies of a panel, and somebody with an invitation."""
    study = StoredStudy(tmp_path / "data", provider="link", requester="link", reward=1.0)
    book = InvitationStore(study_folder(study.data_dir, TASK))
    (invited,) = book.invite([Person("Eve Example")], lambda person: "invitation:eve", 60.0)
    book.come(invited.invitation_id, "invitation:eve")
    folder = study.data_dir / "link"
    folder.mkdir()
    visits = LinkDatastore(folder)
    for worker, site, session, events in (
        ("prolific:p1", "S1", "s-1", whole("a")),
        ("prolific:p2", "S1", "s-2", part("b", 1)),
        ("prolific:p2", "S1", "s-3", part("c", 2)),
        ("prolific:p3", "S2", "s-4", stopped("d")),
        ("prolific:p4", "S2", "s-5", whole("f")),
        ("invitation:eve", "", "", whole("e")),
    ):
        study.add(TASK, worker, events)
        agent = stored_agents(study.data_dir, TASK)[-1].agent_id
        visit = visits.add(TASK, Arrival(worker, worker.partition(":")[0], site, session))
        visits.give_agent(visit.visit_id, agent)
        if session == "s-1":
            visits.end(visit, "complete")
    set_status(study.data_dir, "disconnect")
    return study.data_dir


def test_a_list_of_who_is_owed_what(local: Path) -> None:
    """Written once, for its owner only; no cell is a formula; what is on it counts as paid."""
    assert [payment["amount"] for payment in as_json(local)["to_send"]] == ["1.00", "0.34"]
    assert files(local) == {}
    as_json(local, "--send", "--yes")
    ((name, text),) = files(local).items()
    table = list(csv.DictReader(text.splitlines()))
    assert [(row["worker"], row["amount"]) for row in table] == [("'=ann", "1.00"), ("bob", "0.34")]
    path = study_folder(local, TASK) / "payments" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = as_json(local, "--send", "--yes")
    assert again["to_send"] == []
    assert [payment["state"] for payment in again["ledger"]] == ["written", "written"]
    assert list(files(local)) == [name]


def test_more_work_is_written_into_another_file(local: Path) -> None:
    as_json(local, "--send", "--yes")
    as_json(local, "--send", "--yes", "--partial", "full")
    assert sorted(files(local)) == ["_owed-1.csv", "_owed-2.csv"]
    (row,) = csv.DictReader(files(local)["_owed-2.csv"].splitlines())
    assert row["amount"] == "0.66"


def test_a_share_was_paid_before_the_unit_was_completed(tmp_path: Path) -> None:
    """It is a part of the reward, and not beside it."""
    study = StoredStudy(tmp_path / "data", reward=1.0)
    study.add(TASK, "ann", conversation(1))
    set_status(study.data_dir, "disconnect")
    as_json(study.data_dir, "--send", "--yes")
    study.add(TASK, "ann", [*conversation(2), *conversation(3)])
    set_status(study.data_dir, "disconnect")
    sent = as_json(study.data_dir, "--send", "--yes")
    assert [payment["amount"] for payment in sent["ledger"]] == ["0.34", "0.66"]
    assert not [note for note in sent["notes"] if note.startswith("Paid more")]


def test_what_a_panel_takes(prolific: Path) -> None:
    """A file of submissions that came back as complete, and for each of its studies one with a line a participant."""
    as_json(prolific, "--send", "--yes")
    written = files(prolific)
    owed = written.pop("_owed-1.csv")
    assert written == {
        "prolific-S1-approvals-1.txt": "s-1\n",
        "prolific-S1-bonuses-1.csv": "p2,1.01\n",
        "prolific-S2-bonuses-1.csv": "p3,1.00\np4,1.00\n",
    }
    named = [(row["worker"], row["name"]) for row in csv.DictReader(owed.splitlines())]
    assert named == [("invitation:eve", "Eve Example")], "nobody can pay a pseudonym"
    assert as_json(prolific)["to_send"] == []
    audit = pay(prolific, "--audit")
    assert audit.exit_code == 0
    assert "only the panel knows" in audit.stdout, "nobody asked Prolific"
    (study_folder(prolific, TASK) / "payments" / "prolific-S2-bonuses-1.csv").unlink()
    assert "prolific-S2-bonuses-1.csv, which is not in" in pay(prolific, "--audit").stdout


@pytest.mark.parametrize("written", [0, 1, 2])
def test_ended_between_the_ledger_and_the_files(prolific: Path, written: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With some of the files written and nothing noted, the next run writes the others, and none anew."""
    whole_run = PanelPayer._text
    count = 0

    def ended(payer: PanelPayer, name: str, payments: Sequence[Payment]) -> str:
        nonlocal count
        if count == written:
            raise KeyboardInterrupt
        count += 1
        return whole_run(payer, name, payments)

    with monkeypatch.context() as patch:
        patch.setattr(PanelPayer, "_text", ended)
        assert pay(prolific, "--send", "--yes").exit_code == 1
    ledger = Ledger(prolific, TASK)
    for payment in ledger.payments():
        ledger.note(payment.token, "intended")
    before = files(prolific)
    assert len(before) == written
    as_json(prolific, "--send", "--yes")
    after = files(prolific)
    assert len(after) == 4
    assert before.items() <= after.items()
    assert {payment.state for payment in ledger.payments()} == {"written"}


LISTED = """\ufeffSubmission id,Participant id,Status
s-1,p1,{one}
s-2,p2,returned
s-3,p2,Timed Out
"""


def listed(data_dir: Path, text: str) -> str:
    """A panel's export."""
    path = data_dir.parent / "export.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("RETURNED", "as RETURNED, so it is not approved"),
        ("TIMED-OUT", "as TIMED-OUT, so it is not approved"),
        (" timed out ", "is complete, but prolific lists the submission as TIMED-OUT"),
        ("Rejected", "nothing is paid for it"),
        ("ACTIVE", "it is not submitted yet"),
        ("reserved", "it is not submitted yet"),
        ("SCREENED OUT", "which is an unknown status"),
        ("", "which is an unknown status"),
        ("APPROVED\ns-1,p1,RETURNED", "as APPROVED and RETURNED, which is an unknown status"),
    ],
)
def test_what_the_panel_does_not_list_as_finished_is_not_approved(prolific: Path, status: str, why: str) -> None:
    """A person decides; shares for work that was left are bonuses, which panels send for returned submissions, too."""
    export = listed(prolific, LISTED.format(one=status))
    sent = as_json(prolific, "--submissions", export, "--send", "--yes")
    assert "prolific-S1-approvals-1.txt" not in files(prolific)
    (remains,) = sent["remaining"]
    assert (remains["amount"], why in remains["why"]) == ("1.00", True), remains["why"]
    assert "p1" not in files(prolific)["prolific-S1-bonuses-1.csv"]
    assert files(prolific)["prolific-S1-bonuses-1.csv"] == "p2,1.01\n"
    settled = as_json(prolific, "--settled", remains["worker"])
    assert settled["remaining"] == []
    assert next(line for line in settled["workers"] if line["worker"] == remains["worker"])["paid"] == "1.00"


def test_what_waits_for_approval_is_written_and_what_is_approved_is_paid(prolific: Path) -> None:
    """“Written” is a claim: the panel's own list makes it “confirmed”, also of what somebody approved there by hand."""
    waits = listed(prolific, LISTED.format(one="Awaiting review"))
    sent = as_json(prolific, "--submissions", waits, "--send", "--yes")
    assert files(prolific)["prolific-S1-approvals-1.txt"] == "s-1\n"
    first = sent["workers"][0]
    assert (first["paid"], first["written"]) == ("0.00", "1.00")
    assert "written" in pay(prolific).stdout.splitlines()[0]
    paid = as_json(prolific, "--submissions", listed(prolific, LISTED.format(one="approved")))
    assert (paid["workers"][0]["paid"], paid["workers"][0]["written"]) == ("1.00", "0.00")
    assert {one.state for one in Ledger(prolific, TASK).payments()} == {"written"}, "a look writes no ledger"
    ledger = as_json(prolific, "--send", "--yes")["ledger"]
    assert [one["state"] for one in ledger if one["kind"] == "approval"] == ["confirmed"]
    assert {one["state"] for one in ledger if one["kind"] == "bonus"} == {"written"}


def test_approved_at_the_panel_without_our_file_is_not_paid_again(prolific: Path) -> None:
    approved = listed(prolific, LISTED.format(one="APPROVED"))
    sent = as_json(prolific, "--submissions", approved, "--send", "--yes")
    assert "prolific-S1-approvals-1.txt" not in files(prolific)
    assert sent["workers"][0]["paid"] == "1.00"
    assert sent["remaining"] == []


def test_a_written_approval_that_the_panel_did_not_take(prolific: Path) -> None:
    """An old ledger calls it written; the list says that nobody was paid by it."""
    as_json(prolific, "--send", "--yes")
    looked = as_json(prolific, "--submissions", listed(prolific, LISTED.format(one="RETURNED")))
    (remains,) = looked["remaining"]
    assert (remains["amount"], "it is not approved" in remains["why"]) == ("1.00", True)
    settled = as_json(prolific, "--settled", remains["worker"])
    assert (settled["remaining"], settled["workers"][0]["paid"]) == ([], "1.00")
    assert len(settled["ledger"]) == len(looked["ledger"]), "the payment that was written is the one that was made"


def test_a_submission_that_the_panel_does_not_list(prolific: Path) -> None:
    """Where it lists others of the same study; of studies that nobody has read a list of, all stays as it was."""
    export = listed(prolific, "Submission id,Status\ns-2,RETURNED\ns-3,RETURNED\n")
    sent = as_json(prolific, "--submissions", export, "--send", "--yes")
    (remains,) = sent["remaining"]
    assert "but not s-1" in remains["why"]
    assert set(files(prolific)) == {"_owed-1.csv", "prolific-S1-bonuses-1.csv", "prolific-S2-bonuses-1.csv"}


def test_nobody_has_asked_the_panel(prolific: Path) -> None:
    assert any("--submissions FILE" in note for note in as_json(prolific)["notes"])


def test_returned_is_enough_to_know(prolific: Path) -> None:
    """``returned --file`` reads the same list."""
    export = listed(prolific, LISTED.format(one="RETURNED"))
    command = ["returned", "--task-name", TASK, "--data-dir", str(prolific), "--file", export]
    assert CliRunner().invoke(main, command).exit_code == 0
    as_json(prolific, "--send", "--yes")
    assert "prolific-S1-approvals-1.txt" not in files(prolific)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Submission id,When\ns-1,now\n", "has no column 'status'"),
        ("Submission id,Status\nother,APPROVED\n", "does not list any submission that came to task"),
    ],
)
def test_a_list_that_cannot_be_used_pays_nobody(prolific: Path, text: str, says: str) -> None:
    assert says in " ".join(refused(prolific, "--submissions", listed(prolific, text), "--send", "--yes").split())
    assert files(prolific) == {}


@pytest.mark.parametrize("panel", panel_names())
def test_each_panels_words(panel: str) -> None:
    """Each panel says when work waits, is paid, and is over."""
    words = read_panel(panel).statuses
    for meaning in ("finished", "paid", "at_work", "over", "rejected"):
        for word in getattr(words, meaning):
            assert words.meaning(word.lower().replace("-", " ")) == meaning
    assert words.meaning("something else") == "unknown"


def test_a_panel_of_your_own_has_its_own_words(tmp_path: Path) -> None:
    panel = tmp_path / "ours.yaml"
    text = "name: ours\ntitle: Ours\nparameters: {worker: who}\nstatuses: {paid: [Done], over: [gone]}\n"
    panel.write_text(text, encoding="utf-8")
    assert read_panel(str(panel)).statuses.meaning("DONE") == "paid"
    panel.write_text(text.replace("gone", "done"), encoding="utf-8")
    with pytest.raises(ConfigError, match="'DONE' is in more than one list"):
        read_panel(str(panel))


def test_a_store_of_a_version_before_is_read(prolific: Path) -> None:
    """It has no column for what the panel says, and no number of its version."""
    with closing(sqlite3.connect(prolific / "link" / "link.db")) as connection, connection:
        connection.execute("ALTER TABLE visits DROP COLUMN panel_status")
        connection.execute("PRAGMA user_version = 0")
    assert len(as_json(prolific, "--send", "--yes")["ledger"]) == 6


def test_a_list_by_hand_is_settled_once_paid(local: Path) -> None:
    sent = as_json(local, "--send", "--yes")
    worker = sent["workers"][0]
    assert (worker["paid"], worker["written"]) == ("0.00", "1.00")
    settled = as_json(local, "--settled", worker["worker"])
    assert (settled["workers"][0]["paid"], settled["workers"][0]["written"]) == ("1.00", "0.00")
    assert [one["state"] for one in settled["ledger"]] == ["by_hand", "written"]
    assert "nothing is left to pay" in refused(local, "--settled", worker["worker"])


def test_what_waits_for_a_hand_is_not_called_paid(local: Path) -> None:
    """Before ``--send`` nothing can be settled, and a written list stays in sight until it is."""
    worker = as_json(local)["to_send"][0]["worker"]
    assert f"what is due to {worker} is waiting to be sent" in refused(local, "--settled", worker)
    pay(local, "--send", "--yes")
    later = pay(local).stdout
    assert "Pay raters by hand, and record each payment with --settled PSEUDONYM." in later
    assert "Nothing is left" not in later
    for row in as_json(local)["workers"]:
        as_json(local, "--settled", row["worker"])
    assert "Nothing is left to pay." in pay(local).stdout


def test_a_site_that_has_closed_keeps_nobody_from_being_paid_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial in MTurk's sandbox, and people of this machine: those are paid, and what remains can be noted."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_MTURK", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    tried = StoredStudy(tmp_path / "data", provider="mturk_sandbox", requester="lab_sandbox", reward=1.0)
    tried.add(TASK, "ATRY_sandbox", whole("t"))
    assert CLOSED.partition(":")[0] in refused(tried.data_dir), "there is nobody else to pay"
    study = StoredStudy(tmp_path / "data", requester="here", reward=1.0)
    study.add(TASK, "ann", whole("a"))
    set_status(study.data_dir, "disconnect")
    result = pay(study.data_dir, "--send", "--yes")
    assert (result.exit_code, CLOSED.partition(":")[0] in result.stdout) == (1, True)
    assert len(files(study.data_dir)) == 1
    (remains,) = as_json(study.data_dir)["remaining"]
    assert as_json(study.data_dir, "--settled", remains["worker"])["remaining"] == []
    audit = pay(study.data_dir, "--audit")
    assert (audit.exit_code, CLOSED.partition(":")[0] in audit.stdout) == (1, True)


def test_what_a_closed_site_owes_is_noted_once_it_is_paid_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://mturk.example")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    study = StoredStudy(tmp_path / "data", provider="mturk", requester="lab", reward=1.0)
    study.add(TASK, "AANN", whole("a"))
    worker = next(iter(known_workers(study.data_dir)))
    settled = as_json(study.data_dir, "--settled", worker)
    assert (settled["remaining"], settled["workers"][0]["paid"]) == ([], "1.00")
    assert as_json(study.data_dir)["remaining"] == [], "nothing is owed there any more, so that nobody has to be asked"


def test_a_lost_ledger_pays_nobody_by_a_second_file(prolific: Path) -> None:
    """What a panel was given stands in the files alone then: nothing is written beside them, nor called written."""
    as_json(prolific, "--send", "--yes")
    ledger, before = Ledger(prolific, TASK), files(prolific)
    ledger.path.unlink()
    assert "_owed-1.csv, which is not in the ledger, so nothing was written" in refused(prolific, "--send", "--yes")
    assert (ledger.payments(), files(prolific)) == ([], before)
