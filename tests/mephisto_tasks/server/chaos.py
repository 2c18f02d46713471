"""A TCP proxy on loopback that cuts connections at random, in the middle of whatever is being said.

Example::

    async with ChaosProxy(port, seed=1) as proxy:
        client = PageClient(proxy.url, worker_id="w", assignment_id="a")
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from types import TracebackType

_CHUNK = 4096


class ChaosProxy:
    """Passes bytes to 127.0.0.1:``port`` until a random number of them went by, then cuts both sides off.

    ``cut_after``: least and most bytes in one direction before the cut; what is over is lost, so that a cut
    falls inside a frame or a response. ``refuse``: share of connections that are cut at once. ``calm`` True
    lets everything through. ``cuts`` counts what was cut.
    """

    def __init__(self, port: int, *, seed: int, cut_after: tuple[int, int] = (150, 6000), refuse: float = 0.15) -> None:
        self.calm = False
        self.cuts = 0
        self._target = port
        self._random = random.Random(seed)
        self._cut_after = cut_after
        self._refuse = refuse
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> ChaosProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        await asyncio.wait_for(asyncio.gather(*self._tasks, return_exceptions=True), 5)

    def cut_all(self) -> None:
        """Cuts every connection now."""
        for writer in list(self._open):
            self._abort(writer)

    def _abort(self, *writers: asyncio.StreamWriter) -> None:
        self.cuts += 1
        for writer in writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if not self.calm and self._random.random() < self._refuse:
            self._abort(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            self._abort(writer)
            return
        self._open |= {writer, far_writer}
        try:
            await asyncio.gather(self._pump(reader, far_writer, writer), self._pump(far_reader, writer, far_writer))
        finally:
            self._open -= {writer, far_writer}
            for end in (writer, far_writer):
                with contextlib.suppress(OSError):
                    end.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        left = self._random.randint(*self._cut_after)
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                left -= len(chunk)
                if left < 0 and not self.calm:
                    writer.write(chunk[:left])
                    await writer.drain()
                    self._abort(writer, back)
                    return
                writer.write(chunk)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
