"""A person as one of the models (a Wizard-of-Oz partner), and the desk where requests for their replies wait."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from parlai.core.loader import AGENT_REGISTRY, load_agent_module, register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.backends.base import Heard, OutsideAgent, OutsideError, Said
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.models.zoo.files import make_importable

_OFFERED: ContextVar[Desk | None] = ContextVar("desk", default=None)


class NobodyAnswered(OutsideError):
    """No partner wrote a reply in time."""


class NobodyThere(OutsideError):
    """There has been no partner at the desk for a while; callers should stop waiting."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no person was there to write a reply for {seconds:g} s", final=True)


class Withdrawn(OutsideError):
    """Nobody waits for a reply any more; it is not asked for again."""

    def __init__(self) -> None:
        super().__init__("no reply is needed any more: the rater has left, or the launch has ended", final=True)


@dataclass(eq=False)
class Errand:
    """A reply that is to be written; the same ``errand_id`` whenever the same is asked for. ``partner``: its writer."""

    errand_id: str
    heard: Heard
    partner: str | None = None
    waiters: int = 0
    settled: threading.Event = field(default_factory=threading.Event)
    text: str | None = None
    slow: str | None = None
    """A partner who let it wait for the whole time-out: somebody else comes first now."""
    asked_at: float = field(default_factory=time.monotonic)

    @property
    def conversation(self) -> int:
        return self.heard.seed


class Desk:
    """Hands each request to one partner at a time, who keeps their conversations; those of raters who are away come
    last. ``on_change`` is called whenever what a partner has in hand may have changed, and must not block."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.on_change = on_change
        self.used = False
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
        """The reply that a person writes; NobodyAnswered, NobodyThere or Withdrawn where none comes."""
        with self._lock:
            if self._closed:
                raise Withdrawn
            known = errand_id_of(heard)
            # What was answered and is asked for again is another errand: that reply may not be shown.
            errand_id = f"{known}-{self._answers[known]}" if self._answers[known] else known
            errand = self._errands.setdefault(errand_id, Errand(errand_id, heard))
            if errand.partner is not None and any(self._in_hand(other) is None for other in self._partners):
                errand.slow, errand.partner = errand.partner, None
                self._owner.pop(errand.conversation, None)
            errand.waiters += 1
            self._deal()
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
        with self._lock:
            if away:
                self._held.add(seed)
            else:
                self._held.discard(seed)

    def leave(self, seed: int) -> None:
        with self._lock:
            for errand in [errand for errand in self._errands.values() if errand.conversation == seed]:
                self._settle(errand, None)
            self._owner.pop(seed, None)
            self._held.discard(seed)
            self._deal()
        self.on_change()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for errand in list(self._errands.values()):
                self._settle(errand, None)
        self.on_change()

    # -- the partners' side

    def sit_down(self, partner: str) -> None:
        with self._lock:
            self._partners[partner] = None
            self._deal()

    def stand_up(self, partner: str) -> None:
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
        with self._lock:
            return frozenset(seed for seed, owner in self._owner.items() if owner == partner)

    def waiting(self) -> int:
        with self._lock:
            return sum(errand.partner is None for errand in self._errands.values())

    def oldest_wait_s(self) -> float:
        with self._lock:
            now = time.monotonic()
            return max(
                (now - errand.asked_at for errand in self._errands.values() if errand.partner is None), default=0.0
            )

    def partners(self) -> int:
        with self._lock:
            return len(self._partners)

    # -- with the lock held

    def _settle(self, errand: Errand, text: str | None) -> None:
        errand.text = text
        del self._errands[errand.errand_id]
        errand.settled.set()

    def _deal(self) -> None:
        for errand in sorted(self._errands.values(), key=lambda errand: errand.conversation in self._held):
            if errand.partner is None:
                owner, load = self._owner.get(errand.conversation), Counter(self._owner.values())
                may = list(self._partners) if owner is None else [owner]
                free = [partner for partner in may if self._in_hand(partner) is None]
                errand.partner = min(free, key=lambda who: (who == errand.slow, load[who]), default=None)
                if errand.partner is not None:
                    self._owner[errand.conversation] = errand.partner

    def _in_hand(self, partner: str) -> Errand | None:
        return next((errand for errand in self._errands.values() if errand.partner == partner), None)


def errand_id_of(heard: Heard) -> str:
    """The same for the same line of the same conversation, and of no other; it tells nothing of what was said."""
    return hashlib.sha256(repr(heard).encode("utf-8", "surrogatepass")).hexdigest()[:20]


@contextmanager
def offered(desk: Desk) -> Iterator[None]:
    token = _OFFERED.set(desk)
    try:
        yield
    finally:
        _OFFERED.reset(token)


CONCURRENCY = 64
"""Conversations that may wait for people at once; each takes a thread that sleeps."""
PATIENCE_S = 360.0
"""Longer than the 300 s after which the pool asks again: what a partner is writing then stays in front of them."""
UNATTENDED_S = 120.0
"""A rater who waits for partners of whom none is there is not kept for longer."""
NEEDS_LAUNCH = (
    "This model works only during a launch, when people write its replies on the partners' page. `parlai-humaneval "
    "launch …` prints the link to that page. Outside a launch, such as in self-chats, there is nobody to write replies."
)


@register_agent("parlai_humaneval/human")
class HumanAgent(OutsideAgent):
    """Its replies are written by people at the :class:`Desk` of a launch; a ValueError outside of one."""

    OPTIONS = "human"
    KNOWN: ClassVar = {
        "concurrency": {"default": CONCURRENCY},
        "patience_s": {"default": PATIENCE_S},
        "unattended_s": {"default": UNATTENDED_S},
    }
    SHARED = ("desk",)

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        return [] if _OFFERED.get() else [NEEDS_LAUNCH]

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        desk = _OFFERED.get() if shared is None else shared["desk"]
        if desk is None:
            raise InvalidValue(NEEDS_LAUNCH)
        desk.used = True
        self.desk = desk
        self._patience_s = _seconds(opt, "patience_s", PATIENCE_S)
        self._unattended_s = _seconds(opt, "unattended_s", UNATTENDED_S)

    def ask(self, heard: Heard) -> Said:
        return Said(self.desk.ask(heard, patience_s=self._patience_s, unattended_s=self._unattended_s))

    def set_conversation(self, seed: int) -> None:
        """Which conversation this is: a person needs no other chance when they are asked again."""
        self.dialogue_seed = seed

    def partner_absent(self) -> bool:
        return self.desk.partners() == 0

    def person_away(self, away: bool) -> None:
        self.desk.hold(self.dialogue_seed, away)

    def leave(self) -> None:
        self.desk.leave(self.dialogue_seed)


def is_person(spec: ModelSpec) -> bool:
    """Whether people write the replies of a model. An agent that cannot be imported is for its loading to complain of."""
    model = str(spec.options.get("model"))
    if ":" not in model and model not in AGENT_REGISTRY:  # ParlAI's, whose import takes seconds
        return False
    with suppress(Exception):  # a module may raise anything when it is imported
        make_importable(spec.folder)
        return issubclass(load_agent_module(model), HumanAgent)
    return False


def _seconds(opt: Opt, name: str, default: float) -> float:
    value = opt.get(name)
    seconds = default if value is None else float(value)
    if not seconds > 0:
        raise InvalidValue(f"{value} is too low", where=name, try_="choose more than 0 seconds")
    return seconds
