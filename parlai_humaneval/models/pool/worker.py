"""One loaded model, its threads, and the queue where the conversations' requests meet.

What waits when a thread becomes free is answered by one ``batch_act``; while that runs, the next
batch forms. Nothing waits for a batch to fill, except that a thread that was idle gives
companions :data:`GATHER_S` to arrive.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from parlai.core.agents import Agent
from parlai.utils.strings import normalize_reply

from parlai_humaneval.models.outside.base import ERROR_FIELD, INFO_FIELD, OutsideAgent
from parlai_humaneval.protocol.records.dialogue import ReplyInfo
from parlai_humaneval.showing.blanks import is_blank

logger = logging.getLogger(__name__)

GATHER_S = 0.001
"""Seconds that a batch waits for one more companion; it closes when none came in that time."""
GATHER_LIMIT_S = 0.005
"""Seconds after which a batch closes in any case."""
CLOSE_S = 2.0
"""Seconds that closing waits for batches under way."""


class NoReply(RuntimeError):
    """A model answered with no text that a person could see; ``info``: what a server said of it all the same."""

    def __init__(self, message: str, info: ReplyInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


@dataclass(frozen=True)
class Reply:
    """A model's text and when it was ready (``time.monotonic`` seconds); ``info``: what a server said of it."""

    text: str
    ready_at: float
    info: ReplyInfo | None = None


@dataclass(eq=False)
class _Thread:
    """A thread of a worker. ``replaced``: it hangs, another does its work; it ends if it comes back."""

    replaced: bool = False


@dataclass(eq=False)
class Request:
    """One conversation asks for one reply; ``future`` gets it."""

    agent: Agent
    observation: Any
    asked_at: float = field(default_factory=time.monotonic)
    future: Future[Reply] = field(default_factory=Future)
    taken_by: _Thread | None = None
    taken_at: float = 0.0


class ModelWorker:
    """Answers the requests of all conversations with one loaded model.

    Args:
        name: the model's name in the zoo.
        agent: the loaded agent. Conversations use clones of it, which share its weights.
        max_batch: most requests in one ``batch_act``.
        threads: how many batches may run at once. One is right for a model that computes here; more help an
            agent that waits for another machine.
        torch_threads: processor threads that torch may use for one operation; None leaves torch alone.
        timeout_s: seconds until this model is late; None: as whoever asks says.
        retries: how often it is asked again; None likewise.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        *,
        max_batch: int = 32,
        threads: int = 1,
        torch_threads: int | None = None,
        timeout_s: float | None = None,
        retries: int | None = None,
    ) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self.retries = retries
        self.agent = agent
        self.max_batch = max_batch
        self.threads = threads
        self.batch_sizes: deque[int] = deque(maxlen=10_000)
        self.observing = threading.Lock()  # composed agents may call a model while they observe
        self._torch_threads = torch_threads
        self._lowercase = bool(agent.opt.get("dict_lower"))
        self._batches = hasattr(agent, "batch_act")
        self._queue: deque[Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._threads: list[threading.Thread] = []
        self._stuck = 0  # threads that hang and were replaced
        for _ in range(threads):
            self._start_thread()

    def clone(self) -> Agent:
        """An agent with the same weights and an empty history."""
        return self.agent.clone()

    def submit(self, agent: Agent, observation: Any) -> Request:
        """Queue a request for the reply to what ``agent`` (a clone) observed last."""
        request = Request(agent, observation)
        with self._changed:
            if self._closed:
                raise RuntimeError("the model pool is closed")
            self._queue.append(request)
            self._changed.notify_all()
        return request

    @contextmanager
    def together(self) -> Iterator[None]:
        """Requests that are submitted within wait for each other, and can share a batch."""
        with self._changed:
            yield

    def relieve(self, request: Request, *, after_s: float, max_stuck: int) -> bool:
        """Whether a thread has had ``request`` for ``after_s`` seconds; if so, a fresh one takes over its work.

        False for a request that is still queued or was taken up a moment ago: it only needs patience.
        A thread cannot be ended from outside, so at most ``max_stuck`` hang at once. One that comes back
        after all still delivers its batch, and ends.
        """
        with self._changed:
            thread = request.taken_by
            if thread is None or time.monotonic() - request.taken_at < after_s:
                return False
            if not thread.replaced and self._stuck < max_stuck:
                thread.replaced = True
                self._stuck += 1
                self._start_thread()
            return True

    def close(self) -> None:
        """End the threads, waiting :data:`CLOSE_S` for the batches under way; whoever still waits gets an error.

        An agent that asks elsewhere is shut down: what it waits for is ended, and its connections are closed.
        """
        with self._changed:
            self._closed = True
            waiting = list(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        for request in waiting:
            _fail(request, RuntimeError("the model pool was closed"))
        if isinstance(self.agent, OutsideAgent):
            try:
                self.agent.shutdown()
            except Exception:  # an agent may raise anything; the other models are to be closed as well
                logger.exception("%s could not be shut down", self.name)
        deadline = time.monotonic() + CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _start_thread(self) -> None:
        # Daemons, lest a hanging model keep the process alive.
        thread = threading.Thread(target=self._run, args=[_Thread()], name=f"model-{self.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, thread: _Thread) -> None:
        self._prepare_torch()
        speaker = self.clone()
        while batch := self._take(thread):
            self._answer(speaker, batch)
            with self._changed:
                if thread.replaced:
                    self._stuck -= 1
                    return

    def _prepare_torch(self) -> None:
        """What torch keeps for each thread: its share of the processors, and the GPU that “cuda” means."""
        if self._torch_threads is None or "torch" not in sys.modules:
            return  # a model that was loaded without torch needs none, and its import takes seconds
        import torch

        torch.set_num_threads(self._torch_threads)
        gpu = self.agent.opt.get("gpu", -1)
        if getattr(self.agent, "use_cuda", False) and gpu >= 0:
            torch.cuda.set_device(gpu)

    def _take(self, thread: _Thread) -> list[Request]:
        """Wait for requests and take what is there, at most ``max_batch``; empty when closed."""
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if self._batches:
                self._gather()
            batch = [self._queue.popleft() for _ in range(min(self.max_batch, len(self._queue)))]
            for request in batch:
                request.taken_by, request.taken_at = thread, time.monotonic()
            if batch:
                self.batch_sizes.append(len(batch))
            return batch

    def _gather(self) -> None:
        """Let conversations that ask at almost the same moment share a batch."""
        until = time.monotonic() + GATHER_LIMIT_S
        seen = -1
        while seen < len(self._queue) < self.max_batch and time.monotonic() < until and not self._closed:
            seen = len(self._queue)
            self._changed.wait(GATHER_S)

    def _answer(self, speaker: Agent, batch: Sequence[Request]) -> None:
        if self._batches and self._settle(batch, speaker):
            return
        # One bad observation must not fail the conversations that happened to share its batch.
        for request in batch:
            self._settle([request], speaker)

    def _settle(self, batch: Sequence[Request], speaker: Agent) -> bool:
        """Hand each request its reply or its error. False, with nothing done, when a larger batch failed."""
        try:
            messages = self._act(batch, speaker)
        except Exception as error:  # noqa: BLE001 - a model may raise anything; it must not end the thread
            if len(batch) > 1:
                return False
            _fail(batch[0], error)
            return True
        now = time.monotonic()
        for request, message in zip(batch, messages, strict=True):
            text = self._text(message)
            if message.get(ERROR_FIELD):
                _fail(request, message[ERROR_FIELD])
            elif is_blank(text):
                _fail(request, NoReply("the model answered with no text", message.get(INFO_FIELD)))
            else:
                _succeed(request, Reply(text, now, message.get(INFO_FIELD)))
        return True

    def _act(self, batch: Sequence[Request], speaker: Agent) -> Sequence[Mapping[str, Any]]:
        if self._batches:
            replies: Sequence[Mapping[str, Any]] = speaker.batch_act([request.observation for request in batch])
            return replies
        return [request.agent.act() for request in batch]

    def _text(self, message: Mapping[str, Any]) -> str:
        """The reply as people write: a model of lower-case tokens gets its capitals and spacing back."""
        text = str(message.get("text") or "").strip()
        text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair could be neither stored nor sent
        return str(normalize_reply(text)) if text and self._lowercase else text


def _succeed(request: Request, reply: Reply) -> None:
    with suppress(InvalidStateError):  # answered already, by the thread that replaced this one
        request.future.set_result(reply)


def _fail(request: Request, error: Exception) -> None:
    with suppress(InvalidStateError):
        request.future.set_exception(error)
