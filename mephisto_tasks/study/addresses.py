"""Where a launch can be reached, and from where."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

_ELSEWHERE = ("192.0.2.1", 9)
"""Of a net that exists in documents only: to ask for the way there sends nothing."""


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
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def openable(url: str) -> str:
    """The address; of one that means all interfaces of this machine, the one by which its network knows it."""
    parts = urlsplit(url)
    try:
        everywhere = ip_address(parts.hostname or "").is_unspecified
    except ValueError:
        return url
    if not everywhere:
        return url
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"{_address_in_network()}{port}"))


def _address_in_network() -> str:
    """The address from which this machine would speak to others; its own, where it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
