"""A circuit breaker: requests to a model whose server is down wait, and continue when it is back.

The first error that says that the server is not there opens it: from then on one held request at a time looks, after
longer and longer pauses, whether it is back. Any answer closes it, and all that was held is sent. After ``outage_s``
those who wait, and whoever comes later, get :class:`ModelOut`; meanwhile greetings look, each in a thread of its own,
as one may hang.
"""

from __future__ import annotations

import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from parlai.core.agents import Agent

from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.backends.base import Absence, OutsideError, Said

logger = logging.getLogger(__name__)
# Even if failed tries are not logged, users who wait for minutes must know the reason.
logger.setLevel(logging.WARNING)

OUTAGE_S = 300.0
"""For how long conversations wait for a server, unless another time is given."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
"""Before the next look whether the server is back; each pause is twice the one before."""
JITTER = 0.25
DOUBTS = 3
"""So often one request may be cut off, late, or find the server gone again, before it is itself the reason."""
LOOK_S = 60.0


class ModelOut(OutsideError):
    """The server did not come back in time, or nobody waits for it any more. ``since``: when it went, in epoch seconds."""

    def __init__(self, message: str, since: float = 0.0) -> None:
        super().__init__(message, final=True)
        self.since = since


@dataclass(eq=False)
class Wait:
    """One request's wait for its server. ``since``: when it was held last, if it is; ``over_at``: when it was let go;
    ``doubts``: how often it may have been the reason itself."""

    began: Future[None] = field(default_factory=Future)
    since: float | None = None
    over_at: float = 0.0
    seconds: float = 0.0
    doubts: int = 0

    def begin(self) -> None:
        self.since = self.since or time.monotonic()
        if not self.began.done():
            self.began.set_result(None)

    def end(self) -> None:
        if self.since is not None:
            self.over_at = time.monotonic()
            self.seconds += self.over_at - self.since
            self.since = None


@dataclass(frozen=True)
class Reply(Said):
    """A model's text and when it was ready (``time.monotonic`` seconds)."""

    ready_at: float = 0.0


@dataclass(eq=False)
class WorkerThread:
    """A thread of a worker. ``replaced``: it hangs, another does its work; it ends if it comes back."""

    replaced: bool = False


@dataclass(eq=False)
class Request:
    """One conversation asks for one reply; ``future`` gets it."""

    agent: Agent
    observation: Any
    future: Future[Reply] = field(default_factory=Future)
    taken_by: WorkerThread | None = None
    taken_at: float = 0.0
    wait: Wait = field(default_factory=Wait)


@dataclass(eq=False)
class Outage:
    """The time for which a server is out. ``began``: ``time.monotonic`` seconds; ``since``: seconds since the epoch."""

    why: str
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.time)
    pause_s: float = FIRST_PAUSE_S
    next_look: float = 0.0
    given_up: bool = False
    waited: int = 0


@dataclass(eq=False)
class Breaker:
    """Stands before one model; thread-safe. ``outage_s``: how long a request is held; 0: none is. ``send`` has one
    answered after all, ``fail`` gives it up, ``greet`` asks the server something."""

    model: str
    outage_s: float
    send: Callable[[Request], None]
    fail: Callable[[Request, Exception], None]
    greet: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        self._chance = random.Random(f"pauses|{self.model}|{os.getpid()}")  # no record depends on it
        self._held: dict[Request, None] = {}
        self._probe: Request | None = None
        self.outage: Outage | None = None
        self._back_at = 0.0
        self._closed = False
        self._changed = threading.Condition()

    def keeps(self, request: Request) -> bool:
        if self.outage is None:  # the rule, and not worth a lock
            return False
        with self._changed:
            if self.outage is None:
                return False
            self._keep(request, self.outage)
            return True

    def answered(self, request: Request) -> None:
        if self.outage is None and request.wait.since is None:
            return
        with self._changed:
            request.wait.end()
            outage, probe = self.outage, self._probe is request
            self._probe = None if probe else self._probe
            # An answer that was under way when the server went says nothing.
            if outage is not None and (probe or request.taken_at >= outage.began):
                self._end(outage)

    def holds(self, request: Request, error: Exception) -> bool:
        """Whether ``request``, which failed, waits for its server or was given up here; else ``error`` is its answer."""
        absence = error.absence if isinstance(error, OutsideError) else None
        if absence is None or not self.outage_s:
            self.answered(request)
            return False
        with self._changed:
            if self._closed:
                return False
            if self.outage is None and request.taken_at < self._back_at:  # it was sent before the server was back
                self.send(request)
                return True
            gone_again = self.outage is None and request.wait.seconds > 0 and not absence.retry_after_s
            request.wait.doubts += gone_again or not absence.sure
            outage = self.outage or self._begin(str(error))
            if self._probe is request:
                self._probe = None
                outage.why = str(error)
                self._lengthen(outage, self._requested_pause(absence))
            elif absence.retry_after_s:
                outage.next_look = max(outage.next_look, time.monotonic() + self._requested_pause(absence))
            if request.wait.doubts > DOUBTS:
                request.wait.end()
                return False
            self._keep(request, outage)
            return True

    def withdraw(self, request: Request) -> None:
        """Nobody waits for ``request`` any more; one that is under way is left to itself."""
        with self._changed:
            if request not in self._held:
                return
            del self._held[request]
            request.wait.end()
        self.fail(request, ModelOut("no reply is needed any more"))

    def close(self) -> None:
        with self._changed:
            self._closed, self.outage = True, None
            left = self._let_go()
            self._changed.notify_all()
        for request in left:
            self.fail(request, ModelOut("the model pool was closed"))

    # -- with the lock held

    def _begin(self, why: str) -> Outage:
        outage = self.outage = Outage(why)
        self._pause(outage)
        at = time.strftime("%H:%M:%S", time.localtime(outage.since))
        logger.warning(
            "%s has been down since %s: %s. Conversations wait up to %g s for this model (outage_s).",
            self.model, at, why, self.outage_s,
        )  # fmt: skip
        threading.Thread(target=self._watch, args=[outage], name=f"outage-of-{self.model}", daemon=True).start()
        return outage

    def _keep(self, request: Request, outage: Outage) -> None:
        if outage.given_up or request.wait.seconds > self.outage_s:
            request.wait.end()
            self.fail(request, self._too_long(outage))
            return
        outage.waited += request.wait.since is None
        request.wait.begin()
        self._held[request] = None
        self._changed.notify_all()

    def _lengthen(self, outage: Outage, at_least: float = 0.0) -> None:
        outage.pause_s = min(2 * outage.pause_s, LONGEST_PAUSE_S)
        self._pause(outage, at_least)

    def _pause(self, outage: Outage, at_least: float = 0.0) -> None:
        seconds = max(outage.pause_s * (1 + self._chance.uniform(-JITTER, JITTER)), at_least)
        outage.next_look = time.monotonic() + seconds
        self._changed.notify_all()

    def _requested_pause(self, absence: Absence) -> float:
        return min(absence.retry_after_s, self.outage_s)

    def _end(self, outage: Outage) -> None:
        self.outage = None
        back = self._let_go()
        logger.warning(
            "%s is back after %.1f s; %s.",
            self.model, time.monotonic() - outage.began,
            "it is asked again" if outage.given_up else f"conversations that waited for it: {outage.waited}",
        )  # fmt: skip
        self._back_at = time.monotonic()
        self._changed.notify_all()
        for request in back:
            self.send(request)

    def _let_go(self) -> list[Request]:
        held, self._held = list(self._held), {}
        for request in held:
            request.wait.end()
        return held

    def _too_long(self, outage: Outage) -> ModelOut:
        return ModelOut(f"it has been down for more than {self.outage_s:g} s (outage_s): {outage.why}", outage.since)

    # -- the thread of one outage

    def _watch(self, outage: Outage) -> None:
        while self._wait_for_look(outage):
            with self._changed:
                if self.outage is not outage:
                    return
                request = self._probe = next(iter(self._held), None)
                if request is not None:
                    del self._held[request]
                else:
                    self._lengthen(outage)
            if request is not None:
                self.send(request)
            else:
                threading.Thread(target=self._look, args=[outage], name=f"look-at-{self.model}", daemon=True).start()

    def _wait_for_look(self, outage: Outage) -> bool:
        with self._changed:
            while self.outage is outage:
                now = time.monotonic()
                given_up_in = math.inf if outage.given_up else outage.began + self.outage_s - now
                look_in = math.inf if self._probe is not None else outage.next_look - now
                if given_up_in <= 0:
                    outage.given_up = True
                    probe = [] if self._probe is None else [self._probe]
                    self._probe = None  # one that hangs keeps nobody from looking again
                    left = [*probe, *self._let_go()]
                    logger.error(
                        "%s did not come back within %g s (%s). Conversations that were waiting and end now: %d. The "
                        "launch keeps trying it.",
                        self.model, self.outage_s, outage.why, len(left),
                    )  # fmt: skip
                    for request in left:
                        request.wait.end()
                        self.fail(request, self._too_long(outage))
                elif look_in <= 0:
                    return True
                else:
                    self._changed.wait(min(given_up_in, look_in, LOOK_S))
            return False

    def _look(self, outage: Outage) -> None:
        absence, why = None, ""
        try:
            if self.greet is not None:
                with isolate_model_code():
                    self.greet()
        except OutsideError as error:
            absence, why = error.absence, str(error)
        except Exception:  # noqa: BLE001 - an agent may raise anything; that does not mean an absence
            why = ""
        with self._changed:
            if self.outage is not outage:
                return
            if absence is None:
                self._end(outage)
                return
            outage.why = why
            outage.next_look = max(outage.next_look, time.monotonic() + self._requested_pause(absence))
