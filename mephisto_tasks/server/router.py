"""The router: packets between pages and an :class:`OperatorLink`, in order, with nothing lost. It knows no HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import uuid
from collections import deque
from typing import Any, Protocol

from aiohttp import WSCloseCode

from mephisto_tasks.server import packets
from mephisto_tasks.server.agents import Agent, AgentBook, AwakeTime, Connection
from mephisto_tasks.server.packets import Packet
from mephisto_tasks.server.security import PageErrors, new_token
from parlai_humaneval.i18n.translate import phrase, phrases

logger = logging.getLogger(__name__)

OTHER_WINDOW = phrase("This task was opened in another window. Please continue in that window and close this one.")


class OperatorLink(Protocol):
    def to_operator(self, packet: Packet) -> None:
        """Takes one packet. Called in the router's thread, one at a time, in order; must not block."""


class OperatorSilent(Exception):
    """The operator did not answer a request in time, could not answer it now, or has left; the text is for the page."""


SOON_S = 4.0  # How long a page waits before it learns that there is no answer yet; it then asks again by itself.
PHRASES = phrases(__file__)
BUSY = PHRASES["busy"]


class Router:
    """Routes between pages and one operator, in an event loop of its own. After ``operator_timeout_s`` a request of a
    page is lost; after ``disconnect_after_s`` a silent page's agent is. Not thread-safe, but where it says so."""

    def __init__(self, *, operator_timeout_s: float = 300.0, disconnect_after_s: float = 120.0) -> None:
        self.agents = AgentBook(disconnect_after_s)
        self.awake = AwakeTime()
        self._looking: asyncio.Task[None] | None = None
        self.page_errors = PageErrors()
        self._operator_timeout_s = operator_timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link: OperatorLink | None = None
        self._operator_left = False
        self._unheard: deque[Packet] = deque()
        self._requests: dict[str, asyncio.Future[Packet]] = {}
        self._registrations: dict[bytes, asyncio.Future[Packet]] = {}
        self._connections: set[Connection] = set()
        self._last_operator_ping = 0.0

    # -- life -----------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._looking = loop.create_task(self.awake.keep_looking())

    def stop(self) -> None:
        for connection in list(self._connections):
            connection.close(WSCloseCode.GOING_AWAY)
        self._disconnect()
        if self._looking is not None:
            self._looking.cancel()
        self.page_errors.close()

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "operator_connected": self._link is not None,
            "agents": len(self.agents),
            "queued": sum(len(agent.outbox) for agent in self.agents.values()),
        }

    # -- the operator's side --------------------------------------------------------------------

    def connect_operator(self, link: OperatorLink) -> bool:
        """From now on ``link`` hears all, beginning with what waited for an operator. Thread-safe."""
        return self._in_loop(self._connect, link)

    def disconnect_operator(self) -> bool:
        """The operator has left for good, so pages that ask for something get an answer that says so. Thread-safe."""
        return self._in_loop(self._disconnect)

    def from_operator(self, packet: Packet) -> bool:
        """Takes a packet, in order for each thread; False: it has stopped. Raises TypeError, ValueError. Thread-safe."""
        return self._in_loop(self._take, json.loads(json.dumps(packet, allow_nan=False)))  # a copy as pages read it

    def is_here(self, agent_id: str) -> bool:
        """Whether a page speaks for the agent at this moment. Thread-safe."""
        agent = self.agents.get(agent_id)
        return agent is not None and agent.connection is not None

    def _in_loop(self, call: Any, *args: Any) -> bool:
        if self._loop is None:
            return False
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _connect(self, link: OperatorLink) -> None:
        self._link, self._operator_left = link, False
        while self._unheard:
            link.to_operator(self._unheard.popleft())

    def _disconnect(self) -> None:
        self._link, self._operator_left = None, True

    def _tell_operator(self, packet: Packet) -> None:
        packet["router_outgoing_timestamp"] = time.time()
        if self._link is not None:
            self._link.to_operator(packet)
        elif not self._operator_left:
            self._unheard.append(packet)

    def _take(self, packet: Packet) -> None:
        kind, data = packet.get("packet_type"), packet.get("data") or {}
        if kind == packets.AGENT_DETAILS:
            if data.get("agent_id") is not None:
                agent = self.agents.find_or_create(data["agent_id"])
                # Made once: every page that registers for the agent later has the same.
                data["agent_token"] = agent.token = agent.token or new_token()
                agent.last_seen = self.awake.now()
            waiting = self._requests.pop(data.get("request_id", ""), None)
            if waiting is None or waiting.done():
                return
            if "try_again" in data:
                waiting.set_exception(OperatorSilent(data["try_again"]))
                waiting.exception()  # nobody need be there to hear it
            else:
                waiting.set_result(packet)
        elif kind == packets.CLIENT_BOUND:
            self._deliver(self.agents.find_or_create(packet["subject_id"]), packet)
        elif kind == packets.UPDATE_STATUS:
            agent = self.agents.find_or_create(packet["subject_id"])
            agent.become(data.get("status") or agent.status)
            self._deliver(agent, packet)
        elif kind == packets.REQUEST_STATUSES:
            self._last_operator_ping = time.time()
            self._tell_operator(
                {
                    "packet_type": packets.RETURN_STATUSES,
                    "subject_id": packets.OPERATOR,
                    "data": self.agents.statuses(self.awake.now()),
                    "client_timestamp": packet.get("server_timestamp"),
                    "router_incoming_timestamp": time.time(),
                }
            )
        elif kind != packets.ALIVE:
            logger.warning("The operator sent a packet of unknown type %r, which is ignored.", kind)

    def _deliver(self, agent: Agent, packet: Packet) -> None:
        if not agent.over:
            packet = agent.outbox.add(packet)
        if agent.connection is not None:
            agent.connection.send(packet)

    # -- requests of pages ----------------------------------------------------------------------

    async def register(self, provider_data: dict[str, Any], client_timestamp: object) -> Packet:
        """The operator's ``agent_details``; a page that asks again gets one answer. Raises :class:`OperatorSilent`."""
        # The data may be anything: a stranger must not decide what is kept of a request, and for how long.
        key = hashlib.sha256(json.dumps(provider_data, sort_keys=True).encode()).digest()
        answer = self._registrations.get(key)
        if answer is None:
            request_id, answer = self._open_request()
            self._registrations[key] = answer
            lost = asyncio.get_running_loop().call_later(self._operator_timeout_s, self._forget, key, answer)
            answer.add_done_callback(lambda _: lost.cancel())
            answer.add_done_callback(lambda done: self._forget(key, done))
            data = {"provider_data": provider_data, "request_id": request_id}
            self._tell_operator(self._packet(packets.REGISTER_AGENT, request_id, data, client_timestamp))
        return await self._wait_for(answer)

    def _forget(self, key: bytes, answer: asyncio.Future[Packet]) -> None:
        if self._registrations.get(key) is answer:
            del self._registrations[key]

    async def submit_onboarding(self, agent: Agent, provider_data: dict[str, Any], client_timestamp: object) -> Packet:
        """Hands the practice in once; the ``agent_details`` that follow. Raises :class:`OperatorSilent`: ask again."""
        answer = agent.onboarding_answer
        if answer is None or (answer.done() and answer.exception() is not None):
            request_id, agent.onboarding_answer = self._open_request()
            data = {**provider_data, "request_id": request_id}
            self._tell_operator(self._packet(packets.SUBMIT_ONBOARDING, agent.agent_id, data, client_timestamp))
            agent.finish()
        assert agent.onboarding_answer is not None
        return await self._wait_for(agent.onboarding_answer)

    def submit_task(self, agent: Agent, final_data: dict[str, Any], client_timestamp: object) -> None:
        """Hands the unit in once; a later answer of the page means incomplete. Raises :class:`OperatorSilent`."""
        if not agent.submitted:
            self._need_operator()
            self._tell_operator(self._packet(packets.SUBMIT_UNIT, agent.agent_id, final_data, client_timestamp))
            agent.submitted = True

    def forward(self, packet_type: str, subject_id: str, data: dict[str, Any], client_timestamp: object) -> None:
        self._tell_operator(self._packet(packet_type, subject_id, data, client_timestamp))

    def log_error(self, agent: Agent, report: dict[str, Any]) -> bool:
        """Has a page's report of an error written down, which the operator need not hear; False: too many came."""
        return agent.error_limit.allows() and self.page_errors.take(f"agent {agent.agent_id}", report)

    def _need_operator(self) -> None:
        if self._operator_left:
            raise OperatorSilent

    def _open_request(self) -> tuple[str, asyncio.Future[Packet]]:
        self._need_operator()
        request_id = str(uuid.uuid4())
        answer: asyncio.Future[Packet] = asyncio.get_running_loop().create_future()
        self._requests[request_id] = answer
        return request_id, answer

    async def _wait_for(self, answer: asyncio.Future[Packet]) -> Packet:
        try:
            return await asyncio.wait_for(asyncio.shield(answer), min(SOON_S, self._operator_timeout_s))
        except asyncio.TimeoutError as error:
            raise OperatorSilent(BUSY) from error

    @staticmethod
    def _packet(kind: str, subject_id: str, data: dict[str, Any], client_timestamp: object) -> Packet:
        return {
            "packet_type": kind,
            "subject_id": subject_id,
            "data": data,
            "client_timestamp": packets.timestamp(client_timestamp),
            "router_incoming_timestamp": time.time(),
        }

    # -- websockets of pages --------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._release(connection)

    def attach(self, connection: Connection, agent: Agent, last_seq: int) -> None:
        """``connection`` speaks for ``agent`` from now on, and gets all that came after ``last_seq``."""
        if agent.connection is not connection:
            self._release(connection)
            if (older := agent.connection) is not None:
                # A page that reconnects must not frighten itself: its own older connection may speak last.
                if not older.page_id or older.page_id != connection.page_id:
                    older.error(OTHER_WINDOW, fatal=True, reason="other_window")
                older.close(WSCloseCode.POLICY_VIOLATION)
            agent.connection, connection.agent_id = connection, agent.agent_id
        agent.last_seen, agent.came = self.awake.now(), True
        status = {"status": agent.status}
        connection.send({"packet_type": packets.UPDATE_STATUS, "subject_id": agent.agent_id, "data": status})
        for packet in agent.outbox.resume(last_seq):
            connection.send(packet)

    def heartbeat(self, connection: Connection, agent: Agent) -> None:
        data = {"status": agent.status, "last_mephisto_ping": int(self._last_operator_ping * 1000)}
        connection.send({"packet_type": packets.HEARTBEAT, "subject_id": agent.agent_id, "data": data})

    def _release(self, connection: Connection) -> None:
        agent = self.agents.get(connection.agent_id) if connection.agent_id else None
        if agent is not None and agent.connection is connection:
            agent.connection = None
