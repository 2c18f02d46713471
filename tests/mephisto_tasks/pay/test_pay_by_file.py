"""Paying by file: what a panel's site takes, a list for whoever pays by hand; each payment is written once."""

from __future__ import annotations

import csv
import stat
from pathlib import Path

import pytest
from paying import as_json, pay, refused
from stored_study import StoredStudy
from test_work import conversation, set_status
from turk_study import TASK, part, stopped, whole

from mephisto_tasks.crowds.link.arrivals import Arrival
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.link.invitations.book import Book
from mephisto_tasks.crowds.link.invitations.people import Person
from mephisto_tasks.pay.files import FilePayer
from mephisto_tasks.pay.ledger import Ledger
from mephisto_tasks.stored.results import stored_agents
from mephisto_tasks.stored.study_folder import study_folder


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
    book = Book(study_folder(study.data_dir, TASK))
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
    assert not [note for note in sent["notes"] if note.startswith("More than is owed")]


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
    whole_run = FilePayer._write
    count = 0

    def ended(payer: FilePayer, path: Path, payments: object) -> None:
        nonlocal count
        if count == written:
            raise KeyboardInterrupt
        count += 1
        whole_run(payer, path, payments)  # type: ignore[arg-type]  # it wraps a payer

    with monkeypatch.context() as patch:
        patch.setattr(FilePayer, "_write", ended)
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


def test_a_lost_ledger_pays_nobody_by_a_second_file(prolific: Path) -> None:
    """What a panel was given stands in the files alone then: nothing is written beside them, nor called written."""
    as_json(prolific, "--send", "--yes")
    ledger, before = Ledger(prolific, TASK), files(prolific)
    ledger.path.unlink()
    assert "_owed-1.csv, of which the ledger knows nothing: nothing was written" in refused(prolific, "--send", "--yes")
    assert (ledger.payments(), files(prolific)) == ([], before)
