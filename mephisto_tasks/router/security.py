"""Tokens, response headers and rate limits."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable, Sequence

MTURK_FRAMES = ("https://*.mturk.com", "https://*.mturkcontent.com", "https://*.amazon.com")
MTURK_FORMS = ("https://www.mturk.com", "https://*.mturk.com")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?")
THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]", "::1")
PACKETS_PER_SECOND = 400.0
PACKET_BURST = 2000.0
"""A person sends less than one a second; simulated raters that share a machine reach about a hundred."""
STRANGERS_PER_SECOND = 20.0
STRANGERS_BURST = 50.0
"""Packets on a connection that has not said for whom it speaks: the first that a page sends does."""
ANSWERS_PER_SECOND = 50.0
ANSWER_BURST = 100.0
"""Of one page: each is checked and stored, which takes some milliseconds. Those beyond wait for their turn."""
ALL_ANSWERS_PER_SECOND = 300.0
ALL_ANSWERS_BURST = 300.0
"""Of all pages: beyond, those wait that send the most."""
LONG = 8192
"""Letters that cost as much as one more answer."""


def new_token() -> str:
    """A secret that nobody can guess (256 bits, URL-safe)."""
    return secrets.token_urlsafe(32)


def same_token(given: str, expected: str) -> bool:
    """Compares in a time that tells nothing of where the two differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8"))


def origin(site: object) -> str:
    """A site that may show the page, as ``https://host`` or ``https://host:port``; http only on this machine.

    Raises:
        ValueError: it is none; what stands there goes into a header, so that nothing else may.
    """
    text = str(site).strip().rstrip("/")
    match = _ORIGIN.fullmatch(text)
    if match is None or (match["scheme"] == "http" and match["host"] not in THIS_MACHINE):
        raise ValueError(
            f"frame_sites: {text!r} is no site; write https://host or https://host:port, without a path "
            "(http:// for 127.0.0.1 and localhost only)"
        )
    return text


def security_headers(provider_type: str, sites: Sequence[str] = ()) -> dict[str, str]:
    """Headers for every response.

    The page may load only what this server serves. MTurk shows it in a frame and takes the finished task
    by a form, so with an ``mturk…`` provider its sites may do both; with any other only this server may.

    ``sites``: others that may do both (:func:`origin`).
    """
    on_mturk = provider_type.startswith("mturk")
    frames = " ".join(("'self'", *(MTURK_FRAMES if on_mturk else ()), *sites))
    forms = " ".join(("'self'", *(MTURK_FORMS if on_mturk else ()), *sites))
    policy = (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
        f"form-action {forms}; frame-ancestors {frames}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer" if not on_mturk else "strict-origin-when-cross-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }


class RateLimit:
    """A bucket of ``burst`` tokens that refills at ``per_second``; each packet takes one, or what it costs."""

    def __init__(
        self,
        per_second: float = PACKETS_PER_SECOND,
        burst: float = PACKET_BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._at = clock()

    def allows(self, cost: float = 1.0) -> bool:
        """Takes so many tokens; False, and takes none, when the bucket holds fewer."""
        self._refill()
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def wait_s(self, cost: float = 1.0) -> float:
        """Takes so many tokens, also such as are not there yet: for how long the next has to wait for them.

        No more than a burst is ever owed, so that a flood that has ended is soon forgotten.
        """
        self._refill()
        self._tokens = max(self._tokens - cost, -self._burst)
        return max(0.0, -self._tokens / self._per_second)

    @property
    def is_low(self) -> bool:
        """Less than half of the burst is left."""
        self._refill()
        return self._tokens < self._burst / 2

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
        self._at = now
