"""A study whose pages are served elsewhere (Heroku, EC2) talks to that server through Mephisto's channel."""

from __future__ import annotations

import asyncio
import queue
import threading

from aiohttp import web
from aiohttp.test_utils import TestServer

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.architects.channels.websocket_channel import WebsocketChannel
from mephisto.data_model.packet import Packet

WAIT_S = 20.0


async def test_packets_go_both_ways_with_the_websockets_that_is_installed() -> None:
    """Guards launches with ``server=heroku`` and ``server=ec2``: with newer releases of websockets, no packet was sent."""

    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/", echo)
    sent = Packet(packet_type="alive", subject_id="w", data={"text": "here"})
    received: queue.Queue[Packet] = queue.Queue()
    opened = threading.Event()
    async with TestServer(app) as server:
        channel = WebsocketChannel(
            "c",
            lambda _: opened.set(),
            lambda _: None,
            lambda _, packet: received.put(packet),
            f"ws://{server.host}:{server.port}/",
        )
        assert not channel.enqueue_send(sent)
        channel.open()
        try:
            assert await asyncio.to_thread(opened.wait, WAIT_S)
            assert channel.enqueue_send(sent)
            packet = await asyncio.to_thread(received.get, timeout=WAIT_S)
        finally:
            await asyncio.to_thread(channel.close)
    assert packet.to_sendable_dict()["data"] == sent.data
