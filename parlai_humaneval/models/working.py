"""Show on the terminal that something takes its time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from parlai_humaneval.plain_output import PlainConsole


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner on the error stream, ``what`` it is and how long so far; what is yielded adds how far it is."""
    # The stream is named now, because ParlAI's own output is led elsewhere meanwhile.
    console = PlainConsole(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=None)
        yield lambda how_far: progress.update(task, description=f"{what}: {how_far}")
