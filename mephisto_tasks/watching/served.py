"""What the pages of ``watch`` show and do, while the terminal's loop looks at the study."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from mephisto_tasks.router.security import new_token
from mephisto_tasks.router.thread import RouterThread
from mephisto_tasks.watching.blinding import kept_blind_names
from mephisto_tasks.watching.page.drawing import Drawer
from mephisto_tasks.watching.page.server import Give, public_app, watch_app
from mephisto_tasks.watching.standing import Standing
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.draw.leaderboard import to_fragment, to_served_page
from parlai_humaneval.report.leaderboard import leaderboard_of, ranked_models

LOCAL = "127.0.0.1"


class WatchPage:
    """The page behind a secret. Only :meth:`show` is called by who observes; everything else by the server's threads."""

    def __init__(self, first: Standing, give: Give) -> None:
        self._standing, self._give = first, give
        self._drawer = Drawer()
        self._lock = threading.Lock()
        self._secret = new_token()

    def show(self, standing: Standing) -> None:
        self._standing = standing

    def app(self) -> web.Application:
        return watch_app(self._secret, self._page, self._part, self._give)

    def path(self) -> str:
        return f"/{self._secret}/"

    def _page(self) -> str:
        with self._lock:
            return self._drawer.page(self._standing)

    def _part(self) -> str:
        with self._lock:
            return self._drawer.fragment(self._standing)


class LeaderboardPage:
    """The leaderboard that everybody may see; drawn once for each document, however many look.

    ``blind_in``: the folder in which blind names of models are kept; None: they are shown by their own.
    """

    def __init__(self, first: Document, *, title: str = "", blind_in: Path | None = None) -> None:
        self._document, self._title, self._blind_in = first, title, blind_in
        self._drawn: dict[str, tuple[Document, str]] = {}
        self._lock = threading.Lock()

    def show(self, document: Document) -> None:
        self._document = document

    def app(self) -> web.Application:
        return public_app(lambda: self._draw("page"), lambda: self._draw("part"))

    def _draw(self, what: str) -> str:
        with self._lock:
            document, known = self._document, self._drawn.get(what)
            if known is None or known[0] is not document:
                names = None if self._blind_in is None else kept_blind_names(self._blind_in, ranked_models(document))
                board = leaderboard_of(document, title=self._title, blind=names)
                known = self._drawn[what] = (document, (to_served_page if what == "page" else to_fragment)(board))
            return known[1]


def serve(app: web.Application, port: int, host: str = LOCAL) -> tuple[str, Callable[[], None]]:
    """Serve from a thread: the address, and what ends it.

    Raises:
        PortInUse, CannotListen: the message says what to do.
    """
    server = RouterThread(app, host, port)
    server.start()
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.port}", server.stop
