"""Keys that are pressed while a screen is drawn again and again: each at once, without Enter."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\x1b[5~": "page up",
    b"b": "page up",
    b"\x1b[6~": "page down",
    b" ": "page down",
    b"\x1b[H": "home",
    b"\x1b[1~": "home",
    b"g": "home",
    b"\x1b[F": "end",
    b"\x1b[4~": "end",
    b"G": "end",
    b"q": "quit",
}
"""What terminals send for a key."""
_ONE_KEY = re.compile(rb"\x1b[O\[][0-9;]*[A-Za-z~]|.", re.DOTALL)
_SLICE_S = 0.1
"""So often it is looked whether a signal has come meanwhile."""


class Keys:
    """Those of a terminal; ``can_be_read``: there is one, else nobody can press any."""

    def __init__(self, *, can_be_read: bool) -> None:
        self.can_be_read = can_be_read
        self._sent: list[str] = []
        """Names of keys that came together, and are not told yet."""

    def wait(self, seconds: float, stop: threading.Event) -> str | None:
        """The name of the next key; None after so many seconds without one, or once ``stop`` is set."""
        until = time.monotonic() + seconds
        while not self._sent and not stop.is_set() and (left := until - time.monotonic()) > 0:
            if not self.can_be_read:
                stop.wait(left)
            elif select.select([sys.stdin], [], [], min(left, _SLICE_S))[0]:
                pressed = os.read(sys.stdin.fileno(), 1024)
                self.can_be_read = bool(pressed)  # else the terminal has gone
                self._sent += named(pressed)
        return self._sent.pop(0) if self._sent else None


def named(pressed: bytes) -> list[str]:
    """Names of the keys that a terminal sent; without those that mean nothing here."""
    return [NAMES[key] for key in _ONE_KEY.findall(pressed) if key in NAMES]


@contextmanager
def pressed_keys() -> Iterator[Keys]:
    """Keys of standard input, where it is a terminal that this program has to itself; it is left as it was."""
    if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
        yield Keys(can_be_read=False)
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield Keys(can_be_read=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
