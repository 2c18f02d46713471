"""A process that holds a model and answers for it, and ends with its parent: neither forked (torch's threads) nor a
`multiprocessing` process, which would run the user's script again."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.backends.base import OutsideError, Said
from parlai_humaneval.models.backends.program import Subprocess
from parlai_humaneval.models.pool.breaker import Request
from parlai_humaneval.models.pool.loading import Child, LoadedModels, Utterance, twin_of
from parlai_humaneval.models.pool.worker import ModelWorker, NoReply
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError


@dataclass(frozen=True)
class Question:
    """One conversation wants its next line; all that the reply may depend on travels with it."""

    conversation: str
    seed: int
    dialogue: tuple[Utterance, ...]


class HostGone(RuntimeError):
    """The process that was asked is no more. The message says why, as far as that is known."""


logger = logging.getLogger(__name__)

MOST_CONVERSATIONS = 1000
"""Histories to keep; the longest silent conversation is forgotten, and read again if it continues."""
TOLD_OPTIONS = ("add_special_tokens", "batchsize", "concurrency")


class Host:
    """Loads a model, and others over its weights, and answers any conversation; it waits for no server that is out."""

    def __init__(self, max_batch: int, torch_threads: int) -> None:
        self._models = LoadedModels([], max_batch=max_batch, torch_threads=torch_threads, outage_s=0)
        self._children: OrderedDict[tuple[str, str], Child] = OrderedDict()

    def call(self, method: str, arguments: Sequence[Any]) -> tuple[bool, Any]:
        """Whether a method went well, and what it returned or else raised, for those who can only send and receive."""
        try:
            with isolate_model_code():
                return True, getattr(self, method)(*arguments)
        except ZooError as error:
            return False, ZooError(error)
        except Exception as error:  # the caller gets a message, because some exceptions cannot be pickled
            logger.exception("%s failed", method)
            return False, RuntimeError(f"{type(error).__name__}: {error}")

    def load(self, spec: ModelSpec) -> Mapping[str, Any]:
        self._models.specs[spec.name] = spec
        try:
            self._models.load()
        except ZooError:
            del self._models.specs[spec.name]
            raise
        opt = self._models.worker(spec.name).agent.opt
        return {name: opt[name] for name in TOLD_OPTIONS if name in opt}

    def take(self, spec: ModelSpec) -> Mapping[str, Any] | None:
        """As :meth:`load`, if the model shares the weights of one that is here; None, and nothing done, if it does not."""
        here = {name: (other, self._models.worker(name).agent) for name, other in self._models.specs.items()}
        return None if twin_of(spec, here) is None else self.load(spec)

    def answer(self, model: str, questions: Sequence[Question]) -> list[Said | OutsideError]:
        worker = self._models.worker(model)
        children = [self._child(worker, question) for question in questions]
        # Hearing is most of the work of asking. Done first, the requests come together, and so do their replies.
        for child, question in zip(children, questions, strict=True):
            child.hear(question.dialogue)
        asked: list[Request | Exception] = []
        with worker.together():
            for child, question in zip(children, questions, strict=True):
                try:
                    asked.append(child.ask(question.dialogue))
                except Exception as error:  # noqa: BLE001 - an agent may raise anything at hearing a message
                    asked.append(error)
        answers = list(map(_answered, asked))
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer, OutsideError):  # it may have heard half of a line
                self._children.pop((model, question.conversation), None)
        return answers

    def _child(self, worker: ModelWorker, question: Question) -> Child:
        key = (worker.name, question.conversation)
        child = self._children.get(key) or Child(worker, question.seed)
        self._children[key] = child
        self._children.move_to_end(key)
        while len(self._children) > MOST_CONVERSATIONS:
            self._children.popitem(last=False)
        return child


def _answered(asked: Request | Exception) -> Said | OutsideError:
    error = asked.future.exception() if isinstance(asked, Request) else asked
    if isinstance(asked, Request) and error is None:
        reply = asked.future.result()
        return Said(reply.text, reply.info, reply.images)
    if isinstance(error, NoReply):
        return Said("", error.info)
    if isinstance(error, OutsideError):  # not as it is: its class may be of a module that the launch does not have
        return OutsideError(error, final=error.final, absence=error.absence, mend=error.mend)
    logger.error("a reply failed", exc_info=error)  # the launch gets a line of it
    return OutsideError(f"{type(error).__name__}: {error}")


EXIT_S = 2.0
SHOWN = 300
# The path is set before anything is imported, lest a file in the current folder take a library's place.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from parlai_humaneval.parlai_plugin.setup import parlai_without_torch; parlai_without_torch(); "
    "from parlai_humaneval.models.workers.process import serve; serve(*map(int, sys.argv[2:]))"
)


class HostProcess(Subprocess):
    """A host in a separate process, with these variables added to ours. Raises `HostGone` if it cannot start."""

    def __init__(self, max_batch: int, torch_threads: int, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        numbers = map(str, (theirs.fileno(), max_batch, torch_threads))
        try:
            with theirs:
                super().__init__(
                    [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *numbers],
                    {"OMP_NUM_THREADS": str(torch_threads), **environment},
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                )
        except OSError as error:
            ours.close()
            raise HostGone(f"a process for it cannot be started: {error}") from error
        self._connection = Connection(ours.detach())

    def call(self, method: str, *arguments: Any) -> Any:
        try:
            self._connection.send((method, arguments))
            went_well, result = self._connection.recv()
        except (EOFError, OSError) as error:
            raise HostGone(self._exit_reason()) from error
        if went_well:
            return result
        raise result

    def _exit_reason(self) -> str:
        try:
            status = self.process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return f"{self.name} no longer answers"
        self.hear_out()
        ended = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        if status == -signal.SIGKILL:
            ended = "was killed (signal 9, usually because it needs more memory than there is)"
        last = " / ".join(self.last_words)[-SHOWN:]
        return f"{self.name} {ended}" + (f"; it last wrote: {last}" if last else "")


def device_environment(device: str) -> dict[str, str]:
    """The variable by which a process sees one GPU alone (of those that this one sees), or none for ``cpu``."""
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": ""}
    number = int(device.partition(":")[2])
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return {"CUDA_VISIBLE_DEVICES": str(number)}
    seen = [part for part in visible.split(",") if part]
    if number >= len(seen):
        raise ZooError(f"{device} is not visible here: CUDA_VISIBLE_DEVICES names {len(seen)} GPU(s)")
    return {"CUDA_VISIBLE_DEVICES": seen[number]}


def serve(descriptor: int, max_batch: int, torch_threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    host = Host(max_batch, torch_threads)
    with Connection(descriptor) as connection:
        while True:
            try:
                method, arguments = connection.recv()
                connection.send(host.call(method, arguments))
            except (EOFError, OSError):
                return


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
