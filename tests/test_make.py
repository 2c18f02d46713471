"""The Makefile's first impression: a missing or wrong tool is one clear line, and nothing is rebuilt without a change."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
TOOLS = ("bash", "sh", "sed", "head", "find", "mkdir", "touch", "env", "make", "grep", "cat", "ls")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder for PATH with the tools that every system has, and neither Python nor Node."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def check_tools(folder: Path, **named: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHON", "MAKEFLAGS", "MAKELEVEL")}
    environment |= {"PATH": str(folder), "PYENV_ROOT": str(folder / "pyenv"), **named}
    command = ["make", "check-tools", f"SHELL={folder / 'bash'}", f"VENV={folder / 'environment'}"]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60)


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.splitlines()[0]


def test_no_python_is_one_line_that_says_what_to_install(bare: Path) -> None:
    done = check_tools(bare)
    assert done.returncode != 0
    assert "Python 3.10 to 3.14 is needed" in first_line(done)


def test_a_python_of_another_version_is_not_taken(bare: Path) -> None:
    script(bare, "python3", "exit 1")  # what the version test answers on any other Python
    assert "Python 3.10 to 3.14 is needed" in first_line(check_tools(bare))


def test_where_no_python_fits_uv_brings_one(bare: Path) -> None:
    """uv fetches a Python by itself when the environment is made."""
    for tool in ("uv", "node", "npm"):
        script(bare, tool, "exit 0")
    assert (check_tools(bare).returncode, check_tools(bare).stderr) == (0, "")


def test_a_python_that_was_named_and_does_not_fit_is_not_replaced(bare: Path) -> None:
    """Whoever names a Python wants that one."""
    for tool in ("python3.13", "uv", "node", "npm"):
        script(bare, tool, "exit 0")
    done = check_tools(bare, PYTHON="/bin/false")
    assert done.returncode != 0
    assert "Python 3.10 to 3.14 is needed" in first_line(done)


def test_the_newest_python_is_taken_though_an_older_one_comes_first_on_the_path(bare: Path) -> None:
    """pyenv puts one version on PATH, and others beside it."""
    script(bare, "python3.11", "exit 0")
    newest = bare / "pyenv" / "versions" / "3.13.5" / "bin"
    newest.mkdir(parents=True)
    script(newest, "python", "exit 0")
    command = ["make", "--eval", 'shown:\n\t@echo "$(FIND_PYTHON)"', "shown", f"SHELL={bare / 'bash'}"]
    places = {"PATH": str(bare), "PYENV_ROOT": str(bare / "pyenv")}
    shown = subprocess.run(command, cwd=REPOSITORY, env=places, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str(newest / "python")


def test_what_a_process_compiled_is_kept_for_the_next() -> None:
    """Images of Python set this, and nothing installed by pip's ``--no-compile`` would ever be compiled for good."""
    command = ["make", "--eval", 'shown:\n\t@echo "[$${PYTHONDONTWRITEBYTECODE:-}]"', "shown"]
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    shown = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_no_node_is_one_line_that_says_what_to_install(bare: Path) -> None:
    script(bare, "python3.11", "exit 0")
    done = check_tools(bare)
    assert done.returncode != 0
    assert "Node.js 18 or newer is needed" in first_line(done)


def test_an_old_node_is_named_with_its_version(bare: Path) -> None:
    script(bare, "python3.11", "exit 0")
    script(bare, "node", 'if [ "$1" = --version ]; then echo v16.20.0; else exit 1; fi')
    assert "this is v16.20.0" in first_line(check_tools(bare))


def test_python_and_node_together_are_enough(bare: Path) -> None:
    script(bare, "python3.11", "exit 0")
    script(bare, "node", "exit 0")
    script(bare, "npm", "exit 0")
    done = check_tools(bare)
    assert (done.returncode, done.stderr) == (0, "")
