"""A model that would end the program: that is a failure of its own, as any other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_running() -> Iterator[None]:
    """Around a model's code: the thread that everybody waits for outlives it.

    Raises:
        RuntimeError: the model ends the program (``sys.exit``), interrupts it, or raises anything else that is no error.
            In the main thread, where Ctrl-C arrives, an interruption goes through.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        raise RuntimeError(_called(error)).with_traceback(error.__traceback__) from None


def _called(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        return f"it called sys.exit({code})"
    if isinstance(error, KeyboardInterrupt):
        return "it interrupts the program (KeyboardInterrupt)"
    return f"it raised {type(error).__name__}" + (f": {error}" if str(error) else "")
