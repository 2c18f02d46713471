"""Prolific tells us when something has changed: then it is looked at once sooner. Nothing that it tells is believed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from aiohttp import web

from mephisto_tasks.crowds.base import CrowdError
from mephisto_tasks.crowds.prolific.client import HOOK_SECRET, Prolific
from mephisto_tasks.crowds.prolific.errors import asking

logger = logging.getLogger(__name__)

EVENT = "submission.status.change"
TIMESTAMP, SIGNATURE = "X-Prolific-Request-Timestamp", "X-Prolific-Request-Signature"
WITHOUT = (
    "%s. So Prolific does not tell at once what has changed: it is asked every few seconds, as without webhooks=true"
)


class Hooks:
    """One subscription, for as long as a launch runs.

    Args:
        client: of the account.
        workspace: whose submissions are told of.
        whose: of which only one launch runs at a time: what a launch of it that was killed left is ended by the next.
    """

    def __init__(self, client: Prolific, workspace: str, whose: str) -> None:
        self._client, self._workspace = client, workspace
        self._secret = self._subscription = ""
        self._beginning = f"{hashlib.sha256(whose.encode()).hexdigest()[:12]}-"
        self.path = f"/hooks/{self._beginning}{secrets.token_urlsafe(16)}"
        """Of the raters' server; nobody else knows it."""
        self.nudge: Callable[[], None] = lambda: None
        """Looks at Prolific at once."""

    async def handle(self, request: web.Request) -> web.Response:
        """A call of Prolific's; who cannot sign it is turned away."""
        body = await request.read()
        if not self._is_signed(request.headers.get(TIMESTAMP, ""), request.headers.get(SIGNATURE, ""), body):
            raise web.HTTPForbidden(reason="The signature is wrong.")
        self.nudge()
        return web.Response(status=204)

    def _is_signed(self, timestamp: str, signature: str, body: bytes) -> bool:
        if not self._secret or not timestamp.isascii():
            return False
        made = hmac.new(self._secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
        return hmac.compare_digest(base64.b64encode(made), signature.encode())

    def subscribe(self, url: str) -> None:
        """Be told at our ``url``. What goes wrong is logged: a launch goes well without.

        A workspace has one secret, which other programs may use: one that is there is never replaced.
        """
        try:
            with asking("have Prolific tell what changes"):
                known = list(self._client.pages("hooks/secrets/", workspace_id=self._workspace))
                secret = known[0] if known else self._client.post("hooks/secrets/", {"workspace_id": self._workspace})
                self._secret = str(secret.get("value") or "")
                if not self._secret:
                    logger.warning(WITHOUT, "The workspace has a secret for webhooks that Prolific does not show")
                    return
                target = f"{url.rstrip('/')}{self.path}"
                self._end_left_over()
                body = {"workspace_id": self._workspace, "event_type": EVENT, "target_url": target}
                made = self._client.post("hooks/subscriptions/", body)
                self._subscription = str(made["id"])
                confirmation = {"secret": made[HOOK_SECRET]}
                self._client.post(f"hooks/subscriptions/{self._subscription}/", confirmation, repeat=True)
        except (
            CrowdError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:  # or it answers something else than it should
            logger.warning(WITHOUT, str(error).rstrip("."))

    def _end_left_over(self) -> None:
        for known in list(self._client.pages("hooks/subscriptions/", workspace_id=self._workspace)):
            if urlsplit(str(known.get("target_url"))).path.rpartition("/hooks/")[2].startswith(self._beginning):
                self._client.delete(f"hooks/subscriptions/{known['id']}/")

    def unsubscribe(self) -> None:
        """Be told nothing any more."""
        if not self._subscription:
            return
        try:
            with asking("end the subscription"):
                self._client.delete(f"hooks/subscriptions/{self._subscription}/")
        except CrowdError as error:
            logger.warning("%s. Prolific ends it by itself after some days", error)
