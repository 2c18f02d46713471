"""A process that holds a model and answers for it, whoever started the process and however questions get there.

What a launch asks of a process that holds a model, and what comes back: data that travels between the two.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.backends.base import Absence, OutsideError
from parlai_humaneval.models.pool.child import Child, Utterance
from parlai_humaneval.models.pool.loaded import LoadedModels
from parlai_humaneval.models.pool.loading import twin_of
from parlai_humaneval.models.pool.worker import ModelWorker, NoReply, Request
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.schema.records import ReplyInfo


@dataclass(frozen=True)
class Question:
    """One conversation wants its next line. All that the reply may depend on travels with it, so that any process that
    holds the model can answer.

    ``conversation``: a key under which a process keeps what it has heard, to hear only what is new.
    """

    conversation: str
    seed: int
    dialogue: tuple[Utterance, ...]


@dataclass(frozen=True)
class Answered:
    """The reply to a :class:`Question`, with ``info`` of a server; or the ``error``, with what such errors say."""

    text: str = ""
    info: ReplyInfo | None = None
    error: str | None = None
    final: bool = False
    absence: Absence | None = None


class HostGone(RuntimeError):
    """The process that was asked is no more. The message says why, as far as that is known."""


logger = logging.getLogger(__name__)

MOST_CONVERSATIONS = 1000
"""Histories that are kept; the conversation that was silent for longest is forgotten, and heard anew if it goes on."""
TOLD_OPTIONS = ("add_special_tokens", "batchsize", "concurrency")
"""Options of the loaded agent that the launch goes by."""


class Host:
    """Loads one model, and others that share its weights, and answers the questions of any conversations.

    It keeps nothing that a question does not bring along: another host gives the same answer. It waits for no server that
    is out: the launch does.

    Args:
        max_batch: most questions that are asked at once.
        torch_threads: processor threads that torch may use for one operation.
    """

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
        except Exception as error:  # whoever asks is told, and no exception may be such that it cannot travel
            logger.exception("%s failed", method)
            return False, RuntimeError(f"{type(error).__name__}: {error}")

    def load(self, spec: ModelSpec) -> Mapping[str, Any]:
        """Load a model; the options of it that the launch goes by are returned.

        Raises:
            ZooError: when it cannot be loaded.
        """
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

    def answer(self, model: str, questions: Sequence[Question]) -> list[Answered]:
        """An answer to each question, in their order."""
        worker = self._models.worker(model)
        children = [self._child(worker, question) for question in questions]
        # Hearing is most of the work of asking. Done first, the requests come together, and so do their replies.
        for child, question in zip(children, questions, strict=True):
            child.hear(question.dialogue)
        with worker.together():
            asked = [_ask(child, question) for child, question in zip(children, questions, strict=True)]
        answers = [_answered(request) for request in asked]
        for question, answer in zip(questions, answers, strict=True):
            if answer.error is not None:  # it may have heard half of a line
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


def _ask(child: Child, question: Question) -> Request | Exception:
    try:
        return child.ask(question.dialogue)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything at hearing a message
        return error


def _answered(asked: Request | Exception) -> Answered:
    error = asked.future.exception() if isinstance(asked, Request) else asked
    if isinstance(asked, Request) and error is None:
        reply = asked.future.result()
        return Answered(reply.text, reply.info)
    if isinstance(error, NoReply):
        return Answered("", error.info)
    if isinstance(error, OutsideError):
        return Answered(error=str(error), final=error.final, absence=error.absence)
    logger.error("a reply failed", exc_info=error)  # the launch gets a line of it
    return Answered(error=f"{type(error).__name__}: {error}")
