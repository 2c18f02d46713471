"""How a browser shows that it is the one of before: a secret in a cookie, and one that its page keeps by itself.

Either is enough. A page in the frame of another site may be allowed no cookie, and a cookie outlives a change of the port.
The operator gets what was shown beside the registration, and decides what it is worth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import hdrs, web

from mephisto_tasks.server.security import new_token

SECRETS = "browser_secrets"
"""Key in a registration's ``provider_data``: a list of what the browser shows."""
COOKIE = "humaneval_browser"
COOKIE_S = 400 * 24 * 60 * 60
"""As long as browsers keep one."""
MOST_SECRETS = 3
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,128}")
"""Shorter ones could be guessed."""


@dataclass
class Browser:
    """The browser of somebody who has none, as simulated raters: whose pages share it are one browser's."""

    secret: str = field(default_factory=new_token, repr=False)


def usable_secrets(shown: object) -> list[str]:
    """Those of a list that are secrets at all."""
    if not isinstance(shown, list):
        return []
    secrets = (one for one in shown if isinstance(one, str) and _SECRET.fullmatch(one))
    return list(dict.fromkeys(secrets))[:MOST_SECRETS]


class Browsers:
    """Gives each browser its cookie, and reads it again.

    Args:
        framed: the page stands in frames of other sites, where a cookie has to be marked as theirs.
        secure: the study is reached by https only.
    """

    def __init__(self, *, framed: bool = False, secure: bool = False) -> None:
        self._framed = framed
        self._secure = secure

    def remember(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give a browser its cookie, if it has none; before the page asks for anything."""
        if _cookie(request) is None and not response.prepared:
            self._give(request, response, new_token())

    def shown(self, request: web.Request, provider_data: Mapping[str, Any]) -> list[str]:
        """What the browser shows with a registration; empty: nothing at all."""
        cookie = _cookie(request)
        by_page = usable_secrets(provider_data.get(SECRETS))
        return usable_secrets([*([] if cookie is None else [cookie]), *by_page])

    def introduce(self, request: web.Request, response: web.StreamResponse, secret: str) -> None:
        """Give a browser that showed nothing the secret by which its registration is known from now on."""
        self._give(request, response, secret)

    def _give(self, request: web.Request, response: web.StreamResponse, secret: str) -> None:
        response.set_cookie(
            COOKIE,
            secret,
            max_age=COOKIE_S,
            httponly=True,
            # Browsers take a cookie in another site's frame only so; without https, on the machine itself alone.
            samesite="None" if self._framed else "Lax",
            secure=self._framed or self._secure or request.secure,
        )
        if self._framed:  # the word is unknown to Python before 3.14
            cookie = response.cookies.pop(COOKIE).OutputString()
            response.headers.add(hdrs.SET_COOKIE, f"{cookie}; Partitioned")


def _cookie(request: web.Request) -> str | None:
    cookie = request.cookies.get(COOKIE)
    return cookie if cookie is not None and _SECRET.fullmatch(cookie) else None
