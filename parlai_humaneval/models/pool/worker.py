"""One loaded model, its threads, and the queue of requests: a free thread takes all waiting requests in one
``batch_act``."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakSet

import numpy as np
from parlai.core.agents import Agent
from parlai.core.message import Message
from parlai.utils.strings import normalize_reply

from parlai_humaneval.display.images import IMAGES_FIELD
from parlai_humaneval.display.text import ONLY_THOUGHTS, is_blank
from parlai_humaneval.models.agent.dialogue_agent import HEARS_FIELD, RAW_FIELD
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.backends.base import ERROR_FIELD, GREETING, INFO_FIELD, OutsideAgent
from parlai_humaneval.models.pool.breaker import OUTAGE_S, Breaker, Reply, Request, WorkerThread
from parlai_humaneval.schema.records import ModelHealth, ReplyInfo

if TYPE_CHECKING:
    from parlai_humaneval.models.backends.continuous import ContinuousBatch as Stream

KEPT = 1000


class Figures:
    """Counts of one model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: deque[float] = deque(maxlen=KEPT)
        self._counts = {"replies": 0, "retries": 0, "errors": 0}

    def answered(self, seconds: float, *, fit: bool) -> None:
        self.count("replies" if fit else "errors")
        with self._lock:
            self._seconds.append(seconds)

    def count(self, what: Literal["replies", "retries", "errors"]) -> None:
        with self._lock:
            self._counts[what] += 1

    def now(self, model: str, outage_since: float | None) -> ModelHealth:
        with self._lock:
            seconds, counts = list(self._seconds), dict(self._counts)
        median, p95 = (float(value) for value in np.percentile(seconds, [50, 95])) if seconds else (None, None)
        return ModelHealth(model=model, median_s=median, p95_s=p95, outage_since=outage_since, **counts)


logger = logging.getLogger(__name__)

GATHER_S = 0.001
"""Seconds that a batch waits for one more companion; it closes when none came in that time."""
GATHER_LIMIT_S = 0.005
JOIN_STEPS = 4
"""Words between which requests may join those under way, as a prompt is read while all others wait."""
CLOSE_S = 2.0
CLOSED = "the model pool was closed"

K = TypeVar("K")


class NoReply(RuntimeError):
    """A model answered with no text that a person could see; ``info``: what a server said of it all the same."""

    def __init__(self, message: str, info: ReplyInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


@dataclass(eq=False)
class ModelWorker:
    """Answers the requests of all conversations with clones of one agent, in ``threads`` batches at once; one for a
    model that computes here."""

    name: str
    agent: Agent
    _: KW_ONLY
    max_batch: int = 32
    threads: int = 1
    torch_threads: int | None = None
    timeout_s: float | None = None
    retries: int | None = None
    outage_s: float = OUTAGE_S

    def __post_init__(self) -> None:
        agent = self.agent
        self.batch_sizes: deque[int] = deque(maxlen=10_000)
        self.figures = Figures()
        self.observing = threading.Lock()  # composed agents may call a model while they observe
        self._lowercase = bool(agent.opt.get("dict_lower"))
        self._batches = hasattr(agent, "batch_act")
        self._queue: deque[Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._cut_off = False  # closed, and what was under way got its time
        self._asked: WeakSet[Request] = WeakSet()  # all that somebody, or a thread, still knows of
        self._asked_last: list[Future[Reply]] = []
        self._meet = False  # whether conversations asked at the same time of late: then the next may, too
        self._threads: list[threading.Thread] = []
        self._stuck = 0  # threads that hang and were replaced
        greet = partial(agent.ask, GREETING) if isinstance(agent, OutsideAgent) else None
        self.breaker = Breaker(self.name, outage_s=self.outage_s, send=self._send, fail=_fail, greet=greet)
        for _ in range(self.threads):
            self._start_thread()

    def clone(self) -> Agent:
        # ParlAI notes there where each copy was made, for ever, and copies all these notes into each.
        if isinstance(notes := getattr(getattr(self.agent, "opt", None), "deepcopies", None), list):
            notes.clear()
        with isolate_model_code():
            return self.agent.clone()

    def submit(self, agent: Agent, observation: Any, hears: Callable[[str], None] | None = None) -> Request:
        if hears is not None and getattr(agent, "streams", False):
            observation = Message({**observation, HEARS_FIELD: hears})
        request = Request(agent, observation)
        if not self.breaker.keeps(request) and not self._enqueue(request):
            raise RuntimeError(CLOSED)
        return request

    def together(self) -> AbstractContextManager[bool]:
        """Requests that are submitted within wait for each other, and can share a batch."""
        return self._changed

    def _send(self, request: Request) -> None:
        if not self._enqueue(request):
            _fail(request, RuntimeError(CLOSED))

    def _enqueue(self, request: Request) -> bool:
        with self._changed:
            if not self._closed:
                request.taken_by = None
                self._asked.add(request)
                self._meet |= bool(self._queue) or any(not future.done() for future in self._asked_last)
                self._queue.append(request)
                self._changed.notify_all()
            return not self._closed

    def relieve(self, request: Request, *, after_s: float, max_stuck: int) -> bool:
        """Whether a thread has had ``request`` for ``after_s`` seconds; if so, a fresh one takes over. At most
        ``max_stuck`` hang at once; one that comes back delivers its batch, and ends."""
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
        """End the threads, waiting `CLOSE_S`; callers that are still waiting get an error. An agent that asks elsewhere
        is shut down."""
        with self._changed:
            self._closed = True
            queued, asked = list(self._queue), list(self._asked)
            self._queue.clear()
            self._changed.notify_all()
        for request in queued:
            _fail(request, RuntimeError(CLOSED))
        self.breaker.close()
        if isinstance(self.agent, OutsideAgent):
            try:
                with isolate_model_code():
                    self.agent.shutdown()
            except Exception:  # an agent may raise anything; the other models are to be closed as well
                logger.exception("%s could not be shut down", self.name)
        deadline = time.monotonic() + CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._cut_off = True
        for request in asked:  # those with a thread that hangs
            _fail(request, RuntimeError(CLOSED))

    def _start_thread(self) -> None:
        # Daemons, lest a hanging model keep the process alive.
        thread = threading.Thread(target=self._run, args=[WorkerThread()], name=f"model-{self.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, thread: WorkerThread) -> None:
        # What torch keeps for each thread. A model that was loaded without it needs none, and its import takes seconds.
        if self.torch_threads is not None and "torch" in sys.modules:
            import torch

            torch.set_num_threads(self.torch_threads)
            gpu = self.agent.opt.get("gpu", -1)
            if getattr(self.agent, "use_cuda", False) and gpu >= 0:
                torch.cuda.set_device(gpu)
        speaker = self._speaker(thread)
        if speaker is None:
            pass  # there was none until the end
        elif (stream := self._stream(speaker)) is not None:
            self._answer_continuously(thread, speaker, stream)
        else:
            while not thread.replaced and (batch := self._take_requests(thread, self.max_batch)):
                # One bad observation must not fail the conversations that happened to share its batch.
                if not (self._batches and self._settle(batch, speaker)):
                    for request in batch:
                        self._settle([request], speaker)
        with self._changed:
            if thread.replaced:
                self._stuck -= 1

    def _speaker(self, thread: WorkerThread) -> Agent | None:
        """A clone for the thread; for as long as the model fails at it, so does all that it is asked. None: it is over."""
        while True:
            try:
                return self.clone()
            except Exception as error:  # noqa: BLE001 - an agent may raise anything
                batch = [] if thread.replaced else self._take_requests(thread, self.max_batch)
                if not batch:
                    return None
                for request in batch:
                    self._refuse(request, error)

    def _stream(self, speaker: Agent) -> Stream | None:
        try:
            with isolate_model_code():
                stream: Stream | None = speaker.continuous() if hasattr(speaker, "continuous") else None
                return stream
        except Exception:
            logger.exception("%s will answer whole batches, because it failed to answer word by word", self.name)
            return None

    def _take_requests(self, thread: WorkerThread, most: int) -> list[Request]:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if self._batches and self._meet:
                until, seen = time.monotonic() + GATHER_LIMIT_S, -1
                while seen < len(self._queue) < self.max_batch and time.monotonic() < until and not self._closed:
                    seen = len(self._queue)
                    self._changed.wait(GATHER_S)
            return self._take_up(thread, most)

    def _take_up(self, thread: WorkerThread, most: int, beside: int = 0) -> list[Request]:
        batch = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        for request in batch:
            request.taken_by, request.taken_at = thread, time.monotonic()
        if batch:
            self.batch_sizes.append(beside + len(batch))
            self._meet = beside + len(batch) > 1
            self._asked_last = [request.future for request in batch]
        return batch

    def _answer_continuously(self, thread: WorkerThread, speaker: Agent, stream: Stream) -> None:
        under_way: dict[Request, None] = {}
        words = 0
        while True:
            if under_way:
                joining = []
                if words % JOIN_STEPS == 0:
                    with self._changed:
                        if not (thread.replaced or self._closed):
                            joining = self._take_up(thread, self.max_batch - len(under_way), len(under_way))
            else:
                words, joining = 0, [] if thread.replaced else self._take_requests(thread, self.max_batch)
            if not under_way and not joining:
                return
            if joining:
                under_way |= dict.fromkeys(self._joined(stream, joining, speaker))
            words += 1
            for request in self._advance(stream, under_way, speaker) if under_way else ():
                del under_way[request]
            if self._cut_off:
                return

    def _joined(self, stream: Stream, joining: Sequence[Request], speaker: Agent) -> Sequence[Request]:
        """Those of the requests that the stream has taken; what cannot join others is asked for alone."""
        try:
            with isolate_model_code():
                stream.join({request: request.observation for request in joining})
        except Exception:  # noqa: BLE001 - as in _settle
            if len(joining) > 1:
                return [request for each in joining for request in self._joined(stream, [each], speaker)]
            self._settle(joining, speaker)
            return []
        return joining

    def _advance(self, stream: Stream, under_way: Collection[Request], speaker: Agent) -> Collection[Request]:
        """One word further; the requests that were answered. When it fails, all are, one by one and each by itself."""
        try:
            with isolate_model_code():
                messages = _checked(stream.step())
        except Exception:
            logger.exception("%s failed on a batch of %d replies, now requested separately", self.name, len(under_way))
            with isolate_model_code():
                stream.clear()
            for request in under_way:
                self._settle([request], speaker)
            return list(under_way)
        for request, message in messages.items():
            self._hand_over(request, message, time.monotonic())
        return list(messages)

    def _settle(self, batch: Sequence[Request], speaker: Agent) -> bool:
        """Hand each request its reply or its error. False, with nothing done, when a larger batch failed."""
        try:
            with isolate_model_code():
                if self._batches:
                    with self._lightly():
                        replies = speaker.batch_act([request.observation for request in batch])
                else:
                    replies = [request.agent.act() for request in batch]
            if len(replies) != len(batch):
                raise RuntimeError(f"the model gave {len(replies)} replies where {len(batch)} were asked for")
            messages = _checked(dict(enumerate(replies)))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; it must not end the thread
            if len(batch) > 1:
                return False
            self._refuse(batch[0], error)
            return True
        now = time.monotonic()
        for request, message in zip(batch, messages.values(), strict=True):
            if message.get(ERROR_FIELD):
                self._refuse(request, message[ERROR_FIELD])
                continue
            self.breaker.answered(request)
            self._hand_over(request, message, now)
        return True

    def _refuse(self, request: Request, error: Exception) -> None:
        if not self.breaker.holds(request, error):
            _fail(request, error)

    def _hand_over(self, request: Request, message: Mapping[str, Any], ready_at: float) -> None:
        text = str(message.get(RAW_FIELD) or message.get("text") or "").strip()
        text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair could be neither stored nor sent
        if text and self._lowercase:  # as people write: a model of lower-case tokens gets its capitals and spacing back
            text = str(normalize_reply(text))
        info: ReplyInfo | None = message.get(INFO_FIELD)
        if request.wait.seconds:
            info = (info or ReplyInfo()).model_copy(update={"outage_s": round(request.wait.seconds, 3)})
        if is_blank(text):
            thoughts = info is not None and info.thoughts
            _fail(request, NoReply(ONLY_THOUGHTS if thoughts else "the model answered with no text", info))
        else:
            with suppress(InvalidStateError):  # answered already, by the thread that replaced this one
                request.future.set_result(Reply(text, info, tuple(message.get(IMAGES_FIELD) or ()), ready_at))

    def _lightly(self) -> AbstractContextManager[object]:
        """ParlAI's own agents are spared what torch notes of each result for gradients: a tenth of a small model's time."""
        agents = sys.modules.get("parlai.core.torch_agent")
        if agents is None or not isinstance(self.agent, agents.TorchAgent) or self.agent.is_training:
            return nullcontext()
        if not type(self.agent).eval_step.__module__.startswith("parlai."):
            return nullcontext()  # somebody's own may want gradients
        import torch

        light: AbstractContextManager[object] = torch.inference_mode()
        return light


def _checked(messages: Mapping[K, Any]) -> Mapping[K, Mapping[str, Any]]:
    """What custom agents returned, if these are messages: anything else must not end the thread later."""
    for message in messages.values():
        if not isinstance(message, Mapping):
            raise TypeError(f"the model returned no message, but {message!r:.80}")
    return messages


def _fail(request: Request, error: Exception) -> None:
    with suppress(InvalidStateError):
        request.future.set_exception(error)
