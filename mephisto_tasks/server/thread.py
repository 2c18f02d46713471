"""Listens, and serves an application from a separate thread."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from mephisto_tasks.server.security import RateLimit, address_of, household
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.i18n.translate import worded

IDLE_S = 60.0
"""How long a connection may be open without a whole request: the head of one that trickles in counts as none."""
LINGER_S = 3.0  # How long the rest of a body is read that nobody wants, so that whoever sends it sees the answer
UNREAD_S = 30.0  # How long what was sent may stay unread; Linux then ends the connection.
MOST_OF_ADDRESS = 2000  # Connections of one address: a school may be behind it, whose pages have two or three each
BYTES_PER_SECOND = 128 * 1024.0
BYTES_BURST = 256 * 1024.0
"""For one connection. Connections that send more are read more slowly: pings, and pieces of messages, are counted
nowhere else."""
FILES_WANTED = 65_536
FILES_KEPT = 256  # reserved: never used for connections
LONGEST_ADDRESS = 1 << 16
"""Bytes. Longer ones are answered by aiohttp, in words that are for nobody; these get as far as a page that explains."""
NOT_HTTP = "This server does not understand that request."

logger = logging.getLogger(__name__)
_requests = logging.getLogger(f"{__name__}.requests")


def _is_ours(record: logging.LogRecord) -> bool:
    """False for requests that are not HTTP, and for wrongly packed bodies. Overlong addresses may be secret links."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


_requests.addFilter(_is_ours)


@dataclass(eq=False, repr=False)
class Connections:
    """Counts those that are open. ``limited``: whether an address is one visitor's (not a proxy's, nor this machine's)."""

    most: int
    limited: Callable[[str], bool]
    most_of_address: int = MOST_OF_ADDRESS
    _open: Counter[str] = field(default_factory=Counter)
    _told: bool = False

    def __len__(self) -> int:
        return self._open.total()

    def admit(self, peer: str) -> str | None:
        """What to :meth:`leave` with, for one that may stay; None for one too many."""
        address = address_of(peer)
        key = peer if address is None else household(address)
        full = len(self) >= self.most
        if full or (self.limited(peer) and self._open[key] >= self.most_of_address):
            if not self._told:
                self._told = True
                whose, most = ("in total", self.most) if full else (f"from {key}", self.most_of_address)
                logger.warning(
                    "Too many connections are open %s; new connections are closed immediately.",
                    f"{whose} (the limit is {most:,})",
                )
            return None
        self._open[key] += 1
        return key

    def leave(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]


class Handler(web.RequestHandler):
    """aiohttp's side of one connection, for as long as it is one of those that may be."""

    __slots__ = ("_connections", "_key", "_reads_again", "_share")

    def __init__(self, server: web.Server, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # as in aiohttp's own runner
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

    def expect(self, most: int) -> None:
        """Allow this many more bytes at once: a permitted sender is about to use them."""
        self._share = RateLimit(BYTES_PER_SECOND, BYTES_BURST + most)

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


class PortInUse(HumanevalError, RuntimeError):
    """Another program listens on the port; the message says which option changes it."""


class CannotListen(HumanevalError, RuntimeError):
    """The address cannot be listened on at all: a name that does not resolve, or a port that needs rights."""


def listen(host: str, port: int, option: str = "port=…") -> socket.socket:
    """A listening socket on ``host``; port 0 takes any free one; ``option`` changes it. Raises PortInUse, CannotListen."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"“{host}” is not an address of this machine", try_="set another hostname") from error
    family, kind, proto, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    listener = socket.socket(family, kind, proto)
    # Lets a new launch take the port while old connections of a finished one fade; never from a listener.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(worded(__file__, "in_use", host=host, port=port, option=option)) from error
        what = f"Cannot listen on {host}:{port} ({error.strerror})"
        raise CannotListen(what, try_="set hostname and port") from error
    return listener


_START_S = 10.0
_STOP_S = 10.0
_LEAVE_S = 2.0  # How long open requests may take to end at shutdown


@dataclass(eq=False, repr=False)
class RouterThread:
    """Serves ``app`` from a daemon thread: the listener ends with the process; single visitors are limited."""

    app: web.Application
    host: str
    port: int  # 0: any free one; once it has started, the one in use.
    is_one_visitor: Callable[[str], bool] = lambda peer: False
    option: str = "port=…"  # changes the port
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None
    _thread: threading.Thread | None = None
    _ready: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Binds the port at once, then serves. Raises :class:`PortInUse` or :class:`CannotListen`."""
        listener = listen(self.host, self.port, self.option)
        self.port = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(listener,), name="router", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_S) or self._failure is not None:
            raise RuntimeError("The router could not start.") from self._failure

    def stop(self) -> None:
        """Ends the server and waits for its thread. Doing it twice, or before a start, does nothing."""
        loop, stop, thread = self._loop, self._stop, self._thread
        if thread is None or loop is None or stop is None or not thread.is_alive():
            return
        try:
            loop.call_soon_threadsafe(stop.set)
        except RuntimeError:  # it has just ended by itself
            return
        if thread is not threading.current_thread():
            thread.join(_STOP_S)

    def _run(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listener))
        except Exception as error:
            self._failure = error
            if self._ready.is_set():
                logger.exception("The router has failed.")
        finally:
            listener.close()
            self._ready.set()

    async def _serve(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._loop, self._stop = loop, asyncio.Event()
        runner = web.AppRunner(self.app, handle_signals=False, shutdown_timeout=_LEAVE_S)
        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES_WANTED if most == resource.RLIM_INFINITY else min(FILES_WANTED, most)
        if now != resource.RLIM_INFINITY and now < wanted:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
                now = wanted
            except (OSError, ValueError):  # macOS has a limit of its own
                logger.debug("this process may not open more than %d files", now)
        files = FILES_WANTED if now == resource.RLIM_INFINITY else now
        connections = Connections(max(files // 2, files - FILES_KEPT), self.is_one_visitor)
        try:
            await runner.setup()
            application = runner.server
            assert application is not None
            # Connections end when nobody reads what they were sent, where the system knows how.
            if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
                listener.setsockopt(socket.IPPROTO_TCP, option, int(1000 * UNREAD_S))
            server = await loop.create_server(lambda: Handler(application, connections, loop), sock=listener)
            self._ready.set()
            await self._stop.wait()
            server.close()
        finally:
            await runner.cleanup()
