"""Keep ParlAI's log from a terminal that is for people, or for JSON."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator

from parlai.utils import logging as parlai_logging

HTTP_LOGGERS = ("httpx", "httpx2")
ASKING_LOGGER = "parlai_humaneval.models.pool"


@contextlib.contextmanager
def quiet_parlai(level: int = logging.ERROR) -> Iterator[None]:
    """Only errors are logged within, or what is of another ``level``."""
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
