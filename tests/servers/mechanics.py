"""What every stand-in for a site has: a server in a thread, a clock that can be moved, faults, and a journal of calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from typing_extensions import Self

HOST = "127.0.0.1"


class Clock:
    """The time of the server: that of this machine, and what it was moved by."""

    def __init__(self) -> None:
        self.moved_s = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.moved_s

    def move(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self.moved_s += seconds


@dataclass(frozen=True)
class Fault:
    """What happens to a call in place of, or besides, what should."""

    error: Exception | None = None
    """Answered in place of doing anything."""
    cut: str = ""
    """``before`` or ``after``: the connection is closed without an answer before or after the call was done."""
    wait_s: float = 0.0
    """The call is done only after so long."""
    error_after: Exception | None = None
    """Answered after the call was done all the same."""
    change: Callable[[Any], Any] | None = None
    """Makes, of the answer's content, what is answered."""


CUT_BEFORE = Fault(cut="before")
CUT_AFTER = Fault(cut="after")
FINE = Fault()


@dataclass
class Faults:
    """What goes wrong, planned for each operation."""

    _next: dict[str, list[Fault]] = field(default_factory=dict)
    _always: dict[str, Fault] = field(default_factory=dict)

    def next(self, operation: str, *faults: Fault | Exception | None) -> None:
        """The fates of the operation's next calls, in order; None: nothing happens to that one."""
        fates = [Fault(error=f) if isinstance(f, Exception) else f or FINE for f in faults]
        self._next.setdefault(operation, []).extend(fates)

    def always(self, operation: str, fault: Fault | Exception) -> None:
        """The fate of every call of an operation (``*``: of all) for which none other is planned."""
        self._always[operation] = Fault(error=fault) if isinstance(fault, Exception) else fault

    def clear(self) -> None:
        """From now on all is well."""
        self._next.clear()
        self._always.clear()

    def left(self) -> list[str]:
        """Operations for which something is planned that no call has met yet."""
        return sorted(name for name, faults in self._next.items() if faults)

    def fate(self, *names: str) -> Fault:
        """That of a call of these names, the closest first; used up."""
        for name in (*names, "*"):
            if self._next.get(name):
                return self._next[name].pop(0)
        return next((self._always[name] for name in (*names, "*") if name in self._always), FINE)


@dataclass(frozen=True)
class Call:
    """A request as it came, and what became of it."""

    operation: str
    params: dict[str, Any]
    account: str
    at: float
    outcome: str
    """``ok``, the code of an error, ``cut before`` or ``cut after``."""


@dataclass
class Journal:
    """All calls, in the order in which they were answered."""

    calls: list[Call] = field(default_factory=list)

    def of(self, *operations: str, outcome: str | None = None) -> list[Call]:
        return [c for c in list(self.calls) if c.operation in operations and outcome in (None, c.outcome)]

    def names(self) -> list[str]:
        return [call.operation for call in list(self.calls)]


class Throttle:
    """Says when there are too many calls in a second."""

    def __init__(self) -> None:
        self.most_per_second: float | None = None
        self._recent: list[float] = []

    def is_too_much(self) -> bool:
        """Whether this call is one too many; it counts if it is not."""
        if self.most_per_second is None:
            return False
        now = time.monotonic()
        self._recent = [at for at in self._recent if now - at < 1]
        if len(self._recent) >= self.most_per_second:
            return True
        self._recent.append(now)
        return False


class ServerThread:
    """``with …:`` a server in a thread of this process, on this machine only."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.faults = Faults()
        self.journal = Journal()
        self.throttle = Throttle()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__module__, daemon=True)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """All that it answers."""
        raise NotImplementedError  # abstract: what is answered is all that differs between stand-ins

    async def begin(self) -> None:
        """What begins with the server, in its loop."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve; returns when it can be asked."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    def stop(self) -> None:
        """End, with nothing left behind."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self.port)
        await site.start()
        assert site._server is not None  # aiohttp has no public way to ask for the port that was free
        self.port = site._server.sockets[0].getsockname()[1]
        await self.begin()


def cut_line(request: web.Request) -> web.StreamResponse:
    """Close the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
