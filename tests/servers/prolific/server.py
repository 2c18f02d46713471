"""The stand-in: a server in a thread of this process, on this machine only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import aiohttp
from aiohttp import web

from ..mechanics import Call, Clock, Fault, ServerThread, cut_line
from . import others, studies, submissions  # they register their routes
from .errors import BUSY, BUSY_FOR_A_SECOND, NO_TOKEN, WRONG_TOKEN, ApiError, not_found
from .market import Market
from .records import Charge, Event, Person, Project, User, Workspace
from .signing import hook_signature, public_keys
from .site import ParticipantSite
from .wire import Ask, Route, match, paths

__all__ = ["TOKEN", "StandIn", "others", "studies", "submissions"]

TOKEN = "stand-in-token-of-a-researcher"
"""Of the researcher who has a workspace from the beginning."""
API = "/api/v1/"
LOOK_S = 0.1
"""So often is looked whether anything is due that nobody asked for, such as calls of hooks."""
RETRY_S = 60.0
"""Between calls of a hook, doubled each time."""


class StandIn(ServerThread):
    """``with StandIn() as prolific:`` a server that answers as Prolific would.

    ``prolific.base``: for ``PROLIFIC_API``. ``prolific.market``: all that it knows, and what participants do without a
    browser; ``.market.unknowns`` has the switches for what nobody knows of the real one. ``prolific.faults``: what is to go
    wrong. ``prolific.journal``: what was asked. ``prolific.charges``: who was paid what. ``prolific.clock``: to let time
    pass.
    """

    def __init__(
        self, *, currency: str = "GBP", balance: int = 100_00, port: int = 0, seed: int = 0, **workspace: Any
    ) -> None:
        super().__init__(port)
        self.market = Market(seed)
        self.workspace: Workspace = self.market.open_workspace(TOKEN, currency=currency, total=balance, **workspace)
        self.token = TOKEN

    @property
    def clock(self) -> Clock:
        return self.market.clock

    @property
    def base(self) -> str:
        """Where the API begins."""
        return f"{self.url}{API}"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to take this for Prolific."""
        return {"PROLIFIC_API": self.base, "PROLIFIC_TOKEN": TOKEN}

    @property
    def project(self) -> Project:
        """The workspace's first."""
        return self.market.project_of(self.workspace)

    @property
    def charges(self) -> list[Charge]:
        """All that left the workspace, in order."""
        with self.market.lock:
            self.market.pass_time()
            return list(self.workspace.charges)

    def participant(self, person_id: str = "", **about: Any) -> Participant:
        """Somebody who takes part, without a browser. ``about``: their answers, as of :meth:`.Market.add_person`."""
        known = self.market.people.get(person_id)
        return Participant(self.market, known if known and not about else self.market.add_person(person_id, **about))

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [
            web.get("/.well-known/study/jwks.json", _keys),
            web.route("*", API + "{path:.*}", self._answer),
            *ParticipantSite(self.market).routes(),
        ]

    async def begin(self) -> None:
        self._hooks = asyncio.get_running_loop().create_task(self._call_hooks())

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        known = match(request.method, path)
        raw = await request.read()
        body = _json(raw)
        names = [f"{request.method} {path}" if known is None else known[0].operation]
        if isinstance(body, dict) and isinstance(body.get("action"), str):
            names.insert(0, f"{names[0]} {body['action']}")
        fault = self.faults.fate(*names)
        if fault.wait_s:
            await asyncio.sleep(fault.wait_s)
        if fault.cut == "before":
            self._note(names[0], request, body, "cut before")
            return cut_line(request)
        outcome = "cut after" if fault.cut else "ok"
        try:
            answer = self._do(request, path, known, raw, body, fault)
            if fault.error_after is not None:
                raise fault.error_after
        except ApiError as error:
            outcome = str(error.status)
            answer = self._refusal(error)
        finally:
            self._note(names[0], request, body, outcome)
        return cut_line(request) if fault.cut else answer

    def _do(
        self,
        request: web.Request,
        path: str,
        known: tuple[Route, tuple[str, ...]] | None,
        raw: bytes,
        body: Any,
        fault: Fault,
    ) -> web.Response:
        if self.throttle.is_too_much():
            raise BUSY_FOR_A_SECOND if self.market.unknowns.retry_after else BUSY
        user = self._user(request)
        request["user"] = user.id
        if fault.error is not None:
            raise fault.error
        if known is None:
            if not path.endswith("/") and paths(f"{path}/") and self.market.unknowns.slash_redirects:
                return web.Response(status=301, headers={"Location": f"{request.path}/"})
            raise ApiError(405, f'Method "{request.method}" not allowed.') if paths(path) else not_found("route")
        if raw and body is None:
            raise ApiError(400, "JSON parse error.")
        route, ids = known
        ask = Ask(self.market, user, ids, request.query, body, f"{self.url}{request.path}")
        with self.market.lock:
            self.market.pass_time()
            content = route.handler(ask)
            headers = {}
            if route.operation == "POST hooks/subscriptions/":
                headers["X-Hook-Secret"] = self.market.subscriptions[content["id"]].secret
            if fault.change is not None:
                content = fault.change(content)
        if content is None:
            return web.Response(status=route.status)
        if isinstance(content, str):
            return web.Response(status=route.status, text=content, headers=headers)
        return web.json_response(content, status=route.status, headers=headers)

    def _user(self, request: web.Request) -> User:
        given = request.headers.get("Authorization", "")
        if not given.startswith("Token "):
            raise NO_TOKEN
        user = self.market.tokens.get(given.removeprefix("Token "))
        if user is None:
            raise WRONG_TOKEN
        return self.market.users[user]

    def _refusal(self, error: ApiError) -> web.Response:
        headers = {"Retry-After": error.retry_after} if error.retry_after else {}
        kind = "text/html" if error.html else "application/json"
        text = error.body(self.market.unknowns.error_shape)
        return web.Response(status=error.status, text=text, content_type=kind, headers=headers)

    def _note(self, name: str, request: web.Request, body: Any, outcome: str) -> None:
        """``params``: the path, and what stands behind it and in the body."""
        params = {"path": request.match_info["path"], **request.query, **(body if isinstance(body, dict) else {})}
        self.journal.calls.append(Call(name, params, str(request.get("user", "")), self.clock.now(), outcome))

    async def _call_hooks(self) -> None:
        """Tell hooks what they wait for, for as long as the server runs."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while True:
                await asyncio.sleep(LOOK_S)
                if not self.market.subscriptions:
                    continue
                self.market.pass_time()
                now = self.clock.now()
                for event in [e for e in self.market.events if e.status == "PENDING" and e.due <= now]:
                    await self._call_hook(session, event)

    async def _call_hook(self, session: aiohttp.ClientSession, event: Event) -> None:
        body = json.dumps(event.body).encode()
        moment = str(int(self.clock.now()))
        secret = self.market.secrets[event.subscription.workspace]["value"]
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Timestamp": moment,
            "X-Prolific-Request-Signature": hook_signature(secret, moment, body),
            "X-Event-ID": event.id,
            "X-Timestamp": str(event.at),
        }
        event.tries += 1
        try:
            async with session.post(event.subscription.target_url, data=body, headers=headers) as answer:
                taken = answer.status // 100 == 2
        except (aiohttp.ClientError, asyncio.TimeoutError):
            taken = False
        if taken:
            event.status = "SUCCEEDED"
        elif event.tries >= self.market.unknowns.hook_tries:
            event.status = "FAILED"
        else:
            event.due = self.clock.now() + RETRY_S * 2 ** (event.tries - 1)


class Participant:
    """Somebody who takes part, without a browser, in one study after another."""

    def __init__(self, market: Market, person: Person) -> None:
        self._market = market
        self.person = person
        self.submission_id = ""

    @property
    def id(self) -> str:
        return self.person.id

    @property
    def status(self) -> str | None:
        """Of the last submission; None: it lapsed."""
        self._market.pass_time()
        submission = self._market.submission(self.submission_id)
        return None if submission is None else submission.status

    @property
    def earned(self) -> int:
        """Sub-currency, in all."""
        self._market.pass_time()
        every = (charge for workspace in self._market.workspaces.values() for charge in workspace.charges)
        return sum(charge.price.amount for charge in every if charge.participant == self.id)

    def studies(self) -> list[str]:
        """Those offered."""
        return [study.id for study in self._market.offered(self.id)]

    def reserve(self, study: str = "") -> str:
        """Take a place; the submission. Raises NotAllowed."""
        self.submission_id = self._market.reserve(self.id, study or next(iter(self.studies()), "")).id
        return self.submission_id

    def open(self) -> str:
        """Open the link of the place that was taken."""
        return self._market.open(self.submission_id)

    def take(self, study: str = "") -> str:
        """Take a place, and open its link."""
        self.reserve(study)
        return self.open()

    def hand_in(self, code: str | None) -> None:
        """Enter a code; None: “no code”."""
        self._market.hand_in(self.submission_id, code)

    def follow(self, link: str) -> None:
        """Go back by a link that holds a code."""
        self.hand_in(link.partition("cc=")[2] or None)

    def give_back(self) -> None:
        """Return the place."""
        self._market.give_back(self.submission_id)

    def writes(self, text: str, study: str = "", category: str = "other") -> None:
        """Send a message to the researchers."""
        self._market.write(self.id, text, study, category)


async def _keys(request: web.Request) -> web.Response:
    return web.json_response(public_keys())


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None
