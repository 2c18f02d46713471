"""Tests that forks of the process which collected them run: each once, with what it needs, whatever happens to others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = f"""\
import sys
sys.path.append({str(Path(__file__).parent)!r})
import os
import pytest
from collected_once import Processes

HERE = os.path.dirname(__file__)

def pytest_configure(config):
    config.pluginmanager.register(Processes(2))

def note(line):
    with open(os.path.join(HERE, "notes"), "a") as file:
        file.write(line + "\\n")

note("collected")

@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    yield tmp_path_factory.mktemp("shared")
    note("ended " + worker_id)
"""
TESTS = """\
import os, warnings
import pytest
from conftest import note

def test_passes(shared, worker_id):
    note(f"ran {os.getpid()} {worker_id} {shared}")

@pytest.mark.parametrize("number", range(3))
def test_many(number, shared, worker_id):
    note(f"ran {os.getpid()} {worker_id} {shared}")

def test_fails(shared):
    print("it printed", 6 * 7)
    assert 1 == 2

def test_warns():
    warnings.warn("what is warned of")
    pytest.skip("why it is skipped")
"""
DIES = """\
import os
from conftest import note

def test_before():
    pass

def test_dies(worker_id):
    note("died " + worker_id)
    os._exit(7)

def test_after():
    pass
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("ran")
    for name, text in {"conftest": CONFTEST, "test_a": TESTS, "test_b": TESTS, "test_dies": DIES}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-ra",
        "-W",
        "default",
        f"--rootdir={folder}",
        "-p",
        "xdist",
        str(folder),
    ]
    return folder, subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_the_summary_is_that_of_one_process(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Guards a failure, a skip and a warning that another process met: each is shown, and the exit status says so."""
    folder, done = ran
    assert done.returncode == 1
    assert "3 failed, 10 passed, 2 skipped" in done.stdout, "all of them ran, each once"
    assert done.stdout.count("it printed 42") == 2
    assert "why it is skipped" in done.stdout
    assert "what is warned of" in done.stdout
    failed = json.loads((folder / ".pytest_cache/v/cache/lastfailed").read_text(encoding="utf-8"))
    assert set(failed) == {"test_a.py::test_fails", "test_b.py::test_fails", "test_dies.py::test_dies"}


def test_a_process_that_dies_fails_its_test_alone(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Guards against a crash that takes the rest of its file with it, or that nobody hears of."""
    _, done = ran
    assert "test_dies.py::test_dies: the process that ran it ended with status 7" in done.stdout


def test_files_are_shared_out_and_each_process_has_its_own_folder(
    ran: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """Guards what the tests of a file share, and processes that write into the same folder."""
    folder, _ = ran
    notes = (folder / "notes").read_text(encoding="utf-8").splitlines()
    assert notes.count("collected") == 1
    workers = {tuple(note.split()[1:]) for note in notes if note.startswith("ran ")}
    assert len(workers) == len({pid for pid, _, _ in workers}) == len({place for *_, place in workers}) <= 2
    ended, died = ({note.split()[1] for note in notes if note.startswith(what)} for what in ("ended ", "died "))
    assert ended == {name for _, name, _ in workers} - died, "what a session made is let go of by whoever made it"
