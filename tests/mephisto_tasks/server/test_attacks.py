"""What a stranger, or a rater with a program of their own, may try against a launch: floods, forgeries, names of others."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from fake_operator import Served

from mephisto_tasks.server.hosts import Hosts, public_names
from mephisto_tasks.server.security import LONGEST, PageErrors, RateLimit
from mephisto_tasks.simulation.page_client import PageClient, PageError

Pages = Callable[..., PageClient]
BIG = "Something broke \x1b[2J\x1b]0;mine\x07\u202e\x9b31m" + "x" * 50_000
"""Long, with codes that clear a terminal, name its window, and turn the letters."""
REGISTRATION = {"provider_data": {"worker_name": "w", "agent_registration_id": "a-w"}}


async def answers(served: Served, path: str, bodies: list[dict[str, Any]], **headers: str) -> list[int]:
    """The status of each request, all of one connection."""
    async with aiohttp.ClientSession(headers=headers) as session:
        found = []
        for body in bodies:
            async with session.post(served.url + path, json=body) as response:
                found.append(response.status)
                assert "error" in await response.json() or response.status == 200
        return found


async def test_errors_of_pages_never_reach_the_operator(
    served: Served, open_page: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards the study against a flood of reports: of admitted pages only, few, cut, and none in Mephisto's loop."""
    async with open_page(served.url) as client:
        await client.register()
        report = {"USED_AGENT_ID": client.agent_id, "error_data": {"error_type": "version-mismatch", "text": BIG}}
        strangers = [*[report] * 60, *[{**report, "agent_token": "x"}] * 20, *[{"error_data": {"text": BIG}}] * 20]
        assert set(await answers(served, "/log_error", strangers)) == {403}
        with caplog.at_level(logging.WARNING):
            mine = {**report, "agent_token": client.agent_token}
            told = await answers(served, "/log_error", [mine] * 100)
            assert (told[0], told[-1]) == (200, 429)
            for _ in range(20):
                await client.send_raw(
                    {"packet_type": "log_error", "subject_id": client.agent_id, "data": {"text": BIG}}
                )
            assert "Too many errors" in await client.next_error()
            served.router.page_errors.close()
            while any(thread.name == "page-errors" for thread in threading.enumerate()):
                await asyncio.sleep(0.01)
    written = [message for message in caplog.messages if "reports an error" in message]
    assert len(written) == told.count(200) <= 10
    assert max(map(len, written)) < LONGEST + 100
    assert served.operator.count("log_error") == 0


async def test_a_report_without_words_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Guards the log against reports of any shape, and tells how many were left out."""
    now = 0.0
    errors = PageErrors(RateLimit(per_second=1, burst=3, clock=lambda: now))
    shapes: list[dict[str, Any]] = [
        {},
        {"error_type": "e", "text": "a\r\nb\u2028c"},
        {"text": None, "error_type": []},
        {"a": 1},
    ]
    with caplog.at_level(logging.WARNING):
        assert [errors.take("agent 7", shape) for shape in shapes] == [True, True, True, False]
        now = 1.0
        assert errors.take("agent 7", {"text": "late"})
        errors.close()
        for _ in range(100):
            if "late" in caplog.text:
                break
            await asyncio.sleep(0.02)
    assert caplog.messages[-1].endswith("late (1 more were left out before it)")
    assert caplog.messages[1].endswith("e: a b c"), "no line of the log is anybody else's"


async def test_a_task_cannot_be_handed_in_as_a_practice(served: Served, open_page: Pages) -> None:
    """Guards against ending a task unchecked, by the route for a practice, and the other way about; both go on."""
    async with open_page(served.url) as client:
        await client.register()
        await client.next_state()
        with pytest.raises(PageError, match="The practice continues"):
            await client.submit_task()
        assert (await client.answer({"kind": "message", "step_id": "m1", "text": "Hi"})).version == 2
        await client.submit_onboarding()
        await client.next_state()
        details, heard = dict(client.details), served.operator.count("submit_onboarding")
        with pytest.raises(PageError, match="The task continues"):
            await client.submit_onboarding()
        assert (client.details, served.operator.count("submit_onboarding")) == (details, heard)
        assert (await client.answer({"kind": "message", "step_id": "m1", "text": "Hi"})).version == 2
        await client.submit_task()
    assert served.operator.count("submit_unit") == 1


@pytest.mark.parametrize(
    "metadata", [{"tips": {}}, {"tips": 1}, {"feedback": {"data": [{}]}}, {"feedback": {"data": 7}}]
)
async def test_metadata_without_its_keys_is_refused(served: Served, open_page: Pages, metadata: dict[str, Any]) -> None:
    """Guards Mephisto's loop, where it reads these keys without looking."""
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        body = {"USED_AGENT_ID": client.agent_id, "agent_token": client.agent_token, "metadata": metadata}
        assert await answers(served, "/submit_metadata", [body]) == [400]
    assert served.operator.count("submit_metadata") == 0


async def test_nothing_is_kept_of_what_a_registration_sent_too_much(served: Served) -> None:
    """Guards the memory of the launch: who registers need say nothing true, and may do so all day long."""
    sent = [{"provider_data": {"worker_name": "w", "agent_registration_id": f"a-{n}", "x": BIG}} for n in range(100)]
    tracemalloc.start()
    try:
        assert set(await answers(served, "/request_agent", sent)) == {200}
        served.operator.heard.clear()
        assert tracemalloc.get_traced_memory()[0] < 20 * len(BIG)
    finally:
        tracemalloc.stop()


def said(served: Served, head: list[bytes], body: bytes = b"", *, ends: bool = False) -> tuple[int, str]:
    """The status and the sentence that come back for a request as it is written here."""
    with socket.create_connection(("127.0.0.1", served.port), 10) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    status, _, rest = answer.partition(b"\r\n")
    return int(status.split()[1]), rest.partition(b"\r\n\r\n")[2].decode()


def posted(body: bytes, *headers: bytes, length: int | None = None) -> list[bytes]:
    """The head of a registration with this body."""
    return [
        b"POST /request_agent HTTP/1.1",
        b"Host: 127.0.0.1",
        b"Connection: close",
        b"Content-Type: application/json",
        b"Content-Length: %d" % (len(body) if length is None else length),
        *headers,
    ]


def _gzipped(body: bytes) -> bytes:
    """Without the time, which would be another one in each process of a test run."""
    return gzip.compress(body, mtime=0)


GOOD = json.dumps(REGISTRATION).encode()


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        (b"gzip", b"no gzip at all", 400),
        (b"gzip", _gzipped(GOOD)[:-12], 400),
        (b"gzip", _gzipped(b"[" * 20_000_000), 413),
        (b"deflate", b"no deflate at all", 400),
        (b"deflate", zlib.compress(GOOD)[:9], 400),
        (b"br", b"no brotli at all", 400),
        (b"nonsense", b"\xff\x00", 400),
        (b"gzip, gzip", _gzipped(_gzipped(GOOD)), 400),
        (b"gzip", _gzipped(GOOD), 200),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_in_words(
    served: Served, caplog: pytest.LogCaptureFixture, encoding: bytes, body: bytes, status: int
) -> None:
    """Guards against a traceback in the log, a 500, and a body that is a thousand times as long once it is unpacked."""
    with caplog.at_level(logging.ERROR):
        got, words = said(served, posted(body, b"Content-Encoding: " + encoding), body)
    assert (got, caplog.records) == (status, [])
    assert words
    assert len(served.operator.heard) == (status == 200)


@pytest.mark.parametrize(
    "head",
    [
        posted(GOOD, length=-5),
        [*posted(GOOD), b"Transfer-Encoding: chunked"],
        [b"BREW / HTTP/1.1", b"Host: 127.0.0.1"],
        [b"\x00\x01\x02"],
        [b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"Host: 127.0.0.1"],
        [b"GET / HTTP/1.1", b"Host: 127.0.0.1", b"X: " + b"a" * 70_000],
        [b"GET / HTTP/1.1", b"Host: 127.0.0.1", b"<script>\x1b[2J: x"],
    ],
)
def test_what_is_no_http_gets_a_sentence_and_nothing_of_itself(served: Served, head: list[bytes]) -> None:
    """Guards a terminal or a browser in which the answer is shown."""
    status, words = said(served, head, GOOD)
    assert status == 400
    assert words.isprintable()
    assert all(part not in words for part in ("script", "BREW", "aaaa", "HTTP/1.1"))


@pytest.mark.parametrize("path", [b"/%zz%ff%00", b"/partner/%ff%fe/", b"/..%2f..%2fetc/passwd", b"/%", b"/?%ff=%zz"])
def test_bad_percent_signs_are_no_error_of_the_server(served: Served, path: bytes) -> None:
    assert said(served, [b"GET " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close"])[0] in (200, 404)


def websocket(**headers: bytes) -> list[bytes]:
    """The head of a request for a websocket."""
    named = {"Host": b"127.0.0.1", "Upgrade": b"websocket", "Connection": b"Upgrade", **headers}
    return [
        b"GET / HTTP/1.1",
        *(name.encode() + b": " + value for name, value in named.items()),
        b"Sec-WebSocket-Version: 13",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]


STRANGE_HOSTS = [
    b"evil.example",
    b"evil.example:3000",
    b"127.0.0.1.evil.example",
    b"localhost.evil.example",
    b"",
    b"a@127.0.0.1",
]
STRANGE_ORIGINS = [
    b"https://evil.example",
    b"null",
    b"http://localhost:1",
    b"file://",
    b"http://127.0.0.1.evil.example",
    b"x",
]


@pytest.mark.parametrize(
    "head",
    [
        *[[b"GET / HTTP/1.1", b"Host: " + host, b"Connection: close"] for host in STRANGE_HOSTS],
        *[[b"GET /health HTTP/1.1", b"Host: " + host, b"Connection: close"] for host in STRANGE_HOSTS],
        *[[b"GET /no-such HTTP/1.1", b"Host: " + host, b"Connection: close"] for host in STRANGE_HOSTS[:1]],
        *[[*posted(b""), b"Origin: " + origin] for origin in STRANGE_ORIGINS],
        *[[*websocket(Origin=origin), b"X: y"] for origin in STRANGE_ORIGINS],
        *[websocket(Host=host) for host in STRANGE_HOSTS],
        [b"GET / HTTP/1.1", b"Host: evil.example", b"Connection: close", b"X-Forwarded-Host: 127.0.0.1"],
    ],
)
def test_names_and_pages_of_others_are_refused(served: Served, head: list[bytes]) -> None:
    """Guards raters' and researchers' browsers: no name of a stranger leads here, and no page of theirs speaks to us."""
    status, words = said(served, head)
    assert status == 403
    assert "public_names=[" in words or "another name" in words
    assert served.operator.heard == []


async def test_who_comes_by_our_own_address_is_let_in(served: Served) -> None:
    """Guards today's ways: an address in figures, localhost, the machine's name, programs that say no Origin."""
    machine = socket.gethostname()
    ways = [
        {"Host": f"127.0.0.1:{served.port}"},
        {"Host": "192.0.2.7:3000", "Origin": "http://192.0.2.7:3000"},
        {"Host": "[::1]:3000", "Origin": "http://[::1]:3000"},
        {"Host": "localhost:3000", "Origin": "http://localhost:3000"},
        {"Host": "localhost", "Origin": "https://localhost:8443"},
        {"Host": machine, "Origin": f"http://{machine}"},
    ]
    for headers in ways:
        assert await answers(served, "/request_agent", [REGISTRATION], **headers) == [200], headers
        async with aiohttp.ClientSession() as session, session.ws_connect(served.url, headers=headers) as open_socket:
            assert not open_socket.closed


def asking(**headers: str) -> web.Request:
    """A request with these headers; those with a hyphen are written with an underscore."""
    return make_mocked_request("GET", "/", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("headers", "proxied", "let_in"),
    [
        ({"Host": "study.example.org", "Origin": "https://study.example.org"}, False, True),
        ({"Host": "STUDY.example.org.:443", "Origin": "https://study.example.org"}, False, True),
        ({"Host": "127.0.0.1:3000", "Origin": "https://study.example.org:8443"}, False, True),
        ({"Host": "127.0.0.1:3000", "Origin": "https://192.0.2.9", "X_Forwarded_Host": "192.0.2.9"}, True, True),
        ({"Host": "127.0.0.1:3000", "Origin": "https://192.0.2.9", "X_Forwarded_Host": "192.0.2.9"}, False, False),
        ({"Host": "127.0.0.1:3000", "Origin": "https://evil.example", "X_Forwarded_Host": "evil.example"}, True, False),
        ({"Host": "evil.example", "X_Forwarded_Host": "study.example.org"}, True, False),
        ({"Host": "other.example.org"}, False, False),
    ],
)
def test_the_names_of_a_launch(headers: dict[str, str], proxied: bool, let_in: bool) -> None:
    """Guards a study behind a proxy, under its public name; a trusted proxy adds no name that the launch does not have."""
    hosts = Hosts(public_names(["Study.example.org"]), lambda request: proxied)
    assert (hosts.refusal(asking(**headers)) is None) is let_in


@pytest.mark.parametrize(
    ("address", "origin"), [("192.0.2.9", "http://192.0.2.9:8080"), ("[2001:db8::9]", "https://[2001:db8::9]")]
)
def test_an_address_that_raters_ask_a_proxy_for_can_be_named(address: str, origin: str) -> None:
    """Guards a study behind a proxy that nobody gave a name, and that says another Host: what the refusal advises helps."""
    asked = asking(Host="127.0.0.1:3000", Origin=origin)
    words = Hosts().refusal(asked)
    assert words is not None
    assert f"public_names=[{address.strip('[]')}]" in words
    assert Hosts(public_names([address])).refusal(asked) is None


def test_the_log_names_the_setting_once(caplog: pytest.LogCaptureFixture) -> None:
    """Guards the researcher: they read which name came, and what lets it in; a flood of names is not written down."""
    hosts = Hosts()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            hosts.refusal(asking(Host="my.lab.example"))
            hosts.refusal(asking(Host="\x1b[2Jx"))
        assert [message.count("public_names=[my.lab.example]") for message in caplog.messages] == [
            1,
            0,
        ]
        assert all(message.isprintable() for message in caplog.messages)
        for number in range(100):
            hosts.refusal(asking(Host=f"{number}.example"))
    assert len(caplog.messages) == 20


@pytest.mark.parametrize("name", ["https://a.b", "a b", "a.b/c", "a.b:80", "*", "", "-a", "a..b"])
def test_what_is_no_name_is_refused_before_a_launch(name: str) -> None:
    with pytest.raises(ValueError, match=r"^public_names: "):
        public_names([name])


def test_who_sends_more_than_others_waits_and_nobody_else() -> None:
    """Guards everybody's answers: beyond its share a page is read more slowly, and loses nothing."""
    now = 0.0
    limit = RateLimit(per_second=10, burst=20, clock=lambda: now)
    assert [limit.wait_s() for _ in range(20)] == [0.0] * 20
    assert limit.is_low
    assert limit.wait_s() == pytest.approx(0.1)
    assert limit.wait_s(1000) == pytest.approx(2.0), "what is owed has an end"
    now = 4.0
    assert (limit.is_low, limit.wait_s()) == (False, 0.0)


async def test_a_flood_of_answers_is_slowed_down_and_loses_none(served: Served, open_page: Pages) -> None:
    """Guards the loop of all answers against one page: what it sends beyond its share is taken later."""
    async with open_page(served.url) as client:
        await client.register()
        await client.next_state()
        agent = served.router.agents.get("practice-1")
        assert agent is not None
        agent.answer_limit = RateLimit(per_second=20, burst=5)
        answer = {"kind": "message", "step_id": "m1", "text": "Hi"}
        for number in range(30):
            data = {**answer, "update_id": f"u{number}"}
            await client.send_raw(
                {"packet_type": "mephisto_bound_live_update", "subject_id": "practice-1", "data": data}
            )
        await asyncio.sleep(0.1)
        assert len(served.operator.answers["practice-1"]) < 20
        await client.answer(answer)
        assert (len(served.operator.answers["practice-1"]), client.errors, client.reconnects) == (31, [], 0)
