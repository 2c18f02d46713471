"""What strangers may do: tokens, headers, rate limits, cookies, and reports of pages, which are cut, few, and written
where nobody waits for it. A browser is known by a cookie, or a secret that its page keeps: frames may lack both."""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import queue
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from mephisto_tasks.server.hosts import ONLY_HERE, PagePolicy
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.i18n.translate import phrases, worded

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
"""For one page: each answer is checked and stored, which takes some milliseconds. Those beyond wait for their turn."""
ALL_ANSWERS_PER_SECOND = 300.0
ALL_ANSWERS_BURST = 300.0  # for all pages; beyond this, the busiest ones wait
LONG = 8192  # Letters that cost as much as one more answer


def new_token() -> str:
    """A secret that nobody can guess (256 bits, URL-safe)."""
    return secrets.token_urlsafe(32)


def same_token(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8"))


def origin(site: object) -> str:
    """A site that may show the page, ``https://host[:port]``; http only here. Raises ValueError: it goes into a header."""
    text = str(site).strip().rstrip("/")
    match = _ORIGIN.fullmatch(text)
    if match is None or (match["scheme"] == "http" and match["host"] not in THIS_MACHINE):
        raise InvalidValue(worded(__file__, "no_site", text=text), where="frame_sites")
    return text


def security_headers(page: PagePolicy = ONLY_HERE, sites: Sequence[str] = ()) -> dict[str, str]:
    """Headers for every response: the page loads only ours; the crowd's site and ``sites`` may frame it."""
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


@dataclass(eq=False, repr=False)
class RateLimit:
    """A bucket of ``burst`` tokens that refills at ``per_second``; each packet takes one, or what it costs."""

    per_second: float = PACKETS_PER_SECOND
    burst: float = PACKET_BURST
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._tokens, self._at = self.burst, self.clock()

    def allows(self, cost: float = 1.0) -> bool:
        """Takes so many tokens; False, and takes none, when the bucket holds fewer."""
        self._refill()
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def wait_s(self, cost: float = 1.0) -> float:
        """Takes so many tokens, future ones too: how long the next waits. Never more than a burst is owed."""
        self._refill()
        self._tokens = max(self._tokens - cost, -self.burst)
        return max(0.0, -self._tokens / self.per_second)

    @property
    def is_low(self) -> bool:
        self._refill()
        return self._tokens < self.burst / 2

    def _refill(self) -> None:
        now = self.clock()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
        self._at = now


logger = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

REQUESTS_PER_SECOND = 10.0
REQUEST_BURST = 1000.0
"""For one address. Behind one may be a whole class that begins at the same minute: each of its pages sends a
handful."""
MOST_ADDRESSES = 20_000  # the most to remember; the least recent are dropped first
IPV6_NETWORK = 64
"""The part of an IPv6 address that one household has: within it, anybody takes a new address for each request."""
PHRASES = phrases(__file__)
TOO_MANY = PHRASES["too_many"]


def trusted_networks(configured: Iterable[object]) -> tuple[Network, ...]:
    """Addresses or networks (“127.0.0.1”, “10.0.0.0/8”) of proxies. Raises ValueError."""
    networks = []
    for text in configured:
        try:
            networks.append(ipaddress.ip_network(str(text), strict=False))
        except ValueError as error:
            raise InvalidValue(worded(__file__, "no_network", text=text), where="trusted_proxies") from error
    return tuple(networks)


@dataclass(eq=False, repr=False)
class Visitors:
    """Knows a request's address, and refuses those of which too many come. ``X-Forwarded-For`` is read from its end, as
    far as trusted proxies wrote it; entries by a visitor precede these."""

    trusted: Sequence[Network] = ()
    per_second: float = REQUESTS_PER_SECOND
    burst: float = REQUEST_BURST
    _limits: OrderedDict[str, RateLimit] = field(default_factory=OrderedDict)
    _warned: bool = False

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
        address = address_of(request.remote or "")
        return address is not None and self._trusts(address)

    def allows(self, request: web.Request) -> bool:
        """Takes one of the requests that its address may send now; False where there is none left."""
        address = self.address_of(request)
        if address is None or self._is_program_here(request, address):
            return True
        key = household(address)
        limit = self._limits.setdefault(key, RateLimit(self.per_second, self.burst))
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
        return any(address in network for network in self.trusted)

    def _is_program_here(self, request: web.Request, address: Address) -> bool:
        """Simulated raters and tests share this machine's own address, and so does a proxy that nobody has named."""
        if not address.is_loopback:
            return False
        if "X-Forwarded-For" in request.headers and not self._warned:
            self._warned = True
            logger.warning(
                "Requests come through a proxy on this machine, so the server cannot see raters' addresses and "
                "does not limit anyone's requests. If the proxy is yours, set trusted_proxies=[127.0.0.1]"
            )
        return True


def address_of(text: str) -> Address | None:
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


SECRETS = "browser_secrets"  # Key in a registration's ``provider_data``: a list of what the browser shows
COOKIE = "humaneval_browser"
COOKIE_S = 400 * 24 * 60 * 60  # As long as browsers keep one
MOST_SECRETS = 3
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,128}")  # Shorter ones could be guessed


@dataclass
class Browser:
    """The browser of somebody who has none, as simulated raters: whose pages share it are one browser's."""

    secret: str = field(default_factory=new_token, repr=False)


def usable_secrets(shown: object) -> list[str]:
    if not isinstance(shown, list):
        return []
    secrets = (one for one in shown if isinstance(one, str) and _SECRET.fullmatch(one))
    return list(dict.fromkeys(secrets))[:MOST_SECRETS]


@dataclass(eq=False, repr=False)
class Browsers:
    framed: bool = False  # The page is in frames of other sites, so its cookie needs a mark for that.
    secure: bool = False  # The study is reached by https only.

    def remember(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give a browser its cookie, if it has none; before the page asks for anything."""
        if _cookie(request) is None and not response.prepared:
            self.introduce(request, response, new_token())

    def shown(self, request: web.Request, provider_data: Mapping[str, Any]) -> list[str]:
        cookie = _cookie(request)
        by_page = usable_secrets(provider_data.get(SECRETS))
        return usable_secrets([*([] if cookie is None else [cookie]), *by_page])

    def introduce(self, request: web.Request, response: web.StreamResponse, secret: str) -> None:
        """Give a browser that showed nothing the secret by which its registration is known from now on."""
        response.set_cookie(
            COOKIE,
            secret,
            max_age=COOKIE_S,
            httponly=True,
            # Browsers take a cookie in another site's frame only so; without https, on the machine itself alone.
            samesite="None" if self.framed else "Lax",
            secure=self.framed or self.secure or request.secure,
        )
        if self.framed:  # the word is unknown to Python before 3.14
            cookie = response.cookies.pop(COOKIE).OutputString()
            response.headers.add(hdrs.SET_COOKIE, f"{cookie}; Partitioned")


def _cookie(request: web.Request) -> str | None:
    cookie = request.cookies.get(COOKIE)
    return cookie if cookie is not None and _SECRET.fullmatch(cookie) else None


LONGEST = 2000  # Letters of one report
OF_ALL_PER_SECOND = 1.0
OF_ALL_BURST = 30.0
"""For all pages together: a fault of the page itself shows on each of them, and a few reports suffice."""
WAITING = 30  # Most reports that wait to be written, where a terminal stands still or a disk is slow
TOO_MANY_ERRORS = "Too many errors were reported, so this one was not recorded."
NOT_OF_A_PAGE = "To report an error, a page must take part in the study and send its agent's token."


class PageErrors:
    """Takes reports from the loop of the router (or of the operator), and writes them in a thread of its own."""

    def __init__(self, limit: RateLimit | None = None) -> None:
        self._limit = limit or RateLimit(OF_ALL_PER_SECOND, OF_ALL_BURST)
        self._waiting: queue.Queue[str | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._left_out = 0

    def take(self, who: str, report: Mapping[str, Any]) -> bool:
        """Has ``report`` written down; False where too many came, of which only the number is written. Never waits."""
        if not self._limit.allows():
            self._left_out += 1
            return False
        lost = f" ({self._left_out:,} more were left out before it)" if self._left_out else ""
        try:
            self._waiting.put_nowait(f"The page of {who} reports an error: {_words(report)}{lost}")
        except queue.Full:
            self._left_out += 1
            return False
        self._left_out = 0
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="page-errors", daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Ends the thread once it has written what waits; what does not find room is lost, as nobody looks on."""
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread = None

    def _write(self) -> None:
        while (text := self._waiting.get()) is not None:
            logger.warning("%s", text)


def _words(report: Mapping[str, Any]) -> str:
    kind, text = report.get("error_type"), report.get("text")
    if isinstance(text, str):
        said = f"{kind[:100]}: {text[:LONGEST]}" if isinstance(kind, str) else text
    else:
        said = json.dumps(dict(report), ensure_ascii=False)
    return on_one_line(said, LONGEST)
