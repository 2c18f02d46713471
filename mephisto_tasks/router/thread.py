"""The router in a thread of its own, on a port of its own."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

logger = logging.getLogger(__name__)

_START_S = 10.0
_STOP_S = 10.0
_LEAVE_S = 2.0
"""How long open requests may take to end at shutdown."""


LONGEST_ADDRESS = 1 << 16
"""Bytes. Longer ones are answered by aiohttp, in words that are for nobody; these get as far as a page that explains."""
_requests = logging.getLogger(f"{__name__}.requests")


def _is_ours(record: logging.LogRecord) -> bool:
    """False for what is no HTTP: anybody may send that, and an address that is too long may be somebody's secret link."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_requests.addFilter(_is_ours)


class PortInUse(RuntimeError):
    """Another program listens on the port; the message says which option changes it."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is in use by another program, perhaps an earlier launch that still runs. "
            "End that one, or choose another port (0 takes any free one): --port … for the demo, "
            "mephisto.architect.port=… for a launch."
        )
        self.host = host
        self.port = port


class CannotListen(RuntimeError):
    """The address cannot be listened on at all: a name that does not resolve, or a port that needs rights."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on ``host``; port 0 takes any free one.

    Raises:
        PortInUse: somebody else listens there already; it is never shared.
        CannotListen: the address is not ours to listen on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"“{host}” is no address of this machine; set mephisto.architect.hostname.") from error
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
            raise PortInUse(host, port) from error
        raise CannotListen(
            f"Cannot listen on {host}:{port} ({error.strerror}); set mephisto.architect.hostname and .port."
        ) from error
    return listener


class RouterThread:
    """Serves ``app`` from a daemon thread: when the process ends, however it ends, so does the listener."""

    def __init__(self, app: web.Application, host: str, port: int) -> None:
        self._app = app
        self._host = host
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    @property
    def port(self) -> int:
        """The port in use; differs from the one asked for when that was 0."""
        return self._port

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Binds the port at once, then serves. Raises :class:`PortInUse` or :class:`CannotListen`."""
        listener = listen(self._host, self._port)
        self._port = listener.getsockname()[1]
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
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runner = web.AppRunner(
            self._app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_LEAVE_S,
            logger=_requests,
            max_line_size=LONGEST_ADDRESS,
        )
        try:
            await runner.setup()
            await web.SockSite(runner, listener).start()
            self._ready.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()
