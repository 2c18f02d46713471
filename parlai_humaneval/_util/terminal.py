"""Safe output to the terminal and the log, whose texts may come from others; progress; and quick exits."""

from __future__ import annotations

import atexit
import gc
import json
import logging
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from parlai_humaneval._util.text import printable

if TYPE_CHECKING:
    from rich.status import Status


PROGRAM = "parlai-humaneval"


def typed_program() -> str:
    """The program as it can be typed here: as it was started, for it may not be on PATH."""
    started, on_path = Path(sys.argv[0]), shutil.which(PROGRAM)
    by_its_path = started.name == PROGRAM and (on_path is None or not started.samefile(on_path))
    return shlex.quote(sys.argv[0]) if by_its_path else PROGRAM


def end_quickly() -> None:
    """Have the interpreter end without a last garbage search: with torch loaded, .2 s after the last word, and not 1.7 s."""
    atexit.unregister(gc.freeze)  # once is enough
    atexit.register(gc.freeze)


def say(text: str, *, err: bool = False) -> None:
    click.echo(printable(text), err=err)


def say_json(value: object, *, indent: int | None = 2) -> None:
    """Print a value for programs; what a terminal would obey is spelled as JSON spells it, and nothing is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    click.echo(printable(text, instead=lambda letter: f"\\u{ord(letter):04x}"))


class PlainConsole(Console):
    """rich's console, which obeys no text; its own colours and movements it does obey."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class PlainRecords(logging.Filter):
    """Lets every record of a log pass, without what a terminal would obey."""

    def filter(self, record: logging.LogRecord) -> bool:
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


LINE_S = 10.0
_shown: list[Status] = []
"""Status lines now moving on the terminal; another bar would be overwritten."""


@contextmanager
def yielding(status: Status) -> Iterator[None]:
    """What moves within gives way to a bar for as long as there is one."""
    _shown.append(status)
    try:
        yield
    finally:
        _shown.remove(status)


@contextmanager
def counting(what: str, total: int, many: str, *, at_most: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Shows how many of ``total`` are done; ``at_most``: there may be fewer. Yields what to call with both numbers."""
    out = PlainConsole(file=sys.stderr, highlight=False)
    of = " of at most " if at_most else None
    if not out.is_terminal:
        yield _lines(out, what, total, many, of or " of ")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(separator=of or "/"),
        TextColumn(many),
        TimeElapsedColumn(),
    )
    for status in _shown:
        status.stop()
    try:
        with Progress(*columns, console=out, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, of: bar.update(task, completed=done, total=of)
    finally:
        for status in _shown:
            status.start()


def _lines(out: PlainConsole, what: str, total: int, many: str, between: str) -> Callable[[int, int], None]:
    """The first line is printed at once, and another when all is done; ``between`` precedes the total."""
    next_line, told = time.monotonic() + LINE_S, (0, total)
    out.print(f"{what}: 0{between}{total} {many}…", markup=False)

    def tell(done: int, of: int) -> None:
        nonlocal next_line, told
        if (done, of) != told and (done >= of or time.monotonic() >= next_line):
            out.print(f"{what}: {done}{between if done < of else ' of '}{of} {many}", markup=False)
            next_line, told = time.monotonic() + LINE_S, (done, of)

    return tell
