"""Commands as a person runs them: started, stopped by Ctrl-C, SIGTERM or kill -9, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Forked
from hands import Hands
from live import TASK, Rater, lasting_port
from scripted_models import zoo_file

from mephisto_tasks.storage.locks import running_task_run
from mephisto_tasks.storage.results import read_dialogues, read_records, task_names
from parlai_humaneval.schema.steps import PageState

COMMAND = (
    "from mephisto_tasks.adapter import blueprint; from mephisto_tasks.launch import launch as launching;"
    "from pathlib import Path;"
    "import sys; page = Path(sys.argv.pop(1)); blueprint.webapp_dist = launching.webapp_dist = lambda: page;"
    "from parlai_humaneval.cli import main; sys.exit(main())"
)
"""The console command, with a page of one line in place of the built one."""


def arguments(folder: Path, *args: str) -> list[str]:
    page = folder / "page"
    page.mkdir(exist_ok=True)
    (page / "index.html").write_text("<html></html>")
    return [sys.executable, "-c", COMMAND, str(page), *args]


def environment(folder: Path) -> dict[str, str]:
    """An empty home, and the test models importable."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return {**os.environ, "HOME": str(home), "PYTHONPATH": path, "COLUMNS": "200"}


def launch_arguments(folder: Path, *extra: str, task: str = "pw_turn") -> list[str]:
    (folder / "data").mkdir(exist_ok=True)
    return arguments(
        folder,
        "launch",
        task,
        "mephisto.blueprint.models=[alpha,beta]",
        f"mephisto.blueprint.zoo_files=[{zoo_file(folder, ['alpha', 'beta'])}]",
        "mephisto.blueprint.dialogues_per_group=2",
        "mephisto.blueprint.turns=2",
        "mephisto.blueprint.onboarding_qualification=null",
        f"mephisto.architect.port={lasting_port()}",
        f"mephisto.task.task_name={TASK}",
        "--data-dir",
        str(folder / "data"),
        *extra,
    )


@contextmanager
def launched(folder: Path, *extra: str, task: str = "pw_turn") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a launch, and the address it printed."""
    process = Forked(
        launch_arguments(folder, *extra, task=task),
        fully=True,
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


def refuses_connections(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) != 0


@pytest.mark.slow
def test_stopped_and_killed_in_mid_dialogue(tmp_path: Path) -> None:
    """Ctrl-C, kill -9, SIGTERM, one after another on one task: what raters did is kept, and no listener is left.

    That a launch goes on with the counts of those before it is also seen here: one dialogue is rated in the last.
    """
    data_dir = tmp_path / "data"
    for number, how in enumerate((signal.SIGINT, signal.SIGKILL, signal.SIGTERM), start=1):
        with launched(tmp_path) as (process, url):
            if how is signal.SIGTERM:
                asyncio.run(whole_dialogue_at(url, "completes"))
            asyncio.run(leave_in_turn_two(url, how.name))
            assert running_task_run(data_dir, TASK) is not None
            assert [record.status for record in read_dialogues(data_dir, TASK)][-1] == "running"
            process.send_signal(how)
            rest, _ = process.communicate(timeout=60)
            assert refuses_connections(url)
            assert running_task_run(data_dir, TASK) is None
            if how is not signal.SIGKILL:
                assert process.returncode == 0, rest
                assert "all of their work is kept" in rest
                assert "Traceback" not in rest
        found = [(record.status, len(record.complete_turns)) for record in read_dialogues(data_dir, TASK)]
        assert found.count(("partial", 1)) == number
    assert found.count(("complete", 2)) == 1
    assert len(found) == 4


STEPS = ("feedback", "message", "choose", "write")


@pytest.mark.slow
def test_killed_at_every_kind_of_step(tmp_path: Path) -> None:
    """kill -9, and everybody goes on at the very step: the same cards, the same lines, nothing asked twice, all of it whole.

    (After which events of every technique a launch may be killed, test_resume_anywhere looks at.)
    """
    settings = [
        f"mephisto.blueprint.{one}" for one in ("setting=sata_user", "dialogues_per_group=4", "rater_ends=false")
    ]
    before: dict[str, PageState] = {}
    with launched(tmp_path, *settings, task="sata") as (process, url):
        for step in STEPS:
            before[step] = asyncio.run(lead_to(url, step))
        process.kill()
        process.communicate(timeout=60)
    assert Counter(record.status for record in read_dialogues(tmp_path / "data", TASK)) == {"partial": 3, "complete": 1}
    with launched(tmp_path, *settings, task="sata") as (process, url):
        for step in STEPS:
            after = asyncio.run(end_from(url, step))
            assert (after.step, after.unit) == (before[step].step, before[step].unit)
            assert step == "feedback" or after.transcript == before[step].transcript
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    found = read_dialogues(tmp_path / "data", TASK)
    assert [(record.status, len(record.turns), record.feedback) for record in found] == [("complete", 2, "Fine.")] * 4


async def lead_to(url: str, kind: str) -> PageState:
    """A rater who gets as far as to a step of this kind; where one can write a better reply, that is the first turn."""
    async with Hands(url, kind) as rater:
        state = await rater.state()
        while state.step.kind != kind:
            state = await go_on(rater, state, none=kind == "write")
        return state


async def end_from(url: str, worker: str) -> PageState:
    """The same rater again, to their end; what they saw first."""
    async with Hands(url, worker) as rater:
        first = state = await rater.state()
        while state.step.kind != "feedback":
            state = await go_on(rater, state, none=False)
        await rater.hand_in("Fine.")
        return first


async def go_on(rater: Hands, state: PageState, *, none: bool) -> PageState:
    if state.step.kind == "message":
        return await rater.say()
    if state.step.kind == "write":
        return await rater.answer(kind="write", text="I would have told you much more about it.")
    return await (rater.pick() if none else rater.pick(0))


async def leave_in_turn_two(url: str, worker: str) -> None:
    async with Rater(url, worker) as rater:
        await rater.talk_until("choose", turn=2)


async def whole_dialogue_at(url: str, worker: str) -> None:
    async with Rater(url, worker) as rater:
        await rater.finish()


@pytest.mark.slow
def test_demo_prints_json_and_nothing_else(tmp_path: Path) -> None:
    """With an empty home and no terminal: every line on standard output belongs to one JSON report.

    Standard error says what is waited for; embedded models are not made to wait for torch.
    """
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\natexit.register(lambda: print('torch' in sys.modules, file=sys.stderr))\n"
    )
    home = environment(tmp_path)
    done = subprocess.run(
        arguments(
            tmp_path,
            "demo",
            "--raters",
            "2",
            "--dialogues",
            "3",
            "--json",
            "--port",
            "0",
            "--data-dir",
            str(tmp_path / "d"),
        ),
        env={**home, "PYTHONPATH": os.pathsep.join([str(tmp_path), home["PYTHONPATH"]])},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[:-1] == [
        "Demo of PW-Turn: raters see two replies at every turn, choose one and write why.",
        "Simulated raters will do all the work, 2 at a time, and you will get the report.",
        "Loading ParlAI and Mephisto…",
        "Preparing the study…",
        "Loading the models…",
        "Simulated raters (2 at a time): 0 of 3 conversations…",
        "Simulated raters (2 at a time): 3 of 3 conversations",
        "Ending the launch…",
        "Reading the answers…",
    ]
    assert done.stderr.splitlines()[-1] == "False", "torch was imported"
    (task,) = task_names(tmp_path / "d")
    assert [record.simulated for record in read_records(tmp_path / "d", task)] == [True] * 3


def test_compat_asks_nothing_and_opens_nothing(tmp_path: Path) -> None:
    """Mephisto's first import asks for a directory on the terminal, opens port 3031 for metrics, and logs to stdout."""
    program = (
        "import builtins, socket, sys\n"
        "def no_input(*a): raise AssertionError('asked on the terminal')\n"
        "builtins.input = no_input\n"
        "listen = socket.socket.listen\n"
        "class Opened(BaseException): 'Mephisto swallows every Exception of its metrics server.'\n"
        "def no_listen(self, *backlog):\n"
        "    if self.family in (socket.AF_INET, socket.AF_INET6): raise Opened(f'on {self.getsockname()}')\n"
        "    return listen(self, *backlog)\n"
        "socket.socket.listen = no_listen\n"
        "from mephisto_tasks import compat; compat.prepare(); compat.prepare()\n"
        "from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB\n"
        "from mephisto.operations.operator import Operator\n"
        "import tempfile, os, dataclasses\n"
        "db = MephistoSingletonDB(os.path.join(tempfile.mkdtemp(), 'database.db'))\n"
        "Operator(db)._run_tracker_task.cancel()\n"
        "import logging; logging.getLogger('any').warning('a warning')\n"
        "import mephisto.tools.scripts\n"
        "assert 'torch' not in sys.modules, 'nobody asked for it'\n"
        "import torch.multiprocessing; from parlai.utils.misc import round_sigfigs\n"
        "assert round_sigfigs(torch.tensor(0.12345), 2) == 0.12, 'ParlAI knows tensors still'\n"
        "assert dataclasses.dataclass.__module__ == 'dataclasses', 'the workaround stays in place'\n"
        "print('fine')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:mephisto_tasks", "-c", program],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine", done.stdout
    assert "a warning" in done.stderr
