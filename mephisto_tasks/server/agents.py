"""What the router knows of each agent (secret, status, what its page has not confirmed yet), and its page's websocket.

A websocket sends in order, without ever making the router wait. The time by which a page has gone silent stands still while
this process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aiohttp import WSCloseCode, web

from mephisto_tasks.server.packets import CLIENT_BOUND, Packet, encode, error_packet
from mephisto_tasks.server.security import (
    ANSWER_BURST,
    ANSWERS_PER_SECOND,
    STRANGERS_BURST,
    STRANGERS_PER_SECOND,
    RateLimit,
    new_token,
    same_token,
)
from parlai_humaneval.i18n.translate import t

logger = logging.getLogger(__name__)

CAPACITY = 2000
"""Most packets kept for one page. A page that is away gets a handful; this only bounds memory."""


class Outbox:
    """Packets for one page, numbered 1, 2, 3 …, kept until confirmed.

    ``confirm(n)`` is cumulative: everything up to ``n`` arrived. ``resume(n)`` gives what a page that
    has everything up to ``n`` still lacks, in order. The newest state is kept though it was confirmed: that may have been
    another window of the same page, while this one was being opened.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._waiting: deque[Packet] = deque()
        self._last = 0
        self._capacity = capacity
        self._newest: Packet | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def last_seq(self) -> int:
        """The greatest number given so far."""
        return self._last

    def add(self, packet: Packet) -> Packet:
        """Numbers ``packet``, keeps it, and returns it with its ``router_seq``."""
        self._last += 1
        numbered = {**packet, "router_seq": self._last}
        self._waiting.append(numbered)
        if packet.get("packet_type") == CLIENT_BOUND:
            self._newest = numbered
        if len(self._waiting) > self._capacity:
            lost = self._waiting.popleft()
            logger.warning(
                "Agent %s has %d packets unconfirmed; the oldest is dropped.",
                lost.get("subject_id"),
                self._capacity,
            )
        return numbered

    def confirm(self, seq: int) -> None:
        """Forgets everything up to ``seq``; numbers that were never given change nothing more."""
        while self._waiting and self._waiting[0]["router_seq"] <= seq:
            self._waiting.popleft()

    def resume(self, seq: int) -> list[Packet]:
        """Confirms up to ``seq`` and returns all that waits, oldest first.

        A page that has seen a greater number than was ever given here comes from before a restart of the
        router: numbering goes on behind it, or the page would take everything new for repeats.
        """
        if seq > self._last:
            for offset, packet in enumerate(self._waiting, start=1):
                packet["router_seq"] = seq + offset
            self._last = seq + len(self._waiting)
        else:
            self.confirm(seq)
        unseen = self._newest is not None and seq < self._newest["router_seq"]
        if self._newest is not None and unseen and all(packet is not self._newest for packet in self._waiting):
            return [self._newest, *self._waiting]
        return list(self._waiting)

    def clear(self) -> None:
        """Forgets all: nobody will ask again."""
        self._waiting.clear()
        self._newest = None


ERRORS_PER_SECOND = 0.1
ERROR_BURST = 5.0
"""Of one page. It reports what it cannot understand, which happens never, or again and again."""

NEVER_CAME_S = 60.0
"""How long a place is kept for a page that asked for a task and never came to it: programs could fill a study so."""
DISCONNECT = "disconnect"
ONBOARDING = "onboarding"
DONE = frozenset({"completed", "approved", "rejected", "soft_rejected"})
"""Mephisto's statuses of work that was taken."""
LIVE = frozenset({ONBOARDING, "waiting", "in task"})
"""Mephisto's statuses in which a page must be there (node/server.js watches the same three)."""


@dataclass
class Agent:
    """One agent of Mephisto, as the router sees it.

    ``last_seen``: when its page last said something (by the router's ``awake``), None before a page got it.
    ``came``: its page has opened a websocket; until then nobody has seen more of it than one request.
    ``practises``: it is the agent of a practice, which a task cannot be handed in for, nor the other way about.
    ``submitted``: its page has handed the work in; the operator may still refuse that, and the page goes on.
    ``over``: nothing can be changed any more.
    """

    agent_id: str
    token: str | None = None
    status: str = "none"
    last_seen: float | None = None
    outbox: Outbox = field(default_factory=Outbox)
    limit: RateLimit = field(default_factory=RateLimit)
    answer_limit: RateLimit = field(default_factory=lambda: RateLimit(ANSWERS_PER_SECOND, ANSWER_BURST))
    error_limit: RateLimit = field(default_factory=lambda: RateLimit(ERRORS_PER_SECOND, ERROR_BURST))
    connection: Connection | None = None
    came: bool = False
    practises: bool = False
    onboarding_answer: asyncio.Future[Packet] | None = None
    submitted: bool = False
    over: bool = False

    def issue_token(self) -> str:
        """The agent's secret: made once, the same for every page that registers for it later."""
        if self.token is None:
            self.token = new_token()
        return self.token

    def admits(self, token: str) -> bool:
        """Whether ``token`` is this agent's; an agent that was never handed to a page admits nobody."""
        return self.token is not None and same_token(token, self.token)

    def become(self, status: str) -> None:
        """The operator says how it stands."""
        self.status = status
        self.practises = self.practises or status == ONBOARDING
        if status in DONE:
            self.finish()
        elif status in LIVE:
            self.submitted = False  # it was handed in too early: it may be handed in again, or refused again

    def finish(self) -> None:
        """Its work is done: nothing more has to be kept for its page."""
        self.submitted = self.over = True
        self.outbox.clear()


class AgentBook:
    """All agents of one launch."""

    def __init__(self, disconnect_after_s: float) -> None:
        self._agents: dict[str, Agent] = {}
        self._disconnect_after_s = disconnect_after_s

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents.values())

    def __len__(self) -> int:
        return len(self._agents)

    def find(self, agent_id: str) -> Agent | None:
        return self._agents.get(agent_id)

    def find_or_create(self, agent_id: str) -> Agent:
        """Only for ids that the operator named: a page cannot make the router remember anything."""
        return self._agents.setdefault(agent_id, Agent(agent_id))

    def statuses(self, now: float) -> dict[str, str]:
        """Agent id → status, after marking those whose page has been silent for too long; ``now`` as ``last_seen``.

        Agents whose work was taken are left out: their page may close.
        """
        working = [agent for agent in self if not agent.over]
        for agent in working:
            if self._is_gone(agent, now):
                agent.status = DISCONNECT
        return {agent.agent_id: agent.status for agent in working}

    def _is_gone(self, agent: Agent, now: float) -> bool:
        if agent.status not in LIVE or agent.last_seen is None:
            return False
        patience_s = self._disconnect_after_s if agent.came else min(self._disconnect_after_s, NEVER_CAME_S)
        return now - agent.last_seen > patience_s


TICK_S = 0.1
ASLEEP_S = 0.3
"""Whoever was not looked at for longer was asleep: so much of it counts at most."""


class AwakeTime:
    """Seconds in which this process could have heard its pages.

    Where a laptop is shut, a virtual machine is moved or a machine is too busy, nobody's heartbeats come through, and by any
    other clock all raters would have left at the moment in which it goes on.

    It belongs to one event loop and is read there.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._awake_s = 0.0

    def now(self) -> float:
        """Seconds that have counted so far."""
        return self._awake_s + min(self._clock() - self._looked_at, ASLEEP_S)

    def look(self) -> None:
        """It is awake now."""
        self._awake_s = self.now()
        self._looked_at = self._clock()

    async def keep_looking(self) -> None:
        """For as long as its loop runs."""
        while True:
            self.look()
            await asyncio.sleep(TICK_S)


_CLOSE_S = 5.0
"""How long the other side may take to close, too; meanwhile what it sends is read."""
SEND_S = 30.0
"""How long one packet may stay unread before its connection is cut; what was in it waits in the agent's outbox."""
MOST_WAITING = 3000
"""Packets that wait to be sent on one connection: more than an outbox holds."""


class Connection:
    """Packets given to :meth:`send` leave in that order; a page that reads slowly delays only itself.

    ``agent_id`` is None until an ``alive`` packet showed the right token. ``cut``: ends it at once, whatever is unread.
    """

    def __init__(self, socket: web.WebSocketResponse, cut: Callable[[], None]) -> None:
        self.agent_id: str | None = None
        self.page_id = ""
        self.limit = RateLimit(STRANGERS_PER_SECOND, STRANGERS_BURST)
        self._socket = socket
        self._cut = cut
        self._queue: asyncio.Queue[Packet | None] = asyncio.Queue()
        self._close_code = int(WSCloseCode.OK)
        self._close_s = _CLOSE_S
        self._closing = False

    @property
    def closing(self) -> bool:
        return self._closing

    def send(self, packet: Packet) -> None:
        if self._closing:
            return
        if self._queue.qsize() < MOST_WAITING:
            self._queue.put_nowait(packet)
        else:  # nobody reads
            self._closing = True
            self._cut()

    def error(self, sentence: str, *, fatal: bool = False, reason: str | None = None) -> None:
        self.send(error_packet(self.agent_id or "", t(sentence), fatal=fatal, reason=reason))

    def close(self, code: int, within_s: float = _CLOSE_S) -> None:
        """Closes after everything that was given before has been sent; who has not closed ``within_s``, too, is cut off."""
        if not self._closing:
            self._closing = True
            self._close_code, self._close_s = int(code), within_s
            self._queue.put_nowait(None)

    async def write(self) -> None:
        """Sends until :meth:`close`; ends quietly when the page has gone (its outbox has it all)."""
        try:
            while (packet := await self._queue.get()) is not None:
                text = encode({**packet, "router_outgoing_timestamp": time.time()})
                await asyncio.wait_for(self._socket.send_str(text), SEND_S)
        except (ConnectionError, RuntimeError):
            pass
        except asyncio.TimeoutError:
            self._cut()
        try:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await asyncio.wait_for(self._socket.close(code=self._close_code), self._close_s)
        except asyncio.TimeoutError:
            self._cut()
