"""A process that answers each line with a line."""

from __future__ import annotations

import logging
import math
import os
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from parlai_humaneval.models.outside.json_contract import MAX_BYTES, BadAnswer, shown

logger = logging.getLogger(__name__)

CHUNK = 65536
END_S = 1.0
"""Seconds that a process has to end by itself when its input is closed."""
LOOK_S = 0.2
"""Seconds after which whoever waits for a pipe looks whether the process still lives: its end of a pipe may outlive it."""
SHOWN = 200
"""Characters of its last error line that an error shows."""


def words_of(command: str) -> list[str]:
    """A command line as words, quotes understood as a shell does; nothing else of it is.

    Raises:
        ValueError: when it is empty, or a quote is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"command: {command!r} cannot be read: {error}") from error
    if not words:
        raise ValueError('command: expected a program and its arguments, such as "python my_bot.py"')
    return words


def lacking(words: Sequence[str], folder: Path) -> list[str]:
    """Whether there is such a program; it is not started."""
    if shutil.which(str(folder / words[0]) if "/" in words[0] else words[0]):
        return []
    return [f"command: there is no program {words[0]!r} that could be started in {folder}."]


class Program:
    """A running process, asked by one thread at a time.

    It is to end when its standard input ends; that also happens when this process is killed. What it started itself is
    ended with it, but for what runs in a session of its own (a daemon), which is not waited for.

    Args:
        words: the program and its arguments.
        folder: where it runs.

    Raises:
        ValueError: when it cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                # What a Python program prints would otherwise wait in its buffer, and we for it.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for us, and what it starts can be ended with it
            )
        except (OSError, ValueError) as error:
            raise ValueError(f"command: {words[0]!r} cannot be started in {folder}: {error}") from error
        self.name = f"{Path(words[0]).name} ({self._process.pid})"
        self._stdin, self._stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        os.set_blocking(self._stdin.fileno(), False)
        self._last_words = ""
        self._heard_until = math.inf
        self._ending = threading.Lock()
        self._listener = threading.Thread(target=self._listen, name=f"stderr-of-{self._process.pid}", daemon=True)
        self._listener.start()

    def is_waiting(self) -> bool:
        """Whether it lives and has said nothing that it was not asked for."""
        return self._process.poll() is None and not _ready(self._stdout, select.POLLIN, 0)

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """The line that answers a line. A process that fails at it is ended.

        Raises:
            BadAnswer: when it dies, is late, says more than a line or more than ``MAX_BYTES``.
        """
        until = time.monotonic() + timeout_s
        try:
            self._write(question + b"\n", until)
            return self._read(until)
        except TimeoutError:
            self.end(at_once=True)
            failure = BadAnswer(f"{self.name} gave no answer within {timeout_s:g} s and was ended")
        except (OSError, ValueError, EOFError):  # its end of a pipe is closed, or ours, by another thread
            self.end()
            last = f"; it last wrote: {self._last_words!r}" if self._last_words else ""
            failure = BadAnswer(f"{self.name} ended in the middle, with status {self._process.returncode}{last}")
        except BadAnswer:
            self.end()
            raise
        raise failure

    def end(self, *, at_once: bool = False) -> None:
        """Close its input, kill it and what it started if that does not end it (or ``at_once``), and close our ends."""
        with self._ending:
            with suppress(OSError):
                self._stdin.close()
            if not at_once:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_S)
            self._kill()
            self._heard_until = time.monotonic() + END_S
            self._listener.join(2 * END_S)
            self._stdout.close()

    def _kill(self) -> None:
        """The whole process group; it outlives its leader as long as one of it runs."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def _write(self, line: bytes, until: float) -> None:
        rest = memoryview(line)
        while rest:
            self._wait(self._stdin, select.POLLOUT, until)
            rest = rest[self._stdin.write(rest) or 0 :]

    def _read(self, until: float) -> bytes:
        line = b""
        while b"\n" not in line:
            if len(line) > MAX_BYTES:
                raise BadAnswer(f"{self.name}: the answer is longer than {MAX_BYTES:,} bytes")
            self._wait(self._stdout, select.POLLIN, until)
            chunk = os.read(self._stdout.fileno(), CHUNK)
            if not chunk:
                raise EOFError
            line += chunk
        answer, _, more = line.partition(b"\n")
        if more:
            raise BadAnswer(f"{self.name} said more than one line; after the answer came {shown(more)}")
        return answer

    def _wait(self, pipe: IO[bytes], event: int, until: float) -> None:
        """Until ``pipe`` can be used; TimeoutError when that takes too long, EOFError when the process has ended."""
        lives = True
        while not _ready(pipe, event, min(LOOK_S, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                raise TimeoutError
            if not lives:
                raise EOFError
            lives = self._process.poll() is None  # and look once more: its last words may have come just before

    def _listen(self) -> None:
        """Its standard error, line by line, into the log, until it ends or nobody waits for it any more."""
        rest = b""
        with _pipe(self._process.stderr) as stderr:
            while chunk := self._heard(stderr):
                *lines, rest = (rest + chunk)[-MAX_BYTES:].split(b"\n")
                for line in lines:
                    self._log(line)
        self._log(rest)

    def _heard(self, stderr: IO[bytes]) -> bytes:
        while time.monotonic() < self._heard_until:
            if _ready(stderr, select.POLLIN, LOOK_S):
                return os.read(stderr.fileno(), CHUNK)
            if self._heard_until < math.inf:
                break
        return b""

    def _log(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self._last_words = text[:SHOWN]
            logger.info("%s: %s", self.name, text)


def _ready(pipe: IO[bytes], event: int, timeout_s: float) -> bool:
    """Whether ``pipe`` can be read or written, or is at its end, within ``timeout_s`` seconds."""
    looking = select.poll()
    looking.register(pipe, event)
    return bool(looking.poll(timeout_s * 1000))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
