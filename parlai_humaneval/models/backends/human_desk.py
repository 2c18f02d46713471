"""The desk where requests for a person's replies wait, and where partners (people) take them up.

A request is known by what is to be answered: who asks again for the same line of the same dialogue waits for the same
reply, and whoever writes it keeps what is written so far. Conversations are told apart by their seeds.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from parlai_humaneval.models.backends.base import Heard, OutsideError

_OFFERED: ContextVar[Desk | None] = ContextVar("desk", default=None)


class NobodyAnswered(OutsideError):
    """No partner wrote a reply in time."""


class NobodyThere(OutsideError):
    """No partner sits at the desk, and has not for a while; whoever waits should not wait on."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no person was there to write a reply for {seconds:g} s", final=True)


class Withdrawn(OutsideError):
    """Nobody waits for a reply any more; it is not asked for again."""

    def __init__(self) -> None:
        super().__init__("no reply is needed any more: the rater has left, or the launch has ended", final=True)


@dataclass(eq=False)
class Errand:
    """A reply that is to be written.

    ``errand_id``: the same whenever the same is asked for, until that was answered. ``partner``: who has it in hand; None:
    it waits.
    """

    errand_id: str
    heard: Heard
    partner: str | None = None
    waiters: int = 0
    settled: threading.Event = field(default_factory=threading.Event)
    text: str | None = None
    slow: str | None = None
    """A partner who let it wait for the whole time-out: somebody else comes first now."""
    asked_at: float = field(default_factory=time.monotonic)
    """When it was first asked for, ``time.monotonic`` seconds."""

    @property
    def conversation(self) -> int:
        """The seed of the conversation: what tells it from all others."""
        return self.heard.seed


class Desk:
    """Hands each request to one partner at a time. Thread-safe.

    A partner has one request in hand, and keeps their conversations for as long as they sit here. Others are given to
    whoever is free and has the fewest. Requests are taken up in the order in which they came, those of raters whose pages
    are away (:meth:`hold`) after all others.

    ``on_change`` is called, in any thread and often for nothing, whenever what a partner has in hand may have changed;
    it must not block.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.on_change = on_change
        self.used = False
        """Whether any model is a person at this desk."""
        self._errands: dict[str, Errand] = {}
        self._partners: dict[str, None] = {}
        self._owner: dict[int, str] = {}
        self._answers: Counter[str] = Counter()
        self._held: set[int] = set()
        self._empty_since = time.monotonic()
        self._closed = False
        self._lock = threading.Lock()

    # -- the models' side

    def ask(self, heard: Heard, *, patience_s: float, unattended_s: float = math.inf) -> str:
        """The reply that a person writes; blocks until it is there.

        Raises:
            NobodyAnswered: after ``patience_s`` seconds; the request is gone, unless somebody else waits for it, too.
            NobodyThere: it was asked for ``unattended_s`` seconds ago, and in all that time no partner was here.
            Withdrawn: the conversation is over, or the desk was closed.
        """
        errand = self._enter(heard)
        self.on_change()
        failure = self._wait(errand, patience_s, unattended_s)
        with self._lock:
            errand.waiters -= 1
            if failure is not None and errand.waiters == 0 and self._errands.get(errand.errand_id) is errand:
                del self._errands[errand.errand_id]
                self._owner.pop(errand.conversation, None)  # they had their time: the next try is anybody's
                self._deal()
        self.on_change()
        if errand.text is not None:
            return errand.text
        raise failure or Withdrawn()

    def _wait(self, errand: Errand, patience_s: float, unattended_s: float) -> OutsideError | None:
        """Until the errand is settled (None), or its time is over."""
        until = time.monotonic() + patience_s
        while True:
            now = time.monotonic()
            with self._lock:
                # With somebody here, it is at least so long from now until they would have been away for long enough.
                alone_since = now if self._partners else max(self._empty_since, errand.asked_at)
            ends = min(until, alone_since + unattended_s)
            if errand.settled.wait(max(0.0, ends - now)):
                return None
            if now >= until:
                return NobodyAnswered(f"no person wrote a reply within {patience_s:g} s")
            if now >= ends:
                return NobodyThere(unattended_s)

    def hold(self, seed: int, away: bool) -> None:
        """Whether the rater of a conversation is away from their page: those who are there come first."""
        with self._lock:
            if away:
                self._held.add(seed)
            else:
                self._held.discard(seed)

    def leave(self, seed: int) -> None:
        """A conversation is over: nobody needs to write for it any more."""
        with self._lock:
            for errand in [errand for errand in self._errands.values() if errand.conversation == seed]:
                self._settle(errand, None)
            self._owner.pop(seed, None)
            self._held.discard(seed)
            self._deal()
        self.on_change()

    def close(self) -> None:
        """Nobody sits here any more: whoever waits gets :class:`Withdrawn`."""
        with self._lock:
            self._closed = True
            for errand in list(self._errands.values()):
                self._settle(errand, None)
        self.on_change()

    # -- the partners' side

    def sit_down(self, partner: str) -> None:
        """A partner is here, and may be given requests."""
        with self._lock:
            self._partners[partner] = None
            self._deal()

    def stand_up(self, partner: str) -> None:
        """A partner has gone: what they had in hand, and their conversations, are anybody's."""
        with self._lock:
            was_here = partner in self._partners
            self._partners.pop(partner, None)
            if was_here and not self._partners:
                self._empty_since = time.monotonic()
            self._owner = {seed: owner for seed, owner in self._owner.items() if owner != partner}
            for errand in self._errands.values():
                if errand.partner == partner:
                    errand.partner = None
            self._deal()

    def in_hand(self, partner: str) -> Errand | None:
        """What a partner is to answer now."""
        with self._lock:
            return self._in_hand(partner)

    def answer(self, partner: str, errand_id: str, text: str) -> bool:
        """Hand in a reply; False when it is not needed from this partner any more."""
        with self._lock:
            errand = self._errands.get(errand_id)
            if errand is None or errand.partner != partner:
                return False
            self._settle(errand, text)
            self._answers[errand_id_of(errand.heard)] += 1
            self._deal()
            return True

    def conversations(self, partner: str) -> frozenset[int]:
        """Seeds of the conversations that a partner is in."""
        with self._lock:
            return frozenset(seed for seed, owner in self._owner.items() if owner == partner)

    def waiting(self) -> int:
        """Requests that nobody has in hand."""
        with self._lock:
            return sum(errand.partner is None for errand in self._errands.values())

    def oldest_wait_s(self) -> float:
        """How long the oldest of those has waited; 0 where there are none."""
        with self._lock:
            now = time.monotonic()
            return max(
                (now - errand.asked_at for errand in self._errands.values() if errand.partner is None), default=0.0
            )

    def partners(self) -> int:
        """How many sit here."""
        with self._lock:
            return len(self._partners)

    # -- with the lock held

    def _enter(self, heard: Heard) -> Errand:
        with self._lock:
            if self._closed:
                raise Withdrawn
            known = errand_id_of(heard)
            # What was answered and is asked for again is another errand: that reply may not be shown.
            errand_id = f"{known}-{self._answers[known]}" if self._answers[known] else known
            errand = self._errands.get(errand_id)
            if errand is None:
                errand = self._errands[errand_id] = Errand(errand_id, heard)
            elif errand.partner is not None and any(self._in_hand(other) is None for other in self._partners):
                errand.slow, errand.partner = errand.partner, None
                self._owner.pop(errand.conversation, None)
            errand.waiters += 1
            self._deal()
            return errand

    def _settle(self, errand: Errand, text: str | None) -> None:
        errand.text = text
        del self._errands[errand.errand_id]
        errand.settled.set()

    def _deal(self) -> None:
        for errand in sorted(self._errands.values(), key=lambda errand: errand.conversation in self._held):
            if errand.partner is None:
                errand.partner = self._taker(errand)
                if errand.partner is not None:
                    self._owner[errand.conversation] = errand.partner

    def _taker(self, errand: Errand) -> str | None:
        owner = self._owner.get(errand.conversation)
        if owner is not None:
            return owner if self._in_hand(owner) is None else None
        free = [partner for partner in self._partners if self._in_hand(partner) is None]
        load = list(self._owner.values())
        return min(free, key=lambda partner: (partner == errand.slow, load.count(partner)), default=None)

    def _in_hand(self, partner: str) -> Errand | None:
        return next((errand for errand in self._errands.values() if errand.partner == partner), None)


def errand_id_of(heard: Heard) -> str:
    """The same for the same line of the same conversation, and of no other; it tells nothing of what was said."""
    return hashlib.sha256(repr(heard).encode("utf-8", "surrogatepass")).hexdigest()[:20]


@contextmanager
def offered(desk: Desk) -> Iterator[None]:
    """Models that are loaded meanwhile, in this thread, may be people at ``desk``."""
    token = _OFFERED.set(desk)
    try:
        yield
    finally:
        _OFFERED.reset(token)


def offered_desk() -> Desk | None:
    """The desk where people write, if this is loaded in a launch."""
    return _OFFERED.get()
