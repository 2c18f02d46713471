"""A chat-completions server on loopback that misbehaves as a test says."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

Fault = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
"""From a request and its body to an answer."""


def completion(text: str | None = "Fine.", **fields: Any) -> dict[str, Any]:
    """A whole reply, as servers give it; ``fields`` stand in place of its own."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"id": "1", "object": "chat.completion", "model": "served-1", "choices": [choice], "usage": usage, **fields}


def answers(data: Any = None, status: int = 200, **headers: str) -> Fault:
    """A fault that answers with ``data``, as JSON where it is no text."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        known = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(data, str):
            return web.Response(text=data, status=status, headers={"Content-Type": "application/json", **known})
        return web.json_response(completion() if data is None else data, status=status, headers=known)

    return answer


def streams(*pieces: Any, cut: bool = False) -> Fault:
    """A fault that answers with a stream of ``pieces``; ``cut``: and then closes the connection in the middle."""

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(f"data: {piece if isinstance(piece, str) else json.dumps(piece)}\n\n".encode())
        if cut:
            request.transport.close()  # type: ignore[union-attr]  # it is there while a request is answered
            return response
        await response.write(b"data: [DONE]\n\n")
        return response

    return answer


def piece(text: str | None = None, finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A piece of a stream."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return {"id": "1", "object": "chat.completion.chunk", "model": "served-1", "choices": [choice], **fields}


async def cut_in_mid_body(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Promises more than it sends, and closes the connection."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"id": "1", "choices": [')
    request.transport.close()  # type: ignore[union-attr]  # as above
    return response


class FaultyServer:
    """Takes the next of ``plan`` for each request, and ``otherwise`` when there is none left.

    ``requests``: the bodies; ``headers``: those of each; ``most_at_once``: the most requests that were under way together.
    ``models``: names that it lists; None: it lists nothing.
    """

    def __init__(self) -> None:
        self.plan: deque[Fault] = deque()
        self.otherwise: Fault = answers()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = self._at_once = 0
        self.models: list[str] | None = None
        self.port = 0
        self.released = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> FaultyServer:
        """Listen: the first time on any port, later on the same."""
        self._do(self._start())
        return self

    def stop(self) -> None:
        """Be gone: connections are refused."""
        self._do(self._stop())

    def end(self) -> None:
        self.released.set()
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def waits_for(self, count: int) -> Fault:
        """A fault that answers only once ``count`` requests have been under way together (or the test is over)."""

        met = asyncio.Event()  # for good: one that looks late must not wait for those that were answered meanwhile

        async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            while not met.is_set() and not self.released.is_set():
                if self._at_once >= count:
                    met.set()
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.02)  # one too many would show itself now
            return web.json_response(completion(f"Reply to {body['messages'][-1]['content']}"))

        return answer

    async def silent(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """A fault that never answers."""
        while not self.released.is_set():
            await asyncio.sleep(0.02)
        return web.json_response(completion())

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await (self.plan.popleft() if self.plan else self.otherwise)(request, body)
        finally:
            self._at_once -= 1

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if self.models is None:
            raise web.HTTPNotFound
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get("/v1/models", self._list)
        app.router.add_post("/v1/chat/completions", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # no public way to ask for it

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _do(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(15)
