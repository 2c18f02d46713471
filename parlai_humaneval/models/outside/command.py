"""A long-running program as a model: a JSON object a line on its standard input, one a line back.

The contract stands in :mod:`parlai_humaneval.models.outside.json_contract`. In a zoo file::

    my_bot:
      options: {model: "parlai_humaneval.agents.command:CommandAgent", command: "python my_bot.py"}
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.outside.base import GREETING, Absence
from parlai_humaneval.models.outside.json_contract import BadAnswer, ContractAgent, from_answer, to_question
from parlai_humaneval.models.outside.program import Program, lacking, words_of
from parlai_humaneval.models.zoo.own_code import folder_of

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
