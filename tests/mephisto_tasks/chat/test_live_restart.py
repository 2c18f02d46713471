"""A launch that ends in the middle and a second one that goes on: counts continue, nothing is lost or given out twice."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import stat
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live import (
    TASK,
    Launch,
    Rater,
    config_of,
    eventually,
    good_replies,
    launch,
    records,
    rows,
    threads_of_launches,
    whole_dialogue,
)
from mephisto.data_model.agent import OnboardingAgent

from mephisto_tasks.adapter import operator
from mephisto_tasks.adapter.operator import REGISTERING_AT_ONCE
from mephisto_tasks.admission.admission import DONE_ALL, EligibilityRule
from mephisto_tasks.admission.visits import Refusal, Visitor, only_closing
from mephisto_tasks.config.names import NothingToDo
from mephisto_tasks.launch.launch import run_launch
from mephisto_tasks.server.thread import PortInUse
from mephisto_tasks.session.study import PAUSED, WHERE_YOU_WERE, conversations, filled
from mephisto_tasks.storage.locks import AlreadyRunning
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.steps import EndStep


async def test_stopping_tells_everybody_and_keeps_everything(start: Launch) -> None:
    """Practising, writing, choosing or at the comment box: last words with pay for each, and the record as far as it got."""
    async with start(dialogues_per_group=5, onboarding_qualification="q") as run:
        assert run.study.practice is not None
        good = good_replies(run)
        raters = {stage: Rater(run, stage) for stage in ("practice", "message", "choose", "feedback")}
        for stage, rater in raters.items():
            await rater.__aenter__()
            if stage != "practice":
                await rater.practise(["good"] * 4, good)
                await rater.client.submit_onboarding()
                await rater.talk_until(stage, turn=2)
        before = asyncio.get_running_loop().time()
    took = asyncio.get_running_loop().time() - before
    assert took < 20, "Mephisto alone waits for minutes"
    for stage, rater in raters.items():
        step = rater.newest.step
        assert isinstance(step, EndStep), stage
        if stage == "feedback":
            assert step.next == "submit"
        else:
            assert (step.title, step.text, step.next) == (PAUSED[0], filled(PAUSED[1], conversations(1)), "stay")
        await rater.__aexit__(None, None, None)
    found = {len(record.complete_turns): record.status for record in records(run)}
    assert found == {1: "partial", 2: "complete"}
    statuses = Counter(status for (status,) in rows(run.data_dir, "SELECT status FROM units"))
    assert statuses == {"completed": 1, "expired": 4}


async def test_a_second_launch_goes_on_with_the_counts(start: Launch) -> None:
    """Three wanted: one complete, one cut off by the stop, which goes on; the second launch asks for two, never for more."""
    async with start(dialogues_per_group=3) as run:
        await whole_dialogue(run, "done")
        async with Rater(run, "cut-off") as rater:
            cut_off = await rater.talk_until("choose", turn=2)
    async with start(dialogues_per_group=3) as run:
        assert run.study.allocator.remaining == 2
        assert len(run.live_run.task_launcher.units) == 2
        async with Rater(run, "done") as rater:
            assert rater.client.refused == only_closing(DONE_ALL)
        async with Rater(run, "cut-off") as rater:
            state = await rater.state()
            assert (state.step, state.transcript) == (cut_off.step, cut_off.transcript), (
                "the same cards in the same places"
            )
            assert state.notice == WHERE_YOU_WERE
            state = await rater.choose()
            assert state.notice is None
            await rater.finish()
        async with Rater(run, "cut-off", "another-assignment") as rater:
            assert rater.client.refused is not None, "once it is complete, the rule of one dialogue a pair holds again"
        await whole_dialogue(run, "new-1")
        await eventually(run.is_done)
    found = read_dialogues(run.data_dir, TASK)
    assert Counter(record.status for record in found) == {"complete": 3}
    assert len({record.dialogue_id for record in found}) == 3
    with pytest.raises(NothingToDo, match=r"have already been collected.*dialogues_per_group"):
        async with start(dialogues_per_group=3):
            pass


async def test_statuses_are_mended_where_nothing_is_left_to_launch(start: Launch) -> None:
    """A launch is killed at the last dialogue that was wanted, before Mephisto knows: no other will come by and tell it."""
    async with start() as run:
        await whole_dialogue(run, "last")
        await eventually(run.is_done)
    with closing(sqlite3.connect(run.data_dir / "database.db")) as connection:
        connection.execute("UPDATE agents SET status = 'in task'")
        connection.execute("UPDATE units SET status = 'assigned'")
        connection.commit()
    with pytest.raises(NothingToDo):
        async with start():
            pass
    assert rows(run.data_dir, "SELECT status FROM agents") == [("completed",)]
    assert rows(run.data_dir, "SELECT status FROM units WHERE agent_id IS NOT NULL") == [("completed",)]


async def test_asking_for_more_later_collects_only_the_difference(start: Launch) -> None:
    async with start() as run:
        await whole_dialogue(run, "first")
    async with start(dialogues_per_group=3) as run:
        assert len(run.live_run.task_launcher.units) == 2


async def test_one_task_is_launched_once_at_a_time(start: Launch) -> None:
    """The second is refused with words; another task beside it, from the same directory, is not."""
    async with start() as run:
        with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
            async with start():
                pass
        async with start(task_name="another") as other:
            await asyncio.gather(whole_dialogue(run, "w1"), whole_dialogue(other, "w2"))
        assert [record.status for record in records(run)] == ["complete"]
        assert [record.status for record in records(other)] == ["complete"]


async def test_a_port_in_use_is_said_before_anything_is_written(start: Launch, tmp_path: Path) -> None:
    """Neither the data directory nor a folder of locks in it stays, where there was none; what was there stays as it was."""
    there, not_there = tmp_path / "there", tmp_path / "not" / "there"
    there.mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for data_dir in (there, not_there):
            config = config_of(tmp_path, port=taken.getsockname()[1])
            with pytest.raises(PortInUse, match="port=…"), run_launch("pw_turn", config, data_dir):
                pass
    assert list(there.iterdir()) == []
    assert not not_there.parent.exists()


async def test_a_launch_that_fails_half_way_leaves_nothing_running(
    start: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The router is up when the units are created: an error there must end it again, and the lock with it."""
    with monkeypatch.context() as patch:
        patch.setattr("mephisto_tasks.adapter.task_launcher.StudyLauncher.create_assignments", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            async with start():
                pass
    assert [name for name in threads_of_launches() if not name.startswith("asyncio_")] == []
    async with start() as run:
        await whole_dialogue(run, "w1")
        # The loop's thread sets up what registers raters anew: not with fewer threads than are meant.
        assert vars(run.operator._event_loop)["_default_executor"]._max_workers == REGISTERING_AT_ONCE


async def test_who_comes_in_as_the_launch_ends_is_not_left_inside(
    start: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a practice that begins when all others were told already: in an ended launch nobody practises."""
    on_its_way, goes_on = threading.Event(), threading.Event()
    ended = operator._end_raters

    def tells_those_inside(run: Any) -> None:
        ended(run)
        goes_on.set()
        time.sleep(0.2)  # now they are in

    update = OnboardingAgent.update_status

    def slow_disk(agent: OnboardingAgent, status: str) -> None:
        time.sleep(1.0 if status == "disconnect" else 0)
        update(agent, status)

    async with start(onboarding_qualification="q") as run:
        rule = EligibilityRule.refusal

        def slowly(self: EligibilityRule, visitor: Visitor) -> Refusal | None:
            on_its_way.set()
            assert goes_on.wait(20)
            return rule(self, visitor)

        monkeypatch.setattr(EligibilityRule, "refusal", slowly)
        monkeypatch.setattr(OnboardingAgent, "update_status", slow_disk)
        monkeypatch.setattr(operator, "_end_raters", tells_those_inside)
        rater = Rater(run, "late")
        coming = asyncio.create_task(rater.__aenter__())
        await eventually(on_its_way.is_set)
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    await rater.__aexit__(None, None, None)
    assert rows(run.data_dir, "SELECT status FROM onboarding_agents") == [("disconnect",)]
    assert not [thread for thread in threads_of_launches() if "Onboard" in thread]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files by /proc")
def test_studies_one_after_another_in_one_process(tmp_path: Path) -> None:
    """Three launches: each is whole, and neither threads nor open files pile up."""
    files = []
    for number in range(3):
        with launch(tmp_path / str(number)) as run:
            asyncio.run(whole_dialogue(run, "w1"))
            run.wait(stop=threading.Event())
        assert [record.status for record in records(run)] == ["complete"]
        assert threads_of_launches() == []
        files.append(open_files())
    assert files[2] <= files[0] + 2


def commits(data_dir: Path) -> int:
    """How often SQLite has written to Mephisto's database: its file counts that itself."""
    assert rows(data_dir, "PRAGMA journal_mode") == [("delete",)], "in other modes the file does not count"
    return int.from_bytes((data_dir / "database.db").read_bytes()[24:28], "big")


def test_two_hundred_units_are_ready_soon_and_gone_soon(tmp_path: Path) -> None:
    """Mephisto's commit per row took 6 s to create them and 9 s to expire them."""
    with launch(tmp_path, dialogues_per_group=200) as run:
        ready = commits(tmp_path)
        assert Counter(status for (status,) in rows(tmp_path, "SELECT status FROM units")) == {"launched": 200}
        asyncio.run(whole_dialogue(run, "w1"))
        before = commits(tmp_path)
    assert commits(tmp_path) - before < 50
    assert ready < 100
    assert Counter(status for (status,) in rows(tmp_path, "SELECT status FROM units")) == {
        "expired": 199,
        "completed": 1,
    }


@pytest.mark.parametrize(("umask", "mode", "expected"), [(0o000, None, 0o600), (0o002, 0o2770, 0o660)])
def test_what_raters_say_is_shut_to_strangers(tmp_path: Path, umask: int, mode: int | None, expected: int) -> None:
    """Whatever the umask: a directory of ours is its owner's alone; one that a group shares stays shared."""
    data_dir = tmp_path / "data"
    if mode is not None:
        data_dir.mkdir()
        data_dir.chmod(mode)
    before = os.umask(umask)
    try:
        with run_launch("pw_turn", config_of(tmp_path), data_dir) as run:
            asyncio.run(whole_dialogue(run, "w1"))
            asyncio.run(eventually(run.is_done))
    finally:
        os.umask(before)
    assert stat.S_IMODE(data_dir.stat().st_mode) == (mode or 0o700)
    (state,) = data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (data_dir / "database.db", state)}
    assert modes == {"database.db": expected, "state.json": expected}


def test_a_launch_warns_where_strangers_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older directory is not changed without a word: its owner is told how."""
    monkeypatch.setattr("mephisto_tasks.launch.preparation.open_to_strangers", lambda folder: True)
    with launch(tmp_path / "my data") as run:
        (remark,) = [remark for remark in run.study.remarks if "Anyone on this machine" in remark]
    assert remark.endswith(f"chmod -R o-rwx '{tmp_path}/my data'")
