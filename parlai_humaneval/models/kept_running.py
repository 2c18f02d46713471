"""A model that would end the program: that is a failure of its own, as any other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_running() -> Iterator[None]:
    """Around a model's code: the thread that everybody waits for outlives it.

    Raises:
        RuntimeError: the model ends the program (``sys.exit``), or interrupts it. In the main thread, where Ctrl-C arrives,
            an interruption goes through.
    """
    try:
        yield
    except SystemExit as error:
        raise RuntimeError("it ends the program (sys.exit)").with_traceback(error.__traceback__) from None
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise
        raise RuntimeError("it interrupts the program (KeyboardInterrupt)").with_traceback(
            error.__traceback__
        ) from None
