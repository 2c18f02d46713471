"""The commands of examples/README.md, run in a copy of each folder as they stand there."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Forked

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMAND = (
    "from mephisto_tasks.adapter import blueprint; from mephisto_tasks.launch import launch as launching;"
    "from pathlib import Path;"
    "import sys; page = Path(sys.argv.pop(1)); blueprint.webapp_dist = launching.webapp_dist = lambda: page;"
    "from parlai_humaneval.cli import main; sys.exit(main())"
)
"""The console command, with a page of one line in place of the built one."""
LAUNCH = [
    "mephisto.blueprint.dialogues_per_group=1",
    "mephisto.blueprint.turns=2",
    "mephisto.blueprint.onboarding_qualification=null",
    "mephisto.architect.port=0",
    "mephisto.task.task_name=example",
]
"""What makes a launch short enough for a test."""

pytestmark = pytest.mark.slow


class Folder:
    """A copy of an example, and its commands."""

    def __init__(self, name: str, place: Path) -> None:
        self.path = place / name
        shutil.copytree(EXAMPLES / name, self.path)
        section = (EXAMPLES / "README.md").read_text(encoding="utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]
        (shown,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
        self.commands = [shlex.split(line)[1:] for line in shown.splitlines()]
        self._page = place / "page"
        self._page.mkdir()
        (self._page / "index.html").write_text("<html></html>")
        self._script = self._page / "parlai-humaneval"
        self._script.write_text(COMMAND)
        home = place / "home"
        home.mkdir()
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "HOME": str(home), "PATH": path, "COLUMNS": "200"}
        self.environment.pop("PYTHONPATH", None)

    def process(self, *arguments: str) -> subprocess.Popen[str]:
        """The console command, in the folder."""
        return Forked(
            [sys.executable, str(self._script), str(self._page), *arguments],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], typed: str = "") -> str:
        """What a command that succeeds prints."""
        with self.process(*arguments) as process:
            printed, errors = process.communicate(typed, timeout=120)
        assert process.returncode == 0, printed + errors
        return printed


@contextmanager
def served(folder: Folder, port: int) -> Iterator[None]:
    """``python my_server.py PORT`` of the example, ready."""
    command = [sys.executable, "my_server.py", str(port)]
    with subprocess.Popen(
        command, cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}/"
            yield
        finally:
            process.kill()


def a_rater_at(url: str) -> set[str]:
    """One dialogue from arrival to submit; the texts of the cards of its first turn."""
    from live import Rater

    from parlai_humaneval.schema.steps import ChooseStep

    async def rate() -> set[str]:
        async with Rater(url, "w1") as rater:
            state = await rater.talk_until("choose", turn=1)
            assert isinstance(state.step, ChooseStep)
            shown = {card.text for card in state.step.cards}
            await rater.finish()
            return shown

    return asyncio.run(rate())


def launched(folder: Folder) -> set[str]:
    """The third command, with a rater who does all there is to do; what the models said to “Hi!”."""
    process = folder.process(*folder.commands[2], *LAUNCH, "--data-dir", str(folder.path / "data"))
    try:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        else:
            raise AssertionError(printed + (process.stderr.read() if process.stderr else ""))
        shown = a_rater_at(found.group())
        rest, errors = process.communicate(timeout=120)
        assert process.returncode == 0, rest + errors
        return shown
    finally:
        process.kill()
        process.communicate()


def test_own_agent(tmp_path: Path) -> None:
    """Guards the subclass of ParlAI's Agent: found beside the zoo file, with an option of its own."""
    folder = Folder("own_agent", tmp_path)
    check, chat, _ = folder.commands
    assert "answers “Hi!” with: Tell me more about Hi!" in folder.run(check)
    talk = folder.run(chat, "I like elephants.\nYou do?\n")
    assert re.findall(r"my_agent: (.*)", talk) == ["Tell me more about elephants!"] * 2
    assert any(text.startswith("Tell me more about") for text in launched(folder))


def test_own_function(tmp_path: Path) -> None:
    """Guards the function: it hears the whole dialogue, or it would repeat itself."""
    folder = Folder("own_function", tmp_path)
    check, chat, _ = folder.commands
    assert "my_bot: ready" in folder.run(check)
    answers = set(ast.literal_eval(re.findall(r"ANSWERS = (.*)", (folder.path / "my_bot.py").read_text())[0]))
    assert set(re.findall(r"my_bot: (.*)", folder.run(chat, "Hi!\nWell?\nSo?\nAnd?\n"))) == answers
    assert launched(folder) & answers


def test_own_server(tmp_path: Path) -> None:
    """Guards program and server: the same answers from both."""
    folder = Folder("own_server", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as any_free:
        port = any_free.getsockname()[1]
    zoo = folder.path / "zoo.yaml"
    zoo.write_text(zoo.read_text().replace(":8080/", f":{port}/"))
    check, chat, _ = folder.commands
    with served(folder, port):
        assert folder.run(check).count("answers “Hi!” with: You have told me 1 thing(s). The last had 1 word(s).") == 2
        assert re.findall("my_program: (.*)", folder.run(chat, "Hi!\nHow are you?\n")) == [
            "You have told me 1 thing(s). The last had 1 word(s).",
            "You have told me 2 thing(s). The last had 3 word(s).",
        ]
        assert any(text.startswith("You have told me 1 thing(s).") for text in launched(folder))


def test_every_example_is_tested() -> None:
    """Guards a folder that nobody runs; others have tests of their own in ``tests/mephisto_tasks``."""
    run_here = {"own_agent", "own_function", "own_server"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == run_here | {
        "deploy",
        "images",
        "own_package",
        "own_crowd",
    }
