"""Pictures by HTTP: who may upload one, what is taken, and how it is shown."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fake_operator import Served
from PIL import Image

from mephisto_tasks.server import static as routes
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.display.images import MAX_BYTES, TOO_LARGE, UNREADABLE, ImageStore

OpenPage = Callable[..., PageClient]


def photo(size: tuple[int, int] = (640, 480)) -> bytes:
    file = BytesIO()
    Image.effect_noise(size, 90).save(file, "PNG")
    return file.getvalue()


def post(served: Served, content: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", "/upload_image", body=content, headers=named)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def get(served: Served, path: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


async def headers_of(served: Served, open_page: OpenPage) -> dict[str, str]:
    async with open_page(served.url) as client:
        await client.register()
        return {"X_Agent_Id": str(client.agent_id), "X_Agent_Token": str(client.agent_token)}


async def test_an_upload_of_several_megabytes_is_quick_and_shown_by_its_digest(
    serve: Callable[..., Served], open_page: OpenPage, tmp_path: Path
) -> None:
    served = serve(images=ImageStore(tmp_path / "images", uploads=True))
    own = await headers_of(served, open_page)
    status, answer = post(served, photo((2400, 1500)), **own)
    assert (status, answer["width"], answer["height"]) == (200, 2048, 1280)
    response, body = get(served, f"/images/{answer['digest']}.jpg")
    assert (response.status, response.headers["Content-Type"]) == (200, "image/jpeg")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert Image.open(BytesIO(body)).size == (2048, 1280)
    assert not (tmp_path / "images").exists()  # no message has come for it


@pytest.mark.parametrize(
    "path", ["/images/x.jpg", "/images/..%2f..%2fsecret.jpg", f"/images/{'0' * 64}.jpg", "/images/"]
)
def test_nothing_else_is_shown(serve: Callable[..., Served], tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.jpg").write_text("secret")
    response, body = get(serve(images=ImageStore(tmp_path / "a" / "images")), path)
    assert response.status == 404
    assert b"secret" not in body


async def test_uploads_are_refused_in_words(
    serve: Callable[..., Served], open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(images=ImageStore(tmp_path / "images", uploads=True))
    own = await headers_of(served, open_page)
    assert post(served, b"no picture", **own) == (422, {"error": UNREADABLE})
    monkeypatch.setattr(routes, "MAX_BYTES", 1000)
    assert post(served, b"x" * 5000, **own) == (422, {"error": TOO_LARGE})
    assert post(served, photo(), **{**own, "X_Agent_Token": "wrong"})[0] == 403
    assert post(served, photo(), X_Agent_Id="nobody", X_Agent_Token="wrong")[0] == 404
    assert post(served, photo())[0] == 404
    assert MAX_BYTES == 10_000_000


async def test_one_page_cannot_upload_without_end(
    serve: Callable[..., Served], open_page: OpenPage, tmp_path: Path
) -> None:
    served = serve(images=ImageStore(tmp_path / "images", uploads=True))
    own = await headers_of(served, open_page)
    answers = [post(served, photo((9, 9)), **own) for _ in range(14)]
    assert [status for status, _ in answers].count(200) == 12
    assert answers[-1] == (429, {"error": routes.TOO_OFTEN})


async def test_without_the_setting_there_are_no_such_addresses(
    serve: Callable[..., Served], open_page: OpenPage, tmp_path: Path
) -> None:
    served = serve()
    own = await headers_of(served, open_page)
    assert post(served, photo(), **own)[0] in (404, 405)
    assert get(served, f"/images/{'0' * 64}.jpg")[0].status == 404


async def test_where_models_alone_send_pictures_people_cannot(
    serve: Callable[..., Served], open_page: OpenPage, tmp_path: Path
) -> None:
    served = serve(images=ImageStore(tmp_path / "images"))
    status, answer = post(served, photo(), **await headers_of(served, open_page))
    assert (status, answer["error"]) == (403, "Pictures are not accepted here.")
