"""Taking a port of this machine. Nothing heavy is imported: a command looks whether it is free before all else."""

from __future__ import annotations

import errno
import socket

from parlai_humaneval._util.errors import HumanevalError


class PortInUse(HumanevalError, RuntimeError):
    """Another program listens on the port; the message says which option changes it."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is in use by another program, perhaps an earlier launch that still runs",
            try_="end that one, or choose another port (0 takes any free one): --port … for the demo, port=… for a launch",
        )
        self.host = host
        self.port = port


class CannotListen(HumanevalError, RuntimeError):
    """The address cannot be listened on at all: a name that does not resolve, or a port that needs rights."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on ``host``; port 0 takes any free one.

    Raises:
        PortInUse: somebody else listens there already; it is never shared.
        CannotListen: the address is not ours to listen on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"“{host}” is no address of this machine", try_="set hostname to one") from error
    family, kind, proto, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    listener = socket.socket(family, kind, proto)
    # Lets a new launch take the port while old connections of a finished one fade; never from a listener.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from error
        raise CannotListen(
            f"Cannot listen on {host}:{port} ({error.strerror})", try_="set hostname and port"
        ) from error
    return listener
