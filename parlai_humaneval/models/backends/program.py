"""A process that answers each line with a line.

A long-running program as a model: a JSON object a line on its standard input, one a line back.

The contract stands in :mod:`parlai_humaneval.models.backends.json_protocol`. In a zoo file::

    my_bot:
      options: {model: "parlai_humaneval.agents.command:CommandAgent", command: "python my_bot.py"}
"""

from __future__ import annotations

import logging
import math
import os
import queue
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.backends.base import GREETING, Absence
from parlai_humaneval.models.backends.json_protocol import (
    MAX_BYTES,
    BadAnswer,
    ContractAgent,
    from_answer,
    shown,
    to_question,
)
from parlai_humaneval.models.zoo.files import folder_of

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
                raise BadAnswer(f"the answer is longer than {MAX_BYTES:,} bytes", where=self.name)
            self._wait(self._stdout, select.POLLIN, until)
            chunk = os.read(self._stdout.fileno(), CHUNK)
            if not chunk:
                raise EOFError
            line += chunk
        answer, _, more = line.partition(b"\n")
        if more:
            raise BadAnswer(f"{self.name} said more than one line: after the answer came {shown(more)}")
        return answer

    def _wait(self, pipe: IO[bytes], event: int, until: float) -> None:
        lives = True
        while not _ready(pipe, event, min(LOOK_S, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                raise TimeoutError
            if not lives:
                raise EOFError
            lives = self._process.poll() is None  # and look once more: its last words may have come just before

    def _listen(self) -> None:
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


START_TIMEOUT_S = 600.0


class Programs:
    """Some processes of one command, each asked by one thread at a time; one that fails is replaced.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        start_timeout_s: how long a fresh one may take to answer a greeting.
    """

    def __init__(self, command: str, folder: Path, start_timeout_s: float) -> None:
        self._words = words_of(command)
        self._folder = folder
        self._start_timeout_s = start_timeout_s
        self._idle: queue.SimpleQueue[Program] = queue.SimpleQueue()
        self._all: weakref.WeakSet[Program] = weakref.WeakSet()
        self._closed = threading.Event()
        # Whoever forgets to close leaves no process behind: not after the last clone, nor when the interpreter ends.
        # Where it is killed, the processes find their standard input at its end.
        self._finalizer = weakref.finalize(self, _end, self._all)

    def close(self) -> None:
        """End the processes, also those that are being asked; there will be no fresh ones."""
        self._closed.set()
        self._finalizer()

    def start(self, number: int) -> None:
        """Have ``number`` processes that are ready; :class:`BadAnswer` when one of them does not answer a greeting."""
        try:
            with ThreadPoolExecutor(number) as starting:
                for program in starting.map(lambda _: self._fresh(), range(number)):
                    self._idle.put(program)
        except BaseException:
            self.close()
            raise

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """The next answer of a process that is free, or of a fresh one; :class:`BadAnswer` when there is none.

        One that cannot be started again is absent: the next try may find the memory, or the file, that it lacks.
        """
        try:
            program = self._free() or self._fresh()
        except BadAnswer as error:
            error.absence = Absence()
            raise
        answer = program.ask(question, timeout_s)  # one that fails at it has ended
        self._idle.put(program)
        return answer

    def _free(self) -> Program | None:
        while True:
            try:
                program = self._idle.get_nowait()
            except queue.Empty:
                return None
            if program.is_waiting():
                return program
            program.end()

    def _fresh(self) -> Program:
        program = Program(self._words, self._folder)
        self._all.add(program)
        if self._closed.is_set():  # after it was added: whoever closes ends those that were there before
            program.end()
            raise BadAnswer("the program is needed no more")
        try:
            from_answer(program.ask(to_question(GREETING), self._start_timeout_s))
        except BadAnswer:
            program.end()
            raise
        return program


def _end(programs: weakref.WeakSet[Program]) -> None:
    for program in list(programs):
        program.end()


@register_agent("parlai_humaneval/command")
class CommandAgent(ContractAgent):
    """Asks a program that runs in the folder of the zoo file. No shell is involved.

    ``concurrency`` processes are started with the model, one unless more are asked for. One that dies, says what the
    contract does not allow, or is late, is ended and replaced at the next question, by one that was greeted first. What
    they write to their standard error goes to the log (level info), and its last line into the error.

    Closing the pool ends them. A program should end when its standard input ends: where this process is killed, nothing
    else ends it.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Arguments of a program as a model")
        group.add_argument("--command", type=str, help='The program and its arguments, such as "python my_bot.py"')
        group.add_argument(
            "--start-timeout-s",
            type=float,
            default=START_TIMEOUT_S,
            help="Longest wait until a fresh process, which may have to load its model, answers a greeting, in seconds",
        )
        parser.set_defaults(concurrency=1)  # each is a process with a model of its own
        return parser

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        """Why the program cannot be started."""
        try:
            return lacking(words_of(str(options.get("command") or "")), folder)
        except ValueError as error:
            return [f"{error}."]

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        if shared:
            self.programs: Programs = shared["programs"]
            return
        start_timeout_s = float(opt.get("start_timeout_s") or START_TIMEOUT_S)
        self.programs = Programs(str(opt.get("command") or ""), folder_of(opt), start_timeout_s)
        self.programs.start(self.concurrency)

    def share(self) -> dict[str, Any]:
        """All clones ask the same processes."""
        return {**super().share(), "programs": self.programs}

    def exchange(self, question: bytes) -> bytes:
        return self.programs.ask(question, self.request_timeout_s)

    def shutdown(self) -> None:
        """End the processes."""
        self.programs.close()
