"""A study as somebody launches it from a terminal: killed, stopped, frozen, and launched again at its address."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forked import Forked, WarmServer

from mephisto_tasks.storage.locks import running_task_run

UP_S = 120.0
STOP_S = 40.0
TRIES = 8
"""How often somebody launches again where a launch does not come up, because the disk is full, say."""
AGAIN_S = 1.0
ALL_THERE = re.compile(r"have already been collected|is reached|answer reached")
"""What a launch says that finds nothing to do."""
UP = "Ctrl-C stops"
"""What a launch says that has begun. Its server answers before: on a slow machine seconds before."""
CANNOT_BEGIN = "nobody was let in"
"""What a launch says that a full disk or a locked database keeps from its beginning."""
ENDING = "Stopping: raters see a message"
CANNOT_WRITE = re.compile(r"database or disk is full|database is locked")
"""What a launch says that a full disk or a locked database keeps from writing how it ended."""


@dataclass
class Fate:
    """What became of a study's launches. ``failed``: the last words of those that did not come up.

    ``ended``: runs of launches that had time to end, by Ctrl-C or by themselves, and a database to write to; the end of
    others is that of launches that are killed. ``exits``: how one did not end well.
    """

    launches: int = 0
    ended: set[str] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)


class StormStudy:
    """One task in a data directory that it may share with others.

    ``settings``: hydra's. ``environment``: of the process. ``forks``: begin it. ``name``: of the study, where it is not that
    of its task.
    """

    def __init__(
        self,
        task: str,
        settings: Sequence[str],
        folder: Path,
        data_dir: Path,
        environment: dict[str, str],
        forks: WarmServer,
        name: str = "",
    ) -> None:
        self.task = task
        self.task_name = f"storm-{(name or task).replace('_', '-')}"
        self.data_dir = data_dir
        self.port = _free_port()
        self.fate = Fate()
        self.log: list[str] = []
        self._folder = folder
        self._environment = environment
        self._forks = forks
        self._command = [
            *(sys.executable, "-m", "mephisto_tasks", task, "--data-dir", str(data_dir)),
            f"mephisto.architect.port={self.port}",
            f"mephisto.task.task_name={self.task_name}",
            *settings,
        ]
        self.over = False
        """It has all that was asked for: no launch runs, and none could."""
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._ended_by_us = True
        self._busy = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Of the launch that runs; None where none does."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    @property
    def in_trouble(self) -> bool:
        """Whether its launch is down, or is being started, stopped or frozen."""
        return self._busy.locked() or self.pid is None

    async def start(self) -> None:
        """Launch; again and again where it does not come up, as somebody would who mends what the error says.

        Nothing where two faults at once have each brought it back: the first of them has launched it.
        """
        async with self._busy:
            if self.pid is not None:
                return
            for _ in range(TRIES):
                await asyncio.to_thread(self._start)
                if await self._comes_up():
                    self._ended_by_us = False
                    self._run = running_task_run(self.data_dir, self.task_name)
                    return
                assert self._process is not None
                if self._process.poll() is None:
                    self._process.kill()
                await asyncio.to_thread(self._gather)
                if ALL_THERE.search(self._last_words()):
                    self.over = True
                    return
                self.fate.failed.append(self._last_words())
                await asyncio.sleep(AGAIN_S)
            raise AssertionError(f"{self.task_name} did not come up in {TRIES} tries: {self.fate.failed[-1]}")

    def has_ended(self) -> bool:
        """Whether it ended by itself, because it has all that was asked for."""
        if not self._ended_by_us and self._process is not None and self._process.poll() == 0:
            self.over = True
            self._ended()
        return self.over

    async def kill(self, down_s: float) -> None:
        """kill -9, and launched again after a while."""
        async with self._busy:
            if self.has_ended():
                return
            self._ended_by_us = True
            if self.pid is not None:
                os.kill(self.pid, signal.SIGKILL)
            await asyncio.to_thread(self._gather)
        await asyncio.sleep(down_s)
        await self.start()

    async def stop_and_start(self, down_s: float, by: signal.Signals = signal.SIGINT) -> None:
        """Ctrl-C or SIGTERM, and launched again after a while."""
        await self.stop(by)
        await asyncio.sleep(down_s)
        if not self.over:
            await self.start()

    async def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """Ctrl-C or SIGTERM; how it ended is noted."""
        async with self._busy:
            if self.has_ended() or self.pid is None:
                return
            self._ended_by_us = True
            assert self._process is not None
            began = time.monotonic()
            self._process.send_signal(by)
            while self._process.poll() is None and time.monotonic() - began < STOP_S:
                await asyncio.sleep(0.05)
            if self._process.poll() is None:
                self.fate.exits.append(f"was still there {STOP_S:g} s after {by.name}")
                self._process.kill()
            elif self._process.returncode != 0 and await asyncio.to_thread(self._could_not_begin):
                self.fate.failed.append(self._last_words())
            elif self._process.returncode != 0:
                self.fate.exits.append(f"ended with status {self._process.returncode} after {by.name}")
            else:
                self._ended()
            await asyncio.to_thread(self._gather)

    async def freeze(self, seconds: float) -> None:
        """Not a step further for a while, as on a machine that swaps or is suspended."""
        async with self._busy:
            if self.pid is None:
                return
            assert self._process is not None
            self._process.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(seconds)
            finally:
                self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Whatever still runs is killed: for a storm that itself went wrong."""
        if self.pid is not None:
            assert self._process is not None
            self._process.kill()
            self._gather()

    def _ended(self) -> None:
        self._gather()
        end = "".join(self.log[self._launched :]).partition(ENDING)[2]
        if self._run is not None and not CANNOT_WRITE.search(end):
            self.fate.ended.add(self._run)

    def _start(self) -> None:
        self.fate.launches += 1
        self._launched = len(self.log)
        self.log.append(f"--- launch {self.fate.launches}\n")
        self._process = Forked(
            self._command,
            server=self._forks,
            fully=True,
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.log.append(line)

    def _gather(self) -> None:
        assert self._process is not None
        self._process.wait()
        if self._reader is not None:
            self._reader.join(5)

    def _could_not_begin(self) -> bool:
        self._gather()
        return CANNOT_BEGIN in self._last_words()

    def _last_words(self) -> str:
        return "".join(self.log[-8:]).strip()

    async def _comes_up(self) -> bool:
        assert self._process is not None
        until = time.monotonic() + UP_S
        while time.monotonic() < until and self._process.poll() is None:
            said = self.log[self._launched :]
            if any(UP in line for line in said) and await asyncio.to_thread(_answers, self.port):
                return True
            await asyncio.sleep(0.1)
        return False


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return b'"operator_connected": true' in answer.read()
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(home: Path, mark: str) -> dict[str, str]:
    """Of a command run by a new user of this machine; ``mark``: by which processes that begin with it are found again."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "PARLAI_HUMANEVAL_"))}
    return {**kept, "HOME": str(home), "STORM_MARK": mark, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
