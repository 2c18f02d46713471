"""The site of participants, and a page for the researcher: studies that one may do, one's place, money, and the clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from jinja2 import Environment, FileSystemLoader

from .market import Market, NotAllowed
from .records import INSIDE, Submission

COOKIE = "participant"
PAGES = Environment(loader=FileSystemLoader(str(Path(__file__).parent / "pages")), autoescape=True)
NO_CODE = "NOCODE"


class ParticipantSite:
    """Its pages. Who signs in as a participant is one: nobody has a password here."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._login_page),
            web.post("/login", self._login),
            web.get("/studies", self._studies),
            web.post("/studies/{study}/reserve", self._reserve),
            web.get("/submissions/complete", self._complete),
            web.get("/submissions/{submission}", self._submission),
            web.get("/submissions/{submission}/open", self._open),
            web.post("/submissions/{submission}/return", self._return),
            web.post("/submissions/{submission}/code", self._code),
            web.get("/researcher", self._researcher),
            web.get("/researcher/workspaces/studies/{study}", self._study_page),
            web.get("/researcher/preview/{study}", self._preview),
            web.post("/researcher/clock", self._clock),
        ]

    async def _login_page(self, request: web.Request) -> web.Response:
        return _page("login.html", "Sign in")

    async def _login(self, request: web.Request) -> web.Response:
        given = str((await request.post()).get("participant", "")).strip()
        person = self._market.person(given or self._market.ids.new())
        answer = web.HTTPSeeOther("/studies")
        answer.set_cookie(COOKIE, person.id, httponly=True, samesite="Lax")
        raise answer

    async def _studies(self, request: web.Request) -> web.Response:
        person = _signed_in(request)
        market = self._market
        rows = [
            {
                "study": study,
                "currency": market.workspace_of(study).currency,
                "left": study.places - market.occupied(study),
            }
            for study in market.offered(person)
        ]
        past = [submission for submission in market.submissions() if submission.person == person]
        mails = market.person(person).mails
        return _page(
            "studies.html",
            "Studies",
            person=person,
            rows=rows,
            past=past,
            mails=mails,
            problem=request.query.get("problem"),
        )

    async def _reserve(self, request: web.Request) -> web.Response:
        try:
            submission = self._market.reserve(_signed_in(request), request.match_info["study"])
        except NotAllowed as error:
            raise _back(str(error)) from error
        raise web.HTTPSeeOther(f"/submissions/{submission.id}")

    async def _submission(self, request: web.Request) -> web.Response:
        submission = self._own(request)
        self._market.pass_time()
        study = submission.study
        workspace = self._market.workspace_of(study)
        return _page(
            "submission.html",
            str(study.fields["name"]),
            person=submission.person,
            submission=submission,
            study=study,
            currency=workspace.currency,
            inside=submission.status in INSIDE,
        )

    async def _open(self, request: web.Request) -> web.Response:
        submission = self._own(request)
        try:
            raise web.HTTPSeeOther(self._market.open(submission.id))
        except NotAllowed as error:
            raise _back(str(error)) from error

    async def _return(self, request: web.Request) -> web.Response:
        submission = self._own(request)
        try:
            self._market.give_back(submission.id)
        except NotAllowed as error:
            raise _back(str(error)) from error
        raise web.HTTPSeeOther(f"/submissions/{submission.id}")

    async def _code(self, request: web.Request) -> web.Response:
        submission = self._own(request)
        code = str((await request.post()).get("code", "")).strip()
        return self._handed_in(submission, code or None)

    async def _complete(self, request: web.Request) -> web.Response:
        """Where the link leads that holds a code: for the submission that the participant has just now."""
        person = _signed_in(request)
        mine = [submission for submission in self._market.submissions(*INSIDE) if submission.person == person]
        if not mine:
            raise _back("You are not taking part in any study just now.")
        code = request.query.get("cc", "")
        return self._handed_in(mine[-1], None if code in ("", NO_CODE) else code)

    def _handed_in(self, submission: Submission, code: str | None) -> web.Response:
        try:
            self._market.hand_in(submission.id, code)
        except NotAllowed as error:
            raise _back(str(error)) from error
        raise web.HTTPSeeOther(f"/submissions/{submission.id}")

    async def _researcher(self, request: web.Request) -> web.Response:
        """What the researcher sees at Prolific, and what everything costs."""
        market = self._market
        with market.lock:
            market.pass_time()
            workspaces = [
                {
                    "workspace": workspace,
                    "available": market.available(workspace),
                    "studies": [study for study in market.studies.values() if market.workspace_of(study) is workspace],
                }
                for workspace in market.workspaces.values()
            ]
        return _page("researcher.html", "Workspaces", workspaces=workspaces, market=market)

    async def _study_page(self, request: web.Request) -> web.Response:
        raise web.HTTPSeeOther(f"/researcher#{request.match_info['study']}")

    async def _preview(self, request: web.Request) -> web.Response:
        study = self._market.studies.get(request.match_info["study"])
        if study is None:
            raise web.HTTPNotFound
        raise web.HTTPSeeOther(self._market.preview(study))

    async def _clock(self, request: web.Request) -> web.Response:
        self._market.clock.move(float(str((await request.post()).get("minutes", "0"))) * 60)
        self._market.pass_time()
        raise web.HTTPSeeOther("/researcher")

    def _own(self, request: web.Request) -> Submission:
        person = _signed_in(request)
        submission = self._market.submission(request.match_info["submission"])
        if submission is None or submission.person != person:
            raise _back("This is not a place of yours.")
        return submission


def _page(template: str, title: str, **values: Any) -> web.Response:
    text = PAGES.get_template(template).render(title=title, **values)
    return web.Response(text=text, content_type="text/html")


def _signed_in(request: web.Request) -> str:
    if COOKIE not in request.cookies:
        raise web.HTTPSeeOther("/")
    return request.cookies[COOKIE]


def _back(problem: str) -> web.HTTPSeeOther:
    """To the list, where a sentence says why."""
    return web.HTTPSeeOther("/studies?" + urlencode({"problem": problem}))
