"""Protection from a model's code and ParlAI, which may end the program, write to its terminal, or block it."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from parlai_humaneval._util.terminal import PlainConsole


@contextmanager
def isolate_model_code() -> Iterator[None]:
    """A model's code cannot end the program: ``sys.exit`` and the like are a RuntimeError, but for Ctrl-C in the main
    thread."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        if isinstance(error, SystemExit):
            did = f"it called sys.exit({'' if error.code is None else repr(error.code)})"
        elif isinstance(error, KeyboardInterrupt):
            did = "it interrupts the program (KeyboardInterrupt)"
        else:
            did = f"it raised {type(error).__name__}" + (f": {error}" if str(error) else "")
        raise RuntimeError(did).with_traceback(error.__traceback__) from None


FUNCTION_LOGGER = "parlai_humaneval.models.backends.callable"


@contextmanager
def _logging_at(logger: logging.Logger, level: int) -> Iterator[None]:
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def quiet_parlai(level: int = logging.ERROR) -> AbstractContextManager[None]:
    from parlai.utils import logging as parlai_logging

    return _logging_at(parlai_logging.logger, level)


def quiet_tries(logger: str = "parlai_humaneval.models.pool") -> AbstractContextManager[None]:
    """Failed tries at a reply are not logged within: the caller gets the reason at the end."""
    return _logging_at(logging.getLogger(logger), logging.CRITICAL)


@contextmanager
def silent_parlai() -> Iterator[None]:
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
    for name in ("httpx", "httpx2"):
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
