"""The processes that hold copies of one model: which of them are free, and what happens when one ends."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from parlai_humaneval.models.outside.base import Absence, OutsideError
from parlai_humaneval.models.pool.worker import CLOSED
from parlai_humaneval.models.remote.questions import Answered, HostGone, Question
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError

logger = logging.getLogger(__name__)

DEADLY = 3
"""Processes that may end at the same question, or while they load, before that is held to be the reason."""
RESTARTS = 5
"""How often a process is started anew, one that answered something in between not counted."""
LONGEST_PAUSE_S = 30.0
END_S = 10.0
"""Seconds that closing waits for a process that is being started, to end it."""


class Replica(Protocol):
    """A running :class:`~parlai_humaneval.models.remote.host.Host`, asked by one thread at a time."""

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises.

        Raises:
            HostGone: when the process has ended.
        """

    def end(self) -> None:
        """End the process, if it still runs; whoever waits for it gets :class:`HostGone`."""


@dataclass(eq=False)
class _Place:
    """Where a replica runs. ``ended``: how often one did there since it last answered."""

    index: int
    replica: Replica
    ended: int = 0


class Hosts:
    """Copies of a model, and of others that share its weights, in processes of their own.

    Questions go to whichever process is free. One that ends is replaced, and what it was asked is asked of another: no
    reply is lost, and as replies hang on nothing but the question, none differs.

    Args:
        spec: the model, as it is loaded there.
        start: starts the process of a place, counted from 0. It may raise ZooError or HostGone.
        number: of processes.
    """

    def __init__(self, spec: ModelSpec, start: Callable[[int], Replica], number: int) -> None:
        self.number = number
        self._specs = [spec]
        self._start = start
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._free: deque[_Place] = deque()
        self._running: set[Replica] = set()
        self._starting: list[threading.Thread] = []
        self._places = number
        self._serving = 0
        """Places whose process is there, and free or at work; those of the others are just being started anew."""
        self._trouble = ""
        self._blamed: dict[str, int] = {}

    @property
    def running(self) -> Sequence[Replica]:
        """Those that are not known to have ended."""
        with self._changed:
            return list(self._running)

    def load(self) -> Mapping[str, Any]:
        """Start the processes and load the model in each; what the host tells of it is returned.

        The first one goes ahead: what it downloads need not be downloaded by the others at the same time, and a model
        that cannot be loaded fails once. A process that ends at it is replaced, :data:`DEADLY` of a place at most.

        Raises:
            ZooError: when it cannot be loaded.
        """
        try:
            told = self._settle(0)
            with ThreadPoolExecutor(self.number) as others:
                list(others.map(self._settle, range(1, self.number)))
        except HostGone as error:
            self.close()
            raise ZooError(f"{self._specs[0].name} cannot be loaded: {error}") from error
        except BaseException:
            self.close()
            raise
        return told

    def take(self, spec: ModelSpec) -> Mapping[str, Any] | None:
        """Have ``spec`` answered here, too, if it shares the weights; None if it does not. Nobody may be asking yet."""
        places = [self._take() for _ in range(self._places)]
        try:
            told = [place.replica.call("take", spec) for place in places]
        except HostGone as error:
            raise ZooError(f"{spec.name} cannot be loaded: {error}") from error
        finally:
            for place in places:
                self._give_back(place)
        if told[0] is None:
            return None
        self._specs.append(spec)
        return dict(told[0])

    def ask(self, model: str, questions: Sequence[Question]) -> list[Answered]:
        """An answer to each question, in their order; it waits for a free process.

        Raises:
            OutsideError: when process after process ended at it, or none is left; with an absence, when all of them are
                just being started anew.
            RuntimeError: when the pool is closed.
        """
        trouble = ""
        for _ in range(DEADLY):
            place = self._take()
            try:
                answers: list[Answered] = place.replica.call("answer", model, questions)
            except HostGone as error:
                trouble = str(error)
                self._replace(place, trouble)
                self._blame(questions, trouble)
                continue
            except BaseException:
                self._give_back(place)
                raise
            place.ended = 0
            self._give_back(place)
            for question in questions:
                self._blamed.pop(question.conversation, None)
            return answers
        raise OutsideError(trouble)

    def _blame(self, questions: Sequence[Question], trouble: str) -> None:
        """A question that was asked by itself when process after process ended is asked no more."""
        if len(questions) > 1:
            return
        key = questions[0].conversation
        self._blamed[key] = self._blamed.get(key, 0) + 1
        if self._blamed[key] >= DEADLY:
            del self._blamed[key]
            raise OutsideError(f"{trouble}; so did {DEADLY} processes at this question", final=True)

    def close(self) -> None:
        """End the processes; may be called twice."""
        self._closed.set()
        with self._changed:
            running = list(self._running)
            self._running.clear()
            self._changed.notify_all()
        for replica in running:
            replica.end()
        for thread in self._starting:  # none may begin a process after this
            thread.join(END_S)

    def _settle(self, index: int) -> Mapping[str, Any]:
        """Start the process of a place, and have it load what is to be answered there."""
        replica, told = self._begun(index)
        self._open(_Place(index, replica))
        return told

    def _begun(self, index: int) -> tuple[Replica, Mapping[str, Any]]:
        for _ in range(1, DEADLY):
            try:
                return self._begin(index)
            except HostGone as error:
                if self._closed.is_set():
                    raise
                logger.error("%s: %s while it was loaded; another is started in its place", self._specs[0].name, error)
        return self._begin(index)

    def _begin(self, index: int) -> tuple[Replica, Mapping[str, Any]]:
        replica = self._start(index)
        with self._changed:
            self._running.add(replica)
        try:
            if self._closed.is_set():
                raise HostGone(CLOSED)
            told: list[Mapping[str, Any]] = [replica.call("load", spec) for spec in self._specs]
        except BaseException:
            self._end(replica)
            raise
        return replica, told[0]

    def _end(self, replica: Replica) -> None:
        with self._changed:
            self._running.discard(replica)
        replica.end()

    def _take(self) -> _Place:
        with self._changed:
            while not self._free:
                if self._closed.is_set():
                    raise RuntimeError(CLOSED)
                if not self._places:
                    raise OutsideError(f"all its processes have ended: {self._trouble}", final=True)
                if not self._serving:
                    raise OutsideError(f"its process is being started anew: {self._trouble}", absence=Absence())
                self._changed.wait()
            return self._free.popleft()

    def _open(self, place: _Place) -> None:
        """There is a process now that serves."""
        with self._changed:
            self._serving += 1
            self._give_back(place)

    def _give_back(self, place: _Place) -> None:
        with self._changed:
            self._free.append(place)
            self._changed.notify()

    def _replace(self, place: _Place, why: str) -> None:
        """Start another process in the place of one that has ended, while the others go on."""
        self._end(place.replica)
        with self._changed:
            self._serving -= 1
            self._trouble = why
            self._changed.notify_all()
        if self._closed.is_set():
            return
        logger.error("%s: %s; another is started in its place", self._specs[0].name, why)
        place.ended += 1
        thread = threading.Thread(target=self._start_again, args=[place, why], daemon=True)
        self._starting = [other for other in self._starting if other.is_alive()] + [thread]
        thread.start()

    def _start_again(self, place: _Place, trouble: str) -> None:
        while place.ended <= RESTARTS and not self._closed.is_set():
            try:
                place.replica, _ = self._begin(place.index)
            except (ZooError, HostGone) as error:
                trouble = str(error)
                logger.error("%s: no other process could be started: %s", self._specs[0].name, trouble)
                place.ended += 1
                self._closed.wait(min(2.0**place.ended, LONGEST_PAUSE_S))
            else:
                if self._closed.is_set():
                    self._end(place.replica)
                else:
                    self._open(place)
                return
        with self._changed:
            self._places -= 1
            self._trouble = trouble
            self._changed.notify_all()
