"""The stand-in: a server in a thread of this process, on this machine only."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .crowd import Crowd
from .errors import THROTTLED, UNKNOWN_KEY, AwsError, Fault, Faults
from .operations import OPERATIONS
from .records import Account
from .site import WorkerSite
from .wire import access_key, operation_model, read_request, write_answer

HOST = "127.0.0.1"
KEY, SECRET = "AKIASTANDIN0000000000", "a-secret-of-the-stand-in"
"""Of the requester who has an account from the beginning."""


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


class StandIn:
    """``with StandIn() as mturk:`` a server that answers as MTurk would.

    ``mturk.url``: for ``AWS_ENDPOINT_URL_MTURK``. ``mturk.crowd``: all that it knows, and what workers do without a
    browser. ``mturk.faults``: what is to go wrong. ``mturk.journal``: what was asked. ``mturk.clock``: to let time pass.
    """

    def __init__(self, *, sandbox: bool = True, deposited: str = "100.00", port: int = 0, seed: int = 0) -> None:
        self.crowd = Crowd(sandbox, seed)
        self.faults = Faults()
        self.journal = Journal()
        self.most_per_second: float | None = None
        """Calls beyond that are throttled."""
        self.account: Account = self.crowd.open_account(KEY, deposited)
        self.port = port
        self._recent: list[float] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mturk-stand-in", daemon=True)
        self._runner: web.AppRunner | None = None

    @property
    def clock(self) -> Any:
        return self.crowd.clock

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to take this for MTurk."""
        return {
            "AWS_ENDPOINT_URL_MTURK": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def __enter__(self) -> StandIn:
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
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/", self._answer)
        app.add_routes(WorkerSite(self.crowd).routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self.port)
        await site.start()
        assert site._server is not None  # aiohttp has no public way to ask for the port that was free
        self.port = site._server.sockets[0].getsockname()[1]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.headers.get("X-Amz-Target", "").partition(".")[2]
        body = await request.read()
        fault = self.faults.fate(name)
        if fault.wait_s:
            await asyncio.sleep(fault.wait_s)
        if fault.cut == "before":
            self._note(name, {}, "", "cut before")
            return _cut(request)
        try:
            text = self._do(request, name, body, fault)
        except AwsError as error:
            return web.Response(
                status=error.status, text=json.dumps(error.body()), content_type="application/x-amz-json-1.1"
            )
        if fault.cut == "after":
            return _cut(request)
        return web.Response(text=text, content_type="application/x-amz-json-1.1")

    def _do(self, request: web.Request, name: str, body: bytes, fault: Fault) -> str:
        params: dict[str, Any] = {}
        account = ""
        outcome = "cut after" if fault.cut else "ok"
        try:
            self._throttle()
            operation = operation_model(request.headers.get("X-Amz-Target", ""))
            key = access_key(request.headers.get("Authorization", ""))
            if key not in self.crowd.keys:
                raise UNKNOWN_KEY
            account = self.crowd.keys[key]
            if fault.error is not None:
                raise fault.error
            params = read_request(operation, body)
            if name not in OPERATIONS:
                raise AwsError("NotImplemented", f"The stand-in of MTurk does not know {name} yet.", 501)
            with self.crowd.lock:
                self.crowd.pass_time()
                return write_answer(operation, OPERATIONS[name](self.crowd, self.crowd.accounts[account], params))
        except AwsError as error:
            outcome = error.code
            raise
        finally:
            self._note(name, params, account, outcome)

    def _throttle(self) -> None:
        if self.most_per_second is None:
            return
        now = self._loop.time()
        self._recent = [at for at in self._recent if now - at < 1]
        if len(self._recent) >= self.most_per_second:
            raise THROTTLED
        self._recent.append(now)

    def _note(self, name: str, params: dict[str, Any], account: str, outcome: str) -> None:
        self.journal.calls.append(Call(name, params, account, self.crowd.clock.now(), outcome))


def _cut(request: web.Request) -> web.StreamResponse:
    """Close the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
