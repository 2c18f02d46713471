"""The two sides of a comparison as running programs that raters can reach."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml

from benchmarks.models import AGENTS
from benchmarks.peer.copy import peer_environment
from benchmarks.processes import POLL_S, REPOSITORY, Measured, NothingToMeasure, environment, free_port, running

PEER_READY = "PEER IS READY"
REQUEST_TIMEOUT_S = 2.0


@contextmanager
def our_launch(
    work: Path, overrides: Sequence[str], task: str = "pw_turn", checkout: Path = REPOSITORY
) -> Iterator[tuple[str, Measured]]:
    """``parlai-humaneval launch TASK`` with its home and data below ``work``; yields its address at once.

    ``checkout``: the folder whose code is launched, where that is to be another version than this one.
    """
    port = free_port()
    command = [sys.executable, "-c", "from parlai_humaneval.cli import main; main()", "launch", task]
    command += [f"mephisto.architect.port={port}", "--data-dir", str(work / "data"), *overrides]
    with running(command, environment(work / "home", PYTHONPATH=str(checkout)), cwd=checkout) as program:
        yield f"http://127.0.0.1:{port}", program


@contextmanager
def peer_launch(work: Path, copy: Path, conversations: int) -> Iterator[tuple[str, Measured]]:
    """ParlAI's per-turn task with its home and data below ``work``, its program being ``copy``.

    Raises:
        NothingToMeasure: there is no npm.
    """
    if shutil.which("npm") is None:
        raise NothingToMeasure("npm", "Mephisto builds its router with npm, which this machine lacks")
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.peer.task"]
    command += [str(port), str(conversations), str(work / "task")]
    with running(command, peer_environment(work / "home", copy)) as program:
        yield f"http://127.0.0.1:{port}", program


def wait_for_page(url: str, program: Measured, what: str, ready: str = "") -> None:
    """Until the page and its configuration are served (and the program has printed ``ready``).

    Raises:
        BenchmarkError: the program ended, or took too long.
    """
    while not (ready in program.printed() and _answers(f"{url}/") and _answers(f"{url}/task_config.json")):
        program.check(what)
        time.sleep(POLL_S)


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=REQUEST_TIMEOUT_S).status_code == 200
    except requests.RequestException:
        return False


def instant_models(folder: Path) -> list[str]:
    """Settings of a launch with the two instant models; their zoo file is written to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "zoo.yaml"
    models = {name: {"options": {"model": agent}} for name, agent in AGENTS.items()}
    path.write_text(yaml.safe_dump({"models": models}), encoding="utf-8")
    return [f"mephisto.blueprint.models=[{','.join(AGENTS)}]", f"mephisto.blueprint.zoo_files=[{path}]"]
