"""The response to a browser that opens a study by invitation: the study's page, or a plain page instead."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.admission.visits import TurnedAway
from mephisto_tasks.crowds.invitations.entry import INVITATION, VISITOR, BadLink, InvitationDoor
from mephisto_tasks.crowds.link.crowd import NO_LINK, read_parameters
from mephisto_tasks.server.static import plain_page
from parlai_humaneval.i18n.translate import phrase

COOKIE = "humaneval_visitor"
REMEMBERED = "Visitor-Remembered"
"""Header of what the page asks for: the browser keeps the cookie of the visitor whom the address names."""
COOKIE_S = 400 * 24 * 60 * 60  # as long as browsers keep one
_OF_STUDY = frozenset({"/", "/index.html", "/task_config.json"})
"""What shows anything of the study; all else is the same for every study, or asks who is there."""
_WRONG = phrase("Wrong link")


class Gate:
    """Hides the study from visitors with a bad link or, with ``only_invited``, with none; ``secure``: by https only."""

    def __init__(self, invitations: InvitationDoor, *, only_invited: bool, secure: bool) -> None:
        self._invitations, self._only_invited, self._secure = invitations, only_invited, secure

    def guarded(self, handler: Handler) -> Handler:
        """``handler`` for those who may see what it serves."""

        async def only_with_link(request: web.Request) -> web.StreamResponse:
            if request.path not in _OF_STUDY or (
                request.path == "/" and request.headers.get(hdrs.UPGRADE, "").lower() == "websocket"
            ):
                return await handler(request)
            if (instead := await self._instead(request)) is not None:
                return instead
            response = await handler(request)
            if COOKIE in request.cookies and request.cookies[COOKIE] == request.query.get(VISITOR):
                response.headers[REMEMBERED] = "yes"
            return response

        return only_with_link

    async def _instead(self, request: web.Request) -> web.Response | None:
        try:
            parameters = read_parameters(list(request.query.items()))
            entry = await asyncio.to_thread(self._invitations.look, parameters, request.cookies.get(COOKIE))
        except BadLink as bad:
            return plain_page(bad.status, str(bad.refusal.title), str(bad))
        except TurnedAway as turned_away:
            return plain_page(403, _WRONG, str(turned_away))
        if entry is not None:
            headers = {hdrs.LOCATION: f"?{urlencode(entry.parameters)}", hdrs.CACHE_CONTROL: "no-store"}
            response = web.Response(status=302, headers=headers)
            response.set_cookie(
                COOKIE, entry.visitor, max_age=COOKIE_S, httponly=True, samesite="Lax", secure=self._secure
            )
            return response
        if self._only_invited and INVITATION not in parameters:
            return plain_page(403, phrase("This study is by invitation"), NO_LINK)
        return None
