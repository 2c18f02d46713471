"""A page of a few words, for those who may not see the study: a wrong link, one that has expired, an address without one."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from aiohttp import hdrs, web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mephisto_tasks.router.static_files import STATIC
from parlai_humaneval.languages.speaking import spoken, t

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
