"""The router as an aiohttp application: the HTTP routes of ``PROTOCOL.md`` and its websocket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from mephisto_tasks.server import packets, security
from mephisto_tasks.server.agents import Agent, Connection
from mephisto_tasks.server.hosts import ONLY_HERE, Hosts, PagePolicy
from mephisto_tasks.server.router import OperatorSilent, Router
from mephisto_tasks.server.static import ImageRoutes, SideDoor, StaticFiles, plain_page
from parlai_humaneval.display.images import SUFFIX, ImageStore
from parlai_humaneval.i18n.translate import Offered, phrase, phrases, speaking, t

logger = logging.getLogger(__name__)

_PING_S = 25.0
_LONGEST_PAUSE_S = 5.0
_ALIVE_S = 20.0  # How long a websocket may be open before it says for whom it speaks
_FLOOD_S = 0.5  # How long a connection on which too much came is read until it is closed
_HARD_LIMIT = 4 * packets.MAX_BODY
"""aiohttp cuts the connection here without a word; between ``MAX_BODY`` and this, the page gets a reason."""

UNKNOWN = "unknown"
"""Why a page is not admitted whose agent is unknown here: it may be of an earlier launch, and register again."""
PHRASES = phrases(__file__)
NOT_ADMITTED = PHRASES["not_admitted"]
TOO_LONG = f"That message is longer than {packets.MAX_BODY // 1024} kB and was not accepted."
TOO_FAST = phrase("Too many messages arrived at once, so the connection was closed. You can reconnect.")
TOO_SLOW = phrase("The rest of that request did not arrive in time. Please try again.")
UNREADABLE = "The request cannot be read: it was cut off, or its encoding does not match its headers."
NEVER_ALIVE = "This connection does not name its agent, so it is closed."
NOT_TEXT = "Only text messages are accepted here, not files."


@dataclass(eq=False, repr=False)
class PageSockets:
    _router: Router
    _all: security.RateLimit = field(
        default_factory=lambda: security.RateLimit(security.ALL_ANSWERS_PER_SECOND, security.ALL_ANSWERS_BURST)
    )

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=_PING_S, max_msg_size=_HARD_LIMIT)
        await socket.prepare(request)
        transport = request.transport
        connection = Connection(socket, (lambda: None) if transport is None else transport.abort)
        silent = asyncio.get_running_loop().call_later(_ALIVE_S, self._end_silent, connection)
        writer = asyncio.create_task(connection.write())
        self._router.opened(connection)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    if pause_s := self._take(connection, message.data):
                        await asyncio.sleep(pause_s)  # nothing more is read of this page meanwhile
                elif message.type is WSMsgType.BINARY:
                    self._refuse(connection, NOT_TEXT, WSCloseCode.UNSUPPORTED_DATA)
                if connection.closing:
                    break
        finally:
            silent.cancel()
            self._router.closed(connection)
            connection.close(WSCloseCode.OK)
            with contextlib.suppress(asyncio.CancelledError):
                await writer
        return socket

    def _end_silent(self, connection: Connection) -> None:
        if connection.agent_id is None:
            self._refuse(connection, NEVER_ALIVE, WSCloseCode.POLICY_VIOLATION)

    def _take(self, connection: Connection, text: str) -> float:
        if len(text) > packets.MAX_BODY or len(text.encode("utf-8", "surrogatepass")) > packets.MAX_BODY:
            self._refuse(connection, TOO_LONG, WSCloseCode.MESSAGE_TOO_BIG)
        elif not (self._agent_of(connection) or connection).limit.allows():
            connection.error(TOO_FAST)
            connection.close(WSCloseCode.POLICY_VIOLATION, within_s=_FLOOD_S)
        else:
            try:
                packet = packets.page_packet(text)
                self._dispatch(connection, packet)
            except packets.BadPacket as error:
                connection.error(str(error))
                return self._pause_s(connection, 1 + len(text) / security.LONG)
            if packet.packet_type in (packets.MEPHISTO_BOUND, packets.ALIVE):
                return self._pause_s(connection, 1 + len(text) / security.LONG)
        return 0.0

    def _pause_s(self, connection: Connection, cost: float) -> float:
        """The pause for an agent that sends more than others; at a human pace, there is none."""
        agent = self._agent_of(connection)
        if agent is None:
            return 0.0
        own, of_all = agent.answer_limit.wait_s(cost), self._all.wait_s(cost)
        return min(_LONGEST_PAUSE_S, max(own, of_all if agent.answer_limit.is_low else 0.0))

    def _agent_of(self, connection: Connection) -> Agent | None:
        return None if connection.agent_id is None else self._router.agents.get(connection.agent_id)

    def _dispatch(self, connection: Connection, packet: packets.PagePacket) -> None:
        if packet.packet_type == packets.ALIVE:
            claimed = self._router.agents.get(packet.subject_id)
            if claimed is None:
                self._refuse(connection, NOT_ADMITTED, WSCloseCode.POLICY_VIOLATION, fatal=True, reason=UNKNOWN)
            elif not claimed.admits(packet.of_page().agent_token):
                self._refuse(connection, NOT_ADMITTED, WSCloseCode.POLICY_VIOLATION, fatal=True)
            else:
                connection.page_id = packet.of_page().page_id
                self._router.attach(connection, claimed, packet.of_page().last_seq)
            return
        agent = self._agent_of(connection)
        if agent is None or packet.subject_id != agent.agent_id:
            raise packets.BadPacket("This connection has another agent. First send “alive” with the agent's token.")
        agent.last_seen = self._router.awake.now()
        if packet.packet_type == packets.HEARTBEAT:
            if "agent_token" in packet.data and not agent.admits(packet.of_page().agent_token):
                self._refuse(connection, NOT_ADMITTED, WSCloseCode.POLICY_VIOLATION, fatal=True)
            else:
                self._router.heartbeat(connection, agent)
        elif packet.packet_type == packets.ACK:
            agent.outbox.confirm(packet.of_page().last_seq)
        elif packet.packet_type == packets.MEPHISTO_BOUND:
            packets.validated(packets.AnswerEnvelope, packet.data)
            if agent.over:
                raise packets.BadPacket("This task has been submitted, so nothing can be changed any more.")
            agent.submitted = False  # the operator did not take the hand-in: the page goes on, and hands in again later
            self._router.forward(packets.MEPHISTO_BOUND, agent.agent_id, packet.data, packet.client_timestamp)
        elif packet.packet_type == packets.LOG_ERROR:
            if not self._router.log_error(agent, packet.data):
                raise packets.BadPacket(security.TOO_MANY_ERRORS)
        else:
            raise packets.BadPacket(f"Unknown packet type “{packet.packet_type}”.")

    @staticmethod
    def _refuse(
        connection: Connection, sentence: str, code: WSCloseCode, *, fatal: bool = False, reason: str | None = None
    ) -> None:
        connection.error(sentence, fatal=fatal, reason=reason)
        connection.close(code)


_COMPRESS_FROM = 1024
_BODY_S = 20.0  # How long the body of one request may take

SENTENCES = {
    405: phrase("This address does not accept that kind of request."),
    413: f"That request is longer than {packets.MAX_REQUEST // 1024} kB and was not accepted.",
    500: phrase("Something went wrong on our side. Please try again."),
}
_READING = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
WRONG_ADDRESS = phrase("Wrong address")
NOTHING_HERE = phrase("Nothing is here")
NOTHING_HERE_TEXT = PHRASES["nothing_here_text"]

SILENT = phrase("The study's server did not answer in time. Please try again in a minute.")
NOT_OPEN = phrase("This task is no longer open here. Please reload the page.")
NOT_OF_PAGE = phrase("This page has no access to that task. Please reload the page.")

Guard = Callable[[Handler], Handler]  # What lets some requests through to a handler, and answers the others itself
FreshIds = Callable[[], dict[str, str]]  # Makes the parameters of an address for a rater whom nobody else names


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How the pages of a launch are served: what its crowd and its settings say."""

    page: PagePolicy = ONLY_HERE
    frame_sites: Sequence[str] = ()  # other sites that may show the page
    side_door: SideDoor | None = None  # the page for other people, at a secret address
    visitors: security.Visitors = field(default_factory=security.Visitors)  # limits on requests
    guard: Guard | None = None
    site_calls: Mapping[str, Handler] = field(default_factory=dict)  # path → what answers a crowd's own calls (POST)
    hosts: Hosts = field(default_factory=Hosts)
    fresh_ids: FreshIds | None = None  # for those who press Start without any
    secure: bool = False  # it is reached by https only
    languages: Offered = field(default_factory=Offered)  # of answers
    images: ImageStore | None = None  # pictures of the study; None: it has none


def create_app(router: Router, static_dir: Path, serving: Serving | None = None) -> web.Application:
    serving = serving or Serving()
    visitors, side_door = serving.visitors, serving.side_door
    middlewares = [_speaking(serving.languages), _errors_as_json, _known_only(serving.hosts)]
    app = web.Application(client_max_size=packets.MAX_REQUEST, middlewares=middlewares)

    headers = security.security_headers(serving.page, serving.frame_sites)

    async def add(_: web.Request, response: web.StreamResponse) -> None:
        for name, value in headers.items():
            response.headers.setdefault(name, value)  # a page may have a stricter policy of its own
        response.headers.popall(hdrs.SERVER, None)

    app.on_response_prepare.append(add)
    routers = [router]
    if side_door is not None:
        routers.append(side_door.router)
        files = StaticFiles(static_dir, side_door.files)
        _Routes(side_door.router, files, visitors, side_door.guarded).add_to(app, side_door.path)
        app.add_routes([web.get(side_door.path, side_door.add_slash), *side_door.refusals()])
    browsers = security.Browsers(
        framed=bool(serving.page.frame_ancestors or serving.frame_sites), secure=serving.secure
    )
    app.add_routes([web.post(path, visitors.limited(handler)) for path, handler in serving.site_calls.items()])
    routes = _Routes(router, StaticFiles(static_dir), visitors, serving.guard, browsers, serving.fresh_ids)
    if serving.images is not None:
        routes.images = ImageRoutes(serving.images, routes.admitted)
    routes.add_to(app)

    async def life(_: web.Application) -> AsyncIterator[None]:
        for each in routers:
            each.start(asyncio.get_running_loop())
        yield

    async def say_goodbye(_: web.Application) -> None:
        for each in routers:
            each.stop()

    app.cleanup_ctx.append(life)
    app.on_shutdown.append(say_goodbye)
    return app


def _speaking(languages: Offered) -> Middleware:
    @web.middleware
    async def speak(request: web.Request, handler: Handler) -> web.StreamResponse:
        with speaking(languages.by_browser(request.headers.get(hdrs.ACCEPT_LANGUAGE, ""))):
            return await handler(request)

    return speak


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status == HTTPStatus.NOT_FOUND and request.method in _READING and _is_browser(request):
            return plain_page(error.status, NOTHING_HERE, NOTHING_HERE_TEXT)
        sentence = t(SENTENCES.get(error.status) or error.reason)
        response = _json({"error": sentence}, error.status)
        if error.status in (400, 408, 413, 422):
            response.force_close()  # the rest of the body is not worth reading
        return response
    except packets.BadPacket as error:
        return _json({"error": str(error)}, 400)
    except OperatorSilent as error:
        return _json({"error": t(str(error) or SILENT)}, 503)
    except ConnectionError:
        return _json({"error": "The connection was lost."}, 400)  # nobody is there to read it
    except Exception:
        logger.exception("Handling %s %s failed.", request.method, request.path)
        return _json({"error": t(SENTENCES[500])}, 500)


def _known_only(hosts: Hosts) -> Middleware:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = hosts.refusal(request)
        if refusal is None:
            return await handler(request)
        if request.method in _READING and _is_browser(request):
            response = plain_page(HTTPStatus.FORBIDDEN, WRONG_ADDRESS, refusal)
        else:
            response = _json({"error": refusal}, HTTPStatus.FORBIDDEN)
        response.force_close()  # no websocket will be spoken here
        return response

    return check


def _is_browser(request: web.Request) -> bool:
    """Whether a person reads the answer: browsers ask for HTML where they open an address, programs do not."""
    return "text/html" in request.headers.get(hdrs.ACCEPT, "").lower()


def _json(value: dict[str, Any], status: int = 200) -> web.Response:
    response = web.json_response(value, status=status, headers={hdrs.CACHE_CONTROL: "no-store"})
    if len(response.body or b"") >= _COMPRESS_FROM:  # type: ignore[arg-type]  # bodies here are bytes
        response.enable_compression()
    return response


async def _body(request: web.Request, model: type[packets.Model]) -> packets.Model:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(reason="Only JSON is accepted here; files cannot be uploaded.")
    if (request.content_length or 0) > packets.MAX_REQUEST:  # it need not be read to know that
        raise web.HTTPRequestEntityTooLarge(packets.MAX_REQUEST, request.content_length or 0)
    try:
        body = await asyncio.wait_for(request.read(), _BODY_S)
    except asyncio.TimeoutError as error:
        raise web.HTTPRequestTimeout(reason=TOO_SLOW) from error
    except (web.RequestPayloadError, HttpProcessingError, ValueError) as error:
        raise web.HTTPBadRequest(reason=UNREADABLE) from error
    return packets.validated(model, packets.parse_object(body))


@dataclass
class _Routes:
    """The handlers: check, hand to the router, answer. ``browsers`` None: the page alone says who it is."""

    router: Router
    files: StaticFiles
    visitors: security.Visitors
    guard: Guard | None = None
    browsers: security.Browsers | None = None
    make_fresh_ids: FreshIds | None = None
    images: ImageRoutes | None = None

    def __post_init__(self) -> None:
        self._sockets = PageSockets(self.router)

    def add_to(self, app: web.Application, below: str = "") -> None:
        posts: dict[str, Handler] = {
            "/request_agent": self.request_agent,
            "/submit_onboarding": self.submit_onboarding,
            "/submit_task": self.submit_task,
            "/submit_metadata": self.submit_metadata,
            "/log_error": self.log_error,
            **({} if self.make_fresh_ids is None else {"/fresh_ids": self.fresh_ids}),
            **({} if self.images is None else {"/upload_image": self.images.upload}),
        }
        gets: dict[str, Handler] = {
            **({} if self.images is None else {f"/images/{{digest}}{SUFFIX}": self.images.show}),
            "/is_alive": self.is_alive,
            "/health": self.health,
            "/ws": self.root,
            "/": self.root,
            "/{path:.+}": self.files.handle,
        }
        guard = self.guard or (lambda handler: handler)
        limited = self.visitors.limited
        app.add_routes([web.post(below + path, limited(guard(handler))) for path, handler in posts.items()])
        app.add_routes([web.get(below + path, guard(handler)) for path, handler in gets.items()])

    async def root(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get(hdrs.UPGRADE, "").lower() == "websocket":
            return await self.visitors.limited(self._sockets.handle)(request)
        page = await self.files.handle(request)
        if self.browsers is not None:
            self.browsers.remember(request, page)
        return page

    async def request_agent(self, request: web.Request) -> web.Response:
        body = await _body(request, packets.RequestAgentBody)
        provider_data, given = body.provider_data.model_dump(), None
        if self.browsers is not None:
            shown = self.browsers.shown(request, provider_data)
            given = None if shown else security.new_token()
            provider_data[security.SECRETS] = [given] if given is not None else shown
        details = await self.router.register(provider_data, body.client_timestamp)
        response = _json(details)
        if (seconds := details["data"].get("try_again_s")) is not None:
            response.headers[hdrs.RETRY_AFTER] = str(math.ceil(seconds))
        if self.browsers is not None and given is not None:
            self.browsers.introduce(request, response, given)
        return response

    async def fresh_ids(self, _: web.Request) -> web.Response:
        assert self.make_fresh_ids is not None
        return _json(await asyncio.to_thread(self.make_fresh_ids))

    async def submit_onboarding(self, request: web.Request) -> web.Response:
        body = await _body(request, packets.SubmitOnboardingBody)
        agent = self.admitted(body.provider_data.USED_AGENT_ID, body.agent_token)
        if not agent.practises:
            what = "This is not a practice round, so it cannot be submitted as one. The task continues."
            raise packets.BadPacket(what)
        data = body.provider_data.model_dump(exclude={"USED_AGENT_ID"})
        return _json(await self.router.submit_onboarding(agent, data, body.client_timestamp))

    async def submit_task(self, request: web.Request) -> web.Response:
        body = await _body(request, packets.SubmitTaskBody)
        agent = self.admitted(body.USED_AGENT_ID, body.agent_token)
        if agent.practises:
            what = "This is a practice round, so it cannot be submitted as a task. The practice continues."
            raise packets.BadPacket(what)
        if "files" in body.final_data:  # Mephisto would fetch what stands there
            raise packets.BadPacket("Files cannot be submitted.")
        self.router.submit_task(agent, body.final_data, body.client_timestamp)
        return _json({"status": "Submitted!"})

    async def submit_metadata(self, request: web.Request) -> web.Response:
        body = await _body(request, packets.SubmitMetadataBody)
        agent = self.admitted(body.USED_AGENT_ID, body.agent_token)
        if agent.practises or not agent.limit.allows():
            raise packets.BadPacket("Notes are not kept in a practice round." if agent.practises else TOO_FAST)
        metadata = body.metadata.model_dump(exclude_none=True)
        self.router.forward(packets.SUBMIT_METADATA, agent.agent_id, metadata, body.client_timestamp)
        return _json({"status": "Submitted metadata"})

    async def log_error(self, request: web.Request) -> web.Response:
        body = await _body(request, packets.LogErrorBody)
        agent = self.router.agents.get(body.USED_AGENT_ID or "")
        if agent is None or not agent.admits(body.agent_token):
            raise web.HTTPForbidden(reason=security.NOT_OF_A_PAGE)
        if not self.router.log_error(agent, body.error_data):
            raise web.HTTPTooManyRequests(reason=security.TOO_MANY_ERRORS)
        return _json({"status": "Error log sent!"})

    async def is_alive(self, _: web.Request) -> web.Response:
        return _json({"status": "Alive!"})

    async def health(self, _: web.Request) -> web.Response:
        return _json(self.router.health())

    def admitted(self, agent_id: str, token: str) -> Agent:
        agent = self.router.agents.get(agent_id)
        if agent is None:
            raise web.HTTPNotFound(reason=NOT_OPEN)
        if not agent.admits(token):
            raise web.HTTPForbidden(reason=NOT_OF_PAGE)
        return agent
