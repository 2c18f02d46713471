"""Streams of chat completions: gathered whole, cut short, without an end, or with several replies in one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from chat_pool import MakePool, say
from faulty_server import FaultyServer, answers, piece, streams

from parlai_humaneval.models.model_pool import ModelFailed


def test_a_stream_is_gathered_with_its_tokens(server: FaultyServer, chat: MakePool) -> None:
    """Guards streaming: one whole reply, with the usage that comes after the last word."""
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    server.otherwise = streams(piece("Fi"), piece("ne."), piece(None, "stop"), piece(choices=[], usage=usage))
    got = say(chat(stream=True).speaker(["m"]))
    assert (got["text"], got["info"]["prompt_tokens"], got["info"]["finish_reason"]) == ("Fine.", 9, "stop")
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def test_a_server_that_knows_no_stream_options_is_asked_once_without_and_never_again_with(
    server: FaultyServer, chat: MakePool
) -> None:
    """Guards older servers: the first reply costs two requests, and tells; the later ones cost one."""
    server.plan.append(answers({"error": {"message": "Unrecognized argument: stream_options"}}, 400))
    server.otherwise = streams(piece("Fine.", "stop"))
    speaker = chat(stream=True).speaker(["m"])
    assert say(speaker)["info"]["requests"] == 2
    again = say(speaker)["info"]
    assert (again["requests"], again["prompt_tokens"], again["cost"]) == (1, None, None)
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    "fault", [streams(piece("Ha"), cut=True), streams(piece("Ha"), {"error": "oh"}), streams(piece("Ha"))]
)
def test_half_a_stream_is_not_shown(server: FaultyServer, chat: MakePool, fault: Any) -> None:
    """Guards raters against half replies: cut, ended by an error, or ended without a reason."""
    server.plan.append(fault)
    server.otherwise = streams(piece("Fine.", "stop"))
    assert say(chat(stream=True).speaker(["m"]))["text"] == "Fine."


def test_pieces_of_another_choice_are_no_part_of_the_reply(server: FaultyServer, chat: MakePool) -> None:
    """Guards servers that give several replies in one stream: the first is read, not a mixture."""
    other = {"index": 1, "delta": {"content": "Not "}, "finish_reason": None}
    server.otherwise = streams(piece("Fi"), piece(choices=[other]), piece("ne."), piece(None, "stop"))
    assert say(chat(stream=True).speaker(["m"]))["text"] == "Fine."


def test_a_stream_that_drips_on_is_given_up(server: FaultyServer, chat: MakePool) -> None:
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
        say(chat(timeout_s=8, stream=True, request_timeout_s=0.2, request_retries=0).speaker(["m"]))
