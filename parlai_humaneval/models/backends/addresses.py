"""Addresses of servers with OpenAI's interface, as people copy them from a document or a browser."""

from __future__ import annotations

import re

_PATH_OF_INTERFACE = re.compile(r"/+(?:chat(?:/+completions)?|completions|responses|models)/*$")
"""What stands behind the base of an address: one of the paths that such a server answers at."""


def base_of(address: str) -> str:
    """The base of an address: without slashes at its end, and without the path of one of the interface's parts."""
    return _PATH_OF_INTERFACE.sub("", address.strip()).rstrip("/")


def speaks_chat(address: str) -> bool:
    """Whether an address is that of a server with OpenAI's interface, by the path at its end."""
    return bool(re.search(r"/chat/+completions/*$", address.strip()))
