"""The router in a thread of its own, on a port of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable

from aiohttp import web

from mephisto_tasks.server.ports import listen
from mephisto_tasks.server.sockets import Connections, Handler, end_unread, room_for_connections

logger = logging.getLogger(__name__)

_START_S = 10.0
_STOP_S = 10.0
_LEAVE_S = 2.0
"""How long open requests may take to end at shutdown."""


class RouterThread:
    """Serves ``app`` from a daemon thread: when the process ends, however it ends, so does the listener.

    ``is_one_visitor``: whether an address is, so that the number of its connections is limited; by default none is.
    """

    def __init__(
        self, app: web.Application, host: str, port: int, is_one_visitor: Callable[[str], bool] = lambda peer: False
    ) -> None:
        self._app = app
        self._is_one_visitor = is_one_visitor
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
        loop = asyncio.get_running_loop()
        self._loop, self._stop = loop, asyncio.Event()
        runner = web.AppRunner(self._app, handle_signals=False, shutdown_timeout=_LEAVE_S)
        connections = Connections(room_for_connections(), self._is_one_visitor)
        try:
            await runner.setup()
            application = runner.server
            assert application is not None
            end_unread(listener)
            server = await loop.create_server(lambda: Handler(application, connections, loop), sock=listener)
            self._ready.set()
            await self._stop.wait()
            server.close()
        finally:
            await runner.cleanup()
