"""The connections of a launch: how many there may be, how long one may keep us waiting, what is said to what is no HTTP.

Each takes a file of those that the process may have open, among which are the database and the answers.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections import Counter
from collections.abc import Callable

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from mephisto_tasks.server.security import RateLimit, address_of, household

IDLE_S = 60.0
"""How long a connection may be open without a whole request: the head of one that trickles in counts as none."""
LINGER_S = 3.0
"""How long the rest of a body is read that nobody wants, so that whoever sends it sees the answer."""
UNREAD_S = 30.0
"""How long what was sent may stay unread; Linux then ends the connection."""
MOST_OF_ADDRESS = 2000
"""Connections of one address: a school may be behind it, whose pages have two or three each."""
BYTES_PER_SECOND = 128 * 1024.0
BYTES_BURST = 256 * 1024.0
"""Of one connection. Whoever sends more is read more slowly: pings, and pieces of messages, are counted nowhere else."""
FILES_WANTED = 65_536
FILES_KEPT = 256
"""Of those that the process may open, so many are never given to connections."""
LONGEST_ADDRESS = 1 << 16
"""Bytes. Longer ones are answered by aiohttp, in words that are for nobody; these get as far as a page that explains."""
NOT_HTTP = "That is no request that this server understands."

logger = logging.getLogger(__name__)
_requests = logging.getLogger(f"{__name__}.requests")


def _is_ours(record: logging.LogRecord) -> bool:
    """False for what is no HTTP, and for bodies that are not packed as they say: anybody may send these.

    An address that is too long may be somebody's secret link.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


_requests.addFilter(_is_ours)


def room_for_connections() -> int:
    """How many there may be, once this process may open as many files as the system lets it."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if most == resource.RLIM_INFINITY else min(FILES_WANTED, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            now = wanted
        except (OSError, ValueError):  # macOS has a limit of its own
            logger.debug("this process may not open more than %d files", now)
    files = FILES_WANTED if now == resource.RLIM_INFINITY else now
    return max(files // 2, files - FILES_KEPT)


class Connections:
    """Counts those that are open. ``limited``: whether an address is one visitor's (not a proxy's, nor this machine's)."""

    def __init__(self, most: int, limited: Callable[[str], bool], most_of_address: int = MOST_OF_ADDRESS) -> None:
        self._most, self._most_of_address, self._limited = most, most_of_address, limited
        self._open: Counter[str] = Counter()
        self._told = False

    def __len__(self) -> int:
        return self._open.total()

    def admit(self, peer: str) -> str | None:
        """What to :meth:`leave` with, for one that may stay; None for one too many."""
        address = address_of(peer)
        key = peer if address is None else household(address)
        full = len(self) >= self._most
        if full or (self._limited(peer) and self._open[key] >= self._most_of_address):
            self._tell(key, full)
            return None
        self._open[key] += 1
        return key

    def leave(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    def _tell(self, key: str, full: bool) -> None:
        if not self._told:
            self._told = True
            whose = (
                f"all together ({self._most:,} is the most)"
                if full
                else f"of {key} ({self._most_of_address:,} is the most)"
            )
            logger.warning("Too many connections are open, %s; further ones are closed at once.", whose)


class Handler(web.RequestHandler):
    """aiohttp's side of one connection, for as long as it is one of those that may be."""

    __slots__ = ("_connections", "_key", "_reads_again", "_share")

    def __init__(self, server: web.Server, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # as aiohttp's own runner is told
            logger=_requests,
            max_line_size=LONGEST_ADDRESS,
            keepalive_timeout=IDLE_S,
            lingering_time=LINGER_S,
        )
        self._connections = connections
        self._key: str | None = None
        self._share = RateLimit(BYTES_PER_SECOND, BYTES_BURST)
        self._reads_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self._key = self._connections.admit(str(peer[0]) if isinstance(peer, tuple) else "")
        if self._key is None:
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
            return
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        wait_s = self._share.wait_s(len(data))
        if wait_s and self._reads_again is None and isinstance(self.transport, asyncio.Transport):
            self.transport.pause_reading()
            self._reads_again = asyncio.get_running_loop().call_later(wait_s, self._read_again)

    def _read_again(self) -> None:
        self._reads_again = None
        # aiohttp pauses as well, where nobody takes what came, and then goes on by itself.
        if isinstance(self.transport, asyncio.Transport) and not (self._reading_paused or self._buffer_paused):
            self.transport.resume_reading()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._reads_again is not None:
            self._reads_again.cancel()
            self._reads_again = None
        if self._key is not None:
            self._connections.leave(self._key)
            self._key = None
        super().connection_lost(exc)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """aiohttp's words, in which stands what was sent, are not said to whoever sent it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        response = web.Response(status=status, text=NOT_HTTP, headers={hdrs.CACHE_CONTROL: "no-store"})
        response.force_close()
        return response


def end_unread(listener: socket.socket) -> None:
    """Connections of the listener end when nobody reads what they were sent; where the system knows how."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listener.setsockopt(socket.IPPROTO_TCP, option, int(1000 * UNREAD_S))
