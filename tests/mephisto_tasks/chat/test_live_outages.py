"""A model's server that goes away under real raters: they wait and go on, or are sent home once for all, and paid."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hands import by_model
from killable_server import KillableServer, free_port
from live import Launch, Rater, eventually, records, rows

from mephisto_tasks.admission import admission as explain
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.chat.turn import INTERRUPTED, PARTNER_TYPING
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import STOPPED
from mephisto_tasks.simulation.raters import Behaviour, run_raters
from parlai_humaneval.models.pool import breaker
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.schema.steps import EndStep, WaitStep

RATERS, TURNS = 8, 3
DOWN_S = float(os.environ.get("PARLAI_HUMANEVAL_TEST_OUTAGE_S", "2.0"))
"""How long the server is gone: a test needs no more; whoever wants to see seven seconds may have them."""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_S", 0.4)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KillableServer]:
    server = KillableServer(tmp_path, free_port())
    yield server
    server.kill()


@pytest.fixture
def study(start: Launch, server: KillableServer, tmp_path: Path) -> Callable[..., Any]:
    """``async with study(…) as run``: the served model beside a scripted one, each rated by whoever comes."""
    options = {
        "model": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
        "base_url": server.base_url,
        "served_model": "m",
        "api_key_env": "",
        "request_retries": 1,
    }
    zoo = tmp_path / "served.yaml"
    zoo.write_text(yaml.safe_dump({"models": {"served": {"options": options}}}))

    def begin(**settings: Any) -> Any:
        chosen = {"dialogues_per_group": RATERS, "turns": TURNS, **settings}
        return start(models=["retrieval", "served"], zoo_files=[str(zoo)], **chosen)

    return begin


def asked_of(record: DialogueRecord, turn: int) -> list[dict[str, str]]:
    """The messages that the served model must have been sent for a turn, by what is stored of the dialogue."""
    messages = []
    for earlier in record.turns[: turn - 1]:
        continued = next(c.text for c in earlier.candidates if c.candidate_id == earlier.continued)
        messages += [{"role": "user", "content": earlier.human_text}, {"role": "assistant", "content": continued}]
    return [*messages, {"role": "user", "content": record.turns[turn - 1].human_text}]


def shown_waits(run: RunningStudy) -> list[str]:
    """The words of every wait that is sent to a rater from now on."""
    shown: list[str] = []
    send = run.live_run.client_io.send_live_update

    def spy(agent_id: str, update: dict[str, Any]) -> None:
        step = update["state"]["step"]
        if step["kind"] == "wait":
            shown.append(step["text"])
        send(agent_id, update)

    run.live_run.client_io.send_live_update = spy
    return shown


async def test_eight_raters_go_on_when_the_killed_server_is_back(
    study: Callable[..., Any], server: KillableServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards the study of the report: a restart of seconds ended it. Every unit completes, no line is lost or doubled,
    and the server is asked what it would have been asked."""
    async with study() as run:
        shown = shown_waits(run)

        async def restart() -> None:
            await eventually(lambda: len(server.asked) > RATERS)
            server.kill()
            await asyncio.sleep(DOWN_S)
            await asyncio.to_thread(server.start)

        raters = run_raters(
            run.url, Behaviour(), announce=run.study.simulated.add, raters=RATERS, dialogues=RATERS, seed=1
        )
        outcomes, _ = await asyncio.gather(raters, restart())
        await eventually(run.is_done)
        done = records(run)
        assert run.study.broken is None
    assert [outcome.finished for outcome in outcomes] == [True] * RATERS
    assert [record.status for record in done] == ["complete"] * RATERS
    prompts = [asked["messages"] for asked in server.asked]
    for record in done:
        assert [turn.turn for turn in record.turns] == list(range(1, TURNS + 1))
        assert all(asked_of(record, turn) in prompts for turn in range(1, TURNS + 1))
    sent = sorted(turn.message or "Hi!" for outcome in outcomes for turn in outcome.turns)
    assert sent == sorted(turn.human_text for record in done for turn in record.turns)
    assert INTERRUPTED in shown
    assert PARTNER_TYPING in shown[shown.index(INTERRUPTED) :]
    infos = [by_model(turn)["served"] for record in done for turn in record.turns]
    held = [reply for reply in infos if reply.info is not None and reply.info.outage_s]
    assert held
    assert all(reply.latency_s > (reply.info.outage_s or 0) for reply in held if reply.info)
    said = [record for record in caplog.records if record.name == breaker.__name__]
    assert [record.levelno for record in said] == [logging.WARNING] * 2, "once that it is out, and once that it is back"


async def test_an_outage_that_is_too_long_pays_all_counts_once_and_shuts_the_door(
    study: Callable[..., Any], server: KillableServer
) -> None:
    """Guards money and study: those under way are paid, nobody new begins what cannot be held, one outage is one failure
    however many it ends, and the door opens by itself when the server is back."""
    async with study(model_outage_s=1.0, stop_after_failures=2, dialogues_per_group=RATERS) as run:
        raters = [Rater(run, f"w{number}") for number in range(4)]
        for rater in raters:
            await rater.__aenter__()
            await rater.choose()
        server.kill()
        for rater in raters:
            step = (await rater.state()).step
            assert step is not None
            await rater.send(kind="message", step_id=step.step_id, text="are you there?")
        for rater in raters:
            ended = (await rater.state()).step
            assert isinstance(ended, EndStep)
            assert (ended.title, ended.next) == (STOPPED[0], "submit")
            await rater.client.submit_task()
            await rater.__aexit__(None, None, None)
        await eventually(lambda: not run.live_run.task_runner.running_units)
        assert run.study.broken is None
        async with Rater(run, "late") as late:
            assert late.client.refused == only_closing(explain.PHRASES["interrupted"])
        await asyncio.to_thread(server.start)
        await eventually(lambda: run.study.may_begin("anybody"))
        async with Rater(run, "next") as rater:
            await rater.finish()
        done = records(run)
    assert sorted(record.status for record in done) == ["complete", *["failed"] * 4]
    assert all("outage_s" in str(record.failure) for record in done if record.status == "failed")
    statuses = [status for (status,) in rows(run.data_dir, "SELECT status FROM units WHERE agent_id IS NOT NULL")]
    assert statuses.count("completed") == 5


async def test_a_rater_who_comes_in_an_outage_waits_and_is_not_taken_to_be_away(
    study: Callable[..., Any], server: KillableServer
) -> None:
    """Guards an arrival: they read that it goes on in a moment, for longer than they themselves may be silent."""
    server.kill()
    async with study(model_outage_s=60, turns=1, dialogues_per_group=1) as run:
        run.study.config.answer_timeout_s = 1
        async with Rater(run) as rater:
            await eventually(lambda: words_of(rater) == INTERRUPTED)
            await asyncio.sleep(2.0)
            assert words_of(rater) == INTERRUPTED
            await asyncio.to_thread(server.start)
            await rater.choose()
            await rater.finish()
        (record,) = records(run)
    assert record.status == "complete"


async def test_a_rater_who_leaves_in_an_outage_is_let_go(study: Callable[..., Any], server: KillableServer) -> None:
    """Guards the unit, which is given out again, and the server, which is not asked for them any more."""
    async with study(model_outage_s=60, turns=1, dialogues_per_group=1, disconnect_after_s=0.5) as run:
        server.kill()
        async with Rater(run, "leaver") as rater:
            await eventually(lambda: words_of(rater) == INTERRUPTED)
        await eventually(lambda: not run.live_run.task_runner.running_units)
        before = len(server.asked)
        await asyncio.to_thread(server.start)
        async with Rater(run, "next") as rater:
            await rater.finish()
        assert len(server.asked) <= before + 2, "the next rater's reply, and one look whether the server is back"
        done = records(run)
    assert sorted(record.status for record in done) == ["complete", "partial"]


def words_of(rater: Rater) -> str:
    """What the page of somebody who waits says; empty at other times."""
    step = rater.client.state.step if rater.client.state is not None else None
    return step.text if isinstance(step, WaitStep) else ""
