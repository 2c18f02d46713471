"""A process that answers each line with a line."""

from __future__ import annotations

import logging
import os
import select
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from parlai_humaneval.agents.json_contract import MAX_BYTES, BadAnswer, shown

logger = logging.getLogger(__name__)

CHUNK = 65536
END_S = 1.0
"""Seconds that a process has to end by itself when its input is closed."""
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
        self._last_words = ""
        self._late = False
        self._listener = threading.Thread(target=self._listen, name=f"stderr-of-{self._process.pid}", daemon=True)
        self._listener.start()

    def is_waiting(self) -> bool:
        """Whether it lives and has said nothing that it was not asked for."""
        return self._process.poll() is None and not self._has_more()

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """The line that answers a line. A process that fails at it is ended.

        Raises:
            BadAnswer: when it dies, is late, says more than a line or more than ``MAX_BYTES``.
        """
        watch = threading.Timer(timeout_s, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            self._write(question + b"\n")
            return self._read()
        except OSError as error:  # its end of a pipe is closed
            raise self._broken(timeout_s) from error
        except EOFError as error:
            raise self._broken(timeout_s) from error
        except BadAnswer:
            self.end()
            raise
        finally:
            watch.cancel()

    def end(self) -> None:
        """Close its input, and kill it and what it started if that does not end it."""
        stdin = self._pipe(self._process.stdin)
        with suppress(OSError):
            stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._kill()
        self._listener.join(END_S)
        for pipe in (self._process.stdout, self._process.stderr):
            if not self._listener.is_alive():
                self._pipe(pipe).close()

    def _give_up(self) -> None:
        self._late = True
        self._kill()

    def _kill(self) -> None:
        """The whole process group; it outlives its leader as long as one of it runs."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        stdin = self._pipe(self._process.stdin)
        while rest:
            rest = rest[stdin.write(rest) :]

    def _read(self) -> bytes:
        line = b""
        while b"\n" not in line:
            if len(line) > MAX_BYTES:
                raise BadAnswer(f"{self.name}: the answer is longer than {MAX_BYTES:,} bytes")
            chunk = os.read(self._pipe(self._process.stdout).fileno(), CHUNK)
            if not chunk:
                raise EOFError
            line += chunk
        answer, _, more = line.partition(b"\n")
        if more:
            raise BadAnswer(f"{self.name} said more than one line; after the answer came {shown(more)}")
        return answer

    def _has_more(self) -> bool:
        return bool(select.select([self._pipe(self._process.stdout)], [], [], 0)[0])

    def _broken(self, timeout_s: float) -> BadAnswer:
        self.end()
        if self._late:
            return BadAnswer(f"{self.name} gave no answer within {timeout_s:g} s and was ended")
        last = f"; it last wrote: {self._last_words!r}" if self._last_words else ""
        return BadAnswer(f"{self.name} ended in the middle, with status {self._process.returncode}{last}")

    def _listen(self) -> None:
        """Its standard error, line by line, into the log."""
        with suppress(OSError, ValueError):
            for line in self._pipe(self._process.stderr):
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self._last_words = text[:SHOWN]
                    logger.info("%s: %s", self.name, text)

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe
