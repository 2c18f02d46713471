"""Who may see the page of ``watch`` and give orders by it: this machine, with the secret, from the page itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from mephisto_tasks.control.orders import More, Order, Pause, StopGroup
from mephisto_tasks.monitoring.web import ORDER_HEADER, LiveViewer, Told, behind, is_this_machine, public_app, watch_app
from parlai_humaneval.viewer.write import INDEX, PAGE, ViewerMissing

SECRET = "a-secret-that-nobody-knows"
COST = "This spends $3."
FROM_PAGE = {ORDER_HEADER: "order"}
VIEWER = [(PAGE, b"<p>all dialogues</p>"), (INDEX, "receive(“é”)".encode())]


class Given:
    """What was ordered."""

    def __init__(self) -> None:
        self.orders: list[Order] = []

    def __call__(self, order: Order, agreed: str) -> Told:
        if isinstance(order, More) and agreed != COST:
            return Told(COST, asks=True)
        self.orders.append(order)
        return Told(f"Done: {order.kind}.")


@pytest.fixture
def given() -> Given:
    return Given()


@pytest.fixture
async def client(given: Given) -> AsyncIterator[TestClient[Any, Any]]:
    app = watch_app(SECRET, lambda: "<p>the page</p>", lambda: "<p>a part</p>", given, LiveViewer(lambda: VIEWER))
    async with TestClient(TestServer(app)) as client:
        yield client


async def _order(client: TestClient[Any, Any], body: Any, headers: dict[str, str] | None = None) -> ClientResponse:
    return await client.post(f"/{SECRET}/order", json=body, headers=FROM_PAGE if headers is None else headers)


async def test_the_page_and_its_files_with_the_secret(client: TestClient[Any, Any]) -> None:
    """Guards the page: nothing from elsewhere may be loaded, framed or kept, and no address is told to others."""
    for path, kind in (
        ("", "text/html"),
        ("part", "text/html"),
        ("live.js", "text/javascript"),
        ("watch.css", "text/css"),
    ):
        answer = await client.get(f"/{SECRET}/{path}")
        assert (answer.status, answer.content_type) == (200, kind)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "img-src 'self' data:" in policy  # Firefox asks for an icon
        assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


async def test_the_viewer_of_the_study_so_far(client: TestClient[Any, Any]) -> None:
    """With the secret only, by the names of its files; each with the policy of the page."""
    for name, content in VIEWER:
        answer = await client.get(f"/{SECRET}/viewer/{name}")
        assert (answer.status, await answer.read()) == (200, content)
        assert answer.charset == "utf-8"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert (await client.get(f"/wrong/viewer/{name}")).status == 403
    for name in ("data/texts-0.js", "%2e%2e%2fetc%2fpasswd"):
        assert (await client.get(f"/{SECRET}/viewer/{name}")).status in (403, 404)


async def test_a_viewer_that_is_not_built_says_so(given: Given) -> None:
    """The page of ``watch`` works without it."""

    def missing() -> list[tuple[str, bytes]]:
        raise ViewerMissing("the viewer is not built", try_="build it")

    app = watch_app(SECRET, str, str, given, LiveViewer(missing))
    async with TestClient(TestServer(app)) as client:
        answer = await client.get(f"/{SECRET}/viewer/{PAGE}")
        assert answer.status == 503
        assert "not built; build it" in await answer.text()


@pytest.mark.parametrize(
    "path", ["/", "/wrong", "/wrong/", f"/{SECRET}x/", f"/{SECRET[:-1]}/part", "/wrong/live.js", "/%00/", "/é/"]
)
async def test_without_the_secret_there_is_nothing(client: TestClient[Any, Any], path: str) -> None:
    """Guards everything behind the secret, its files too."""
    answer = await client.get(path)
    assert answer.status == 403
    assert "the page" not in await answer.text()


async def test_a_link_without_its_last_slash_opens_and_no_icon_is_refused(client: TestClient[Any, Any]) -> None:
    """Guards the browser's console: a copied link may have lost its slash, and the icon is asked for at the root."""
    answer = await client.get(f"/{SECRET}")
    assert (answer.status, answer.url.path, await answer.text()) == (200, f"/{SECRET}/", "<p>the page</p>")
    icon = await client.get("/favicon.ico")
    assert (icon.status, await icon.read()) == (204, b"")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"])
async def test_another_name_of_this_machine_is_refused(client: TestClient[Any, Any], host: str, given: Given) -> None:
    """Guards against DNS rebinding: a site whose name leads here gets neither the page nor an order through."""
    assert (await client.get(f"/{SECRET}/", headers={"Host": host})).status == 403
    answer = await _order(client, {"kind": "pause"}, {**FROM_PAGE, "Host": host})
    assert answer.status == 403
    assert given.orders == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]"])
def test_names_of_this_machine(host: str) -> None:
    """Guards those who open the link by another right name."""
    assert is_this_machine(host)


async def test_an_order_of_the_page(client: TestClient[Any, Any], given: Given) -> None:
    """Guards the buttons: the order is given as the page's, and its words come back; what it costs as it costs it now is
    agreed to first."""
    here = {**FROM_PAGE, "Origin": str(client.make_url("")).rstrip("/")}
    answer = await _order(client, {"kind": "stop_group", "models": ["a", "b"], "setting": ""}, here)
    assert (answer.status, await answer.json()) == (200, {"words": "Done: stop_group."})
    for agreed in ({}, {"agreed": "This spends $2."}):
        asked = await _order(client, {"kind": "more", "number": 5, **agreed})
        assert (asked.status, await asked.json()) == (200, {"words": COST, "asks": True})
    await _order(client, {"kind": "more", "number": 5, "agreed": COST})
    await _order(client, {"kind": "pause"})
    stop, more, pause = given.orders
    assert isinstance(stop, StopGroup)
    assert (stop.models, stop.by) == (["a", "b"], "page")
    assert isinstance(more, More)
    assert more.number == 5
    assert isinstance(pause, Pause)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "burn"},
        {},
        [],
        "pause",
        {"kind": "more", "number": 0},
        {"kind": "more", "number": "many"},
        {"kind": "pause", "by": "terminal"},
        {"kind": "pause", "at": 1.0},
        {"kind": "pause", "order_id": "1"},
        {"kind": "stop_group", "models": []},
        {"kind": "pause", "agreed": 1},
        {"kind": "retire_model", "model": "x" * 20_000},
    ],
)
async def test_what_is_no_order_is_refused_in_words(client: TestClient[Any, Any], given: Given, body: Any) -> None:
    """Guards the file of orders: nothing comes into it that is none, nor one that says who gave it."""
    answer = await _order(client, body)
    assert answer.status in (400, 413)
    assert given.orders == []


async def test_an_order_of_another_site_is_refused(client: TestClient[Any, Any], given: Given) -> None:
    """Guards against forged requests: even with the secret, a form or a plain fetch of another page gives no order."""
    body = {"kind": "pause"}
    assert (await _order(client, body, {})).status == 403
    assert (await _order(client, body, {**FROM_PAGE, "Sec-Fetch-Site": "cross-site"})).status == 403
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        assert (await _order(client, body, {**FROM_PAGE, "Origin": origin})).status == 403
    form = await client.post(f"/{SECRET}/order", data='{"kind": "pause"}', headers=FROM_PAGE)
    assert form.status == 403
    assert (await client.get(f"/{SECRET}/order")).status in (403, 405)
    assert (await client.post("/wrong/order", json=body, headers=FROM_PAGE)).status == 403
    assert given.orders == []


async def test_the_public_page_is_read_only() -> None:
    """Guards what everybody may reach: the leaderboard, its style and its script, and nothing that changes anything."""
    async with TestClient(TestServer(public_app(lambda: "<p>ranks</p>", lambda: "<p>part</p>"))) as client:
        for path in ("/", "/part", "/report.css", "/live.js"):
            assert (await client.get(path, headers={"Host": "study.example.org"})).status == 200
        for path in ("/steer.js", "/watch.css", "/order", "/../orders.jsonl", f"/{SECRET}/"):
            assert (await client.get(path)).status == 404
        for method in ("POST", "PUT", "DELETE"):
            assert (await client.request(method, "/")).status == 405


async def test_the_page_of_a_new_study_stands_behind_the_same_door() -> None:
    """Guards a launch's first page: its policy, its link without the slash, and what a stranger gets."""
    ours = (SECRET, {"{path:.*}": _nothing}, {"write": _nothing}, 100, "Use the link.")
    async with TestClient(TestServer(behind(*ours))) as client:
        assert (await client.get(f"/{SECRET}")).url.path == f"/{SECRET}/"
        assert (await client.post(f"/{SECRET}/write")).status == 200
        assert (await client.post("/wrong/write")).status == 403
        refused = await client.get("/wrong/")
        assert (refused.status, await refused.text()) == (403, "Use the link.")
        assert refused.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def _nothing(_: web.Request) -> web.StreamResponse:
    return web.Response()
