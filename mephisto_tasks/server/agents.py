"""What the router knows of each agent: its secret, its status, its page, and what that has not confirmed yet."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mephisto_tasks.server.packets import CLIENT_BOUND, Packet
from mephisto_tasks.server.security import ANSWER_BURST, ANSWERS_PER_SECOND, RateLimit, new_token, same_token

if TYPE_CHECKING:
    from mephisto_tasks.server.connection import Connection


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
