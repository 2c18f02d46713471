"""What Prolific signs: links (JSON web tokens), and calls that something has changed, for which we only look sooner."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from mephisto_tasks.admission.visits import TurnedAway
from mephisto_tasks.crowds.crowd import CrowdError, NotYetKnown
from mephisto_tasks.crowds.prolific.client import HOOK_SECRET, Prolific, ProlificError, asking
from parlai_humaneval.i18n.translate import phrase

SIGNATURE = "prolific_token"
ISSUER = "https://www.prolific.com"
SLACK_S = 60.0  # between two clocks
KEYS_FRESH_S = 24 * 3600.0
ASKED_AGAIN_S = 30.0  # for a key that is not among those known, at most so often
NOT_SIGNED = phrase(
    "Prolific has not signed this link, or the signature is too old. Please open the study again from its page on Prolific."
)
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""What stands before the digest in a PKCS #1 v1.5 signature."""


@dataclass
class SignedLinks:
    """Checks tokens by Prolific's public keys. Only RS256 counts: a token must not choose how it is checked."""

    client: Prolific
    _keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    _read_at: float = float("-inf")

    def check(self, token: str, session: str) -> None:
        """Raises TurnedAway: the token is not of this submission, or no good; NotYetKnown: no keys can be had."""
        try:
            head, claims, signature = token.split(".")
            header, said = _decoded(head), _decoded(claims)
            signed = f"{head}.{claims}".encode()
            value = _integer(signature)
        except ValueError:
            raise TurnedAway(NOT_SIGNED) from None
        key = self._key(str(header.get("kid", ""))) if header.get("alg") == "RS256" else None
        now = time.time()
        good = (
            key is not None
            and _is_of(signed, value, key)
            and said.get("iss") == ISSUER
            and said.get("sub") == session
            and _number(said.get("exp")) > now - SLACK_S
            and _number(said.get("iat")) < now + SLACK_S
        )
        if not good:
            raise TurnedAway(NOT_SIGNED)

    def _key(self, name: str) -> tuple[int, int] | None:
        age = time.monotonic() - self._read_at
        if age > KEYS_FRESH_S or (name not in self._keys and age > ASKED_AGAIN_S):
            try:
                listed = self.client.public_keys()["keys"]
            except ProlificError as error:
                if name not in self._keys:
                    raise NotYetKnown from error
                return self._keys[name]
            self._read_at, rsa = time.monotonic(), (key for key in listed if key.get("kty") == "RSA")
            self._keys = {str(key["kid"]): (_integer(key["n"]), _integer(key["e"])) for key in rsa}
        return self._keys.get(name)


def _is_of(signed: bytes, signature: int, key: tuple[int, int]) -> bool:
    """Whether the signature is the key's: the whole padded block is compared, so that nothing in it is parsed."""
    modulus, exponent = key
    length = (modulus.bit_length() + 7) // 8
    if signature >= modulus or length < 256:
        return False
    digest = _SHA256 + hashlib.sha256(signed).digest()
    wanted = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(signature, exponent, modulus).to_bytes(length, "big"), wanted)


def _decoded(part: str) -> Mapping[str, Any]:
    said = json.loads(_bytes(part))
    if not isinstance(said, dict):
        raise ValueError("no object")
    return said


def _bytes(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _integer(part: str) -> int:
    return int.from_bytes(_bytes(part), "big")


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


logger = logging.getLogger(__name__)

EVENT = "submission.status.change"
CALL_TIME, CALL_SIGNATURE = "X-Prolific-Request-Timestamp", "X-Prolific-Request-Signature"
WITHOUT = "%s. So Prolific does not report changes immediately: it is asked every few seconds, as without webhooks=true"


class Hooks:
    """One subscription while a launch runs; what a killed launch of ``whose`` left is ended by its next."""

    def __init__(self, client: Prolific, workspace: str, whose: str) -> None:
        self._client, self._workspace = client, workspace
        self._secret = self._subscription = ""
        self._beginning = f"{hashlib.sha256(whose.encode()).hexdigest()[:12]}-"
        self.path = f"/hooks/{self._beginning}{secrets.token_urlsafe(16)}"
        """Of the raters' server; nobody else knows it."""
        self.nudge: Callable[[], None] = lambda: None  # looks at Prolific at once

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        if not self._is_signed(request.headers.get(CALL_TIME, ""), request.headers.get(CALL_SIGNATURE, ""), body):
            raise web.HTTPForbidden(reason="The signature is wrong.")
        self.nudge()
        return web.Response(status=204)

    def _is_signed(self, timestamp: str, signature: str, body: bytes) -> bool:
        if not self._secret or not timestamp.isascii():
            return False
        made = hmac.new(self._secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
        return hmac.compare_digest(base64.b64encode(made), signature.encode())

    def subscribe(self, url: str) -> None:
        """Be told at our ``url``; failures are logged. A workspace's one secret is never replaced: others may use it."""
        try:
            with asking("make Prolific report changes"):
                known = list(self._client.pages("hooks/secrets/", workspace_id=self._workspace))
                secret = known[0] if known else self._client.post("hooks/secrets/", {"workspace_id": self._workspace})
                self._secret = str(secret.get("value") or "")
                if not self._secret:
                    logger.warning(WITHOUT, "The workspace has a secret for webhooks that Prolific does not show")
                    return
                target = f"{url.rstrip('/')}{self.path}"
                for there in list(self._client.pages("hooks/subscriptions/", workspace_id=self._workspace)):
                    if urlsplit(str(there.get("target_url"))).path.rpartition("/hooks/")[2].startswith(self._beginning):
                        self._client.delete(f"hooks/subscriptions/{there['id']}/")
                body = {"workspace_id": self._workspace, "event_type": EVENT, "target_url": target}
                made = self._client.post("hooks/subscriptions/", body)
                self._subscription = str(made["id"])
                confirmation = {"secret": made[HOOK_SECRET]}
                self._client.post(f"hooks/subscriptions/{self._subscription}/", confirmation, repeat=True)
        except (CrowdError, LookupError, TypeError, AttributeError) as error:  # or its answer is no such one
            logger.warning(WITHOUT, str(error).rstrip("."))

    def unsubscribe(self) -> None:
        if not self._subscription:
            return
        try:
            with asking("end the subscription"):
                self._client.delete(f"hooks/subscriptions/{self._subscription}/")
        except CrowdError as error:
            logger.warning("%s. Prolific ends it by itself after some days", error)
