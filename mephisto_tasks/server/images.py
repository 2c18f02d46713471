"""Pictures by HTTP: a page uploads one, and shows those that it is told of. Only the study's own, by their digests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import hdrs, web

from mephisto_tasks.server.agents import Agent
from mephisto_tasks.server.security import RateLimit
from mephisto_tasks.server.thread import Handler
from parlai_humaneval.display.images import MAX_BYTES, TOO_LARGE, ImageRefused, ImageStore
from parlai_humaneval.i18n.translate import phrase, t

UPLOAD_S = 120.0  # How long an upload may take, over a slow connection
UPLOADS_PER_SECOND, UPLOAD_BURST = 0.1, 12.0  # Of one agent
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
        if isinstance(request.protocol, Handler):
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
