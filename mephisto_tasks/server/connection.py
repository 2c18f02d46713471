"""One websocket of one page: sends in order, without ever making the router wait.

The time by which it is said that a page has gone silent: it stands still while this process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from aiohttp import WSCloseCode, web

from mephisto_tasks.server.packets import Packet, encode, error_packet
from mephisto_tasks.server.security import STRANGERS_BURST, STRANGERS_PER_SECOND, RateLimit
from parlai_humaneval.i18n.translate import t

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
