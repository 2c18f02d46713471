"""The line between one rater and a study: it can be cut, closed on one side, stalled, or dead for a while."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType

_CHUNK = 16_384


class Line:
    """Passes bytes both ways to 127.0.0.1:``port``, whoever listens there at the moment. ``async with`` opens it."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._open: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._dead = False

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Line:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self._flows.set()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Every connection breaks, in the middle of whatever is said."""
        for pair in list(self._open):
            for writer in pair:
                writer.transport.abort()

    def half_close(self) -> None:
        """The study hears that the page will say nothing more, while it is still listening."""
        for _, far in list(self._open):
            with contextlib.suppress(OSError, RuntimeError):
                far.write_eof()

    async def stall(self, seconds: float) -> None:
        """Nothing gets through either way, and nobody is told."""
        self._flows.clear()
        await asyncio.sleep(seconds)
        self._flows.set()

    async def die(self, seconds: float) -> None:
        """Connections break, and new ones do at once."""
        self.kill()
        await asyncio.sleep(seconds)
        self._dead = False

    def kill(self) -> None:
        """As :meth:`die`, for good."""
        self._dead = True
        self.cut()

    async def _serve(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if self._dead:
                raise ConnectionAbortedError
            far, far_out = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            near_out.transport.abort()
            return
        pair = (near_out, far_out)
        self._open.add(pair)
        ways = [asyncio.ensure_future(self._pass(near, far_out)), asyncio.ensure_future(self._pass(far, near_out))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(pair)
            for way in ways:
                way.cancel()
            for writer in pair:
                writer.close()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            while chunk := await source.read(_CHUNK):
                await self._flows.wait()
                sink.write(chunk)
                await sink.drain()
