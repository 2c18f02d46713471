"""A disk that is full, and a database that another program holds, in the middle of a study: nobody is lost, nothing is."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from live import TASK, Launch, Rater, eventually, good_replies, launch, records, rows

from mephisto_tasks.monitoring import observe as observing
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.server import router as core
from mephisto_tasks.session.page import CANNOT_SAVE
from mephisto_tasks.storage import sqlite as saving
from mephisto_tasks.storage.locks import running_task_run
from parlai_humaneval._util import files as private_files
from parlai_humaneval.schema.steps import EndStep, WaitStep


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages and operators are told sooner than in real life."""
    monkeypatch.setattr(core, "SOON_S", 0.3)
    monkeypatch.setattr(saving, "SAID_AFTER_S", 0.3)
    monkeypatch.setattr(observing, "QUIET_S", 0.5)


@contextmanager
def held(data_dir: Path) -> Iterator[None]:
    """Another program holds the database, as one does that is stopped in the middle of writing."""
    other = sqlite3.connect(data_dir / "database.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def statuses(data_dir: Path) -> list[tuple[str, str]]:
    """Of each agent and its unit."""
    return rows(
        data_dir, "SELECT agents.status, units.status FROM agents JOIN units USING (unit_id) ORDER BY agents.agent_id"
    )


async def test_a_held_database_stops_nobody_and_loses_nothing(start: Launch) -> None:
    """While it is held: who is at work goes on, who finishes is thanked, who comes waits; all of it is right afterwards."""
    async with start(dialogues_per_group=3) as run:
        async with Rater(run, "goes-on") as goes_on, Rater(run, "leaves") as leaves:
            await leaves.talk_until("feedback")
            await goes_on.talk_until("message", turn=2)
            with held(run.data_dir):
                newcomer = Rater(run, "newcomer")
                coming = asyncio.create_task(newcomer.__aenter__())
                await asyncio.wait_for(goes_on.choose_after("a message meanwhile"), 5)
                await asyncio.wait_for(leaves.finish(), 5)
                await leaves.client.__aexit__(None, None, None)
                await eventually(lambda: run.warning() == saving.WORDS["lasting"]["held"].format(data_dir=run.data_dir))
                assert not coming.done()
            await asyncio.wait_for(coming, 10)
            assert newcomer.client.refused is None, newcomer.client.refused
            await eventually(lambda: run.warning() == saving.WORDS["over"])
            await eventually(lambda: ("completed", "completed") in statuses(run.data_dir))
            await newcomer.finish()
            await newcomer.__aexit__(None, None, None)
            await goes_on.finish()
        await eventually(run.is_done)
    assert statuses(run.data_dir) == [("completed", "completed")] * 3
    assert [record.status for record in records(run)] == ["complete"] * 3


Disk = tuple[Path, Callable[[], AbstractContextManager[None]]]
"""A folder, and what fills its disk for the time of a block."""


@pytest.fixture(params=["a real file system", errno.ENOSPC, errno.EFBIG])
def disk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """A file system of its own of two megabytes, which only root may make; and, everywhere, the kernel's errors for files:
    no room, and a limit on their size."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if isinstance(request.param, int):
        yield folder, lambda: refusing(monkeypatch, request.param)
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield folder, lambda: filled(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """No file can be written."""

    def full(path: Path, *_: object) -> Path:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(private_files, "_draft", full)
        yield


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Not a byte is free in the block."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    try:
        yield
    finally:
        filler.unlink()


async def told(rater: Rater) -> None:
    """The page says that nothing can be saved."""

    def says() -> bool:
        step = rater.newest.step
        return isinstance(step, WaitStep) and step.text == CANNOT_SAVE

    await eventually(says, 5)


async def test_a_full_disk_holds_everybody_where_they_are(start: Launch, disk: Disk) -> None:
    """Pages are told, nothing is confirmed meanwhile, and all goes on by itself once there is room: whoever writes, chooses,
    ends, practises, or has just come.
    """
    folder, full = disk
    async with start(data_dir=folder / "data", dialogues_per_group=5, onboarding_qualification="q") as run:
        good = good_replies(run)
        raters = {stage: Rater(run, stage) for stage in ("message", "choose", "feedback", "practice")}
        for stage, rater in raters.items():
            await rater.__aenter__()
            await rater.state()
            if stage != "practice":
                await rater.practise(["good"] * 4, good)
                await rater.client.submit_onboarding()
                await rater.talk_until(stage, turn=2)
        before = [len(record.turns) for record in records(run)]
        with full():
            sending = [
                asyncio.create_task(raters["message"].choose_after("written while the disk is full")),
                asyncio.create_task(raters["choose"].choose()),
                asyncio.create_task(
                    raters["feedback"].send(kind="feedback", step_id="feedback", text="said while the disk is full")
                ),
                asyncio.create_task(raters["practice"].practise(["good"] * 4, good)),
            ]
            newcomer = Rater(run, "newcomer")
            coming = asyncio.create_task(newcomer.__aenter__())
            for rater in raters.values():
                await told(rater)
            await eventually(lambda: run.warning() == saving.WORDS["lasting"]["full"].format(data_dir=run.data_dir))
            assert not any(task.done() for task in [*sending, coming]), "confirmed, and not on the disk"
            assert [len(record.turns) for record in records(run)] == before
            if folder.is_mount():
                await asyncio.sleep(observing.QUIET_S)
                assert "The disk is full" in Observer(run.data_dir, run.task_name, draws=10).standing().state_words
        await asyncio.wait_for(asyncio.gather(*sending, coming), 10)
        for rater in (raters["practice"], newcomer):
            if rater is newcomer:
                await rater.practise(["good"] * 4, good)
            await rater.client.submit_onboarding()
        for rater in [*raters.values(), newcomer]:
            await rater.finish()
            await rater.__aexit__(None, None, None)
        await eventually(run.is_done)
        assert statuses(run.data_dir) == [("completed", "completed")] * 5
        found = records(run)
        assert "written while the disk is full" in {record.turns[1].human_text for record in found}
        assert "said while the disk is full" in {record.feedback for record in found}
        assert {record.status for record in found} == {"complete"}


def test_a_launch_that_cannot_write_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a launch that waits in silence, deaf to Ctrl-C, before anybody is there whose work it would keep."""
    monkeypatch.setattr(saving, "LAST_TRIES_S", 0.2)
    data_dir = tmp_path / "data"
    with launch(data_dir):
        pass
    with held(data_dir), pytest.raises(saving.CannotBegin, match=f"another program holds .*{data_dir}.* launch again"):
        launch(data_dir).__enter__()
    with (
        monkeypatch.context() as patch,
        refusing(patch, errno.ENOSPC),
        pytest.raises(saving.CannotBegin, match=f"the disk is full.*{data_dir}.* launch again"),
    ):
        launch(data_dir).__enter__()
    with launch(data_dir):
        assert running_task_run(data_dir, TASK) is not None


async def test_a_launch_ends_while_its_disk_is_full(start: Launch, disk: Disk) -> None:
    """Guards Ctrl-C: it does not wait for room, and what could be saved is what was confirmed."""
    folder, full = disk
    with suppress(OSError):
        async with start(data_dir=folder / "data") as run, Rater(run, "w1") as rater:
            await rater.talk_until("choose", turn=2)
            with full():
                sending = asyncio.create_task(rater.choose())
                await told(rater)
                run.study.closing.set()
                await eventually(lambda: isinstance(rater.newest.step, EndStep))
                await eventually(lambda: not run.live_run.task_runner.running_units, 20)
                sending.cancel()
    (record,) = records(run)
    assert len(record.complete_turns) == 1
