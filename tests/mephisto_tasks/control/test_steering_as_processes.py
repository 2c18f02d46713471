"""Steering as a person does it: commands beside a launch, kill -9 and the launch after it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from forked import run
from live import TASK, Rater, eventually
from test_commands_as_processes import environment, launched

from mephisto_tasks.cli.steer import steer as commands
from mephisto_tasks.control.snapshot import Snapshot, read_snapshot
from mephisto_tasks.storage.locks import running_task_run
from mephisto_tasks.storage.results import read_dialogues

COMMAND = "import sys; from parlai_humaneval.cli import main; sys.exit(main())"


def steer(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return run(
        [sys.executable, "-c", COMMAND, "steer", *args, "--task-name", TASK, "--data-dir", str(folder / "data")],
        env=environment(folder),
        timeout=60,
    )


def steer_here(folder: Path, *args: str) -> Result:
    """The same in this process, which is quicker, where nothing depends on its being another one."""
    return CliRunner().invoke(commands, [*args, "--task-name", TASK, "--data-dir", str(folder / "data")])


def stands(folder: Path) -> Snapshot:
    snapshot = read_snapshot(folder / "data", TASK)
    assert snapshot is not None
    return snapshot


@pytest.mark.slow
def test_orders_hold_after_kill_9(tmp_path: Path) -> None:
    """Orders of several processes at the same moment are all followed while a rater is inside, and hold when the launch was
    killed; so does one that is given when nothing runs."""
    assert "there is no Mephisto database" in steer_here(tmp_path, "pause").output
    with launched(tmp_path) as (process, url):
        asyncio.run(while_inside(tmp_path, url))
        process.kill()
        process.wait()
    assert running_task_run(tmp_path / "data", TASK) is None
    assert stands(tmp_path).ended is None, "it was killed, and said nothing"
    asked = steer_here(tmp_path, "more", "1", "--json")
    told = json.loads(asked.output)
    assert (asked.exit_code, told["running"]) == (0, False)
    assert "The order will take effect at the next launch" in told["orders"][0]["text"]
    with launched(tmp_path) as (process, url):
        snapshot = stands(tmp_path)
        assert [(group.asked, group.wanted) for group in snapshot.groups] == [(2, 6)]
        assert snapshot.paused is not None
        with pytest.raises(AssertionError, match="paused"):
            asyncio.run(whole_dialogue_at(url, "early"))
        assert "admitted again" in steer_here(tmp_path, "resume").output
        asyncio.run(whole_dialogue_at(url, "later"))
        process.terminate()
        rest, _ = process.communicate(timeout=20)
    lines = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  (.*)$", rest, re.MULTILINE)
    assert lines[-1] == "2 of 6 conversations complete, 0 active, 0 left early, 1 turned away, 0 errors"
    assert stands(tmp_path).ended is not None
    assert [record.status for record in read_dialogues(tmp_path / "data", TASK)] == ["complete", "complete"]


async def whole_dialogue_at(url: str, worker: str) -> None:
    async with Rater(url, worker) as rater:
        assert rater.client.refused is None, rater.client.refused
        await rater.finish()


async def while_inside(folder: Path, url: str) -> None:
    async with Rater(url, "inside") as rater:
        await rater.talk_until("choose", turn=2)
        at_once = [asyncio.to_thread(steer, folder, "more", "1") for _ in range(3)]
        answers = await asyncio.gather(*at_once, asyncio.to_thread(steer, folder, "retire", "gamma"))
        assert [answer.returncode for answer in answers] == [0, 0, 0, 1]
        assert "There is no model gamma; name one of alpha, beta" in answers[-1].stderr
        assert stands(folder).groups[0].wanted == 5
        paused = await asyncio.to_thread(steer, folder, "pause")
        assert "Paused:" in paused.stdout
        await eventually(lambda: [one.step for one in stands(folder).inside] == ["choose"])
        await rater.choose()
