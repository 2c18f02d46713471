"""Connections that keep a server waiting: each ends after a time, and nothing of it stays."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator

import pytest
from fake_operator import Served

from mephisto_tasks.server import agents as connection
from mephisto_tasks.server import app as server
from mephisto_tasks.server import thread
from mephisto_tasks.server.thread import Connections
from mephisto_tasks.simulation.page_client import PageClient

Pages = Callable[..., PageClient]
SHORT_S = 0.4
"""In the place of the half minutes and minutes of a launch."""
AT_MOST_S = 10.0

WEBSOCKET = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
"""A request for one."""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A launch that waits for nobody for long."""
    with pytest.MonkeyPatch.context() as patch, Served(tmp_path_factory.mktemp("impatient") / "static") as served:
        for module, name in (
            (thread, "IDLE_S"),
            (thread, "LINGER_S"),
            (server, "_BODY_S"),
            (server, "_ALIVE_S"),
            (connection, "SEND_S"),
        ):
            patch.setattr(module, name, SHORT_S)
        yield served


def trickled(served: Served, first: bytes, rest: bytes = b"X: y\r\n") -> bytes:
    """What came back until the server ended a connection on which ``rest`` was said again and again, a little at a time."""
    with socket.create_connection(("127.0.0.1", served.port), 5) as client:
        client.sendall(first)
        client.settimeout(0.05)
        answer, until = b"", time.monotonic() + AT_MOST_S
        while time.monotonic() < until:
            try:
                client.sendall(rest)
                if not (chunk := client.recv(4096)):
                    return answer
                answer += chunk
            except TimeoutError:
                continue
            except ConnectionError:
                return answer
    raise AssertionError("the connection was left open")


def test_a_head_that_never_ends_is_cut_off(impatient: Served) -> None:
    """Guards against thousands of connections that each send a header now and then (slowloris)."""
    assert trickled(impatient, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n") == b""
    assert trickled(impatient, b"", b"") == b"", "nor may one stay that says nothing at all"


def test_a_body_that_never_ends_is_refused(impatient: Served) -> None:
    kind = b"Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
    head = b"POST /request_agent HTTP/1.1\r\nHost: 127.0.0.1\r\n" + kind
    answer = trickled(impatient, head, b" ")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive in time" in answer


def test_a_websocket_that_speaks_for_nobody_is_closed(impatient: Served) -> None:
    assert b"does not name its agent" in trickled(impatient, WEBSOCKET, b"")


async def test_a_page_that_never_reads_is_cut_off_and_loses_nothing(impatient: Served, open_page: Pages) -> None:
    """Guards the launch's memory: what nobody reads waits in the agent's outbox, bounded, and not on a connection."""
    async with open_page(impatient.url, "deaf") as client:
        await client.register()
        await client.next_state()
        assert client.agent_id is not None
        assert client._socket is not None
        await client._socket.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", impatient.port, limit=1024)
        writer.write(WEBSOCKET)
        await reader.readuntil(b"\r\n\r\n")
        data = {"agent_token": client.agent_token, "last_seq": 0}
        writer.write(
            text_frame(json.dumps({"packet_type": "alive", "subject_id": client.agent_id, "data": data}).encode())
        )
        agent = impatient.router.agents.get(client.agent_id)
        assert agent is not None
        await eventually(lambda: agent.connection is not None)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # asyncio's own transports can
        for _ in range(60):
            impatient.operator.update(client.agent_id, {"update_id": "u", "kind": "state", "text": "x" * 200_000})
        await eventually(lambda: agent.connection is None)
        assert len(agent.outbox) >= 60
        writer.transport.abort()


async def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + AT_MOST_S
    while not condition():
        assert time.monotonic() < until, "it did not come true in time"
        await asyncio.sleep(0.02)


def text_frame(text: bytes) -> bytes:
    """A message of a websocket's client, whose mask is nothing."""
    assert 125 < len(text) < 65536
    return b"\x81\xfe" + len(text).to_bytes(2, "big") + bytes(4) + text


def test_an_address_and_all_of_them_have_so_many_connections() -> None:
    """Guards the files that a process may open, and the room of others; proxies and this machine count for all only."""
    connections = Connections(5, lambda peer: peer != "127.0.0.1", most_of_address=2)
    stay = [connections.admit(peer) for peer in ("203.0.113.5", "203.0.113.5", "127.0.0.1", "127.0.0.1", "127.0.0.1")]
    assert None not in stay
    assert connections.admit("203.0.113.6") is None, "there is no more room"
    connections.leave("127.0.0.1")
    assert connections.admit("203.0.113.5") is None, "this one has its two"
    assert connections.admit("2001:db8::1") is not None
    for key in ("203.0.113.5", "203.0.113.5", "127.0.0.1", "127.0.0.1", "2001:db8::/64"):
        connections.leave(key)
    assert (len(connections), connections._open) == (0, {})


def pongs(connection: socket.socket, pings: int, wait_s: float) -> int:
    """How many of so many pings are answered."""
    connection.sendall(b"\x89\x80\0\0\0\0" * pings)
    connection.settimeout(wait_s)
    heard = b""
    try:
        while len(heard) < 2 * pings:
            heard += connection.recv(65536)
    except TimeoutError:
        pass
    return heard.count(b"\x8a\x00")


def test_who_sends_more_than_anybody_needs_is_read_more_slowly(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the loop of all pages against what is no message, as pings are, and so is counted nowhere else."""
    monkeypatch.setattr(server, "_ALIVE_S", 60.0)
    monkeypatch.setattr(thread, "BYTES_BURST", 2000.0)
    monkeypatch.setattr(thread, "BYTES_PER_SECOND", 2000.0)
    with (
        socket.create_connection(("127.0.0.1", served.port)) as loud,
        socket.create_connection(("127.0.0.1", served.port)) as quiet,
    ):
        for connection_ in (loud, quiet):
            connection_.sendall(WEBSOCKET)
            assert b" 101 " in connection_.recv(4096)
        assert pongs(loud, 600, AT_MOST_S) == 600
        assert pongs(loud, 10, 0.2) == 0, "its share is used up"
        assert pongs(quiet, 10, AT_MOST_S) == 10
        assert pongs(loud, 1, AT_MOST_S) > 0, "nothing is lost: it goes on a little later"
