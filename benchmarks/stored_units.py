"""A Mephisto database of finished units, written directly: the tables by SQL, the answers as files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.utils.testing import get_mock_requester
from omegaconf import OmegaConf

from mephisto_tasks.launch import config as settings
from parlai_humaneval.schema.events import Answered, CandidatesShown, Event, Finished, HumanMessage, Started
from parlai_humaneval.schema.records import SCHEMA_VERSION, Candidate, ContextRecord, ModelRecord

TASK_NAME = "bench"
START = 1_700_000_000.0
TEXT = "That sounds like the right way to spend a weekend. What else did you like about it, and would you go again?"
MODELS = ("eliza", "retrieval")


def dialogue(number: int, turns: int) -> list[Event]:
    """The events of one finished dialogue; the texts are of usual length."""
    settings = {"technique": "pw_turn", "turns": turns, "models": list(MODELS), "dialogues_per_group": 2000}
    begin = Started(
        at=START,
        schema_version=SCHEMA_VERSION,
        dialogue_id=f"1-{number}",
        technique="pw_turn",
        setting="",
        settings=settings,
        metric="preference",
        question="Which next response from your partner do you prefer?",
        models=[ModelRecord(name=name, options={"model": name}, description=TEXT, source="here") for name in MODELS],
        context=ContextRecord(persona=["I like to cook.", "I have two dogs."]),
        seed=number,
    )
    return [begin, *(event for turn in range(1, turns + 1) for event in _turn(number, turn)), Finished(at=START + 400)]


def _turn(number: int, turn: int) -> list[Event]:
    at = START + 60 * turn
    ids = [f"{number:08x}{turn:04x}{position:04x}" for position in (1, 2)]
    shown = [
        Candidate(candidate_id=ids[i], model=MODELS[i], text=f"{TEXT} ({turn})", position=i + 1, latency_s=0.0124)
        for i in (0, 1)
    ]
    reason = "It fits what I said before much better."
    return [
        HumanMessage(at=at, turn=turn, text=TEXT, fixed=False),
        CandidatesShown(at=at + 1, turn=turn, candidates=shown),
        Answered(at=at + 20, turn=turn, selected=ids[:1], continued=ids[0], reason=reason, seconds=19.0),
    ]


def write_units(data_dir: Path, units: int, turns: int) -> None:
    """A database in ``data_dir`` with one completed run of the task :data:`TASK_NAME`; a worker a unit."""
    data_dir.mkdir(parents=True)
    database = LocalMephistoDB(str(data_dir / "database.db"))
    requester = get_mock_requester(database)
    config = settings.compose_config("pw_turn", "local", [f"mephisto.blueprint.turns={turns}"])
    task = database.new_task(TASK_NAME, "pw_turn")
    params = json.dumps(OmegaConf.to_yaml(config.mephisto, resolve=True))
    run = database.new_task_run(task, requester.db_id, params, "mock", "pw_turn")
    _fill_tables(data_dir / "database.db", units, (int(task), int(run), int(requester.db_id)))
    for number in range(1, units + 1):
        folder = data_dir / "data" / "runs" / "NO_PROJECT" / run / str(number) / str(number)
        folder.mkdir(parents=True)
        messages = [event.model_dump(mode="json") for event in dialogue(number, turns)]
        state = {"inputs": {"cell": list(MODELS)}, "outputs": {"messages": messages, "final_submission": None}}
        (folder / "state.json").write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")


def _fill_tables(file: Path, units: int, ids: tuple[int, int, int]) -> None:
    task, run, requester = ids
    numbers = range(1, units + 1)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executemany(
            "INSERT INTO workers (worker_id, worker_name, provider_type) VALUES (?, ?, 'mock')",
            [(n, f"worker-{n}") for n in numbers],
        )
        connection.executemany(
            "INSERT INTO assignments (assignment_id, task_id, task_run_id, requester_id, task_type, provider_type, sandbox) "
            "VALUES (?, ?, ?, ?, 'pw_turn', 'mock', 1)",
            [(n, task, run, requester) for n in numbers],
        )
        connection.executemany(
            "INSERT INTO units (unit_id, assignment_id, unit_index, pay_amount, provider_type, status, agent_id, "
            "worker_id, task_type, task_id, task_run_id, sandbox, requester_id) "
            "VALUES (?, ?, 0, 1.0, 'mock', 'completed', NULL, ?, 'pw_turn', ?, ?, 1, ?)",
            [(n, n, n, task, run, requester) for n in numbers],
        )
        connection.executemany(
            "INSERT INTO agents (agent_id, worker_id, unit_id, task_id, task_run_id, assignment_id, task_type, "
            "provider_type, status) VALUES (?, ?, ?, ?, ?, ?, 'pw_turn', 'mock', 'completed')",
            [(n, n, n, task, run, n) for n in numbers],
        )
        connection.execute("UPDATE units SET agent_id = unit_id")
