"""The command: what it shows, and what it refuses, with nothing done."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from paying import as_json, pay, refused
from stored_study import StoredStudy, choices
from test_work import conversation, set_status
from turk_study import TASK, part, whole

from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.sqlite import Database


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    study = StoredStudy(tmp_path / "data", reward=0.5)
    study.add(TASK, "ann", whole("a"))
    study.add(TASK, "bob", part("b", 2))
    set_status(study.data_dir, "disconnect")
    return study.data_dir


def test_the_table(data_dir: Path) -> None:
    """A line a worker with pseudonyms, what is proposed, the median, and a warning under the minimum."""
    shown = pay(data_dir).stdout
    assert "ann" not in shown
    assert "bob" not in shown
    assert "2 of 3 turns" in shown
    assert "practice" not in shown.split("\n")[0], "nobody has practised only"
    assert "Effective pay: $4.30 an hour (median over raters, including their practice)" in shown
    assert "Nothing is sent without --send." in shown
    assert "raters earn less than $8.00/hour" in shown
    assert "earn less" not in pay(data_dir, "--minimum", "0").stdout


def test_who_only_practised(tmp_path: Path) -> None:
    """Is told apart in the table, and paid where the terms say so."""
    study = StoredStudy(tmp_path / "data", reward=0.5)
    study.add(TASK, "ann", whole("a"))
    study.practise(TASK, "cyd", 60)
    header, _, cyd, *_ = pay(study.data_dir, "--practice", "0.50").stdout.split("\n")
    assert header.split()[:3] == ["rater", "complete", "practice"]
    assert cyd.split()[1:] == ["only", "1.0", "$0.50", "$0.00", "$30.00"]
    assert as_json(study.data_dir)["workers"][1]["due"] == "0.00"


def test_for_programs(data_dir: Path, tmp_path: Path) -> None:
    """JSON and CSV say what the table says; amounts are texts."""
    data = as_json(data_dir, "--csv", str(tmp_path / "pay.csv"))
    rows = list(csv.DictReader((tmp_path / "pay.csv").read_text().splitlines()))
    assert [row["due"] for row in rows] == [line["due"] for line in data["workers"]] == ["0.50", "0.34"]
    assert data["fees"] == "0.00"
    assert "worker_id" not in json.dumps(data)


def test_terms_of_the_launch_hold_unless_said_otherwise(data_dir: Path) -> None:
    settings = json.dumps("blueprint: {payment: {partial: full, practice: 0.5, minimum: 12.0}}")
    with closing(sqlite3.connect(data_dir / "database.db")) as connection, connection:
        connection.execute("UPDATE task_runs SET init_params = ?", (settings,))
    assert as_json(data_dir)["terms"] == {"partial": "full", "practice": "0.50", "minimum": "12.00"}
    assert as_json(data_dir, "--partial", "none")["terms"]["partial"] == "none"


def test_a_later_launch_takes_no_pay_away(tmp_path: Path) -> None:
    """Raters are paid by the terms under which they came."""
    launches = [
        StoredStudy(tmp_path / "data", reward=1.0),
        StoredStudy(tmp_path / "data", requester="again", reward=1.0),
    ]
    for study, worker in zip(launches, ("ann", "bob"), strict=True):
        study.add(TASK, worker, conversation(1))
    promised, later = (json.dumps(f"blueprint: {{payment: {{partial: {how}}}}}") for how in ("full", "none"))
    with closing(sqlite3.connect(study.data_dir / "database.db")) as connection, connection:
        connection.execute("UPDATE task_runs SET init_params = ?", (later,))
        (first,) = connection.execute("SELECT MIN(task_run_id) FROM agents").fetchone()
        connection.execute("UPDATE task_runs SET init_params = ? WHERE task_run_id = ?", (promised, first))
    set_status(study.data_dir, "disconnect")
    data = as_json(study.data_dir)
    assert [line["due"] for line in data["workers"]] == ["1.00", "0.00"]


def test_programs_are_not_paid(tmp_path: Path) -> None:
    study = StoredStudy(tmp_path / "data", reward=0.5)
    events = list(choices("a", [[1]]))
    events[0].simulated = True  # type: ignore[union-attr]  # a dialogue begins with Started
    study.add(TASK, "ann", events)
    data = as_json(study.data_dir)
    assert (data["workers"], data["to_send"]) == ([], [])
    assert data["notes"] == ["Done by programs of this package, so not paid: 1 assignment"]


def test_who_can_go_on_is_told_of_and_owed_nothing_yet(tmp_path: Path) -> None:
    study = StoredStudy(tmp_path / "data", reward=1.0)
    study.add(TASK, "ann", conversation(1))
    set_status(study.data_dir, "disconnect")
    with task_lock(study.data_dir, TASK) as lock:
        lock.name_run("1")
        data = as_json(study.data_dir)
    assert data["to_send"] == []
    assert data["notes"][0].startswith("Left unfinished: 1 assignment.")
    assert [payment["amount"] for payment in as_json(study.data_dir)["to_send"]] == ["0.34"]


def test_a_task_that_there_is_not(data_dir: Path) -> None:
    assert "Did you mean talk?" in refused(data_dir, task="tlak")


@pytest.mark.parametrize("amount", ["-1", "1001", "0.005", "nan", "a lot", "1e9"])
def test_amounts_that_cannot_be_meant(data_dir: Path, amount: str) -> None:
    assert "--practice" in refused(data_dir, "--practice", amount)


def test_absurd_terms_of_a_launch(data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / "database.db")) as connection, connection:
        connection.execute(
            "UPDATE task_runs SET init_params = ?", (json.dumps("blueprint: {payment: {practice: -3}}"),)
        )
    assert "these terms of pay cannot be used: practice" in refused(data_dir)


def test_a_check_that_there_is_not(data_dir: Path) -> None:
    assert "there is no check 'capital'" in refused(data_dir, "--withhold-failed", "capital")


def test_a_newer_ledger(data_dir: Path) -> None:
    as_json(data_dir, "--send", "--yes")
    path = Ledger(data_dir, TASK).path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    before = path.read_bytes()
    assert "a newer version of this program wrote it" in refused(data_dir, "--send", "--yes")
    assert path.read_bytes() == before


def test_a_damaged_ledger(data_dir: Path) -> None:
    as_json(data_dir, "--send", "--yes")
    Ledger(data_dir, TASK).path.write_bytes(b"not a database" * 100)
    assert "cannot be used" in refused(data_dir, "--send", "--yes")


def test_a_full_disk(data_dir: Path) -> None:
    """Nothing is sent that could not be written down; the ledger is not called damaged."""
    ledger = Ledger(data_dir, TASK).path
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.symlink_to("/dev/full")
    said = refused(data_dir, "--send", "--yes")
    assert "cannot be read or written now (database or disk is full)" in said
    assert "try: fix that (disk space" in said
    assert not (ledger.parent / "payments").exists()


def test_a_ledger_that_can_only_be_read(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a backup, say, writes nothing."""
    sent = as_json(data_dir, "--send", "--yes")["ledger"]
    monkeypatch.setattr(Database, "connect", None)
    assert as_json(data_dir)["ledger"] == sent


def test_nothing_is_sent_where_the_csv_cannot_be_written(data_dir: Path, tmp_path: Path) -> None:
    assert str(tmp_path / "none") in refused(data_dir, "--send", "--yes", "--csv", str(tmp_path / "none" / "pay.csv"))
    assert not Ledger(data_dir, TASK).path.exists()


def test_one_thing_at_a_time(data_dir: Path) -> None:
    assert "choose one of" in refused(data_dir, "--send", "--audit")
