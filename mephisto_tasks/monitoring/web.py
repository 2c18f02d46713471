"""The pages of ``watch``: drawn in the report's style, and served behind a secret to who runs the study, or to everybody."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from mephisto_tasks.control.orders import Order, Pause, RestoreModel, Resume, ResumeGroup, RetireModel, StopGroup
from mephisto_tasks.control.snapshot import GroupStatus
from mephisto_tasks.monitoring.observe import ago
from mephisto_tasks.monitoring.status import StudyStatus, kept_blind_names
from mephisto_tasks.monitoring.view import (
    COLLECTED,
    answer_table,
    checks_table,
    cost_of_more,
    decided_figures,
    decided_table,
    decided_warnings,
    inside_table,
    models_table,
    orders_words,
    progress_words,
    rater_facts,
)
from mephisto_tasks.server.security import new_token, same_token
from mephisto_tasks.server.thread import RouterThread
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.leaderboard import leaderboard_of, ranked_models
from parlai_humaneval.report.render.html import TEMPLATES as OF_REPORT
from parlai_humaneval.report.render.html import Drawing, Files, TableView, environment
from parlai_humaneval.report.render.leaderboard import to_fragment, to_served_page
from parlai_humaneval.report.summary import figure_of
from parlai_humaneval.report.views import IntervalFigure

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
LATE_S = 15.0
"""Older standings are said to be old: whoever observes may wait for a database."""


@dataclass(frozen=True)
class Button:
    """``asks``: what is said before it is done; ``order``: what is then given, as JSON."""

    key: str
    label: str
    asks: str
    order: str
    name: str = ""
    """For those who only hear the button: the label, and of what."""


@dataclass(frozen=True)
class GroupView:
    standing: GroupStatus
    title: str
    of: str
    button: Button | None
    """None: there is nothing to stop."""


@dataclass(frozen=True)
class ModelView:
    name: str
    button: Button


class Drawer:
    """Draws standings; a figure is drawn again only when its numbers have changed. ``clock``: seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._figures: dict[str, tuple[IntervalFigure, Markup]] = {}

    def page(self, standing: StudyStatus) -> str:
        return self._rendered("watch.html.j2", standing)

    def fragment(self, standing: StudyStatus) -> str:
        """What changes of the page."""
        return self._rendered("watch_main.html.j2", standing)

    def _rendered(self, template: str, standing: StudyStatus) -> str:
        draw = Drawing(Files())
        tables = (inside_table(standing), models_table(standing), checks_table(standing))
        age = self._clock() - standing.at
        words: dict[str, Any] = {
            "standing": standing,
            "late": f"What stands here is of {ago(age)} ago: the study takes long to be read." if age > LATE_S else "",
            "answers": list(self._answers(standing, draw)),
            "decided_warnings": decided_warnings(standing),
            "decided": draw.plain(decided_table(standing)) if standing.deciding is not None else None,
            "decided_figures": [self._figure(figure, draw) for figure in decided_figures(standing)],
            "groups": [_group(standing, group, number) for number, group in enumerate(standing.groups)],
            "groups_title": COLLECTED,
            "models": list(_models(standing)),
            "more_asks": cost_of_more(standing),
            "pause": _pause_or_resume(standing),
            "progress": progress_words(standing),
            "facts": rater_facts(standing),
            "orders": orders_words(standing),
            "tables": {table.key: draw.plain(table) for table in tables if table.rows},
            "rows_named": 0,
        }
        page: str = _templates().get_template(template).render(words)
        return page

    def _answers(self, standing: StudyStatus, draw: Drawing) -> Iterator[tuple[str, TableView | None, Markup | None]]:
        for number, answer in enumerate(standing.answers):
            table = answer_table(answer)
            figure = figure_of([answer.summary.model_copy(update={"models": []})])
            svg = None if figure is None else self._figure(figure.model_copy(update={"key": f"pairs_{number}"}), draw)
            yield answer.name, draw.plain(table) if table.rows else None, svg

    def _figure(self, figure: IntervalFigure, draw: Drawing) -> Markup:
        known = self._figures.get(figure.key)
        if known is None or known[0] != figure:
            known = self._figures[figure.key] = (figure, draw.figure(figure).svg)
        return known[1]


@lru_cache(maxsize=1)
def _templates() -> Environment:
    ours = environment().overlay(loader=FileSystemLoader([str(TEMPLATES), *environment().loader.searchpath]))
    assert ours.autoescape
    return ours


def _json(order: Order) -> str:
    return order.model_dump_json(exclude={"order_id", "at", "by", "base"})


def _pause_or_resume(standing: StudyStatus) -> Button | None:
    """None where nobody new comes in anyway: nothing runs, all is there, or the answer is reached.

    Whoever paused the study before its launch ended can still take that back: it holds for the next launch.
    """
    if standing.state == "paused" or (not standing.is_alive and _was_paused(standing)):
        return Button("resume", "Resume", "New workers may come in again.", _json(Resume()))
    is_over = standing.deciding is not None and standing.deciding.standing.ended is not None
    is_needed = standing.is_alive and standing.state != "ending" and standing.remaining != 0 and not is_over
    return _pause() if is_needed else None


def _was_paused(standing: StudyStatus) -> bool:
    kinds = [order.kind for order in standing.orders if order.kind in ("pause", "resume")]
    return kinds[-1:] == ["pause"]


def _pause() -> Button:
    asks = (
        "Nobody new may come in until you resume. Who is inside goes on and finishes. It holds for later launches, too."
    )
    return Button("pause", "Pause", asks, _json(Pause()))


def _group(standing: StudyStatus, group: GroupStatus, number: int) -> GroupView:
    """A group can be stopped while a launch gives it out; what was stopped can go on, from the next launch on at least."""
    title, of = " vs ".join(group.models), ", ".join(filter(None, (group.metric, group.setting)))
    named = f"{title} ({of})"
    is_given_out = standing.is_alive and (group.wanted is None or group.completed < group.wanted)
    button: Button | None = None
    if group.stopped is None and is_given_out:
        asks = f"No new ones of {named} are given out; those under way finish. What is there stays and counts."
        order: Order = StopGroup(models=group.models, setting=group.setting)
        button = Button(f"group-{number}", "Stop", asks, _json(order), f"Stop {named}")
    elif group.stopped is not None:
        asks = f"New ones of {named} are given out again."
        order = ResumeGroup(models=group.models, setting=group.setting)
        button = Button(f"group-{number}", "Go on", asks, _json(order), f"Go on with {named}")
    return GroupView(group, title, of, button)


def _models(standing: StudyStatus) -> Iterator[ModelView]:
    retired: Mapping[str, bool] = {one.model: one.retired for one in standing.models}
    for number, name in enumerate(sorted({model for group in standing.groups for model in group.models})):
        if standing.is_alive or retired.get(name, False):
            yield _model(name, number, is_retired=retired.get(name, False))


def _model(name: str, number: int, *, is_retired: bool) -> ModelView:
    if is_retired:
        button = Button(
            f"model-{number}", "Bring back", f"Groups with {name} are given out again.", _json(RestoreModel(model=name))
        )
    else:
        asks = f"Every pair (group) with {name} is stopped; those under way finish. What is there stays and counts."
        button = Button(f"model-{number}", "Retire", asks, _json(RetireModel(model=name)))
    return ModelView(name, Button(**{**button.__dict__, "name": f"{button.label} {name}"}))


ORDER_HEADER = "X-Parlai-Humaneval"
"""A page of another site cannot send it without being asked whether it may, which it may not."""
MAX_ORDER = 16 * 1024
ORDER_KEYS = {"kind", "models", "setting", "number", "model"}
"""What the page may say of an order; who gave it, and when, it may not."""
AGREED = "agreed"
"""Beside them: the words that were agreed to."""
_ORDER: TypeAdapter[Order] = TypeAdapter(Order)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    hdrs.CACHE_CONTROL: "no-store",
}
"""Figures have their colours in attributes of style; nothing else may be inline, and nothing may come from elsewhere."""
FILES: Mapping[str, tuple[Path, str]] = {
    "report.css": (OF_REPORT / "report.css", "text/css"),
    "watch.css": (STATIC / "watch.css", "text/css"),
    "live.js": (STATIC / "live.js", "text/javascript"),
    "steer.js": (STATIC / "steer.js", "text/javascript"),
}
PUBLIC_FILES = ("report.css", "live.js")

WRONG_LINK = (
    "This link is not right. Use the one that `parlai-humaneval watch --page` printed when it was started last."
)
WRONG_HOST = "This page is served for this machine only, under its own address."
NOT_FROM_HERE = "Orders are taken from this page only."


@dataclass(frozen=True)
class Told:
    """What became of an order; ``asks``: nothing yet, the words must be agreed to first."""

    words: str
    asks: bool = False


Give = Callable[[Order, str], Told]
"""Gives an order to the study, if the words that came with it are those that are to be agreed to."""
Draw = Callable[[], str]
"""Makes HTML; called in a thread, so that no request waits for the drawing of another one's figures."""


def watch_app(secret: str, page: Draw, part: Draw, give: Give) -> web.Application:
    """The page behind a secret; served on this machine only. ``part``: what changes of ``page``."""

    async def order(request: web.Request) -> web.Response:
        if not _is_from_page(request):
            return _told(Told(NOT_FROM_HERE), 403)
        try:
            given, agreed = _read_order(await request.read())
        except ValueError as error:
            return _told(Told(f"That is no order: {error}"), 400)
        return _told(await asyncio.to_thread(give, given, agreed), 200)

    def guarded(handler: Handler) -> Handler:
        async def checked(request: web.Request) -> web.StreamResponse:
            if not same_token(request.match_info["secret"], secret):
                return web.Response(status=403, text=WRONG_LINK)
            return await handler(request)

        return checked

    app = web.Application(client_max_size=MAX_ORDER, middlewares=[_this_machine_only])
    app.on_response_prepare.append(_add_headers)
    app.add_routes([web.get(f"/{{secret}}/{name}", guarded(_file(name))) for name in FILES])
    app.add_routes(
        [
            web.get("/{secret}/", guarded(_html(page))),
            web.get("/{secret}/part", guarded(_html(part))),
            web.post("/{secret}/order", guarded(order)),
            web.get("/{rest:.*}", _wrong_link),
        ]
    )
    return app


def public_app(page: Draw, part: Draw) -> web.Application:
    """The leaderboard: read only, without a secret, wherever it is served."""
    app = web.Application(client_max_size=0)
    app.on_response_prepare.append(_add_headers)
    app.add_routes([web.get(f"/{name}", _file(name)) for name in PUBLIC_FILES])
    app.add_routes([web.get("/", _html(page)), web.get("/part", _html(part))])
    return app


def _html(draw: Draw) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(text=await asyncio.to_thread(draw), content_type="text/html", charset="utf-8")

    return handle


def _file(name: str) -> Handler:
    path, kind = FILES[name]

    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(text=path.read_text(encoding="utf-8"), content_type=kind, charset="utf-8")

    return handle


async def _wrong_link(_: web.Request) -> web.StreamResponse:
    return web.Response(status=403, text=WRONG_LINK)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.popall(hdrs.SERVER, None)


@web.middleware
async def _this_machine_only(request: web.Request, handler: Handler) -> web.StreamResponse:
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


def _is_from_page(request: web.Request) -> bool:
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
        raise ValueError("it is not JSON.") from None
    agreed = said.pop(AGREED, "") if isinstance(said, dict) else ""
    if not isinstance(said, dict) or not said.keys() <= ORDER_KEYS or not isinstance(agreed, str):
        raise ValueError(f"it may have {', '.join(sorted(ORDER_KEYS))}, and nothing else.")
    try:
        return _ORDER.validate_python({**said, "by": "page"}), agreed
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "kind"
        raise ValueError(f"{where}: {first['msg']}.") from None


def _told(told: Told, status: int) -> web.Response:
    return web.json_response({"words": told.words, **({"asks": True} if told.asks else {})}, status=status)


LOCAL = "127.0.0.1"


class WatchPage:
    """The page behind a secret. Only :meth:`show` is called by who observes; everything else by the server's threads."""

    def __init__(self, first: StudyStatus, give: Give) -> None:
        self._standing, self._give = first, give
        self._drawer = Drawer()
        self._lock = threading.Lock()
        self._secret = new_token()

    def show(self, standing: StudyStatus) -> None:
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
