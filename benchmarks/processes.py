"""Starting what is measured as processes of their own, with a home of their own, and ending them for certain."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

REPOSITORY = Path(__file__).resolve().parents[1]
START_TIMEOUT_S = 600.0
POLL_S = 0.02


class BenchmarkError(RuntimeError):
    """A measured program did not start or ended early; the message holds the end of what it printed."""


Need = Literal["browser", "gpu", "npm", "root", "texts"]


class NothingToMeasure(RuntimeError):
    """This machine lacks what a benchmark needs. ``need``: what that is; the message is a sentence about it."""

    def __init__(self, need: Need, sentence: str) -> None:
        super().__init__(sentence)
        self.need = need


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(home: Path, **more: str) -> dict[str, str]:
    """This process's environment, with ``home`` in place of the user's own folders."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "PARLAI_HUMANEVAL_"))}
    home.mkdir(parents=True, exist_ok=True)
    return {**kept, "HOME": str(home), "PYTHONPATH": str(REPOSITORY), **more}


def resident_kb(pid: int) -> int:
    """Resident memory of a process, in kB, as Linux tells it. Raises BenchmarkError as :func:`_of_status` does."""
    return _of_status(pid, "VmRSS")


def threads(pid: int) -> int:
    """Threads of a process. Raises BenchmarkError as :func:`_of_status` does."""
    return _of_status(pid, "Threads")


def _of_status(pid: int, key: str) -> int:
    """A number that Linux tells of a process.

    Raises:
        BenchmarkError: there is no such process, or no ``/proc``.
    """
    status = Path(f"/proc/{pid}/status")
    try:
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        return int(lines[key].split()[0])
    except (OSError, KeyError) as error:
        raise BenchmarkError(f"{key} of process {pid} cannot be read from {status} (Linux only)") from error


def processor_s(pid: int) -> float:
    """Seconds of a processor that a process has used so far, all its threads together.

    Raises:
        BenchmarkError: there is no such process, or no ``/proc``.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError as error:
        raise BenchmarkError(f"the time of process {pid} cannot be read (Linux only)") from error
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Measured:
    """A started program."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, started: float) -> None:
        self.process, self.log, self.started = process, log, started

    def printed(self) -> str:
        """All that it printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def check(self, what: str) -> None:
        """Raises BenchmarkError when the program has ended or ran out of time."""
        late = time.perf_counter() - self.started > START_TIMEOUT_S
        if self.process.poll() is not None or late:
            state = "did not answer in time" if late else f"ended with code {self.process.returncode}"
            raise BenchmarkError(f"{what} {state}:\n{self.printed()[-2000:]}")


@contextmanager
def running(command: Sequence[str], env: Mapping[str, str], cwd: Path = REPOSITORY) -> Iterator[Measured]:
    """Run a command, its output in a file; at the end of the block it and all that it started are ended."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "output"
        with log.open("wb") as output:
            started = time.perf_counter()
            process = subprocess.Popen(
                list(command),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield Measured(process, log, started)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the program to end, then end what is left of its group (npm, for one)."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
