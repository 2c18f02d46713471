"""What a page says over its websocket, checked and handed to the router."""

from __future__ import annotations

import asyncio
import contextlib
import time

from aiohttp import WSCloseCode, WSMsgType, web

from mephisto_tasks.router import packets as p
from mephisto_tasks.router.agents import Agent
from mephisto_tasks.router.connection import Connection
from mephisto_tasks.router.core import Router
from mephisto_tasks.router.security import RateLimit

_PING_S = 25.0
_HARD_LIMIT = 4 * p.MAX_BODY
"""aiohttp cuts the line here without a word; between ``MAX_BODY`` and this a page is told why."""

NOT_ADMITTED = "This page may not go on with this task: it was closed, or belongs to another window. Please reload."
TOO_LONG = f"That message is longer than {p.MAX_BODY // 1024} kB and was not taken."
TOO_FAST = "Too many messages came at once; the connection is closed. It may be opened again."
NOT_TEXT = "Only text messages are taken here; files are not."


class PageSockets:
    """The websocket endpoint."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=_PING_S, max_msg_size=_HARD_LIMIT)
        await socket.prepare(request)
        connection = Connection(socket)
        writer = asyncio.create_task(connection.write())
        self._router.opened(connection)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT and not connection.closing:
                    self._take(connection, message.data)
                elif message.type is WSMsgType.BINARY:
                    self._refuse(connection, NOT_TEXT, WSCloseCode.UNSUPPORTED_DATA)
        finally:
            self._router.closed(connection)
            connection.close(WSCloseCode.OK)
            with contextlib.suppress(asyncio.CancelledError):
                await writer
        return socket

    def _take(self, connection: Connection, text: str) -> None:
        if len(text) > p.MAX_BODY or len(text.encode("utf-8", "surrogatepass")) > p.MAX_BODY:
            self._refuse(connection, TOO_LONG, WSCloseCode.MESSAGE_TOO_BIG)
        elif not self._limit(connection).allows():
            self._refuse(connection, TOO_FAST, WSCloseCode.POLICY_VIOLATION)
        else:
            try:
                self._dispatch(connection, p.page_packet(text))
            except p.BadPacket as error:
                connection.error(str(error))

    def _limit(self, connection: Connection) -> RateLimit:
        agent = self._agent_of(connection)
        return connection.limit if agent is None else agent.limit

    def _agent_of(self, connection: Connection) -> Agent | None:
        return None if connection.agent_id is None else self._router.agents.find(connection.agent_id)

    def _dispatch(self, connection: Connection, packet: p.PagePacket) -> None:
        if packet.packet_type == p.ALIVE:
            self._alive(connection, packet)
            return
        agent = self._agent_of(connection)
        if agent is None or packet.subject_id != agent.agent_id:
            raise p.BadPacket("This connection does not speak for that agent; send “alive” with its token first.")
        agent.last_seen = time.monotonic()
        if packet.packet_type == p.HEARTBEAT:
            self._heartbeat(connection, agent, packet)
        elif packet.packet_type == p.ACK:
            agent.outbox.confirm(packet.last_seq())
        elif packet.packet_type == p.MEPHISTO_BOUND:
            self._answer(agent, packet)
        elif packet.packet_type == p.LOG_ERROR:
            self._router.forward(p.LOG_ERROR, agent.agent_id, packet.data, packet.client_timestamp)
        else:
            raise p.BadPacket(f"Unknown packet type “{packet.packet_type}”.")

    def _alive(self, connection: Connection, packet: p.PagePacket) -> None:
        agent = self._router.agents.find(packet.subject_id)
        if agent is None or not agent.admits(packet.token()):
            self._refuse(connection, NOT_ADMITTED, WSCloseCode.POLICY_VIOLATION, fatal=True)
        else:
            connection.page_id = packet.page_id()
            self._router.attach(connection, agent, packet.last_seq())

    def _heartbeat(self, connection: Connection, agent: Agent, packet: p.PagePacket) -> None:
        if "agent_token" in packet.data and not agent.admits(packet.token()):
            self._refuse(connection, NOT_ADMITTED, WSCloseCode.POLICY_VIOLATION, fatal=True)
        else:
            self._router.heartbeat(connection, agent)

    def _answer(self, agent: Agent, packet: p.PagePacket) -> None:
        p.check_answer(packet.data)
        if agent.over:
            raise p.BadPacket("This task has been handed in; nothing can be changed any more.")
        agent.submitted = False  # the operator did not take the hand-in: the page goes on, and hands in again later
        self._router.forward(p.MEPHISTO_BOUND, agent.agent_id, packet.data, packet.client_timestamp)

    @staticmethod
    def _refuse(connection: Connection, sentence: str, code: WSCloseCode, *, fatal: bool = False) -> None:
        connection.error(sentence, fatal=fatal)
        connection.close(code)
