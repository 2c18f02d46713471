"""The pages of ``watch``: drawn in the report's style, and served to researchers with a secret, or to everybody."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import mimetypes
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from mephisto_tasks.control.orders import Order
from mephisto_tasks.monitoring import view
from mephisto_tasks.monitoring.observe import ago
from mephisto_tasks.monitoring.status import StudyStatus, kept_blind_names
from mephisto_tasks.server.security import new_token, same_token
from mephisto_tasks.server.thread import RouterThread
from parlai_humaneval._util.errors import HumanevalError, InvalidValue, value_problem
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.html import TEMPLATES as OF_REPORT
from parlai_humaneval.report.render.html import Drawing, TableView, environment
from parlai_humaneval.report.render.leaderboard import leaderboard_of, ranked_models, to_fragment, to_page
from parlai_humaneval.report.summary import figure_of
from parlai_humaneval.report.views import IntervalFigure
from parlai_humaneval.viewer.write import PAGE

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
LATE_S = 15.0  # older states are marked as old: the observing thread may wait for a database


class Drawer:
    """Draws standings; a figure is drawn again only when its numbers have changed. ``clock``: seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._figures: dict[str, tuple[IntervalFigure, Markup]] = {}

    def page(self, standing: StudyStatus) -> str:
        return self._rendered("watch.html.j2", standing)

    def fragment(self, standing: StudyStatus) -> str:
        """The part of the page that changes."""
        return self._rendered("watch_main.html.j2", standing)

    def _rendered(self, template: str, standing: StudyStatus) -> str:
        draw = Drawing()
        tables = (view.inside_table(standing), view.models_table(standing), view.checks_table(standing))
        age, models = self._clock() - standing.at, {model for group in standing.groups for model in group.models}
        words: dict[str, Any] = {
            "standing": standing,
            "late": f"These numbers are {ago(age)} old: reading the study takes a while." if age > LATE_S else "",
            "answers": list(self._answers(standing, draw)),
            "decided_warnings": view.decided_warnings(standing),
            "decided": draw.table(view.decided_table(standing)) if standing.deciding is not None else None,
            "decided_figures": [self._figure(figure, draw) for figure in view.decided_figures(standing)],
            "groups_title": view.COLLECTED,
            "group_words": view.group_words,
            "models": sorted(models),
            "retired": models & {one.model for one in standing.models if one.retired},
            "order": _order,
            "more_asks": view.cost_of_more(standing),
            "pause": _pause_button(standing),
            "progress": view.progress_words(standing),
            "facts": list(view.rater_facts(standing)),
            "orders": view.orders_words(standing),
            "tables": {table.key: draw.table(table) for table in tables if table.rows},
            "rows_named": 0,
        }
        page: str = _templates().get_template(template).render(words)
        return page

    def _answers(self, standing: StudyStatus, draw: Drawing) -> Iterator[tuple[str, TableView | None, Markup | None]]:
        for number, answer in enumerate(standing.answers):
            table = view.answer_table(answer)
            figure = figure_of([answer.summary.model_copy(update={"models": []})])
            svg = None if figure is None else self._figure(figure.model_copy(update={"key": f"pairs_{number}"}), draw)
            yield answer.name, draw.table(table) if table.rows else None, svg

    def _figure(self, figure: IntervalFigure, draw: Drawing) -> Markup:
        known = self._figures.get(figure.key)
        if known is None or known[0] != figure:
            known = self._figures[figure.key] = (figure, draw.figure(figure))
        return known[1]


@lru_cache(maxsize=1)
def _templates() -> Environment:
    ours = environment().overlay(loader=FileSystemLoader([str(TEMPLATES), *environment().loader.searchpath]))
    assert ours.autoescape
    return ours


def _order(kind: str, **words: object) -> str:
    order = _ORDER.validate_python({"kind": kind, **words})
    return order.model_dump_json(exclude={"order_id", "at", "by", "base"})


def _pause_button(standing: StudyStatus) -> str:
    """“pause”, “resume”, or none where nobody new comes in anyway. A pause can be taken back after its launch has ended."""
    was_paused = [order.kind for order in standing.orders if order.kind in ("pause", "resume")][-1:] == ["pause"]
    if standing.state == "paused" or (not standing.is_alive and was_paused):
        return "resume"
    is_over = standing.deciding is not None and standing.deciding.standing.ended is not None
    return "" if not standing.is_alive or standing.state == "ending" or standing.remaining == 0 or is_over else "pause"


ORDER_HEADER = "X-Parlai-Humaneval"
"""A page of another site cannot send it without being asked whether it may, which it may not."""
MAX_ORDER = 16 * 1024
ORDER_KEYS = {"kind", "models", "setting", "number", "model"}
"""Fields of an order that the page may set; it may not set the source and the time."""
AGREED = "agreed"  # also the text that was agreed to
_ORDER: TypeAdapter[Order] = TypeAdapter(Order)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    hdrs.CACHE_CONTROL: "no-store",
}  # figures have their colours in attributes of style; nothing else may be inline, and nothing may come from elsewhere
FILES: Mapping[str, tuple[Path, str]] = {
    "report.css": (OF_REPORT / "report.css", "text/css"),
    "watch.css": (STATIC / "watch.css", "text/css"),
    "live.js": (STATIC / "live.js", "text/javascript"),
    "steer.js": (STATIC / "steer.js", "text/javascript"),
}
PUBLIC_FILES = ("report.css", "live.js")

WRONG_LINK = "This link is not valid. Use the link that `parlai-humaneval watch --page` printed when it last started."
WRONG_HOST = "This page can only be opened on this machine, at its own address."
NOT_FROM_HERE = "Only this page can send orders."


@dataclass(frozen=True)
class Told:
    """What became of an order; ``asks``: nothing yet, the words must be agreed to first."""

    words: str
    asks: bool = False


Give = Callable[[Order, str], Told]
"""Gives an order to the study, if the words that came with it are those that are to be agreed to."""
Draw = Callable[[], str]
"""Makes HTML; called in a thread, so that no request waits for the drawing of another one's figures."""

KEPT_S = 20.0  # so long the viewer's files are served as they were read, then read again when its page is opened


class LiveViewer:
    """The viewer of a study that may still run. ``read``: its files as it stands, which takes seconds in a large study."""

    def __init__(self, read: Callable[[], Iterable[tuple[str, bytes]]]) -> None:
        self._read = read
        self._files: dict[str, bytes] = {}
        self._read_at = -KEPT_S
        self._lock = threading.Lock()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        try:
            content = await asyncio.to_thread(self._file, name)
        except HumanevalError as error:
            return web.Response(status=503, text=str(error))
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        if content is None:
            return web.Response(status=404, text="The viewer has no such file.")
        return web.Response(body=content, content_type=kind, charset="utf-8")

    def _file(self, name: str) -> bytes | None:
        with self._lock:
            if not self._files or (name == PAGE and time.monotonic() - self._read_at > KEPT_S):
                self._files = dict(self._read())
                self._read_at = time.monotonic()
            return self._files.get(name)


def watch_app(secret: str, page: Draw, part: Draw, give: Give, viewer: LiveViewer) -> web.Application:
    """The page behind a secret; served on this machine only. ``part``: what changes of ``page``."""

    async def order(request: web.Request) -> web.Response:
        if not is_from_page(request):
            return _told(Told(NOT_FROM_HERE), 403)
        try:
            given, agreed = _read_order(await request.read())
        except ValueError as error:
            return _told(Told(f"This order is not valid: {error}."), 400)
        return _told(await asyncio.to_thread(give, given, agreed), 200)

    pages: dict[str, Handler] = {"": _html(page), "part": _html(part), "viewer/{name:.+}": viewer}
    return behind(secret, {**pages, **{name: _file(name) for name in FILES}}, {"order": order}, MAX_ORDER, WRONG_LINK)


def behind(
    secret: str, pages: Mapping[str, Handler], orders: Mapping[str, Handler], most: int, wrong_link: str
) -> web.Application:
    """Pages, and what is posted (``most`` bytes), below ``/SECRET/``, on this machine only; else ``wrong_link``."""

    async def refuse(request: web.Request) -> web.StreamResponse:
        is_icon = request.path == "/favicon.ico"  # asked for without the secret; a refusal is an error in the console
        return web.Response(status=204) if is_icon else web.Response(status=403, text=wrong_link)

    async def add_slash(_: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"{secret}/")

    def guarded(handler: Handler) -> Handler:
        async def checked(request: web.Request) -> web.StreamResponse:
            return await (handler if same_token(request.match_info["secret"], secret) else refuse)(request)

        return checked

    app = web.Application(client_max_size=most, middlewares=[this_machine_only])
    app.on_response_prepare.append(_add_headers)
    app.add_routes([web.get(f"/{{secret}}/{name}", guarded(handler)) for name, handler in pages.items()])
    app.add_routes([web.post(f"/{{secret}}/{name}", guarded(handler)) for name, handler in orders.items()])
    app.add_routes([web.get("/{secret}", guarded(add_slash)), web.get("/{rest:.*}", refuse)])
    return app


def public_app(page: Draw, part: Draw) -> web.Application:
    """The leaderboard: read only, without a secret, wherever it is served."""
    app = web.Application(client_max_size=0)
    app.on_response_prepare.append(_add_headers)
    app.add_routes([web.get(f"/{name}", _file(name)) for name in PUBLIC_FILES])
    app.add_routes([web.get("/", _html(page)), web.get("/part", _html(part))])
    return app


def _html(draw: Draw, kind: str = "text/html") -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(text=await asyncio.to_thread(draw), content_type=kind, charset="utf-8")

    return handle


def _file(name: str) -> Handler:
    path, kind = FILES[name]
    return _html(partial(path.read_text, encoding="utf-8"), kind)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.popall(hdrs.SERVER, None)


@web.middleware
async def this_machine_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A name of another site that leads to this machine (DNS rebinding) is refused, whatever it asks for."""
    if not is_this_machine(request.headers.get(hdrs.HOST, "")):
        return web.Response(status=403, text=WRONG_HOST)
    return await handler(request)


def is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine itself: an address of the loop, or “localhost”; with any port."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    name = name.strip("[]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def is_from_page(request: web.Request) -> bool:
    """Whether a request is of the page's own script: a form cannot be, nor can the script of another site."""
    said = request.headers
    return (
        said.get(ORDER_HEADER) == "order"
        and request.content_type == "application/json"
        and said.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        and said.get(hdrs.ORIGIN) in (None, f"{request.scheme}://{request.host}")
    )


def _read_order(body: bytes) -> tuple[Order, str]:
    try:
        said: Any = json.loads(body)
    except ValueError:
        raise InvalidValue("it is not JSON") from None
    agreed = said.pop(AGREED, "") if isinstance(said, dict) else ""
    if not isinstance(said, dict) or not said.keys() <= ORDER_KEYS or not isinstance(agreed, str):
        raise InvalidValue(f"it can only contain {', '.join(sorted(ORDER_KEYS))}")
    try:
        return _ORDER.validate_python({**said, "by": "page"}), agreed
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "kind"
        raise InvalidValue(value_problem(first), where=where) from None


def _told(told: Told, status: int) -> web.Response:
    return web.json_response({"words": told.words, **({"asks": True} if told.asks else {})}, status=status)


LOCAL = "127.0.0.1"


class WatchPage:
    """The page behind a secret. Only the observing thread calls `show`; the server's threads call everything else."""

    def __init__(
        self, first: StudyStatus, give: Give, read_viewer: Callable[[], Iterable[tuple[str, bytes]]] = tuple
    ) -> None:
        self._standing, self._give = first, give
        self._viewer = LiveViewer(read_viewer)
        self._drawer = Drawer()
        self._lock = threading.Lock()
        self._secret = new_token()

    def show(self, standing: StudyStatus) -> None:
        self._standing = standing

    def app(self) -> web.Application:
        page, part = (partial(self._drawn, draw) for draw in (self._drawer.page, self._drawer.fragment))
        return watch_app(self._secret, page, part, self._give, self._viewer)

    def path(self) -> str:
        return f"/{self._secret}/"

    def _drawn(self, draw: Callable[[StudyStatus], str]) -> str:
        with self._lock:
            return draw(self._standing)


class LeaderboardPage:
    """The leaderboard for everybody; drawn once for each document. ``blind_in``: folder of models' blind names, if any."""

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
                drawn = to_page(board, served=True) if what == "page" else to_fragment(board)
                known = self._drawn[what] = document, drawn
            return known[1]


def serve(app: web.Application, port: int, host: str = LOCAL) -> tuple[str, Callable[[], None]]:
    """Serve from a thread: the address, and what ends it. Raises PortInUse, CannotListen."""
    server = RouterThread(app, host, port, option="--port …")
    server.start()
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.port}", server.stop
