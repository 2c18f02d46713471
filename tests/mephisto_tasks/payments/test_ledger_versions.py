"""Ledgers of the version before, of a version to come, and payments that a run left in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner
from stored_study import StoredStudy
from turk_study import TASK, whole

from mephisto_tasks.crowds.by_file import FilePayer
from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.payments import ledger
from mephisto_tasks.payments.ledger import VERSION, Ledger, Note, Payment
from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.storage.locks import study_folder
from parlai_humaneval.cli import main

# As the version before made it.
VERSION_1 = """
CREATE TABLE payments (
    token TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    session TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    assignment TEXT NOT NULL,
    cents INTEGER NOT NULL CHECK (cents >= 0),
    why TEXT NOT NULL,
    state TEXT NOT NULL,
    words TEXT NOT NULL,
    file TEXT NOT NULL,
    intended_at REAL NOT NULL,
    changed_at REAL NOT NULL
);
PRAGMA user_version = 1;
"""
STATES = ("intended", "sent", "confirmed", "written", "by_hand", "failed")


def old_ledger(data_dir: Path, task: str = TASK) -> Ledger:
    """Four hundred payments in every state, so that the change is no matter of one page."""
    folder = study_folder(data_dir, task)
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "ledger.db")) as connection, connection:
        connection.executescript(VERSION_1)
        connection.executemany(
            "INSERT INTO payments VALUES "
            "(?, 'mock:lab', 'bonus', ?, ?, ?, '7', 'a', ?, 'complete', ?, 'said', 'f.csv', 1.5, 2.5)",
            [(f"t{n}", f"w{n}", str(n), f"unit-{n}", n, STATES[n % len(STATES)]) for n in range(400)],
        )
    return Ledger(data_dir, task)


def rows(ledger: Ledger) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(
            "SELECT token, worker, cents, state, words, file FROM payments ORDER BY rowid"
        ).fetchall()


def version(ledger: Ledger) -> int:
    with closing(sqlite3.connect(ledger.path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _change_nothing(ledger: Ledger) -> None:
    """Open the ledger for writing, which changes a file of version 1."""
    ledger.note("no such token", "confirmed")


def test_a_ledger_of_the_version_before_is_read_and_changed_in_place(tmp_path: Path) -> None:
    ledger = old_ledger(tmp_path)
    before = rows(ledger)
    payments = ledger.payments()
    assert version(ledger) == 1, "reading changes nothing"
    _change_nothing(ledger)
    assert version(ledger) == VERSION == 3
    assert rows(ledger) == before
    assert {(payment.currency, payment.batch) for payment in payments} == {("USD", "")}
    assert payments[3] == Payment(
        token="t3",
        account="mock:lab",
        kind="bonus",
        worker="w3",
        worker_id="3",
        session="unit-3",
        agent_id="7",
        assignment="a",
        amount=Decimal("0.03"),
        why="complete",
        state="written",
        words="said",
        file="f.csv",
        intended_at=1.5,
        changed_at=2.5,
    )
    assert Ledger(tmp_path, TASK).payments() == payments, "the second time there is nothing to change"
    ledger.note("t3", "confirmed", "paid", batch="b-1")
    assert ledger.payments()[3].batch == "b-1"
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == ["ledger.db"], (
        "no copy that names people stays"
    )


def test_the_way_back_to_the_version_before(tmp_path: Path) -> None:
    """A program that knows version 1 writes and reads by the names of its columns, and needs one word changed; and back."""
    ledger = old_ledger(tmp_path)
    _change_nothing(ledger)
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO payments (token, account, kind, worker, worker_id, session, agent_id, assignment, cents, why, "
            "state, words, file, intended_at, changed_at) "
            "VALUES ('new', 'mock:lab', 'bonus', 'w', '1', 'u', '7', 'a', 5, 'why', 'intended', '', '', 1, 1)"
        )
    assert ledger.payments()[-1].currency == "USD"
    _change_nothing(ledger)
    assert version(ledger) == VERSION


def test_a_ledger_of_a_version_to_come_is_refused(tmp_path: Path) -> None:
    ledger = old_ledger(tmp_path)
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(PayError, match=r"a newer version of this program wrote it .* nothing was changed"):
        ledger.payments()
    with pytest.raises(PayError, match="newer version"):
        ledger.note("t1", "confirmed")
    assert version(ledger) == VERSION + 1


def _change(ledger: Ledger, kill_at: int) -> int:
    """In another process: how many steps SQLite took to change the file; it is killed at step ``kill_at``, from 1."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as said:
            return int(said.read() or 0)
    count, connect = 0, sqlite3.connect

    def step() -> int:
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def watched(*args: object, **kwargs: object) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)  # type: ignore[call-overload]  # whatever it is called with
        connection.execute("PRAGMA cache_size = 1")  # pages go to the disk before the end, too
        connection.set_progress_handler(step, 1)
        return connection

    try:
        sqlite3.connect = watched  # type: ignore[assignment]  # of this process alone
        _change_nothing(ledger)
        os.write(writing, str(count).encode())
    finally:
        os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_killed_anywhere_while_it_is_changed(tmp_path: Path) -> None:
    """At 20 places: the file is whole, of one version or the other, and the next run goes on from there."""
    whole_steps = _change(old_ledger(tmp_path / "whole"), kill_at=0)
    assert whole_steps > 100
    seen = set()
    for number in range(20):
        ledger = old_ledger(tmp_path / str(number))
        before = rows(ledger)
        _change(ledger, kill_at=1 + number * (whole_steps - 1) // 19)
        seen.add(version(ledger))
        assert rows(ledger) == before
        assert len(ledger.payments()) == 400
        _change_nothing(ledger)
        assert (rows(ledger), version(ledger)) == (before, VERSION)
    assert seen == {1, VERSION}, "killed before the change was whole, and after it"


# What a run left in the middle of paying


class _Abrupt(FilePayer):
    """Pays at a site that cannot tell a second sending from the first; ``left`` to be sent before the power goes."""

    left = 1
    sent: ClassVar[list[str]] = []

    def send(self, payments: object, note: Note) -> None:
        for payment in payments:  # type: ignore[attr-defined]  # payments, as of every payer
            note(payment, "paying", "asked the site", batch="set-up 9")
            if len(self.sent) == self.left:
                raise KeyboardInterrupt
            self.sent.append(payment.token)
            note(payment, "sent", "")
            note(payment, "confirmed", "the site says so")


@pytest.fixture
def abrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    study = StoredStudy(tmp_path / "data", reward=1.0)
    for worker in ("ann", "bob", "eve"):
        study.add(TASK, worker, whole(worker))
    crowd = type(crowd_of("mock"))
    monkeypatch.setattr(ledger, "LISTED_LATE_S", 0.0)
    monkeypatch.setattr(_Abrupt, "sent", [])
    monkeypatch.setattr(_Abrupt, "left", 1)

    def payer(self: object, data_dir: Path, task: str, requester: str, runs: object) -> FilePayer:
        return _Abrupt(data_dir, task, "mock", requester, "A site")

    monkeypatch.setattr(crowd, "payer", payer)
    return study.data_dir


def pay(data_dir: Path, *words: str) -> tuple[int, str]:
    told = CliRunner().invoke(main, ["pay", "--task-name", TASK, "--data-dir", str(data_dir), *words])
    return told.exit_code, " ".join(told.output.split())


def test_a_payment_in_the_middle_is_never_sent_again_by_itself(abrupt: Path) -> None:
    pay(abrupt, "--send", "--yes")
    first, middle, last = Ledger(abrupt, TASK).payments()
    assert [payment.state for payment in (first, middle, last)] == ["confirmed", "paying", "intended"]
    assert (middle.batch, middle.currency) == ("set-up 9", "USD")
    _, said = pay(abrupt)
    assert f"--by-hand paid {middle.token}, or --by-hand unpaid {middle.token}" in said
    assert "Check on the crowd's site whether it was paid" in said
    _Abrupt.left = 9
    code, _ = pay(abrupt, "--send", "--yes")
    assert code == 1, "somebody must look"
    assert sorted(_Abrupt.sent) == sorted([first.token, last.token])
    assert [payment.state for payment in Ledger(abrupt, TASK).payments()] == ["confirmed", "paying", "confirmed"]


@pytest.mark.parametrize(("answer", "sent"), [("paid", 2), ("unpaid", 3)])
def test_a_person_says_what_became_of_it(abrupt: Path, answer: str, sent: int) -> None:
    pay(abrupt, "--send", "--yes")
    _, middle, _ = Ledger(abrupt, TASK).payments()
    assert pay(abrupt, "--by-hand", answer, "f00")[0] == 1
    assert f"Tokens of interrupted payments: {middle.token}" in pay(abrupt, "--by-hand", answer, "f00")[1]
    assert pay(abrupt, "--by-hand", answer, middle.token)[0] == 0
    _Abrupt.left = 9
    assert pay(abrupt, "--send", "--yes")[0] == 0
    assert len(_Abrupt.sent) == len(set(_Abrupt.sent)) == sent
    states = [payment.state for payment in Ledger(abrupt, TASK).payments()]
    assert states == ["confirmed", "by_hand" if answer == "paid" else "confirmed", "confirmed"]
