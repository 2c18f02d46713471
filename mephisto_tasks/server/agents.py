"""The router's data on each agent, and its page's websocket, which never makes the router wait."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import WSCloseCode, web

from mephisto_tasks.server import security
from mephisto_tasks.server.packets import CLIENT_BOUND, ERROR, Packet, encode
from parlai_humaneval.i18n.translate import t

logger = logging.getLogger(__name__)

CAPACITY = 2000  # Most packets kept for one page. A page that is away gets a handful; this only bounds memory.


@dataclass(eq=False, repr=False)
class Outbox:
    """Packets for one page, numbered 1, 2, 3 …, kept until confirmed (cumulatively); the newest state also then, for
    another window of the page may have confirmed it."""

    capacity: int = CAPACITY
    last_seq: int = 0  # The greatest number given so far.
    _waiting: deque[Packet] = field(default_factory=deque)
    _newest: Packet | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, packet: Packet) -> Packet:
        self.last_seq += 1
        numbered = {**packet, "router_seq": self.last_seq}
        self._waiting.append(numbered)
        if packet.get("packet_type") == CLIENT_BOUND:
            self._newest = numbered
        if len(self._waiting) > self.capacity:
            lost = self._waiting.popleft()
            subject = lost.get("subject_id")
            logger.warning("Agent %s has %d unconfirmed packets; the oldest is dropped.", subject, self.capacity)
        return numbered

    def confirm(self, seq: int) -> None:
        """Forgets everything up to ``seq``; numbers that were never given change nothing more."""
        while self._waiting and self._waiting[0]["router_seq"] <= seq:
            self._waiting.popleft()

    def resume(self, seq: int) -> list[Packet]:
        """Confirms up to ``seq``, returns all that waits; a ``seq`` from before a restart moves the numbering on."""
        if seq > self.last_seq:
            for offset, packet in enumerate(self._waiting, start=1):
                packet["router_seq"] = seq + offset
            self.last_seq = seq + len(self._waiting)
        else:
            self.confirm(seq)
        unseen = self._newest is not None and seq < self._newest["router_seq"]
        if self._newest is not None and unseen and all(packet is not self._newest for packet in self._waiting):
            return [self._newest, *self._waiting]
        return list(self._waiting)

    def clear(self) -> None:
        self._waiting.clear()
        self._newest = None


ERRORS_PER_SECOND = 0.1
ERROR_BURST = 5.0  # for one page, whose errors are rare, or endless

NEVER_CAME_S = 60.0
"""How long a place is kept for a page that asked for a task and never came to it: programs could fill a study so."""
DISCONNECT = "disconnect"
ONBOARDING = "onboarding"
DONE = frozenset({"completed", "approved", "rejected", "soft_rejected"})  # Mephisto's statuses of work that was taken
LIVE = frozenset({ONBOARDING, "waiting", "in task"})
"""Mephisto's statuses in which a page must be there (node/server.js watches the same three)."""


@dataclass
class Agent:
    """One agent of Mephisto. ``last_seen`` by the router's ``awake``; ``came``: its page has opened a websocket;
    ``submitted``: handed in, which the operator may still refuse; ``over``: nothing can be changed any more."""

    agent_id: str
    token: str | None = None
    status: str = "none"
    last_seen: float | None = None
    outbox: Outbox = field(default_factory=Outbox)
    limit: security.RateLimit = field(default_factory=security.RateLimit)
    answer_limit: security.RateLimit = field(
        default_factory=lambda: security.RateLimit(security.ANSWERS_PER_SECOND, security.ANSWER_BURST)
    )
    error_limit: security.RateLimit = field(default_factory=lambda: security.RateLimit(ERRORS_PER_SECOND, ERROR_BURST))
    connection: Connection | None = None
    came: bool = False
    practises: bool = False
    onboarding_answer: asyncio.Future[Packet] | None = None
    submitted: bool = False
    over: bool = False

    def admits(self, token: str) -> bool:
        """Whether ``token`` is this agent's; an agent that was never handed to a page admits nobody."""
        return self.token is not None and security.same_token(token, self.token)

    def become(self, status: str) -> None:
        self.status = status
        self.practises = self.practises or status == ONBOARDING
        if status in DONE:
            self.finish()
        elif status in LIVE:
            self.submitted = False  # it was handed in too early: it may be handed in again, or refused again

    def finish(self) -> None:
        self.submitted = self.over = True
        self.outbox.clear()


class AgentBook(dict[str, Agent]):
    def __init__(self, disconnect_after_s: float) -> None:
        super().__init__()
        self._disconnect_after_s = disconnect_after_s

    def find_or_create(self, agent_id: str) -> Agent:
        """Only for ids that the operator named: a page cannot make the router remember anything."""
        return self.setdefault(agent_id, Agent(agent_id))

    def statuses(self, now: float) -> dict[str, str]:
        """Agent id → status, after marking silent pages; without agents whose work was taken: their page may close."""
        working = [agent for agent in self.values() if not agent.over]
        for agent in working:
            patience_s = self._disconnect_after_s if agent.came else min(self._disconnect_after_s, NEVER_CAME_S)
            if agent.status in LIVE and agent.last_seen is not None and now - agent.last_seen > patience_s:
                agent.status = DISCONNECT
        return {agent.agent_id: agent.status for agent in working}


TICK_S = 0.1
ASLEEP_S = 0.3  # a longer gap means sleep, which counts at most this much


class AwakeTime:
    """Seconds in which this process could have heard its pages: a shut laptop hears nobody."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._awake_s = 0.0

    def now(self) -> float:
        return self._awake_s + min(self._clock() - self._looked_at, ASLEEP_S)

    def look(self) -> None:
        self._awake_s = self.now()
        self._looked_at = self._clock()

    async def keep_looking(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(TICK_S)


_CLOSE_S = 5.0  # How long the other side may take to close, too; meanwhile what it sends is read.
SEND_S = 30.0
"""How long one packet may stay unread before its connection is cut; what was in it waits in the agent's outbox."""
MOST_WAITING = 3000  # Packets that wait to be sent on one connection: more than an outbox holds


class Connection:
    """Packets leave in order; a slow page delays only itself. ``agent_id`` None: no ``alive`` yet. ``cut`` ends it."""

    def __init__(self, socket: web.WebSocketResponse, cut: Callable[[], None]) -> None:
        self.agent_id: str | None = None
        self.page_id = ""
        self.limit = security.RateLimit(security.STRANGERS_PER_SECOND, security.STRANGERS_BURST)
        self._socket = socket
        self._cut = cut
        self._queue: asyncio.Queue[Packet | None] = asyncio.Queue()
        self._close_code = int(WSCloseCode.OK)
        self._close_s = _CLOSE_S
        self.closing = False

    def send(self, packet: Packet) -> None:
        if self.closing:
            return
        if self._queue.qsize() < MOST_WAITING:
            self._queue.put_nowait(packet)
        else:  # nobody reads
            self.closing = True
            self._cut()

    def error(self, sentence: str, *, fatal: bool = False, reason: str | None = None) -> None:
        """``fatal``: trying again is of no use; ``reason``: a word for pages that need one."""
        data = {"error": t(sentence), "fatal": fatal, **({} if reason is None else {"reason": reason})}
        self.send({"packet_type": ERROR, "subject_id": self.agent_id or "", "data": data})

    def close(self, code: int, within_s: float = _CLOSE_S) -> None:
        """Closes once everything queued has been sent, and cuts the connection off ``within_s`` at the latest."""
        if not self.closing:
            self.closing = True
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
