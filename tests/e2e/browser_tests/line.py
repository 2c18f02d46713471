"""The line between a browser and a study, on loopback, that a test can cut, mend, or make deaf in one direction."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

CHUNK = 65_536
CALL_S = 10


class Line:
    """Passes bytes both ways to 127.0.0.1:``port`` while it is whole. Use as a context manager."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._whole = True
        self._deaf = False
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="line", daemon=True)
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Line:
        self._thread.start()
        self._server = self._call(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    def cut(self) -> None:
        """Every connection breaks, and new ones break at once."""
        self._whole = False
        self._call(self._break_all())

    def mend(self) -> None:
        """New connections go through again, and are heard both ways."""
        self._whole, self._deaf = True, False

    def deafen(self) -> None:
        """What the study says is lost from now on; what the page says still arrives."""
        self._deaf = True

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._break_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _break_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        if not self._whole:
            near_out.transport.abort()
            return
        far, far_out = await asyncio.open_connection("127.0.0.1", self._target)
        ends = {near_out, far_out}
        self._open |= ends
        try:
            # When one side ends, so does the other.
            ways = [
                asyncio.ensure_future(self._pass(near, far_out, up=True)),
                asyncio.ensure_future(self._pass(far, near_out)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open -= ends
            for way in ways:
                way.cancel()
            for end in ends:
                end.close()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, up: bool = False) -> None:
        try:
            while chunk := await source.read(CHUNK):
                if up or not self._deaf:
                    sink.write(chunk)
                    await sink.drain()
        except OSError:
            return
