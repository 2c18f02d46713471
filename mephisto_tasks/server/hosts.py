"""The names that a launch answers to, the sites whose pages may access it, and its addresses. A stranger's name that
leads here (DNS rebinding), or a page in a rater's browser, could pose as ours; IP addresses cannot."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import worded

if TYPE_CHECKING:
    from aiohttp import web

logger = logging.getLogger(__name__)

SETTING = "public_names"
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*", re.ASCII)
_DEFAULT_PORTS = {"http": 80, "https": 443}
MOST_TOLD = 20  # the log gets at most this many names, each once

_NO_SITE = "null"  # The Origin of a page that is of no site: a file, or a frame that its site has locked in
FORWARDED_HOST = "X-Forwarded-Host"


def public_names(configured: Iterable[object]) -> list[str]:
    """Names (or addresses, where a proxy changes the Host) under which a launch is to answer. Raises ValueError."""
    names = []
    for given in configured:
        name = str(given).strip().rstrip(".").lower().removeprefix("[").removesuffix("]")
        if _NAME.fullmatch(name) is None and not _is_address(name):
            raise InvalidValue(worded(__file__, "no_name", name=str(given)), where=SETTING)
        names.append(name)
    return names


class Hosts:
    """Knows the names of one launch besides this machine's; ``is_proxy`` may set ``X-Forwarded-Host``."""

    def __init__(
        self, names: Iterable[str] = (), is_proxy: Callable[[web.BaseRequest], bool] = lambda request: False
    ) -> None:
        here = socket.gethostname().lower()
        self._own = {"localhost", here, f"{here}.local"}
        self._given = {name.rstrip(".").lower() for name in names if name} - self._own
        self._is_proxy = is_proxy
        self._told: set[str] = set()

    def look_up_full_name(self) -> None:
        """This machine's full name is known from now on; a name server that is silent keeps nobody waiting."""
        threading.Thread(target=lambda: self._own.add(socket.getfqdn().lower()), name="full-name", daemon=True).start()

    def refusal(self, request: web.BaseRequest) -> str | None:
        hosts = [_split(host) for host in request.headers.getall("Host", [])]
        for name, _ in hosts:
            if not self._knows(name):
                return self._tell(name, _WRONG_NAME)
        if self._is_proxy(request):
            forwarded = ",".join(request.headers.getall(FORWARDED_HOST, [])).split(",")
            hosts += [each for each in map(_split, forwarded) if self._knows(each[0])]
        for origin in request.headers.getall("Origin", []):
            if not self._is_ours(origin, hosts):
                return self._tell(_split(origin.partition("://")[2])[0] or origin, _WRONG_SITE)
        return None

    def _knows(self, name: str) -> bool:
        return name in self._own or name in self._given or _is_address(name)

    def _is_ours(self, origin: str, hosts: list[tuple[str, int | None]]) -> bool:
        try:
            parts = urlsplit(origin)
            name, port = (parts.hostname or "").rstrip("."), parts.port or _DEFAULT_PORTS.get(parts.scheme)
        except ValueError:
            return False
        if parts.scheme not in _DEFAULT_PORTS:
            return False
        # A proxy's port is unknown here, so configured names match any port, and so does a Host without a port.
        return name in self._given or any(name == host and host_port in (None, port) for host, host_port in hosts)

    def _tell(self, name: str, words: str) -> str:
        is_name = name != _NO_SITE and (_NAME.fullmatch(name) or _is_address(name))
        shown = name if is_name else "another name"
        sentence = words.format(name=shown) + (_HOW.format(name=shown) if shown == name else "")
        if shown not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(shown)
            logger.warning("A request was refused. %s", sentence)
        return sentence


_WRONG_NAME = "This study is not available at {name}."
_WRONG_SITE = "Pages on {name} are not allowed to access this study."
_HOW = " If they should work, the study's operator must launch it with " + SETTING + "=[{name}]."


def _split(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header; what is none of these becomes a name that nobody has."""
    try:
        parts = urlsplit(f"//{host.strip()}")
        if parts.netloc != host.strip() or "@" in host:
            return "", None
        return (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


_ELSEWHERE = ("192.0.2.1", 9)  # in a net for documentation only: looking up the route sends nothing


def is_web_address(url: str) -> bool:
    """Whether a page may stand there: something can be added to the address, and nothing secret is in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and not (parts.query or parts.fragment or parts.username)


def opens_elsewhere(url: str) -> bool:
    """Whether other machines may open the address; False for one that every machine takes for itself."""
    host = urlsplit(url).hostname or ""
    return not ip_address(host).is_loopback if _is_address(host) else host != "localhost"


def openable(url: str) -> str:
    """The address; of one that means all interfaces of this machine, the one by which its network knows it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not _is_address(host) or not ip_address(host).is_unspecified:
        return url
    port = "" if parts.port is None else f":{parts.port}"
    here = "127.0.0.1"  # where this machine has no network; else the address from which it would speak to others
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(_ELSEWHERE)
        here = str(probe.getsockname()[0])
    return urlunsplit(parts._replace(netloc=f"{here}{port}"))


@dataclass(frozen=True)
class PagePolicy:
    """The page on a crowd's site: sites that may frame it, get its forms, and see where raters come from."""

    frame_ancestors: tuple[str, ...] = ()
    form_targets: tuple[str, ...] = ()
    referrer: str = "no-referrer"


ONLY_HERE = PagePolicy()  # No other site may show the page
