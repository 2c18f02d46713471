"""A circuit breaker: requests to a model whose server is out are held, and go on when it is back.

Closed, it lets everything pass. The first error that says that the server is not there opens it: from then on nothing is
sent but one held request at a time, after longer and longer pauses, to see whether the server is back. Any answer closes
it, and all that was held is sent as it was: no conversation notices more than the time. Where that takes longer than
``outage_s``, those who wait get :class:`ModelOut`, and so does at once whoever comes later; meanwhile greetings look
whether the server is back, each in a thread of its own: one that hangs keeps no later one from finding the server there.
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
from typing import Generic, Protocol, TypeVar

from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.backends.base import Absence, OutsideError

logger = logging.getLogger(__name__)
logger.setLevel(
    logging.WARNING
)  # also where failed tries are kept from the log: who waits for minutes must know for what

OUTAGE_S = 300.0
"""For how long conversations wait for a server, unless another time is given."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
"""Before the next look whether the server is back; each pause is twice the one before."""
JITTER = 0.25
"""The part by which a pause varies, so that several processes do not look at the same moment."""
DOUBTS = 3
"""So often one request may be cut off, go unanswered in time, or find the server gone again that others found there, before
it is itself held to be the reason."""
LOOK_S = 60.0
"""The thread of an outage looks at least so often what has become of it."""


class ModelOut(OutsideError):
    """The server did not come back in time, or nobody waits for it any more. ``since``: when it went, in epoch seconds."""

    def __init__(self, message: str, since: float = 0.0) -> None:
        super().__init__(message, final=True)
        self.since = since


@dataclass(eq=False)
class Wait:
    """One request's wait for its server.

    ``began`` is done as soon as it was held once. ``since``: when it was held last, None where it is not held now;
    ``over_at``: when it was let go last (``time.monotonic`` seconds both). ``seconds``: all in all. ``doubts``: how often it
    failed in a way of which it may be the reason itself.
    """

    began: Future[None] = field(default_factory=Future)
    since: float | None = None
    over_at: float = 0.0
    seconds: float = 0.0
    doubts: int = 0

    @property
    def counted_from(self) -> float:
        """The moment before which the model may not be blamed for being late."""
        return self.over_at if self.since is None else time.monotonic()

    def begin(self) -> None:
        """It is held from now on, if it was not before."""
        self.since = self.since or time.monotonic()
        if not self.began.done():
            self.began.set_result(None)

    def end(self) -> None:
        """It is held no more."""
        if self.since is not None:
            self.over_at = time.monotonic()
            self.seconds += self.over_at - self.since
            self.since = None


class Waits(Protocol):
    """A request that can be held; ``taken_at``: when it was sent last (``time.monotonic`` seconds)."""

    wait: Wait
    taken_at: float


R = TypeVar("R", bound=Waits)


@dataclass(eq=False)
class _Outage:
    """The time for which a server is out. ``began``: ``time.monotonic`` seconds; ``since``: seconds since the epoch."""

    why: str
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.time)
    pause_s: float = FIRST_PAUSE_S
    next_look: float = 0.0
    given_up: bool = False
    waited: int = 0


class Breaker(Generic[R]):
    """Stands before one model; thread-safe.

    Args:
        model: its name.
        outage_s: how long a request is held at most; 0: none is, and every error goes to whoever asked.
        send: has a held request answered after all.
        fail: gives a held request up.
        greet: asks the server something, and raises what it raises; for when nobody's request is there to be sent. None:
            the next request is sent then, as if the server were back.
    """

    def __init__(
        self,
        model: str,
        *,
        outage_s: float,
        send: Callable[[R], None],
        fail: Callable[[R, Exception], None],
        greet: Callable[[], object] | None = None,
    ) -> None:
        self._model = model
        self._outage_s = outage_s
        self._send = send
        self._fail = fail
        self._greet = greet
        self._chance = random.Random(f"pauses|{model}|{os.getpid()}")  # no record depends on it
        self._held: dict[R, None] = {}
        self._probe: R | None = None
        self._outage: _Outage | None = None
        self._back_at = 0.0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def is_out(self) -> bool:
        """Whether the server is out, as far as is known."""
        return self._outage is not None

    @property
    def out_since(self) -> float | None:
        """When the server went, in seconds since the epoch; None: it is there."""
        outage = self._outage
        return None if outage is None else outage.since

    @property
    def is_given_up(self) -> bool:
        """Whether it has been for too long, so that nobody is to begin anything with it."""
        outage = self._outage
        return outage is not None and outage.given_up

    def keeps(self, request: R) -> bool:
        """Whether a new ``request`` is not to be sent now: it is held, or was failed."""
        if self._outage is None:  # the rule, and not worth a lock
            return False
        with self._changed:
            if self._outage is None:
                return False
            self._keep(request, self._outage)
            return True

    def answered(self, request: R) -> None:
        """The server has answered ``request``, be it with an error: it is there."""
        if self._outage is None and request.wait.since is None:
            return
        with self._changed:
            request.wait.end()
            outage, probe = self._outage, self._probe is request
            self._probe = None if probe else self._probe
            # An answer that was under way when the server went says nothing.
            if outage is not None and (probe or request.taken_at >= outage.began):
                self._end(outage)

    def holds(self, request: R, error: Exception) -> bool:
        """Whether ``request``, which failed, waits for its server or was given up here; else ``error`` is its answer."""
        absence = error.absence if isinstance(error, OutsideError) else None
        if absence is None or not self._outage_s:
            self.answered(request)
            return False
        with self._changed:
            if self._closed:
                return False
            if self._outage is None and request.taken_at < self._back_at:  # it was sent before the server was back
                self._send(request)
                return True
            gone_again = self._outage is None and request.wait.seconds > 0 and not absence.retry_after_s
            request.wait.doubts += gone_again or not absence.sure
            outage = self._outage or self._begin(str(error))
            if self._probe is request:
                self._probe = None
                self._postpone(outage, absence, str(error))
            elif absence.retry_after_s:
                outage.next_look = max(outage.next_look, time.monotonic() + self._requested_pause(absence))
            if request.wait.doubts > DOUBTS:
                request.wait.end()
                return False
            self._keep(request, outage)
            return True

    def withdraw(self, request: R) -> None:
        """Nobody waits for ``request`` any more; one that is under way is left to itself."""
        with self._changed:
            if request not in self._held:
                return
            del self._held[request]
            request.wait.end()
        self._fail(request, ModelOut("no reply is needed any more"))

    def close(self) -> None:
        """Nothing is held any more: what still waits fails."""
        with self._changed:
            self._closed, self._outage = True, None
            left = self._let_go()
            self._changed.notify_all()
        for request in left:
            self._fail(request, ModelOut("the model pool was closed"))

    # -- with the lock held

    def _begin(self, why: str) -> _Outage:
        outage = self._outage = _Outage(why)
        self._pause(outage)
        at = time.strftime("%H:%M:%S", time.localtime(outage.since))
        logger.warning(
            "%s has been out since %s: %s. Its conversations wait for it, for %g s at most (outage_s).",
            self._model, at, why, self._outage_s,
        )  # fmt: skip
        threading.Thread(target=self._watch, args=[outage], name=f"outage-of-{self._model}", daemon=True).start()
        return outage

    def _keep(self, request: R, outage: _Outage) -> None:
        if outage.given_up or request.wait.seconds > self._outage_s:
            request.wait.end()
            self._fail(request, self._too_long(outage))
            return
        outage.waited += request.wait.since is None
        request.wait.begin()
        self._held[request] = None
        self._changed.notify_all()

    def _postpone(self, outage: _Outage, absence: Absence, why: str) -> None:
        outage.why = why
        self._lengthen(outage, self._requested_pause(absence))

    def _lengthen(self, outage: _Outage, at_least: float = 0.0) -> None:
        outage.pause_s = min(2 * outage.pause_s, LONGEST_PAUSE_S)
        self._pause(outage, at_least)

    def _pause(self, outage: _Outage, at_least: float = 0.0) -> None:
        seconds = max(outage.pause_s * (1 + self._chance.uniform(-JITTER, JITTER)), at_least)
        outage.next_look = time.monotonic() + seconds
        self._changed.notify_all()

    def _requested_pause(self, absence: Absence) -> float:
        return min(absence.retry_after_s, self._outage_s)

    def _end(self, outage: _Outage) -> None:
        self._outage = None
        back = self._let_go()
        logger.warning(
            "%s is back after %.1f s; %s.",
            self._model, time.monotonic() - outage.began,
            "it is asked again" if outage.given_up else f"conversations that waited for it: {outage.waited}",
        )  # fmt: skip
        self._back_at = time.monotonic()
        self._changed.notify_all()
        for request in back:
            self._send(request)

    def _give_up(self, outage: _Outage) -> None:
        outage.given_up = True
        probe = [] if self._probe is None else [self._probe]
        self._probe = None  # one that hangs keeps nobody from looking again
        left = [*probe, *self._let_go()]
        logger.error(
            "%s has not come back within %g s (%s). Conversations that waited and end now: %d. It goes on being tried.",
            self._model, self._outage_s, outage.why, len(left),
        )  # fmt: skip
        for request in left:
            request.wait.end()
            self._fail(request, self._too_long(outage))

    def _let_go(self) -> list[R]:
        held, self._held = list(self._held), {}
        for request in held:
            request.wait.end()
        return held

    def _too_long(self, outage: _Outage) -> ModelOut:
        return ModelOut(f"it has been out for more than {self._outage_s:g} s (outage_s): {outage.why}", outage.since)

    # -- the thread of one outage

    def _watch(self, outage: _Outage) -> None:
        while self._wait_for_look(outage):
            with self._changed:
                if self._outage is not outage:
                    return
                request = self._probe = next(iter(self._held), None)
                if request is not None:
                    del self._held[request]
                else:
                    self._lengthen(outage)
            if request is not None:
                self._send(request)
            else:
                threading.Thread(target=self._look, args=[outage], name=f"look-at-{self._model}", daemon=True).start()

    def _wait_for_look(self, outage: _Outage) -> bool:
        with self._changed:
            while self._outage is outage:
                now = time.monotonic()
                given_up_in = math.inf if outage.given_up else outage.began + self._outage_s - now
                look_in = math.inf if self._probe is not None else outage.next_look - now
                if given_up_in <= 0:
                    self._give_up(outage)
                elif look_in <= 0:
                    return True
                else:
                    self._changed.wait(min(given_up_in, look_in, LOOK_S))
            return False

    def _look(self, outage: _Outage) -> None:
        absence, why = None, ""
        try:
            if self._greet is not None:
                with isolate_model_code():
                    self._greet()
        except OutsideError as error:
            absence, why = error.absence, str(error)
        except Exception:  # noqa: BLE001 - an agent may raise anything; that is no sign of an absence
            why = ""
        with self._changed:
            if self._outage is not outage:
                return
            if absence is None:
                self._end(outage)
                return
            outage.why = why
            outage.next_look = max(outage.next_look, time.monotonic() + self._requested_pause(absence))
