"""Seconds until a command has answered, and until a demo says what it waits for."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, median
from benchmarks.processes import environment
from benchmarks.report import studies
from parlai_humaneval.tables.files import write_tables

REPEATS = 5
DIALOGUES = 60
OURS = (sys.executable, "-c", "from parlai_humaneval.cli import main; main()")
PARLAI = (sys.executable, "-c", "from parlai.__main__ import main; main()", "help")
NOTE = "process start → the process has ended; all imports included"
PEER_NOTE = f"{NOTE}; peer: `parlai help`"


def until_ended(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Raises CalledProcessError where it fails."""
    started = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return time.perf_counter() - started


def until_first_word(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Until the first line on standard error; then the process is ended."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        taken = time.perf_counter() - started
        process.kill()
        return taken


def run(quick: bool) -> list[Figure]:
    """A figure a command, ours and the peer's in turn; with ``quick`` each of ours once."""
    repeats = 1 if quick else REPEATS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = next(iter(studies(DIALOGUES, np.random.default_rng(0)).values()))
        write_tables(tables, folder / "tables")
        env = environment(folder / "home")
        demo = [*OURS, "demo", "--port", "0", "--data-dir", str(folder / "data")]
        commands = {
            "--help": ["--help"],
            "report --help": ["report", "--help"],
            "plan": ["plan", "--technique", "pw_turn", "--gap", "0.1"],
            f"report --tables, {DIALOGUES} dialogues": ["report", "--tables", str(folder / "tables"), "--draws", "100"],
        }
        ours: dict[str, list[float]] = {what: [] for what in commands}
        peer, first_words = [], []
        for _ in range(repeats):
            if not quick:
                peer.append(until_ended(PARLAI, env))
            for what, arguments in commands.items():
                ours[what].append(until_ended([*OURS, *arguments], env))
            first_words.append(until_first_word(demo, env))
    help_of_peer: dict[str, Any] = {"note": NOTE}
    if peer:
        help_of_peer = {"peer": median(peer), "peer_source": "same run", "note": PEER_NOTE}
    figures = [
        Figure(
            name=f"answer of {what}",
            unit="s",
            ours=median(times),
            repeats=repeats,
            **(help_of_peer if what == "--help" else {"note": NOTE}),
        )
        for what, times in ours.items()
    ]
    note = "process start → the first line that says what is waited for"
    return [
        *figures,
        Figure(name="first word of a demo", unit="s", ours=median(first_words), repeats=repeats, note=note),
    ]
