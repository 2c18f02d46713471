"""The site of the workers: HITs that one may do, a task in its frame, accepting, returning and submitting it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

from aiohttp import web
from jinja2 import Environment, FileSystemLoader

from .crowd import NO_ASSIGNMENT, Crowd, NotAllowed, external_url
from .records import IN_PROGRESS, Assignment, Hit

COOKIE = "worker"
PAGES = Environment(loader=FileSystemLoader(str(Path(__file__).parent / "pages")), autoescape=True)
REST_OF_THE_WINDOW = "calc(100vh - 15rem)"
"""What a requester asks for by the height 0."""


class WorkerSite:
    """Its pages. Who signs in as a worker is one: nobody has a password here."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._login_page),
            web.post("/login", self._login),
            web.get("/projects", self._projects),
            web.get("/dashboard", self._dashboard),
            web.get("/mturk/preview", self._preview),
            web.post("/mturk/accept", self._accept),
            web.get("/mturk/continue", self._continue),
            web.post("/mturk/return", self._return),
            web.post("/mturk/externalSubmit", self._submit),
        ]

    async def _login_page(self, request: web.Request) -> web.Response:
        return _page("login.html", "Sign in")

    async def _login(self, request: web.Request) -> web.Response:
        worker = str((await request.post()).get("worker", ""))
        self._crowd.worker(worker)
        answer = web.HTTPSeeOther("/projects")
        answer.set_cookie(COOKIE, worker, httponly=True, samesite="Lax")
        raise answer

    async def _projects(self, request: web.Request) -> web.Response:
        worker = _signed_in(request)
        groups: dict[str, list[Hit]] = defaultdict(list)
        for hit in self._crowd.offered(worker):
            groups[hit.type.id].append(hit)
        shown = [{"type": hits[0].type, "reward": hits[0].type.reward, "count": len(hits)} for hits in groups.values()]
        return _page("projects.html", "HITs", worker=worker, groups=shown, problem=request.query.get("problem"))

    async def _dashboard(self, request: web.Request) -> web.Response:
        worker = _signed_in(request)
        bonuses: dict[str, list[str]] = defaultdict(list)
        for account in self._crowd.accounts.values():
            for bonus in account.bonuses:
                if bonus.worker == worker:
                    bonuses[bonus.assignment].append(f"${bonus.amount}: {bonus.reason}")
        rows = [assignment for assignment in self._crowd.assignments() if assignment.worker == worker]
        mails = self._crowd.worker(worker).mails
        return _page("dashboard.html", "Your work", worker=worker, rows=rows, bonuses=bonuses, mails=mails)

    async def _preview(self, request: web.Request) -> web.Response:
        worker = _signed_in(request)
        offered = [hit for hit in self._crowd.offered(worker) if hit.type.id == request.query.get("groupId")]
        if not offered:
            raise _back("There are no more of these HITs available for you.")
        hit = offered[0]
        if not self._crowd.may("preview", worker, hit):
            raise _back("You do not meet the qualifications to preview this HIT.")
        src = _address(hit, {"assignmentId": NO_ASSIGNMENT, "hitId": hit.id})
        acceptable = self._crowd.may("accept", worker, hit)
        return _hit_page(worker, hit, src, acceptable=acceptable)

    async def _accept(self, request: web.Request) -> web.Response:
        worker = _signed_in(request)
        try:
            assignment = self._crowd.accept(worker, str((await request.post()).get("hitId", "")))
        except NotAllowed as error:
            raise _back(str(error)) from error
        raise web.HTTPSeeOther("/mturk/continue?" + urlencode({"assignmentId": assignment.id}))

    async def _continue(self, request: web.Request) -> web.Response:
        assignment = self._own(request, request.query.get("assignmentId", ""))
        hit = assignment.hit
        src = _address(
            hit,
            {
                "assignmentId": assignment.id,
                "hitId": hit.id,
                "workerId": assignment.worker,
                "turkSubmitTo": f"{request.scheme}://{request.host}",
            },
        )
        return _hit_page(assignment.worker, hit, src, assignment=assignment.id)

    async def _return(self, request: web.Request) -> web.Response:
        assignment = self._own(request, str((await request.post()).get("assignmentId", "")))
        self._crowd.give_back(assignment.id)
        raise _back("The HIT was returned.")

    async def _submit(self, request: web.Request) -> web.Response:
        """What a page of a requester posts from its frame, for whoever has the assignment."""
        answers = {name: str(value) for name, value in (await request.post()).items()}
        try:
            self._crowd.submit(answers.pop("assignmentId", ""), answers)
        except NotAllowed as error:
            return _page("submitted.html", "There was a problem", problem=str(error))
        return _page("submitted.html", "Your work was submitted")

    def _own(self, request: web.Request, assignment_id: str) -> Assignment:
        worker = _signed_in(request)
        assignment = self._crowd.assignment(assignment_id)
        if assignment is None or assignment.worker != worker or assignment.status != IN_PROGRESS:
            raise _back("You are not working on this HIT: it was given back, submitted, or took too long.")
        return assignment


def _page(template: str, title: str, **values: Any) -> web.Response:
    text = PAGES.get_template(template).render(title=title, **values)
    return web.Response(text=text, content_type="text/html")


def _hit_page(worker: str, hit: Hit, src: str, **values: Any) -> web.Response:
    height = next((int(e.text or 0) for e in ElementTree.fromstring(hit.question) if e.tag.endswith("}FrameHeight")), 0)
    return _page(
        "hit.html",
        hit.type.params["Title"],
        worker=worker,
        hit=hit.id,
        src=src,
        reward=hit.type.reward,
        minutes=hit.type.params["AssignmentDurationInSeconds"] // 60,
        height=f"{height}px" if height else REST_OF_THE_WINDOW,
        **values,
    )


def _address(hit: Hit, parameters: dict[str, str]) -> str:
    """The requester's page with what MTurk tells it."""
    url = external_url(hit.question)
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _signed_in(request: web.Request) -> str:
    if COOKIE not in request.cookies:
        raise web.HTTPSeeOther("/")
    return request.cookies[COOKIE]


def _back(problem: str) -> web.HTTPSeeOther:
    """To the list, where a sentence says why."""
    return web.HTTPSeeOther("/projects?" + urlencode({"problem": problem}))
