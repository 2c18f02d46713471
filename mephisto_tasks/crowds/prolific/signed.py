"""Links that Prolific has signed: JSON web tokens (RS256) in their address."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mephisto_tasks.admission.visits import TurnedAway
from mephisto_tasks.crowds.base import NotYetKnown
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.errors import ProlificError
from parlai_humaneval.i18n.translate import phrase

SIGNATURE = "prolific_token"
ISSUER = "https://www.prolific.com"
SLACK_S = 60.0
"""Between two clocks."""
KEYS_FRESH_S = 24 * 3600.0
ASKED_AGAIN_S = 30.0
"""For a key that is not among those known, at most so often."""
NOT_SIGNED = phrase(
    "Prolific has not signed this link, or did so a while ago. Please open the study again from its page on Prolific."
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
            value = int.from_bytes(_bytes(signature), "big")
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
            self._read_at = time.monotonic()
            self._keys = {
                str(key["kid"]): (_integer(key["n"]), _integer(key["e"])) for key in listed if key.get("kty") == "RSA"
            }
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
