"""Ending on request: Ctrl-C, SIGTERM, and a terminal that is closed."""

from __future__ import annotations

import signal
import threading
from types import FrameType


def stop_on_signals() -> threading.Event:
    """An event that Ctrl-C, SIGTERM and SIGHUP set, instead of killing the program in the middle of something.

    SIGHUP comes when a terminal is closed, or a connection to another machine breaks; ``nohup`` has it ignored.
    """
    stop = threading.Event()

    def handler(signum: int, frame: FrameType | None) -> None:
        if stop.is_set() and signum == signal.SIGINT:
            raise KeyboardInterrupt  # a second Ctrl-C means it
        stop.set()

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)
    return stop
