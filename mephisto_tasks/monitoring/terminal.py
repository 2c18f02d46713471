"""A study's state on a terminal, complete or cut to one screen; and single keys, without Enter."""

from __future__ import annotations

import os
import re
import select
import shlex
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mephisto_tasks.monitoring import view
from mephisto_tasks.monitoring.status import State, StudyStatus
from parlai_humaneval._util.text import printable
from parlai_humaneval.report.render.terminal import table_lines
from parlai_humaneval.report.views import DataTable

NAMES = {
    sent: name
    for name, keys in {
        "up": (b"\x1b[A", b"\x1bOA", b"k"),
        "down": (b"\x1b[B", b"\x1bOB", b"j"),
        "page up": (b"\x1b[5~", b"b"),
        "page down": (b"\x1b[6~", b" "),
        "home": (b"\x1b[H", b"\x1b[1~", b"g"),
        "end": (b"\x1b[F", b"\x1b[4~", b"G"),
        "quit": (b"q",),
    }.items()
    for sent in keys
}  # what terminals send → the key's name
_ONE_KEY = re.compile(rb"\x1b[O\[][0-9;]*[A-Za-z~]|.", re.DOTALL)
_SLICE_S = 0.1  # so often it is looked whether a signal has come meanwhile


class Keys:
    """Those of a terminal; ``can_be_read``: there is one, else nobody can press any."""

    def __init__(self, *, can_be_read: bool) -> None:
        self.can_be_read = can_be_read
        self._sent: list[str] = []  # names of keys that came together, and are not told yet

    def wait(self, seconds: float, stop: threading.Event) -> str | None:
        """The name of the next key; None after so many seconds without one, or once ``stop`` is set."""
        until = time.monotonic() + seconds
        while not self._sent and not stop.is_set() and (left := until - time.monotonic()) > 0:
            if not self.can_be_read:
                stop.wait(left)
            elif select.select([sys.stdin], [], [], min(left, _SLICE_S))[0]:
                pressed = os.read(sys.stdin.fileno(), 1024)
                self.can_be_read = bool(pressed)  # else the terminal has gone
                self._sent += named(pressed)
        return self._sent.pop(0) if self._sent else None


def named(pressed: bytes) -> list[str]:
    """Names of the keys that a terminal sent; without those that mean nothing here."""
    return [NAMES[key] for key in _ONE_KEY.findall(pressed) if key in NAMES]


@contextmanager
def pressed_keys() -> Iterator[Keys]:
    """Keys of standard input, where it is a terminal that this program has to itself; it is left as it was."""
    if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
        yield Keys(can_be_read=False)
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield Keys(can_be_read=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


ROWS = 6  # of each table on a screen that is drawn again and again; ``--once`` shows more
ROWS_OF_ONCE = 40
ANSWERS = 3
REMARKS = 3
STYLES: dict[State, str] = {
    "running": "green",
    "paused": "yellow",
    "ending": "yellow",
    "starting": "yellow",
    "broken": "bold red",
    "silent": "bold red",
    "cut_off": "bold red",
}


def shown(standing: StudyStatus, console: Console, *, links: Sequence[str] = (), once: bool = False) -> Group:
    """Everything, the most important first. ``links``: lines near the top. ``once``: tables may be long."""
    return Group(*_parts(standing, console.width, links, once))


class Window:
    """As many lines of something as a terminal is high; ``keys``: whether any can be pressed, which move it."""

    def __init__(self, content: RenderableType, *, keys: bool) -> None:
        self.content, self._keys = content, keys
        self._top = self._lines = self._room = 0

    def press(self, key: str) -> None:
        steps = {"up": -1, "down": 1, "page up": -self._room, "page down": self._room, "home": -self._lines}
        self._top = max(0, min(self._top + (self._lines if key == "end" else steps.get(key, 0)), self._last_top))

    @property
    def _last_top(self) -> int:
        return max(0, self._lines - self._room)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self.content, options.update(height=None), pad=False)
        height = max(2, console.height - 1)  # the cursor stays below
        self._lines, self._room = len(lines), len(lines) if len(lines) <= height else height - 1
        self._top = min(self._top, self._last_top)
        end = Segment.line()
        for line in lines[self._top : self._top + self._room]:
            yield from (*line, end)
        if self._room < self._lines:
            above, below = self._top, self._lines - self._top - self._room
            counts = ((above, "above"), (below, "below"))
            hidden = ", ".join(f"{count} more {where}" for count, where in counts if count)
            how = "↑ ↓ PgUp PgDn scroll, q quits" if self._keys else "a taller terminal or --once shows them"
            words = f" Lines: {hidden}. {how} "[: console.width]
            yield Text(words, style="reverse", no_wrap=True, overflow="ellipsis", end="")


def _parts(standing: StudyStatus, width: int, links: Sequence[str], once: bool) -> Iterator[RenderableType]:
    if standing.note:
        yield Text(standing.note, style="bold reverse")
    title = " · ".join(filter(None, (standing.task_name, standing.technique)))
    yield Text.assemble((plain(title), "bold"), "  ", (plain(standing.state_words), STYLES.get(standing.state, "dim")))
    if standing.problem:
        yield Text(f"The stored answers cannot be read at the moment: {plain(standing.problem)}", style="bold red")
    if standing.url and standing.is_alive:
        yield Text(f"Link for raters: {plain(standing.url)}", style="dim")
    for link in links:
        yield Text(plain(link), style="dim")
    yield _lines(view.progress_facts(standing))
    yield Text()
    yield Text(plain(standing.headline), style="bold")
    if standing.looking:
        yield Text(standing.looking, style="yellow")
    for warning in view.decided_warnings(standing):
        yield Text(plain(warning), style="bold yellow")
    for answer in standing.answers[:ANSWERS]:
        table = view.answer_table(answer)
        title = f"{answer.name}: {table.title}" if len(standing.answers) > 1 else table.title
        yield from _table(table.model_copy(update={"title": title}), width, once)
    if standing.deciding is not None:
        yield from _table(view.decided_table(standing), width, once, empty=True)
    if (more := len(standing.answers) - ANSWERS) > 0:
        yield Text(f"({more} more questions: `parlai-humaneval report` has them)", style="dim")
    groups = view.groups_table(standing.groups, open_ended=standing.deciding is not None)
    for table in (groups, view.inside_table(standing)):
        yield from _table(table, width, once)
    yield _lines(view.rater_facts(standing))
    for table in (view.models_table(standing), view.checks_table(standing)):
        yield from _table(table, width, once)
    for words in view.orders_words(standing):
        yield Text(f"Order {plain(words)}", style="dim")
    for remark in standing.remarks[:REMARKS]:
        yield Text(f"- {plain(remark)}", style="dim")


def _lines(pairs: Iterable[view.Pair]) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    for label, words in pairs:
        lines.add_row(Text(label), Text(plain(words)))
    return lines


def _table(table: DataTable, width: int, once: bool, *, empty: bool = False) -> Iterator[RenderableType]:
    """``empty``: it is shown without rows, too."""
    if not (table.rows or empty):
        return
    rows = tuple(
        {key: plain(value) if isinstance(value, str) else value for key, value in row.items()} for row in table.rows
    )
    safe = table.model_copy(update={"title": plain(table.title), "rows": rows})
    most, more = (ROWS_OF_ONCE, "--json") if once else (ROWS, "--once")
    yield from table_lines(safe, width, most, more=more, wider="a wider terminal")


def plain(text: str) -> str:
    """``text`` without what a terminal would obey: names and words of models and workers are data."""
    return printable(text, keep="")


def steering(task_name: str, where: tuple[str, ...] = (), *, is_decided: bool = False) -> Text:
    """How this study is steered, as it can be typed; ``where``: further options, such as the data directory."""
    orders = "pause|resume" if is_decided else "pause|resume|more|stop-pair|resume-pair|retire|restore …"
    task = shlex.join(["--task-name", task_name, *where])
    return Text(plain(f"To steer it: parlai-humaneval steer {orders} {task}"), style="dim")
