"""What Prolific signs: links of studies (RS256), and what it tells hooks (HMAC)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

KEY_ID = "stand-in-1"
EXPONENT = 65537
LASTS_S = 120
ISSUER = "https://www.prolific.com"
_OF_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""What stands before a SHA-256 digest within a signature (RFC 8017)."""
MODULUS = int(
    "ac9b5c691919012304c15fa8dd521e67d95174d02f90634d34fa04487bb630917cec623eae7a58d8aa3292d19c1c3cae7a97"
    "571c09066bb9a64ce21f5ec9dbce971857fd9f2068953bba2ac769ac77165738698c66bec62a1f996a04b5babe4ffc2c2185"
    "8e65a7f9d17eaec519722a2665648b5c1bc60cb159a14451c4b373db111297515062d0f96171865292eb376f45c7602a5314"
    "ca79315b59e3696f814afe83daf1fe33faa9af8c4855e6202c3725dacd21fcf0cb0fdcb0357d9762d3a9b54c442ae789af8d"
    "3d11d9b1fae5f8e54fe114d67cb29e3a9dc8a640128b7691b17999339c0c5d1a36e163bd4a5c95b80f29f2bf30f775706d3b"
    "335876ef2c99",
    16,
)
_PRIVATE = int(
    "4d9d60ccfb95a44eb85d31e42f7d3521f2752fe74b740c4b13e6d6d53717e23811aa03b576e49a1df74e5d79b6ce75b4e978"
    "3319eeaefdf2d1a661c9c46855984c960c3f05f65f40b7c64b65370defd0d27091f9a9dbe024e1e7ace62847ac3b304431e0"
    "a9fae9312b3461674cbd6ad9b01f29914605e5003cb3091311b5b602ceceb4993a6b29a56447d51b1641fc6f391f06c5987e"
    "b4c110e8a584f33b85768f94ffcb3cb012006c18377ce75f98a0968a1b249be6d7e14fe10b175d88f48124df673af0ce84bf"
    "bfc32977e4dff966702ceb4a4674cd9bef48aa0bcf7f229c0b1cbc7e68debbe7208effdd4dd3be86a1dec4154527111e97fe"
    "6a27fb7ed487",
    16,
)
"""A key of tests alone."""


def public_keys() -> dict[str, list[dict[str, str]]]:
    """The JWK set."""
    numbers = {"n": MODULUS, "e": EXPONENT}
    figures = {name: _text(value.to_bytes((value.bit_length() + 7) // 8, "big")) for name, value in numbers.items()}
    return {"keys": [{"kty": "RSA", "kid": KEY_ID, "use": "sig", "alg": "RS256", **figures}]}


def arrival_token(url: str, ids: dict[str, str], workspace: str, now: float) -> str:
    """The JWT of somebody who opens a study's link."""
    claims = {
        "iss": ISSUER,
        "iat": int(now),
        "exp": int(now) + LASTS_S,
        "aud": url,
        "sub": ids["SESSION_ID"],
        "prolific": {**ids, "workspace_id": workspace},
    }
    return signed({"alg": "RS256", "typ": "JWT", "kid": KEY_ID}, claims)


def signed(header: dict[str, str], claims: dict[str, object]) -> str:
    """A JWT with these words."""
    text = ".".join(_text(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims))
    size = (MODULUS.bit_length() + 7) // 8
    digest = _OF_SHA256 + hashlib.sha256(text.encode()).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    signature = pow(int.from_bytes(padded, "big"), _PRIVATE, MODULUS).to_bytes(size, "big")
    return f"{text}.{_text(signature)}"


def hook_signature(secret: str, timestamp: str, body: bytes) -> str:
    """What a hook's receiver compares."""
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()).decode()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
