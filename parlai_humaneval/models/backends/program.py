"""A process of our own, and a program as a model: one JSON object per line on its input, one a line back."""

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
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.backends import base
from parlai_humaneval.models.zoo.files import folder_of

logger = logging.getLogger(__name__)

CHUNK = 65536
END_S = 1.0
LOOK_S = 0.2
"""Seconds after which whoever waits for a pipe looks whether the process still lives: its end of a pipe may outlive it."""
SHOWN, LAST_LINES = 200, 2


def words_of(command: str) -> list[str]:
    """A command line as words, quotes understood as a shell does; a ValueError where it is empty, or a quote stays open."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        what = f"{command!r} cannot be read: {error}"
        raise InvalidValue(what, where="command", try_="close all quotation marks") from error
    if not words:
        what = "a program and its arguments are missing"
        raise InvalidValue(what, where="command", try_='write it as "python my_bot.py"')
    return words


def lacking(words: Sequence[str], folder: Path) -> list[str]:
    if shutil.which(str(folder / words[0]) if "/" in words[0] else words[0]):
        return []
    return [f"command: the program {words[0]!r} does not exist (it would be started in {folder})."]


class Subprocess:
    """A process of our own, which ends with this one, what it says besides its answers, and its end, with what it
    started. Where its standard error is none of its own, what it prints is listened to."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None = None, **options: Any) -> None:
        self.process = subprocess.Popen(
            words,
            # What a Python program prints would otherwise wait in its buffer, and we for it.
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us, and what it starts can be ended with it
            **options,
        )
        self.name = f"process {self.process.pid}"
        self.last_words: deque[str] = deque(maxlen=LAST_LINES)
        self.stdin, self.stdout = _pipe(self.process.stdin), _pipe(self.process.stdout)
        self._heard_until = math.inf
        self._ending = threading.Lock()
        self._listener = threading.Thread(target=self._listen, name=f"output-of-{self.process.pid}", daemon=True)
        self._listener.start()

    def end(self, *, at_once: bool = False) -> None:
        """Close its input, kill it and what it started if that does not end it (or ``at_once``), and close our ends."""
        with self._ending:
            with suppress(OSError):
                self.stdin.close()
            if not at_once:
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(END_S)
            # The group outlives its leader as long as one of it runs.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_S)
            self.hear_out()
            self.stdout.close()

    def hear_out(self) -> None:
        self._heard_until = time.monotonic() + END_S
        self._listener.join(2 * END_S)

    def _listen(self) -> None:
        rest = b""
        with _pipe(self.process.stderr or self.process.stdout) as pipe:
            while chunk := self._heard(pipe):
                *lines, rest = (rest + chunk)[-base.MAX_BYTES :].split(b"\n")
                for line in lines:
                    self._log(line)
        self._log(rest)

    def _heard(self, pipe: IO[bytes]) -> bytes:
        while time.monotonic() < self._heard_until:
            if _ready(pipe, select.POLLIN, LOOK_S):
                return os.read(pipe.fileno(), CHUNK)
            if self._heard_until < math.inf:
                break
        return b""

    def _log(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self.last_words.append(text)
            logger.info("%s: %s", self.name, text)


class Program(Subprocess):
    """A running program, asked by one thread at a time; a ValueError where it cannot be started in ``folder``."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        try:
            super().__init__(words, cwd=folder, stderr=subprocess.PIPE)
        except (OSError, ValueError) as error:
            what = f"{words[0]!r} cannot be started in {folder}: {error}"
            raise InvalidValue(what, where="command", try_="start the program there by hand to see why") from error
        self.name = f"{Path(words[0]).name} ({self.process.pid})"
        os.set_blocking(self.stdin.fileno(), False)

    def is_waiting(self) -> bool:
        return self.process.poll() is None and not _ready(self.stdout, select.POLLIN, 0)

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """The line that answers a line. A process that dies at it, is late, or says too much is ended: a BadAnswer."""
        until = time.monotonic() + timeout_s
        try:
            rest = memoryview(question + b"\n")
            while rest:
                self._wait(self.stdin, select.POLLOUT, until)
                rest = rest[self.stdin.write(rest) or 0 :]
            return self._read(until)
        except TimeoutError:
            self.end(at_once=True)
            failure = base.BadAnswer(f"{self.name} gave no answer within {timeout_s:g} s and was ended")
        except (OSError, ValueError, EOFError):  # its end of a pipe is closed, or ours, by another thread
            self.end()
            last = f"; it last wrote: {self.last_words[-1][:SHOWN]!r}" if self.last_words else ""
            failure = base.BadAnswer(f"{self.name} ended in the middle, with status {self.process.returncode}{last}")
        except base.BadAnswer:
            self.end()
            raise
        raise failure

    def _read(self, until: float) -> bytes:
        line = b""
        while b"\n" not in line:
            if len(line) > base.MAX_BYTES:
                raise base.BadAnswer(f"the answer is longer than {base.MAX_BYTES:,} bytes", where=self.name)
            self._wait(self.stdout, select.POLLIN, until)
            chunk = os.read(self.stdout.fileno(), CHUNK)
            if not chunk:
                raise EOFError
            line += chunk
        answer, _, more = line.partition(b"\n")
        if more:
            raise base.BadAnswer(f"{self.name} wrote more than one line: after the answer came {base.shown(more)}")
        return answer

    def _wait(self, pipe: IO[bytes], event: int, until: float) -> None:
        lives = True
        while not _ready(pipe, event, min(LOOK_S, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                raise TimeoutError
            if not lives:
                raise EOFError
            lives = self.process.poll() is None  # and look once more: its last words may have come just before


def _ready(pipe: IO[bytes], event: int, timeout_s: float) -> bool:
    looking = select.poll()
    looking.register(pipe, event)
    return bool(looking.poll(timeout_s * 1000))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


START_TIMEOUT_S = 600.0


class Programs:
    """Some processes of one command, each asked by one thread at a time; one that fails is replaced."""

    def __init__(self, command: str, folder: Path, start_timeout_s: float) -> None:
        self._words = words_of(command)
        self._folder = folder
        self._start_timeout_s = start_timeout_s
        self._idle: queue.SimpleQueue[Program] = queue.SimpleQueue()
        self._all: weakref.WeakSet[Program] = weakref.WeakSet()
        self._closed = threading.Event()
        # A forgotten close leaves no process behind, neither after the last clone nor when the interpreter ends. If the
        # interpreter is killed, the processes reach the end of their standard input.
        self._finalizer = weakref.finalize(self, _end, self._all)

    def close(self) -> None:
        """End the processes, also those that are being asked; there will be no fresh ones."""
        self._closed.set()
        self._finalizer()

    def start(self, number: int) -> None:
        try:
            with ThreadPoolExecutor(number) as starting:
                for program in starting.map(lambda _: self._fresh(), range(number)):
                    self._idle.put(program)
        except BaseException:
            self.close()
            raise

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """The next answer of a free or fresh process; :class:`BadAnswer` when there is none, with an absence if none
        starts."""
        try:
            program = self._free() or self._fresh()
        except base.BadAnswer as error:
            error.absence = base.Absence()
            raise
        answer = program.ask(question, timeout_s)  # if it fails at it, it has ended
        self._idle.put(program)
        return answer

    def _free(self) -> Program | None:
        with suppress(queue.Empty):
            while not (program := self._idle.get_nowait()).is_waiting():
                program.end()
            return program
        return None

    def _fresh(self) -> Program:
        program = Program(self._words, self._folder)
        self._all.add(program)
        if self._closed.is_set():  # checked after adding: close ends only processes that it sees
            program.end()
            raise base.BadAnswer("the program is no longer needed")
        try:
            base.from_answer(program.ask(base.to_question(base.GREETING), self._start_timeout_s))
        except base.BadAnswer:
            program.end()
            raise
        return program


def _end(programs: weakref.WeakSet[Program]) -> None:
    for program in list(programs):
        program.end()


@register_agent("parlai_humaneval/command")
class CommandAgent(base.ContractAgent):
    """Asks a program that runs in the folder of the zoo file, without a shell, in ``concurrency`` processes."""

    OPTIONS = "command"
    KNOWN: ClassVar = {
        "start_timeout_s": {"default": START_TIMEOUT_S},
        "concurrency": {"default": 1},  # each is a process with a model of its own
    }
    SHARED = ("programs",)

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
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

    def exchange(self, question: bytes) -> bytes:
        return self.programs.ask(question, self.request_timeout_s)

    def shutdown(self) -> None:
        self.programs.close()
