"""Studies that stop once they reach a decision, where people are paid: HITs on a stand-in for MTurk, links of a panel."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from live import TASK, Launch, eventually, records, rows
from mturk_hands import Turker, mturk_at_home, on_mturk_beside, open_hits
from panel_hands import COMPLETE, LINK, Participant
from servers.mturk import StandIn

from mephisto_tasks.crowds.mturk import hits as following
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.payments.policy import Quote
from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.stopping.study import replay

SETTINGS = [
    "mephisto.blueprint.stop=decided",
    "mephisto.blueprint.margin=0.3",
    "mephisto.blueprint.max_dialogues=40",
    "mephisto.blueprint.raters_at_a_time=3",
]


@pytest.fixture
def mturk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    monkeypatch.setattr(following, "POLL_S", 0.1)
    with mturk_at_home(monkeypatch, tmp_path, sandbox=False) as mturk:
        yield mturk


async def comes(run: RunningStudy, mturk: StandIn, number: int) -> Turker:
    """Somebody accepts a HIT, while no more are open than were asked for."""
    await eventually(lambda: open_hits(mturk))
    assert len(open_hits(mturk)) <= 3
    worker = Turker(run, mturk, f"A{number}WORKER")
    await worker.__aenter__()
    assert worker.client.refused is None
    await worker.state()
    return worker


async def does_all(run: RunningStudy, worker: Turker) -> None:
    """Somebody who likes alpha does the task, and leaves."""
    unit_ends = len(run.live_run.task_runner.running_units) - 1
    await worker.prefer("alpha", run)
    worker.hand_in()
    await worker.__aexit__(None, None, None)
    await eventually(lambda: len(run.live_run.task_runner.running_units) == unit_ends)


async def test_hits_are_offered_a_few_at_a_time_until_it_is_decided(mturk: StandIn, data_dir: Path) -> None:
    """Guards money: the cap is agreed to, what was needed is spent, and no HIT stays on the market after the answer."""
    told: list[Quote] = []
    async with on_mturk_beside(data_dir, *SETTINGS, place="mturk", agree=told.append) as run:
        assert told[0].total == 40 * Decimal("0.60"), "a reward of 0.50 and its fee, for each of the cap"
        at_work = await comes(run, mturk, 0)
        for number in range(1, 40):
            next_one = await comes(run, mturk, number)
            await eventually(lambda: len(open_hits(mturk)) == 1)
            await does_all(run, at_work)
            at_work = next_one
            if run.study.remaining == 0:
                break
        await eventually(lambda: not open_hits(mturk))
        assert not run.is_done(), "somebody is still at work"
        await does_all(run, at_work)
        await eventually(run.is_done)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.ended, now.standing.answer) == ("decided", "alpha > beta")
    assert open_hits(mturk) == []
    done = records(run)
    assert [record.status for record in done] == ["complete"] * now.standing.answered
    assert len(done) < 20, "and not 40"
    assert len(mturk.crowd.assignments()) == len(done), "everybody who accepted one did it"
    assert replay(DECISIONS.read(data_dir, TASK)).standing() == now.standing


async def test_a_panels_link_is_worked_at_by_a_few_until_it_is_decided(start: Launch) -> None:
    """Guards who comes by link: back with the code for their work, turned away when the answer is there."""
    blueprint = {"stop": "decided", "margin": 0.3, "max_dialogues": 40, "raters_at_a_time": 3}
    async with start(overrides=LINK, **blueprint) as run:
        for number in range(40):
            if run.is_done():
                break
            async with Participant(run, f"person-{number}") as person:
                await person.prefer("alpha", run)
                assert person.redirect == COMPLETE + "C1DONE"
            await eventually(lambda: not run.live_run.task_runner.running_units)
        now = run.study.deciding_now()
        assert now is not None
        assert (now.standing.ended, now.standing.answer) == ("decided", "alpha > beta")
        async with Participant(run, "late") as late:
            assert late.client.refused is not None
    assert len(records(run)) == now.standing.answered < 20
    names = {name for (name,) in rows(run.data_dir, "SELECT worker_name FROM workers")}
    assert {f"prolific:person-{number}" for number in range(len(records(run)))} <= names
    assert "person-" not in DECISIONS.path(run.data_dir, TASK).read_text(), "the log has pseudonyms only"
