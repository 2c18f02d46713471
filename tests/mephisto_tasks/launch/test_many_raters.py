"""What a launch does for each of many raters: little, off the loop that hands answers on, and nothing while they think."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from live import Rater, eventually, launch

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.schema.steps import ChooseStep

UNITS = 40
AT_ONCE = 12


@pytest.fixture(scope="module")
def statements() -> Iterator[Counter[str]]:
    """Thread → statements that it sent to Mephisto's database, from now on; cleared by who counts."""
    counted: Counter[str] = Counter()
    plain = sqlite3.connect

    def connect(database: Any, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = plain(database, *args, **kwargs)
        if str(database).endswith("database.db"):
            connection.set_trace_callback(lambda sql: counted.update([threading.current_thread().name]))
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        yield counted


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, statements: Counter[str]) -> Iterator[RunningStudy]:
    with launch(tmp_path_factory.mktemp("many"), dialogues_per_group=UNITS) as run:
        yield run


async def test_letting_in_does_not_depend_on_how_many_units_there_are(
    run: RunningStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards registrations: Mephisto asks of each unit whether the worker can do it, and reads all from the database."""
    asked: list[str] = []
    may_begin = run.study.may_begin
    monkeypatch.setattr(run.study, "may_begin", lambda worker: asked.append(worker) or may_begin(worker))
    async with Rater(run, "one") as rater:
        assert isinstance((await rater.state()).step, ChooseStep)
    assert len(asked) == 1


async def test_the_loop_that_hands_answers_on_asks_no_database(run: RunningStudy, statements: Counter[str]) -> None:
    """Guards everybody's answers against one rater's arrival: a statement waits for the disk, or for who waits for it."""
    statements.clear()
    async with Rater(run, "two") as rater:
        await rater.choose()
        await rater.write("I have had quite a busy week so far.")
        run.live_run.client_io._request_status_update()  # whose page has gone? Asked every few seconds
        await asyncio.sleep(0.5)
    assert statements, "the statements are counted"
    assert statements["operator-loop"] == 0


async def test_who_thinks_costs_no_statement(run: RunningStudy, statements: Counter[str]) -> None:
    """Guards the waits, of which there are hundreds at once."""
    async with Rater(run, "three") as rater:
        await rater.state()
        await eventually(lambda: run.live_run.task_runner.running_units)
        statements.clear()
        await asyncio.sleep(1)
    assert not statements


async def test_raters_at_once_are_let_in_together(run: RunningStudy, statements: Counter[str]) -> None:
    """Guards a link that is sent to many: who comes in the same second gets a unit of their own, with a thread each."""
    before = threading.active_count()
    raters = [Rater(run, f"at-once-{number}") for number in range(AT_ONCE)]
    statements.clear()
    await asyncio.gather(*(rater.__aenter__() for rater in raters))
    try:
        assert [rater.client.refused for rater in raters] == [None] * AT_ONCE
        assert len({rater.client.agent_id for rater in raters}) == AT_ONCE
        states = await asyncio.gather(*(rater.state() for rater in raters))
        assert {state.step.kind for state in states} == {"choose"}
        running = [running.agent.db_id for running in run.live_run.task_runner.running_units.values()]
        assert {rater.client.agent_id for rater in raters} <= set(running)
        assert threading.active_count() - before <= 2 * AT_ONCE
    finally:
        await asyncio.gather(*(rater.__aexit__(None, None, None) for rater in raters))
    assert sum(statements.values()) <= 40 * AT_ONCE
