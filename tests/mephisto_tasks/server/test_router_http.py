"""Pages, headers, caching and health."""

from __future__ import annotations

import asyncio
import gzip
import http.client
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from fake_operator import PAGE, Served

from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.simulation.page_client import PageClient


def fetch(served: Served, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """One raw request: nothing tidies the path, nothing unpacks the body."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/../../secret.txt",
        "//secret.txt",
        "/link.txt",
        "/assets",
        "/download_file/secret.txt",
    ],
)
def test_no_path_leaves_the_static_folder(serve: Callable[..., Served], tmp_path: Path, path: str) -> None:
    """Neither dots, encodings nor links reach another file."""
    static = tmp_path / "static"
    static.mkdir()
    (static.parent / "secret.txt").write_text("secret")
    (static / "link.txt").symlink_to(static.parent / "secret.txt")
    response, body = fetch(serve(), path)
    assert response.status in (400, 404)
    assert b"secret" not in body


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(served: Served) -> None:
    response, body = fetch(served, "/nothing-here", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert (response.status, response.headers.get_content_type()) == (404, "text/html")
    assert b"<h1>Nothing is here</h1>" in body
    response, body = fetch(served, "/nothing-here", Accept="*/*")
    assert (response.status, response.headers.get_content_type()) == (404, "application/json")
    assert b'"error"' in body


def test_every_response_carries_security_headers(served: Served) -> None:
    """Pages, JSON, errors alike."""
    for path in ("/", "/health", "/task_config.json", "/nothing-here"):
        headers = fetch(served, path)[0].headers
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Server" not in headers


def test_a_crowds_site_may_frame_the_page_and_take_its_form(serve: Callable[..., Served]) -> None:
    """Workers see the page inside the site's; its script hands the task in by a form."""
    page = crowd_of("mturk_sandbox").page
    policy = fetch(serve(page=page), "/")[0].headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for site in ("https://*.mturk.com", "https://*.mturkcontent.com", "https://*.amazon.com"):
        assert site in directives["frame-ancestors"]
    assert "https://*.mturk.com" in directives["form-action"]
    assert directives["default-src"] == "'self'"


def test_caching_and_compression(served: Served) -> None:
    """Hashed assets are kept for ever, the page is asked for each time, answers are never kept."""
    page, body = fetch(served, "/", Accept_Encoding="gzip")
    assert page.headers["Cache-Control"] == "no-cache"
    assert gzip.decompress(body).decode() == PAGE
    assert fetch(served, "/?worker_id=1&assignment_id=2")[1].decode() == PAGE
    assert fetch(served, "/", If_None_Match=page.headers["ETag"])[0].status == 304
    script, body = fetch(served, "/assets/index-B4x9Zk2Q.js")
    assert "immutable" in script.headers["Cache-Control"]
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert body.startswith(b"let a")
    for path in ("/task_config.json", "/health", "/is_alive"):
        assert fetch(served, path)[0].headers["Cache-Control"] == "no-store"


async def test_websockets_are_compressed(served: Served) -> None:
    """Per-message deflate is agreed on when the browser offers it."""
    async with aiohttp.ClientSession() as session, session.ws_connect(served.url, compress=15) as socket:
        assert socket.compress == 15


async def test_health_tells_what_waits(served: Served, open_page: Callable[..., PageClient]) -> None:
    async with open_page(served.url) as client, aiohttp.ClientSession() as session:
        await client.register()
        await client.next_state()
        await client._hang_up()
        for _ in range(2):
            served.operator.show("practice-1")
        await asyncio.sleep(0.1)
        async with session.get(f"{served.url}/health") as response:
            assert await response.json() == {
                "status": "ok",
                "operator_connected": True,
                "agents": 1,
                "queued": 2,
            }
