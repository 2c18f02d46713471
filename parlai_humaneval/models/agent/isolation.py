"""Keep ParlAI's log from a terminal that is for people, or for JSON.

A model that would end the program: that is a failure of its own, as any other.

Show on the terminal that something takes its time.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from parlai_humaneval._util.terminal import PlainConsole


@contextmanager
def isolate_model_code() -> Iterator[None]:
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


HTTP_LOGGERS = ("httpx", "httpx2")
ASKING_LOGGER = "parlai_humaneval.models.pool"


@contextlib.contextmanager
def quiet_parlai(level: int = logging.ERROR) -> Iterator[None]:
    """Only errors are logged within, or what is of another ``level``."""
    from parlai.utils import logging as parlai_logging

    before = parlai_logging.logger.level
    parlai_logging.logger.setLevel(level)
    try:
        yield
    finally:
        parlai_logging.logger.setLevel(before)


@contextlib.contextmanager
def quiet_tries() -> Iterator[None]:
    """Failed tries at a reply are not logged within: whoever asked is told why there is none at the end."""
    logger = logging.getLogger(ASKING_LOGGER)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def silent_parlai() -> Iterator[None]:
    """As :func:`quiet_parlai`, and what ParlAI prints and warns of goes nowhere."""
    nowhere = io.StringIO()
    with (
        quiet_parlai(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        yield


def quiet_http_log() -> None:
    """The clients' own line for each request, with its whole address, is no longer logged; a level that was set stays."""
    for name in HTTP_LOGGERS:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner on the error stream, ``what`` it is and how long so far; what is yielded adds how far it is."""
    # The stream is named now, because ParlAI's own output is led elsewhere meanwhile.
    console = PlainConsole(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=None)
        yield lambda how_far: progress.update(task, description=f"{what}: {how_far}")
