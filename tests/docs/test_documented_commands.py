"""What README and the documentation show, runs: their commands, each page in a folder of its own, with the files in it.

A block that cannot run here says why above it (``<!-- not run: why -->``); its commands are read all the same, so that no
option and no setting in them is misspelt. What a page prints below a command is what it prints.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pages import ELLIPSIS, LANGUAGES, REPOSITORY, Block, blocks, documents

PROGRAM = "parlai-humaneval"
STUDY = "my-study"
"""The name of the study that pages speak of."""
DEMO = ["demo", "--raters", "4", "--dialogues", "20", "--prefer", "retrieval", "--strength", "0.7", "--seed", "1"]
"""The study of README and of the tutorial: run once, and the study of all pages."""
WORKER = "w3f9a0c1b2d4e"
"""The pseudonym in pages; a worker of the study is put in its place."""
LAUNCHES = ("launch", "demo", "try")
ANY_PORT = {"launch": "mephisto.architect.port=0", "demo": "mephisto.architect.port=0", "try": "--port=0"}

pytestmark = pytest.mark.slow


class Program:
    """The process that runs commands."""

    def __init__(self, place: Path) -> None:
        page = place / "page"
        page.mkdir()
        (page / "index.html").write_text("<html></html>")
        self._errors = place / "errors"
        home = place / "home"
        home.mkdir()
        environment = {**os.environ, "HOME": str(home), "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), environment.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("runner.py")), str(page)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.open("w"),
            text=True,
        )

    def ask(self, what: str, asked: object, folder: Path, data: Path) -> str:
        """What a command that succeeds prints ("run", or "study" of one that is held to its end), or a piece of Python
        ("code"); "read": is there such a command?"""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {"what": what, "asked": asked, "folder": str(folder), "data": str(data)}
        print(json.dumps(question), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, f"{asked}\n{self._errors.read_text(encoding='utf-8')}"
        answer = json.loads(line)
        assert answer["code"] == 0, f"{asked}\n{answer['output']}"
        output: str = answer["output"]
        return output

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    started = Program(tmp_path_factory.mktemp("program"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def demo(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The data directory of the study that README and tutorial hold with simulated raters, and what that printed."""
    folder = tmp_path_factory.mktemp("study")
    command = [*DEMO, f"mephisto.task.task_name={STUDY}", "mephisto.architect.port=0"]
    return folder / "data", program.ask("study", command, folder, folder / "data")


class Session:
    """One page: a folder with its files, and a copy of the study."""

    def __init__(self, program: Program, folder: Path, demo: tuple[Path, str]) -> None:
        self._program, self._demo = program, demo
        self._folder = self._top = folder
        shutil.copytree(REPOSITORY / "examples", folder / "examples")
        shutil.copytree(demo[0], folder / "data")

    def write(self, block: Block) -> None:
        """The file that the block is."""
        path = self._top / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def run(self, block: Block) -> str:
        """All commands of a block; what they print."""
        return "".join(self._command(words) for words in block.commands)

    def read(self, block: Block) -> None:
        """All commands of a block that cannot run: are there such commands and options?"""
        for words in block.commands:
            if words[0] == PROGRAM:
                self._ask("read", words[1:])

    def python(self, block: Block) -> str:
        """What a piece of Python prints."""
        return self._ask("code", block.text)

    def _command(self, words: Sequence[str]) -> str:
        match words:
            case ["cd", folder]:
                self._folder = self._top / folder
                return ""
            case ["source", ".venv/bin/activate"]:
                return ""
            case ["make", target, *_]:
                makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}: there is no such target"
                return ""
            case [program, *arguments] if program == PROGRAM:
                return self._run_program(arguments)
            case _:
                raise AssertionError(f"{' '.join(words)}: say why it is not run, or teach this test to run it")

    def _run_program(self, arguments: list[str]) -> str:
        if arguments == DEMO:
            return self._demo[1]
        given = [self._worker if word == WORKER else word for word in arguments]
        if given[0] in LAUNCHES and not any(word.startswith("--list-") for word in given):
            given.append(ANY_PORT[given[0]])
        if given[0] == "watch" and "--once" not in given:
            given.append("--once")  # else it goes on until somebody ends it
        return self._ask("run", given, new=given[0] in LAUNCHES)

    def _ask(self, what: str, asked: object, *, new: bool = False) -> str:
        """``new``: launches begin a study of the same name that has no answers yet."""
        return self._program.ask(what, asked, self._folder, self._top / ("new" if new else "data"))

    @property
    def _worker(self) -> str:
        listed = json.loads(self._ask("run", ["workers", "list", "--json"]))
        found: str = listed[0]["worker"]
        return found


@pytest.mark.parametrize("document", documents(), ids=lambda document: str(document.relative_to(REPOSITORY)))
def test_what_a_page_shows_runs(document: Path, program: Program, demo: tuple[Path, str], tmp_path: Path) -> None:
    """Each block in its order; a block of text below one of commands is what these print."""
    session: Session | None = None
    printed: str | None = None
    for block in blocks(document):
        assert block.language in LANGUAGES, f"{block}: say what the block holds, one of {', '.join(LANGUAGES)}"
        if session is None:
            session = Session(program, tmp_path, demo)
        before, printed = printed, None
        if block.file:
            session.write(block)
        elif block.language == "bash" and block.not_run:
            session.read(block)
        elif block.language == "bash":
            printed = session.run(block)
        elif block.language == "python" and not block.not_run:
            printed = session.python(block)
        elif block.language == "text" and before is not None:
            assert_prints(block, before)


def assert_prints(block: Block, printed: str) -> None:
    """All lines of the block were printed, in their order; an ellipsis stands for others, or for the rest of a line."""
    rest = iter(_plain(line) for line in printed.splitlines())
    for line in block.text.splitlines():
        wanted = _plain(line)
        if wanted and wanted != ELLIPSIS:
            start = wanted.removesuffix(ELLIPSIS)
            whole = start == wanted
            assert any(said == wanted if whole else said.startswith(start) for said in rest), (
                f"{block}: {wanted!r} is not printed (here)\n{printed}"
            )


def _plain(line: str) -> str:
    return " ".join(line.split())
