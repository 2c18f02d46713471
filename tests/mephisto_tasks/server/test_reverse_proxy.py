"""Behind a real nginx, with TLS and below a path: pages, websockets, and whose address it is."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request
from fake_operator import Served
from reverse_proxy import ReverseProxy

from mephisto_tasks.adapter.architect import address_of_page
from mephisto_tasks.server.security import NOT_OF_A_PAGE, TOO_MANY, Visitors, trusted_networks
from mephisto_tasks.simulation.page_client import PageClient

NGINX = trusted_networks(["127.0.0.1"])
FEW = 6
"""Requests that an address may send in a burst, in these tests."""


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, ReverseProxy]]:
    """A router that trusts the nginx before it."""
    folder = tmp_path_factory.mktemp("behind")
    with (
        Served(folder / "static", visitors=Visitors(NGINX)) as served,
        ReverseProxy(folder / "nginx", served.port) as proxy,
    ):
        yield served, proxy


def opened(proxy: ReverseProxy, path: str) -> tuple[str, bytes]:
    """Where an address below the proxy's leads, and what stands there."""
    handler = urllib.request.HTTPSHandler(context=proxy.certificates())
    with urllib.request.build_opener(handler).open(proxy.url + path, timeout=10) as answer:
        return answer.url, answer.read()


def test_the_page_and_its_files_stand_below_the_path(behind: tuple[Served, ReverseProxy]) -> None:
    """Guards a study that shares its host: the slash at the end is added, and who the rater is goes along."""
    _, proxy = behind
    address, page = opened(proxy, "?worker_id=w%201&assignment_id=a1")
    assert address == f"{proxy.url}/?worker_id=w%201&assignment_id=a1"
    assert b"Rate two models." in page
    assert opened(proxy, "/assets/index-B4x9Zk2Q.js")[1].startswith(b"let a = 1;")
    assert json.loads(opened(proxy, "/health")[1])["operator_connected"]


async def test_a_rater_works_through_it(behind: tuple[Served, ReverseProxy]) -> None:
    """Guards websockets, answers and the hand-in through TLS and the path."""
    served, proxy = behind
    async with PageClient(
        address_of_page(proxy.url), worker_id="w1", assignment_id="a1", certificates=proxy.certificates()
    ) as page:
        await page.register()
        state = await page.next_state()
        assert state.step.kind == "message"
        state = await page.answer({"kind": "message", "step_id": state.step.step_id, "text": "Hi!"})
        assert state.version == 2
        await page.submit_onboarding()
        await page.submit_task()
        assert page.reconnects == 0
    assert served.operator.count("submit_unit") == 1


def test_too_many_requests_of_one_address_are_refused_and_others_go_on(tmp_path: Path) -> None:
    """Guards the server, and everybody else: the limit is of the rater's address, which only the trusted proxy tells."""
    visitors = Visitors(NGINX, per_second=0.001, burst=FEW)
    with Served(tmp_path / "static", visitors=visitors) as served:
        here = f"http://127.0.0.1:{served.port}/log_error"
        assert [posted(here, "203.0.113.5") for _ in range(FEW + 2)] == [403] * FEW + [429] * 2
        assert posted(here, "203.0.113.6") == 403
        assert posted(here, "198.51.100.9, 203.0.113.5") == 429, "what a visitor writes before it helps nobody"


def posted(address: str, forwarded_for: str) -> int:
    """The status of a small report of an error without a token, sent as the proxy would send it."""
    body = json.dumps({"error_data": {"message": "e"}}).encode()
    headers = {"Content-Type": "application/json", "X-Forwarded-For": forwarded_for}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=10)
    assert json.load(refused.value)["error"] == (TOO_MANY if refused.value.code == 429 else NOT_OF_A_PAGE)
    return refused.value.code


class Transport:
    """A connection from ``address``."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get_extra_info(self, name: str, default: object = None) -> object:
        return (self._address, 40_000) if name == "peername" else default


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "visitor"),
    [
        ("203.0.113.1", "198.51.100.2", [], "203.0.113.1"),
        ("203.0.113.1", "198.51.100.2", ["127.0.0.1"], "203.0.113.1"),
        ("127.0.0.1", "198.51.100.2", ["127.0.0.1"], "198.51.100.2"),
        ("127.0.0.1", "10.9.9.9, 198.51.100.2", ["127.0.0.1"], "198.51.100.2"),
        ("127.0.0.1", "198.51.100.2, 10.0.0.7", ["127.0.0.1", "10.0.0.0/8"], "198.51.100.2"),
        ("127.0.0.1", "nonsense, 198.51.100.2", ["127.0.0.1"], "198.51.100.2"),
        ("127.0.0.1", "198.51.100.2, <script>", ["127.0.0.1"], "198.51.100.2"),
        ("127.0.0.1", "", ["127.0.0.1"], "127.0.0.1"),
        ("::ffff:203.0.113.1", "198.51.100.2", ["203.0.113.1"], "198.51.100.2"),
        ("::1", "[2001:db8::7]", ["::1"], "2001:db8::7"),
    ],
)
def test_only_trusted_proxies_say_whose_request_it_is(
    peer: str, forwarded: str, trusted: list[str], visitor: str
) -> None:
    """Guards limits against who writes addresses of others into their requests."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = make_mocked_request("POST", "/request_agent", headers, transport=Transport(peer))
    assert str(Visitors(trusted_networks(trusted)).address_of(request)) == visitor


def test_one_household_counts_as_one(caplog: pytest.LogCaptureFixture) -> None:
    """Guards against a new IPv6 address for each request; programs on this machine are not limited, but told of."""
    visitors = Visitors(NGINX, per_second=0.001, burst=1)

    def allowed(peer: str, **headers: str) -> bool:
        return visitors.allows(make_mocked_request("POST", "/", headers, transport=Transport(peer)))

    assert allowed("2001:db8::1")
    assert not allowed("2001:db8::2")
    assert allowed("2001:db8:0:1::2")
    assert all(allowed("127.0.0.1") for _ in range(3))
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        unnamed = Visitors(per_second=0.001, burst=1)
        for _ in range(3):
            headers = {"X-Forwarded-For": "198.51.100.2"}
            assert unnamed.allows(make_mocked_request("POST", "/", headers, transport=Transport("127.0.0.1")))
    (warning,) = caplog.messages
    assert "If the proxy is yours, set trusted_proxies=[127.0.0.1]" in warning


@pytest.mark.parametrize(
    ("public_url", "address"),
    [
        ("https://study.example.org", "https://study.example.org"),
        ("https://study.example.org/", "https://study.example.org"),
        ("https://example.org/study", "https://example.org/study/"),
        ("https://example.org/a/b/", "https://example.org/a/b/"),
        ("", ""),
    ],
)
def test_an_address_with_a_path_ends_in_a_slash(public_url: str, address: str) -> None:
    """Guards the page's files, which it looks for beside itself, where no proxy adds the slash."""
    assert address_of_page(public_url) == address
