"""Tasks on finished dialogues as a person runs them: the demo, and a launch that is killed and begun again."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, says
from live import TASK
from test_commands_as_processes import arguments, environment

from mephisto_tasks.judging.study import GO_ON
from mephisto_tasks.stored.results import read_judgements
from mephisto_tasks.stored.task_lock import running_task_run


@pytest.mark.slow
@pytest.mark.parametrize("task", ["self_chat", "spot_the_bot"])
def test_demo_prints_json_and_nothing_else(tmp_path: Path, task: str) -> None:
    """With an empty home and no terminal: models talk, raters judge, and standard output is one JSON report."""
    options = ["--task", task, "--raters", "3", "--dialogues", "4", "--json", "--port", "0", "--seed", "1"]
    done = subprocess.run(
        arguments(tmp_path, "demo", *options, "--data-dir", str(tmp_path / "d")),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=180,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["technique"] == ("pw_dialog" if task == "self_chat" else task)
    assert "Traceback" not in done.stderr


@contextmanager
def launched(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a launch of PW-Dialog, and the address it printed."""
    files = [chats(folder, name, says(text)) for name, text in ((WORDY, LONG), (TERSE, SHORT))]
    (folder / "data").mkdir(exist_ok=True)
    settings = [
        f"dialogues=[{','.join(files)}]",
        "judgements_per_group=4",
        "items_per_unit=2",
        "golds_per_unit=0",
        "onboarding_qualification=null",
    ]
    overrides = [f"mephisto.blueprint.{setting}" for setting in settings]
    overrides += ["mephisto.architect.port=0", f"mephisto.task.task_name={TASK}", "--data-dir", str(folder / "data")]
    process = subprocess.Popen(
        arguments(folder, "launch", "pw_dialog", *overrides),
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                yield process, found.group()
                return
        raise AssertionError(f"the launch ended without an address:\n{said}")
    finally:
        process.kill()
        process.communicate()


async def judges_one(url: str, worker: str) -> None:
    async with Judge(url, worker) as rater:
        assert (await rater.state()).notice is None
        await rater.answer_somehow()


async def judges_all(url: str, worker: str, *, greeted: bool) -> None:
    async with Judge(url, worker) as rater:
        assert ((await rater.state()).notice == GO_ON) == greeted
        await rater.whole_unit()


@pytest.mark.slow
def test_killed_in_mid_unit_and_begun_again(tmp_path: Path) -> None:
    """kill -9 after one of two answers: it is kept, its rater goes on with one other item, and the study ends by itself."""
    data_dir = tmp_path / "data"
    with launched(tmp_path) as (process, url):
        asyncio.run(judges_one(url, "returns"))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
    assert running_task_run(data_dir, TASK) is None
    first = read_judgements(data_dir, TASK)
    assert Counter(record.status for record in first) == {"complete": 1, "partial": 1}
    with launched(tmp_path) as (process, url):
        asyncio.run(judges_all(url, "returns", greeted=True))
        asyncio.run(judges_all(url, "other", greeted=False))
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    found = read_judgements(data_dir, TASK)
    complete = [record for record in found if record.status == "complete"]
    assert len(complete) == 4
    assert len({record.item_id for record in complete}) == 4
    mine = [record for record in found if record.worker == first[0].worker]
    assert len({record.session for record in mine}) == 1
    shown = [dialogue.dialogue_id for record in mine for dialogue in record.dialogues]
    assert len(shown) == len(set(shown))
