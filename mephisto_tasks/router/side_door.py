"""A second way in: the same page, for other people than raters, at an address that only they know."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.router.core import Router
from mephisto_tasks.router.security import same_token

WRONG_LINK = (
    "This address is not the right one; a part of the link may be missing. Please copy the whole link once more, or ask "
    "whoever gave it to you. The right link does not change while the study goes on."
)
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
_PAGE = f"""<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Wrong link</title>
    <link rel="icon" href="data:," />
    <style>{_STYLE}</style>
  </head>
  <body>
    <main>
      <h1>Wrong link</h1>
      <p>{escape(WRONG_LINK)}</p>
    </main>
  </body>
</html>
"""
_HEADERS = {
    hdrs.CACHE_CONTROL: "no-store",
    # The style stands in the page, which the rest of the server allows nowhere: this one text of it is let in.
    "Content-Security-Policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
    f"frame-ancestors 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'",
}


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
    return web.Response(status=403, text=_PAGE, content_type="text/html", headers=_HEADERS)
