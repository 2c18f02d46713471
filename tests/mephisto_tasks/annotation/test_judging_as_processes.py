"""A task on finished dialogues as a person runs it: killed, and begun again."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Forked
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, says
from live import TASK
from test_commands_as_processes import arguments, environment

from mephisto_tasks.annotation.study import GO_ON
from mephisto_tasks.storage.locks import running_task_run
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import read_judgements
from parlai_humaneval.schema.steps import FeedbackStep
from parlai_humaneval.stopping.events import Answered, Arrived, Began, Ended
from parlai_humaneval.stopping.study import replay


@contextmanager
def launched(folder: Path, *more: str, dialogues: int = 4) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a launch of PW-Dialog, and the address it printed."""
    files = [chats(folder, name, says(text), dialogues=dialogues) for name, text in ((WORDY, LONG), (TERSE, SHORT))]
    (folder / "data").mkdir(exist_ok=True)
    settings = [
        f"dialogues=[{','.join(files)}]",
        "judgements_per_group=4",
        "items_per_unit=2",
        "golds_per_unit=0",
        "onboarding_qualification=null",
        *more,
    ]
    overrides = [f"mephisto.blueprint.{setting}" for setting in settings]
    overrides += ["mephisto.architect.port=0", f"mephisto.task.task_name={TASK}", "--data-dir", str(folder / "data")]
    process = Forked(
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
    """kill -9 after one of two answers: it is kept, its rater goes on with the other item, and the study ends by itself."""
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


@pytest.mark.slow
def test_killed_in_a_study_that_ends_when_it_is_decided(tmp_path: Path) -> None:
    """kill -9 in mid-unit: each answer counts once, its rater goes on with the pairs that were drawn for them, and the study
    ends at its answer."""
    data_dir, decided = tmp_path / "data", ("stop=decided", "margin=0.5", "max_dialogues=36", "alpha=0.2")
    with launched(tmp_path, *decided, dialogues=6) as (process, url):
        asyncio.run(judges_one(url, "returns"))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
    before = DECISIONS.read(data_dir, TASK)
    assert [type(event) for event in before] == [Began, Arrived, Answered]
    with launched(tmp_path, *decided, dialogues=6) as (process, url):
        asyncio.run(judges_all(url, "returns", greeted=True))
        for number in range(18):
            if not any(isinstance(event, Ended) for event in DECISIONS.read(data_dir, TASK)):
                asyncio.run(prefers(url, f"w{number}", LONG))
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    log = DECISIONS.read(data_dir, TASK)
    assert log[: len(before)] == before
    standing = replay(log).standing()
    assert (standing.ended, standing.answer) == ("decided", f"{WORDY} > {TERSE}")
    complete = [record for record in read_judgements(data_dir, TASK) if record.status == "complete"]
    assert len(complete) == len({record.item_id for record in complete}) == standing.answered


async def prefers(url: str, worker: str, text: str) -> None:
    """A unit of somebody who likes whoever says this."""
    async with Judge(url, worker) as rater:
        while not isinstance((state := await rater.state()).step, FeedbackStep):
            on_left = any(text in line.text for line in state.panels[0].lines)
            await rater.fill(preference="first" if on_left else "second")
        await rater.hand_in()
