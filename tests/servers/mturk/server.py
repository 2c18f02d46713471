"""The stand-in: a server in a thread of this process, on this machine only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from ..mechanics import Call, Clock, Fault, ServerThread, cut_line
from .crowd import Crowd
from .errors import THROTTLED, UNKNOWN_KEY, AwsError
from .operations import OPERATIONS
from .records import Account
from .site import WorkerSite
from .wire import access_key, operation_model, read_request, write_answer

KEY, SECRET = "AKIASTANDIN0000000000", "a-secret-of-the-stand-in"
"""Of the requester who has an account from the beginning."""


class StandIn(ServerThread):
    """``with StandIn() as mturk:`` a server that answers as MTurk would.

    ``mturk.url``: for ``AWS_ENDPOINT_URL_MTURK``. ``mturk.crowd``: all that it knows, and what workers do without a
    browser. ``mturk.faults``: what is to go wrong. ``mturk.journal``: what was asked. ``mturk.clock``: to let time pass.
    """

    def __init__(self, *, sandbox: bool = True, deposited: str = "100.00", port: int = 0, seed: int = 0) -> None:
        super().__init__(port)
        self.crowd = Crowd(sandbox, seed)
        self.account: Account = self.crowd.open_account(KEY, deposited)

    @property
    def clock(self) -> Clock:
        return self.crowd.clock

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to take this for MTurk."""
        return {
            "AWS_ENDPOINT_URL_MTURK": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [web.post("/", self._answer), *WorkerSite(self.crowd).routes()]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.headers.get("X-Amz-Target", "").partition(".")[2]
        body = await request.read()
        fault = self.faults.fate(name)
        if fault.wait_s:
            await asyncio.sleep(fault.wait_s)
        if fault.cut == "before":
            self._note(name, {}, "", "cut before")
            return cut_line(request)
        try:
            text = self._do(request, name, body, fault)
        except AwsError as error:
            return web.Response(
                status=error.status, text=json.dumps(error.body()), content_type="application/x-amz-json-1.1"
            )
        if fault.cut == "after":
            return cut_line(request)
        return web.Response(text=text, content_type="application/x-amz-json-1.1")

    def _do(self, request: web.Request, name: str, body: bytes, fault: Fault) -> str:
        params: dict[str, Any] = {}
        account = ""
        outcome = "cut after" if fault.cut else "ok"
        try:
            if self.throttle.is_too_much():
                raise THROTTLED
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

    def _note(self, name: str, params: dict[str, Any], account: str, outcome: str) -> None:
        self.journal.calls.append(Call(name, params, account, self.crowd.clock.now(), outcome))
