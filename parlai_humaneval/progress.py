"""How far something is, on standard error: a bar where a person looks on, and else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parlai_humaneval.plain_output import PlainConsole

if TYPE_CHECKING:
    from rich.status import Status

LINE_S = 10.0
"""Seconds between two lines, where nobody looks on."""
_shown: list[Status] = []
"""What moves on the terminal now; a bar beside it would be written over."""


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
    """``what`` is done, and ``many`` of it are counted. What is yielded is told how many are done, and of how many.

    ``at_most``: it may end with fewer.
    """
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
    """The first line is printed at once, and one more when all is done; ``between`` stands before the whole number."""
    next_line, told = time.monotonic() + LINE_S, (0, total)
    out.print(f"{what}: 0{between}{total} {many}…", markup=False)

    def tell(done: int, of: int) -> None:
        nonlocal next_line, told
        if (done, of) != told and (done >= of or time.monotonic() >= next_line):
            out.print(f"{what}: {done}{between if done < of else ' of '}{of} {many}", markup=False)
            next_line, told = time.monotonic() + LINE_S, (done, of)

    return tell
