"""The page's side of a websocket that never gives up: it reconnects, catches up, repeats what was lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import aiohttp

from mephisto_tasks.router import packets as p
from mephisto_tasks.router.packets import Packet

HEARTBEAT_S = 5.0
_HANDSHAKE_S = 10.0
_FIRST_DELAY_S = 0.05
_LONGEST_DELAY_S = 2.0
_DEFLATE_WINDOW = 15


class Backoff:
    """Delays from 0.05 s, doubling to 2 s, each shortened at random: pages do not return all at once."""

    def __init__(self) -> None:
        self._delay = _FIRST_DELAY_S

    def reset(self) -> None:
        self._delay = _FIRST_DELAY_S

    async def wait(self) -> None:
        await asyncio.sleep(self._delay * random.uniform(0.5, 1.0))
        self._delay = min(2 * self._delay, _LONGEST_DELAY_S)


class PageSocket:
    """Speaks for one agent until :meth:`close` or a fatal error.

    ``on_packet`` gets every packet with something to say, each once and in order. Answers given to
    :meth:`answer` are sent again on every reconnect and every ``heartbeat_s`` until :meth:`confirmed`.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        agent_id: str,
        token: str | None,
        on_packet: Callable[[Packet], None],
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.reconnects = -1
        self._session = session
        self._url = url
        self._agent_id = agent_id
        self._token = {} if token is None else {"agent_token": token}
        self._on_packet = on_packet
        self._heartbeat_s = heartbeat_s
        self._page_id = uuid.uuid4().hex
        self._last_seq = 0
        self._unconfirmed: dict[str, Packet] = {}
        self._socket: aiohttp.ClientWebSocketResponse[bool] | None = None
        self._connected = asyncio.Event()
        self._closed = False
        self._task = asyncio.create_task(self._run())

    async def answer(self, data: dict[str, Any]) -> None:
        """Sends an answer, and again until its ``update_id`` is confirmed."""
        packet = self._packet(p.MEPHISTO_BOUND, data)
        self._unconfirmed[data["update_id"]] = packet
        if self._socket is not None:
            await self._send(self._socket, packet)

    def confirmed(self, update_id: str) -> None:
        self._unconfirmed.pop(update_id, None)

    async def send_raw(self, message: Packet | str, timeout: float = 10.0) -> None:
        """Sends ``message`` as it is, once, on the connection of the moment. Raises TimeoutError."""
        await asyncio.wait_for(self._connected.wait(), timeout)
        if self._socket is not None:
            await self._socket.send_str(message if isinstance(message, str) else json.dumps(message))

    async def close(self) -> None:
        self._closed = True
        if self._task is not asyncio.current_task():
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        backoff = Backoff()
        while not self._closed:
            with contextlib.suppress(aiohttp.ClientError, OSError, asyncio.TimeoutError):
                await self._converse(backoff)
            if not self._closed:
                await backoff.wait()

    async def _converse(self, backoff: Backoff) -> None:
        connect = self._session.ws_connect(
            self._url, compress=_DEFLATE_WINDOW, heartbeat=4 * self._heartbeat_s, max_msg_size=0
        )
        socket = await asyncio.wait_for(connect, _HANDSHAKE_S)
        if self._closed:  # Python 3.11 loses a cancellation that comes with the connection
            await socket.close()
            return
        self.reconnects += 1
        beat: asyncio.Task[None] | None = None
        try:
            alive = {**self._token, "last_seq": self._last_seq, "page_id": self._page_id}
            await self._send(socket, self._packet(p.ALIVE, alive))
            self._socket = socket
            self._connected.set()
            await self._say_again(socket)
            beat = asyncio.create_task(self._beat(socket))
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    backoff.reset()
                    await self._take(socket, json.loads(message.data))
        finally:
            self._socket = None
            self._connected.clear()
            if beat is not None:
                beat.cancel()
            await socket.close()

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_s)
            await self._send(socket, self._packet(p.HEARTBEAT, dict(self._token)))
            await self._say_again(socket)

    async def _say_again(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        for packet in list(self._unconfirmed.values()):
            await self._send(socket, packet)

    async def _take(self, socket: aiohttp.ClientWebSocketResponse[bool], packet: Packet) -> None:
        seq = packet.get("router_seq")
        if seq is None:
            self._hear(packet)
            return
        if seq > self._last_seq:
            self._last_seq = seq
            self._hear(packet)
        await self._send(socket, self._packet(p.ACK, {"last_seq": self._last_seq}))

    def _hear(self, packet: Packet) -> None:
        if packet["packet_type"] == p.ERROR and packet["data"].get("fatal"):
            self._closed = True
        self._on_packet(packet)

    @staticmethod
    async def _send(socket: aiohttp.ClientWebSocketResponse[bool], packet: Packet) -> None:
        # A connection that broke shows itself to the reader as well, which then opens a new one.
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            await socket.send_str(p.encode({**packet, "client_timestamp": time.time()}))

    def _packet(self, packet_type: str, data: dict[str, Any]) -> Packet:
        return {"packet_type": packet_type, "subject_id": self._agent_id, "data": data}
