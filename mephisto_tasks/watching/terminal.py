"""A standing on a terminal: whole, or as much of it as one screen holds."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mephisto_tasks.watching.standing import Standing, State
from mephisto_tasks.watching.words import (
    answer_table,
    checks_table,
    facts,
    groups_table,
    inside_table,
    models_table,
    orders_words,
)
from parlai_humaneval.report.draw.terminal import table_lines
from parlai_humaneval.report.views import DataTable

ROWS = 6
"""Of each table on a screen that is drawn again and again; ``--once`` shows more."""
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


def shown(standing: Standing, console: Console, *, most: int = ROWS, hints: Sequence[str] = ()) -> Group:
    """Everything, the most important first: what a low screen does not hold is left out. ``hints``: lines near the top."""
    return Group(*_parts(standing, console.width, most, hints))


def _parts(standing: Standing, width: int, most: int, hints: Sequence[str]) -> Iterator[RenderableType]:
    if standing.note:
        yield Text(standing.note, style="bold reverse")
    title = " · ".join(filter(None, (standing.task_name, standing.technique)))
    yield Text.assemble((plain(title), "bold"), "  ", (plain(standing.state_words), STYLES.get(standing.state, "dim")))
    if standing.problem:
        yield Text(f"The stored answers cannot be read just now: {plain(standing.problem)}", style="bold red")
    if standing.url and standing.is_alive:
        yield Text(f"Page of raters: {plain(standing.url)}", style="dim")
    for hint in hints:
        yield Text(plain(hint), style="dim")
    yield Text()
    yield Text(plain(standing.headline), style="bold")
    if standing.looking:
        yield Text(standing.looking, style="yellow")
    for answer in standing.answers[:ANSWERS]:
        table = answer_table(answer)
        if table.rows:
            title = f"{answer.name}: {table.title}" if len(standing.answers) > 1 else table.title
            yield from _table(table.model_copy(update={"title": title}), width, most)
    if len(standing.answers) > ANSWERS:
        yield Text(
            f"({len(standing.answers) - ANSWERS} more questions: `parlai-humaneval report` has them)", style="dim"
        )
    for table in (groups_table(standing.groups), inside_table(standing)):
        if table.rows:
            yield from _table(table, width, most)
    yield _lines(standing)
    for table in (models_table(standing), checks_table(standing)):
        if table.rows:
            yield from _table(table, width, most)
    for words in orders_words(standing):
        yield Text(f"Order {plain(words)}", style="dim")
    for remark in standing.remarks[:REMARKS]:
        yield Text(f"- {plain(remark)}", style="dim")


def _lines(standing: Standing) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    for label, words in facts(standing):
        lines.add_row(Text(label), Text(plain(words)))
    return lines


def _table(table: DataTable, width: int, most: int) -> Iterator[RenderableType]:
    rows = tuple(
        {key: plain(value) if isinstance(value, str) else value for key, value in row.items()} for row in table.rows
    )
    yield from table_lines(
        table.model_copy(update={"title": plain(table.title), "rows": rows}), width, most, more="--once"
    )


def plain(text: str) -> str:
    """``text`` without what a terminal would obey: names and words of models and workers are data."""
    return "".join("�" if unicodedata.category(letter) in ("Cc", "Cs", "Cf") else letter for letter in text)


def steering(task_name: str, where: tuple[str, ...] = ()) -> str:
    """How this study is steered, as it can be typed; ``where``: further options, such as the data directory."""
    task = shlex.join(["--task-name", task_name, *where])
    return f"To steer it: parlai-humaneval steer pause|resume|more|stop-pair|resume-pair|retire|restore … {task}"
