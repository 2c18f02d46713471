"""The terminal and the log, where nothing that somebody else wrote is obeyed (:mod:`.one_line`)."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from parlai_humaneval.one_line import printable


def say(text: str, *, err: bool = False) -> None:
    """Print text in which somebody else's words may stand."""
    click.echo(printable(text), err=err)


def say_json(value: object, *, indent: int | None = 2) -> None:
    """Print a value for programs; what a terminal would obey is spelled as JSON spells it, and nothing is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    click.echo(printable(text, instead=lambda letter: f"\\u{ord(letter):04x}"))


class PlainConsole(Console):
    """rich's console, which obeys no text; its own colours and movements it does obey."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The renderable in segments."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class PlainRecords(logging.Filter):
    """Lets every record of a log pass, without what a terminal would obey."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always True."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # words and values that do not fit: logging would say so, and lose them
            message = f"{record.msg!r} {record.args!r}"
        record.msg, record.args = printable(message), ()
        if record.exc_info and record.exc_info[0] is not None and not record.exc_text:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if record.exc_text:
            record.exc_text = printable(record.exc_text)
        return True


PLAIN_RECORDS = PlainRecords()
"""For all handlers."""


@contextmanager
def plain_logs() -> Iterator[None]:
    """What is logged within, by whatever handler there is now, holds nothing that a terminal would obey."""
    loggers = [logging.getLogger(), *logging.root.manager.loggerDict.values()]
    handlers = [each for logger in loggers if isinstance(logger, logging.Logger) for each in logger.handlers]
    handlers += [logging.lastResort] if logging.lastResort is not None else []
    added = [handler for handler in handlers if PLAIN_RECORDS not in handler.filters]
    for handler in added:
        handler.addFilter(PLAIN_RECORDS)
    try:
        yield
    finally:
        for handler in added:
            handler.removeFilter(PLAIN_RECORDS)
