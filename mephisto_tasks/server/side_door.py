"""A second way in: the same page, for other people than raters, at an address that only they know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.server.router import Router
from mephisto_tasks.server.security import same_token
from mephisto_tasks.server.static import plain_page
from parlai_humaneval.i18n.translate import phrase

WRONG_LINK = phrase(
    "This address is not the right one; a part of the link may be missing. Please copy the whole link once more, or "
    "ask whoever gave it to you. The right link does not change while the study goes on."
)


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
    return plain_page(403, "Wrong link", WRONG_LINK)
