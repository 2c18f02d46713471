"""Mephisto's statuses follow the records, after a launch that was killed between the two, and nothing else changes them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from live import TASK, config_of, rows
from stored_study import StoredStudy, choices

from mephisto_tasks.cli import doctor as health
from mephisto_tasks.launch import preparation as statuses
from mephisto_tasks.launch.launch import run_launch
from mephisto_tasks.launch.preparation import Statuses
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.provider_names import Finding
from parlai_humaneval.cli import main

STATUSES = "SELECT agents.status, units.status FROM agents JOIN units USING (unit_id) ORDER BY agents.agent_id"
IN_TASK = ("in task", "assigned")


@pytest.fixture
def killed(data_dir: Path) -> Path:
    """A launch was killed: one dialogue was complete, one was not, of one the agent was completed, and one was paid."""
    study = StoredStudy(data_dir)
    for worker in ("complete", "cut-off", "half", "paid"):
        events = list(choices(f"d-{worker}", [[1], [2]]))
        study.add(TASK, worker, events[:-1] if worker == "cut-off" else events)
    set_statuses(data_dir, [IN_TASK, IN_TASK, ("completed", "assigned"), ("approved", "accepted")])
    return data_dir


def set_statuses(data_dir: Path, wanted: list[tuple[str, str]]) -> None:
    with closing(sqlite3.connect(data_dir / "database.db")) as connection:
        for number, (agent, unit) in enumerate(wanted, start=1):
            connection.execute("UPDATE agents SET status = ? WHERE agent_id = ?", (agent, number))
            connection.execute("UPDATE units SET status = ? WHERE agent_id = ?", (unit, number))
        connection.commit()


REPAIRED = [("completed", "completed"), IN_TASK, ("completed", "completed"), ("approved", "accepted")]


def doctor(data_dir: Path, *, repair: bool = False) -> tuple[Finding, Statuses | None]:
    """The finding on statuses, and what a program reads of them."""
    (finding,), told = health.statuses(data_dir, repair=repair)
    return finding, told


def test_the_doctor_says_what_it_would_do_and_does_it_when_it_is_told(killed: Path) -> None:
    """Nothing changes before ``--repair``; then what was done is completed, and what was cut off stays as it is."""
    before = rows(killed, STATUSES)
    finding, told = doctor(killed)
    assert told is not None
    assert (finding.status, told.repaired) == ("warning", False)
    assert [one.agent_id for one in told.behind] == ["1", "3"]
    assert "agent 1: in task, unit 1: assigned, and its work is complete" in finding.found
    assert "doctor --repair" in finding.mend
    assert rows(killed, STATUSES) == before
    arguments = ["doctor", "--repair", "--json", "--port", "65000", "--data-dir", str(killed)]
    done = CliRunner().invoke(main, arguments)
    said = json.loads(done.stdout)
    assert [found["status"] for found in said["findings"] if found["what"] == "Statuses"] == ["ok"]
    assert (said["statuses"]["repaired"], len(said["statuses"]["behind"])) == (True, 2)
    assert rows(killed, STATUSES) == REPAIRED
    finding, told = doctor(killed, repair=True)
    assert told is not None
    assert (finding.status, told.behind) == ("ok", [])


def test_the_next_launch_repairs_by_itself(killed: Path) -> None:
    with run_launch("pw_turn", config_of(killed), killed):
        pass
    assert rows(killed, STATUSES) == REPAIRED


def test_a_task_that_is_launched_is_left_alone(killed: Path) -> None:
    """Its agents are at work: only their launch knows how they stand."""
    before = rows(killed, STATUSES)
    with task_lock(killed, TASK) as lock:
        lock.name_run("1")
        finding, told = doctor(killed, repair=True)
    assert told is not None
    assert (told.running, told.behind) == ([TASK], [])
    assert f"{TASK} is running, and was left unchanged" in finding.found
    assert rows(killed, STATUSES) == before


def test_a_held_database_is_left_as_it_is(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program is writing: the doctor says so, and changes nothing."""
    monkeypatch.setattr(statuses, "PATIENCE_S", 0.1)
    with closing(sqlite3.connect(killed / "database.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        finding, told = doctor(killed, repair=True)
    assert finding.status == "error"
    assert "0.1 s" in finding.found
    assert told is None
    assert rows(killed, STATUSES)[0] == IN_TASK


def test_a_unit_that_somebody_else_has_meanwhile_stays_theirs(killed: Path) -> None:
    """The agent's work counts; the unit was given out again."""
    with closing(sqlite3.connect(killed / "database.db")) as connection:
        connection.execute("UPDATE units SET agent_id = 2, status = 'assigned' WHERE unit_id = 1")
        connection.commit()
    doctor(killed, repair=True)
    assert rows(killed, "SELECT status, agent_id FROM units WHERE unit_id = 1") == [("assigned", 2)]
    assert rows(killed, "SELECT status FROM agents WHERE agent_id = 1") == [("completed",)]
