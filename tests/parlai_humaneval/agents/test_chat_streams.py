"""Streams of chat completions that have no end, or several replies in one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from faulty_server import FaultyServer, piece, streams

from parlai_humaneval.models.pool import ModelFailed, ModelPool
from parlai_humaneval.models.zoo import ModelSpec

AGENT = "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    server = FaultyServer().start()
    yield server
    server.end()


def said(server: FaultyServer, request_timeout_s: float = 5.0) -> str:
    """The reply to “Hi!”, asked for once."""
    options = {"base_url": server.base_url, "served_model": "m", "api_key_env": "", "stream": True}
    more = {"request_timeout_s": request_timeout_s, "request_retries": 0}
    spec = ModelSpec(name="m", options={"model": AGENT, **options, **more})
    with ModelPool([spec], timeout_s=8, retries=0) as pool:
        speaker = pool.speaker(["m"], seed=0)
        speaker.observe({"text": "Hi!", "episode_done": False})
        return str(speaker.act()["text"])


def test_pieces_of_another_choice_are_no_part_of_the_reply(server: FaultyServer) -> None:
    """Guards servers that give several replies in one stream: the first is read, not a mixture."""
    other = {"index": 1, "delta": {"content": "Not "}, "finish_reason": None}
    server.otherwise = streams(piece("Fi"), piece(choices=[other]), piece("ne."), piece(None, "stop"))
    assert said(server) == "Fine."


def test_a_stream_that_drips_on_is_given_up(server: FaultyServer) -> None:
    """Guards the thread: each piece comes in time, the end never; ten times a request's time are enough."""

    async def drips(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while not server.released.is_set():
                await response.write(f"data: {json.dumps(piece('drip '))}\n\n".encode())
                await asyncio.sleep(0.02)
        except ConnectionResetError:
            pass  # it was given up
        return response

    server.otherwise = drips
    with pytest.raises(ModelFailed, match="did not end within 2 s"):
        said(server, request_timeout_s=0.2)
