"""What a browser did behind the page's back: requests, websocket frames, console, uncaught errors."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Route, WebError, WebSocket

HOME = "127.0.0.1"
NOT_LOADED = "Failed to load resource"
LINE_TROUBLE = rf"WebSocket connection to|{NOT_LOADED}: net::ERR_"
"""What Chromium itself writes to the console when the line is cut."""
ASKED_AGAIN = r"status of 503 \(.*\) at \S+/(request_agent|submit_onboarding)$"
"""And of a request that the study cannot answer yet: no place is free, or a busy machine needs more than 4 seconds. The page
says that the study is busy, and asks again by itself."""


class Watch:
    """Listens to one browser context from its first request on."""

    def __init__(self, context: BrowserContext) -> None:
        self.urls: list[str] = []
        self.received: list[str] = []
        """Websocket frames from the server, and HTTP bodies once :meth:`keep_bodies` was called."""
        self.bodies_of: list[str] = []
        self._errors: list[str] = []
        self._excused: list[str] = []
        self._context = context
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", self._weberror)
        context.on("page", self._page)

    def excuse(self, pattern: str) -> None:
        """Console errors that a test brings about on purpose."""
        self._excused.append(pattern)

    def keep_bodies(self) -> None:
        """Keep every HTTP body too (the browser itself forgets those of a page that was left)."""
        self._context.route("**/*", self._through)

    def problems(self) -> list[str]:
        """Requests to other machines, console errors and uncaught errors: empty for a page that behaves."""
        strangers = [f"request to {url}" for url in self.urls if not _at_home(url)]
        errors = [text for text in self._errors if not any(re.search(pattern, text) for pattern in self._excused)]
        return strangers + errors

    def _request(self, request: Request) -> None:
        self.urls.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            where = f" at {message.location['url']}" if message.text.startswith(NOT_LOADED) else ""
            self._errors.append(f"console {message.type}: {message.text}{where}")

    def _weberror(self, error: WebError) -> None:
        self._errors.append(f"uncaught: {error.error}")

    def _page(self, page: Page) -> None:
        page.on("websocket", self._websocket)

    def _websocket(self, socket: WebSocket) -> None:
        self.urls.append(socket.url)
        socket.on("framereceived", lambda data: self.received.append(_text(data)))

    def _through(self, route: Route) -> None:
        answer = route.fetch()
        self.bodies_of.append(route.request.url)
        self.received.append(_text(answer.body()))
        if route.request.resource_type == "document":
            route.continue_()  # Chromium denies the local network to a document that did not come from it
        else:
            route.fulfill(response=answer)


def _text(data: str | bytes) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def _at_home(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob", "about") or parts.hostname == HOME
