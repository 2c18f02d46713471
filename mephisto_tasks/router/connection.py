"""One websocket of one page: sends in order, without ever making the router wait."""

from __future__ import annotations

import asyncio
import contextlib
import time

from aiohttp import WSCloseCode, web

from mephisto_tasks.router.packets import Packet, encode, error_packet
from mephisto_tasks.router.security import RateLimit

_CLOSE_S = 5.0


class Connection:
    """Packets given to :meth:`send` leave in that order; a page that reads slowly delays only itself.

    ``agent_id`` is None until an ``alive`` packet showed the right token.
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.agent_id: str | None = None
        self.page_id = ""
        self.limit = RateLimit()
        self._socket = socket
        self._queue: asyncio.Queue[Packet | None] = asyncio.Queue()
        self._close_code = int(WSCloseCode.OK)
        self._closing = False

    @property
    def closing(self) -> bool:
        return self._closing

    def send(self, packet: Packet) -> None:
        if not self._closing:
            self._queue.put_nowait(packet)

    def error(self, sentence: str, *, fatal: bool = False, reason: str | None = None) -> None:
        self.send(error_packet(self.agent_id or "", sentence, fatal=fatal, reason=reason))

    def close(self, code: int) -> None:
        """Closes after everything that was given before has been sent."""
        if not self._closing:
            self._closing = True
            self._close_code = int(code)
            self._queue.put_nowait(None)

    async def write(self) -> None:
        """Sends until :meth:`close`; ends quietly when the page has gone (its outbox has it all)."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            while (packet := await self._queue.get()) is not None:
                await self._socket.send_str(encode({**packet, "router_outgoing_timestamp": time.time()}))
        with contextlib.suppress(ConnectionError, RuntimeError, asyncio.TimeoutError):
            await asyncio.wait_for(self._socket.close(code=self._close_code), _CLOSE_S)
