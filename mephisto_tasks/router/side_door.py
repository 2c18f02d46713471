"""A second way in: the same page, for other people than raters, at an address that only they know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.router.core import Router
from mephisto_tasks.router.security import same_token

WRONG_LINK = "This link is not right, or it is an old one. Please ask whoever gave it to you for the link of today."

_PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Wrong link</title>
    <link rel="icon" href="data:," />
  </head>
  <body>
    <main>
      <h1>Wrong link</h1>
      <p>{sentence}</p>
    </main>
  </body>
</html>
"""


@dataclass(frozen=True)
class SideDoor:
    """Everything that a page asks of a server, once more, below ``/NAME/TOKEN/``.

    ``router``: of these pages only. ``files``: file of the page → what stands in its place here (the words of the task, and
    who the visitor is).
    """

    name: str
    token: str
    router: Router
    files: Mapping[str, bytes]

    @property
    def path(self) -> str:
        """As aiohttp's routes spell it."""
        return f"/{self.name}/{{token}}"

    def url(self, base: str) -> str:
        """The secret link."""
        return f"{base.rstrip('/')}/{self.name}/{self.token}/"

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` for those who have the token; a sentence and 403 for all others."""

        async def only_with_token(request: web.Request) -> web.StreamResponse:
            if not same_token(request.match_info["token"], self.token):
                return _refused()
            return await handler(request)

        return only_with_token

    async def add_slash(self, request: web.Request) -> web.StreamResponse:
        """The page looks for its files beside it, so its address ends in a slash; a link that was copied may not."""
        if not same_token(request.match_info["token"], self.token):
            return _refused()
        return web.Response(status=302, headers={hdrs.LOCATION: f"{self.token}/"})

    def refusals(self) -> list[web.RouteDef]:
        """What is said below the name to everybody without a token."""

        async def refuse(_: web.Request) -> web.StreamResponse:
            return _refused()

        return [web.route("*", f"/{self.name}{{rest:(/.*)?}}", refuse)]


def _refused() -> web.Response:
    page = _PAGE.format(sentence=escape(WRONG_LINK))
    return web.Response(status=403, text=page, content_type="text/html", headers={hdrs.CACHE_CONTROL: "no-store"})
