"""The built page, held in memory.

A path is looked up in a dictionary made at start, so no request can reach any other file, and the
folder may be removed while the server runs.

A page of a few words, for those who may not see the study: a wrong link, one that has expired, an address without one.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from aiohttp import hdrs, web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from parlai_humaneval.i18n.translate import spoken, t

STATIC = Path(__file__).parent / "static"
"""Scripts that tell the page who its rater is, one for each way of coming."""

_HASHED = re.compile(r"(^|/)[^/]*[-.][A-Za-z0-9_-]{8,}\.(js|css|woff2?|png|svg|jpe?g|webp)$")
_COMPRESSED_ALREADY = ("image/png", "image/jpeg", "image/webp", "font/woff2", "font/woff")
_WORTH_COMPRESSING = 1024
_FOREVER = "public, max-age=31536000, immutable"
_ASK_EACH_TIME = "no-cache"
_NEVER = "no-store"


@dataclass(frozen=True)
class Asset:
    """One file with its headers; ``packed`` is its gzip form where that is smaller."""

    body: bytes
    packed: bytes | None
    content_type: str
    etag: str
    cache_control: str

    def respond(self, request: web.Request) -> web.Response:
        headers = {
            hdrs.ETAG: self.etag,
            hdrs.CACHE_CONTROL: self.cache_control,
            hdrs.VARY: hdrs.ACCEPT_ENCODING,
        }
        if self.etag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        headers[hdrs.CONTENT_TYPE] = self.content_type
        if self.packed is not None and "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "").lower():
            headers[hdrs.CONTENT_ENCODING] = "gzip"
            return web.Response(body=self.packed, headers=headers)
        return web.Response(body=self.body, headers=headers)


class StaticFiles:
    """All files below ``folder``, by their path there; none is index.html.

    ``instead``: what stands in the place of some of them. The route names the path ``path``.
    """

    def __init__(self, folder: Path, instead: Mapping[str, bytes] = MappingProxyType({})) -> None:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
        bodies = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        self._assets = {name: _asset(name, body) for name, body in {**bodies, **instead}.items()}
        if "index.html" in self._assets:
            self._assets[""] = self._assets["index.html"]

    async def handle(self, request: web.Request) -> web.Response:
        asset = self._assets.get(request.match_info.get("path", ""))
        if asset is None:
            raise web.HTTPNotFound(reason="There is no such page here.")
        return asset.respond(request)


def _asset(name: str, body: bytes) -> Asset:
    content_type = _content_type(PurePosixPath(name))
    packed = None
    if len(body) >= _WORTH_COMPRESSING and content_type not in _COMPRESSED_ALREADY:
        packed = gzip.compress(body, mtime=0)
    if packed is not None and len(packed) >= len(body):
        packed = None
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Asset(body, packed, content_type, etag, _cache_control(name))


def _content_type(path: PurePosixPath) -> str:
    if path.suffix in (".js", ".mjs"):  # some systems' tables say text/plain, which nosniff then refuses
        return "text/javascript; charset=utf-8"
    guessed = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{guessed}; charset=utf-8" if guessed.startswith("text/") else guessed


def _cache_control(name: str) -> str:
    if name.endswith(".json"):
        return _NEVER
    return _FOREVER if _HASHED.search(name) else _ASK_EACH_TIME


_STYLE = """
:root { color-scheme: light dark; --page: #f3f5f8; --surface: #fff; --line: #d5dbe5; --text: #1a2230; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12161d; --surface: #1b212b; --line: #36404f; --text: #e8ecf3; }
}
body {
  margin: 0; padding: 2rem 1rem; background: var(--page); color: var(--text); line-height: 1.5;
  font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
main {
  max-width: 34rem; margin: 0 auto; padding: 1.5rem; background: var(--surface);
  border: 1px solid var(--line); border-radius: 1.125rem;
}
h1 { margin: 0 0 0.75rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0; }
"""
"""That of the page (webapp/src/ui/tokens.css, base.css), whose files are not for those who stand outside."""
_HEADERS = {
    hdrs.CACHE_CONTROL: "no-store",
    # The style stands in the page, which the rest of the server allows nowhere: this one text of it is let in.
    "Content-Security-Policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    f"frame-ancestors 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'",
}
_PAGE = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined).get_template(
    "plain_page.html"
)


def plain_page(status: int, title: str, text: str) -> web.Response:
    """The page, in the language in force; nothing of the study is on it."""
    page = _PAGE.render(title=t(title), text=t(text), style=Markup(_STYLE), language=spoken())
    return web.Response(status=status, text=page, content_type="text/html", headers=_HEADERS)
