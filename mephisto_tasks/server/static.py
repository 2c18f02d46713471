"""The built page in memory, so that no request reaches another file; plain pages; the page at a secret address; pictures."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mephisto_tasks.server import thread
from mephisto_tasks.server.agents import Agent
from mephisto_tasks.server.router import Router
from mephisto_tasks.server.security import RateLimit, same_token
from parlai_humaneval.display.images import MAX_BYTES, TOO_LARGE, ImageRefused, ImageStore
from parlai_humaneval.i18n.translate import phrase, phrases, spoken, t

STATIC = Path(__file__).parent / "static"  # Scripts that tell the page who its rater is, one for each way of coming

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
        headers = {hdrs.ETAG: self.etag, hdrs.CACHE_CONTROL: self.cache_control, hdrs.VARY: hdrs.ACCEPT_ENCODING}
        if self.etag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        headers[hdrs.CONTENT_TYPE] = self.content_type
        if self.packed is not None and "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "").lower():
            headers[hdrs.CONTENT_ENCODING] = "gzip"
            return web.Response(body=self.packed, headers=headers)
        return web.Response(body=self.body, headers=headers)


class StaticFiles:
    """All files below ``folder``, by their ``path`` there; none is index.html. ``instead``: in place of some of them."""

    def __init__(self, folder: Path, instead: Mapping[str, bytes] = MappingProxyType({})) -> None:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
        bodies = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        self._assets = {name: _asset(name, body) for name, body in {**bodies, **instead}.items()}
        if "index.html" in self._assets:
            self._assets[""] = self._assets["index.html"]

    async def handle(self, request: web.Request) -> web.Response:
        asset = self._assets.get(request.match_info.get("path", ""))
        if asset is None:
            raise web.HTTPNotFound(reason="There is no such page.")
        return asset.respond(request)


def _asset(name: str, body: bytes) -> Asset:
    # Some systems' tables say that scripts are text/plain, which nosniff then refuses.
    is_script = PurePosixPath(name).suffix in (".js", ".mjs")
    guessed = "text/javascript" if is_script else mimetypes.guess_type(name)[0] or "application/octet-stream"
    content_type = f"{guessed}; charset=utf-8" if guessed.startswith("text/") else guessed
    packed = body
    if len(body) >= _WORTH_COMPRESSING and content_type not in _COMPRESSED_ALREADY:
        packed = gzip.compress(body, mtime=0)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    cached = _NEVER if name.endswith(".json") else _FOREVER if _HASHED.search(name) else _ASK_EACH_TIME
    return Asset(body, packed if len(packed) < len(body) else None, content_type, etag, cached)


_STYLE = (STATIC / "plain_page.css").read_text(encoding="utf-8")
"""That of the page (webapp/src/ui/tokens.css, base.css), whose files are not for those who stand outside."""
_HEADERS = {
    hdrs.CACHE_CONTROL: "no-store",
    # The style is inline, which the rest of the server forbids, so exactly this text is allowed.
    "Content-Security-Policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    f"frame-ancestors 'none'; style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
}
_PAGE = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined).get_template(
    "plain_page.html"
)


def plain_page(status: int, title: str, text: str) -> web.Response:
    page = _PAGE.render(title=t(title), text=t(text), style=Markup(_STYLE), language=spoken())
    return web.Response(status=status, text=page, content_type="text/html", headers=_HEADERS)


PHRASES = phrases(__file__)
WRONG_LINK = PHRASES["wrong_link"]


@dataclass(frozen=True)
class SideDoor:
    """All that a page asks of a server, once more, below ``/NAME/TOKEN/``; ``files``: in place of the page's here."""

    name: str
    token: str
    router: Router
    files: Mapping[str, bytes]

    @property
    def path(self) -> str:
        return f"/{self.name}/{{token}}"

    def url(self, base: str) -> str:
        return f"{base.rstrip('/')}/{self.name}/{self.token}/"

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` for those who have the token; a sentence and 403 for all others."""

        async def only_with_token(request: web.Request) -> web.StreamResponse:
            is_known = same_token(request.match_info["token"], self.token)
            return await handler(request) if is_known else _refused()

        return only_with_token

    async def add_slash(self, request: web.Request) -> web.StreamResponse:
        """The page finds its files relative to its address, which must end in a slash; a copied link may lack it."""
        if not same_token(request.match_info["token"], self.token):
            return _refused()
        return web.Response(status=302, headers={hdrs.LOCATION: f"{self.token}/"})

    def refusals(self) -> list[web.RouteDef]:
        async def refuse(_: web.Request) -> web.StreamResponse:
            return _refused()

        return [web.route("*", f"/{self.name}{{rest:(/.*)?}}", refuse)]


def _refused() -> web.Response:
    return plain_page(403, "Wrong link", WRONG_LINK)


UPLOAD_S = 120.0  # How long an upload may take, over a slow connection
UPLOADS_PER_SECOND, UPLOAD_BURST = 0.1, 12.0  # for one agent
TOO_OFTEN = phrase("Too many pictures arrived at once. Please wait a minute, then try again.")
TOO_SLOW = phrase("The picture did not arrive in time. Please try again.")
AGENT, TOKEN = "X-Agent-Id", "X-Agent-Token"
HEADERS = {
    hdrs.CACHE_CONTROL: "private, max-age=31536000, immutable",
    hdrs.CONTENT_TYPE: "image/jpeg",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(eq=False)
class ImageRoutes:
    store: ImageStore
    admitted: Callable[[str, str], Agent]
    _limits: dict[str, RateLimit] = field(default_factory=dict)

    async def show(self, request: web.Request) -> web.Response:
        content = await asyncio.to_thread(self.store.read, request.match_info["digest"])
        if content is None:
            raise web.HTTPNotFound(reason="There is no such picture.")
        return web.Response(body=content, headers=HEADERS)

    async def upload(self, request: web.Request) -> web.Response:
        """Take the body as a picture; the page names it in its message afterwards."""
        agent = self.admitted(request.headers.get(AGENT, ""), request.headers.get(TOKEN, ""))
        limit = self._limits.setdefault(agent.agent_id, RateLimit(UPLOADS_PER_SECOND, UPLOAD_BURST))
        if not self.store.uploads or agent.over:
            raise web.HTTPForbidden(reason="Pictures are not accepted here.")
        if not limit.allows():
            raise web.HTTPTooManyRequests(reason=TOO_OFTEN)
        if isinstance(request.protocol, thread.Handler):
            request.protocol.expect(MAX_BYTES)
        try:
            content = await asyncio.wait_for(_body(request), UPLOAD_S)
            image = await asyncio.to_thread(self.store.take, content)
        except asyncio.TimeoutError as error:
            raise web.HTTPRequestTimeout(reason=TOO_SLOW) from error
        except ImageRefused as error:
            raise web.HTTPUnprocessableEntity(reason=t(str(error))) from error
        return web.json_response(image.model_dump(exclude={"alt"}), headers={hdrs.CACHE_CONTROL: "no-store"})


async def _body(request: web.Request) -> bytes:
    """At most so many bytes, whatever the headers say. Raises ImageRefused."""
    content = b""
    if (request.content_length or 0) <= MAX_BYTES:
        async for chunk in request.content.iter_chunked(2**16):
            content += chunk
            if len(content) > MAX_BYTES:
                break
        else:
            return content
    raise ImageRefused(TOO_LARGE)
