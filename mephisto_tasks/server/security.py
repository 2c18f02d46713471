"""Tokens, response headers and rate limits.

Where a request comes from, through proxies that are trusted, and how much may come from there.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.server.page_policy import ONLY_HERE, PagePolicy
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import phrase

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
        raise InvalidValue(
            f"{text!r} is no site",
            where="frame_sites",
            try_="write https://host or https://host:port, without a path (http:// for 127.0.0.1 and localhost only)",
        )
    return text


def security_headers(page: PagePolicy = ONLY_HERE, sites: Sequence[str] = ()) -> dict[str, str]:
    """Headers for every response: the page may load only what this server serves.

    Args:
        page: of the crowd, whose site may show it in a frame and take the finished task by a form.
        sites: others that may do both (:func:`origin`).
    """
    frames = " ".join(("'self'", *page.frame_ancestors, *sites))
    forms = " ".join(("'self'", *page.form_targets, *sites))
    policy = (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
        f"form-action {forms}; frame-ancestors {frames}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": page.referrer,
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


logger = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

REQUESTS_PER_SECOND = 10.0
REQUEST_BURST = 1000.0
"""Of one address. Behind one may be a whole class that begins at the same minute: each of its pages sends a handful."""
MOST_ADDRESSES = 20_000
"""So many are remembered; those unseen for longest are forgotten first."""
IPV6_NETWORK = 64
"""The part of an IPv6 address that one household has: within it, anybody takes a new address for each request."""
TOO_MANY = phrase(
    "Too many requests came from your network at once. Please wait a minute; the page tries again by itself."
)


def trusted_networks(configured: Iterable[object]) -> tuple[Network, ...]:
    """Addresses or networks (“127.0.0.1”, “10.0.0.0/8”) of proxies.

    Raises:
        ValueError: naming the one that is neither.
    """
    networks = []
    for text in configured:
        try:
            networks.append(ipaddress.ip_network(str(text), strict=False))
        except ValueError as error:
            raise InvalidValue(
                f"{text!r} is no address and no network",
                where="trusted_proxies",
                try_="write them as [127.0.0.1,10.0.0.0/8]",
            ) from error
    return tuple(networks)


class Visitors:
    """Knows a request's address, and refuses those of which too many come.

    ``X-Forwarded-For`` is believed only as far as trusted proxies wrote it: read from its end, the first address that is
    none of theirs is the visitor's. What a visitor wrote into it stands before that, and is ignored.
    """

    def __init__(
        self,
        trusted: Iterable[Network] = (),
        per_second: float = REQUESTS_PER_SECOND,
        burst: float = REQUEST_BURST,
    ) -> None:
        self._trusted = tuple(trusted)
        self._per_second, self._burst = per_second, burst
        self._limits: OrderedDict[str, RateLimit] = OrderedDict()
        self._warned = False

    def address_of(self, request: web.Request) -> Address | None:
        """The visitor's address; None where there is none that can be read (a socket that is closed already)."""
        address = address_of(request.remote or "")
        forwarded = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")
        for text in reversed(forwarded):
            if address is None or not self._trusts(address):
                break
            address = address_of(text) or address
        return address

    def is_one_visitor(self, peer: str) -> bool:
        """Whether a connection's other end is a single visitor: neither a trusted proxy, nor a program on this machine."""
        address = address_of(peer)
        return address is not None and not address.is_loopback and not self._trusts(address)

    def is_proxy(self, request: web.BaseRequest) -> bool:
        """Whether a trusted proxy passes the request on."""
        address = address_of(request.remote or "")
        return address is not None and self._trusts(address)

    def allows(self, request: web.Request) -> bool:
        """Takes one of the requests that its address may send now; False where there is none left."""
        address = self.address_of(request)
        if address is None or self._is_program_here(request, address):
            return True
        key = household(address)
        limit = self._limits.setdefault(key, RateLimit(self._per_second, self._burst))
        self._limits.move_to_end(key)
        if len(self._limits) > MOST_ADDRESSES:
            self._limits.popitem(last=False)
        return limit.allows()

    def limited(self, handler: Handler) -> Handler:
        """``handler`` for as many requests of an address as it may send; status 429 for those beyond."""

        async def within_limit(request: web.Request) -> web.StreamResponse:
            if not self.allows(request):
                raise web.HTTPTooManyRequests(reason=TOO_MANY, headers={hdrs.RETRY_AFTER: "60"})
            return await handler(request)

        return within_limit

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)

    def _is_program_here(self, request: web.Request, address: Address) -> bool:
        """Simulated raters and tests share this machine's own address, and so does a proxy that nobody has named."""
        if not address.is_loopback:
            return False
        if "X-Forwarded-For" in request.headers and not self._warned:
            self._warned = True
            logger.warning(
                "Requests come through a proxy on this machine, so that raters' addresses are not seen and nobody's "
                "requests are limited. If it is yours: trusted_proxies=[127.0.0.1]"
            )
        return True


def address_of(text: str) -> Address | None:
    """The address that is written there; None where there is none."""
    try:
        address = ipaddress.ip_address(text.strip().strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def household(address: Address) -> str:
    """Whose it is: of an address of IPv6, the network of the household."""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, IPV6_NETWORK), strict=False))
