"""A standing on a terminal: whole, or as much of it as one screen holds."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mephisto_tasks.watching.standing import Standing, State
from mephisto_tasks.watching.words import (
    Pair,
    answer_table,
    checks_table,
    decided_table,
    decided_warnings,
    groups_table,
    inside_table,
    models_table,
    orders_words,
    progress_facts,
    rater_facts,
)
from parlai_humaneval.one_line import printable
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


def shown(standing: Standing, console: Console, *, links: Sequence[str] = (), once: bool = False) -> Group:
    """Everything, the most important first: what a low screen does not hold is left out.

    ``links``: lines near the top. ``once``: it is printed, and not drawn anew: tables may be long.
    """
    return Group(*_parts(standing, console.width, links, once))


def _parts(standing: Standing, width: int, links: Sequence[str], once: bool) -> Iterator[RenderableType]:
    if standing.note:
        yield Text(standing.note, style="bold reverse")
    title = " · ".join(filter(None, (standing.task_name, standing.technique)))
    yield Text.assemble((plain(title), "bold"), "  ", (plain(standing.state_words), STYLES.get(standing.state, "dim")))
    if standing.problem:
        yield Text(f"The stored answers cannot be read just now: {plain(standing.problem)}", style="bold red")
    if standing.url and standing.is_alive:
        yield Text(f"Page of raters: {plain(standing.url)}", style="dim")
    for link in links:
        yield Text(plain(link), style="dim")
    yield _lines(progress_facts(standing))
    yield Text()
    yield Text(plain(standing.headline), style="bold")
    if standing.looking:
        yield Text(standing.looking, style="yellow")
    for warning in decided_warnings(standing):
        yield Text(plain(warning), style="bold yellow")
    for answer in standing.answers[:ANSWERS]:
        table = answer_table(answer)
        if table.rows:
            title = f"{answer.name}: {table.title}" if len(standing.answers) > 1 else table.title
            yield from _table(table.model_copy(update={"title": title}), width, once)
    if standing.deciding is not None:
        yield from _table(decided_table(standing), width, once)
    if len(standing.answers) > ANSWERS:
        yield Text(
            f"({len(standing.answers) - ANSWERS} more questions: `parlai-humaneval report` has them)", style="dim"
        )
    groups = groups_table(standing.groups, open_ended=standing.deciding is not None)
    for table in (groups, inside_table(standing)):
        if table.rows:
            yield from _table(table, width, once)
    yield _lines(rater_facts(standing))
    for table in (models_table(standing), checks_table(standing)):
        if table.rows:
            yield from _table(table, width, once)
    for words in orders_words(standing):
        yield Text(f"Order {plain(words)}", style="dim")
    for remark in standing.remarks[:REMARKS]:
        yield Text(f"- {plain(remark)}", style="dim")


def _lines(pairs: Sequence[Pair]) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    for label, words in pairs:
        lines.add_row(Text(label), Text(plain(words)))
    return lines


def _table(table: DataTable, width: int, once: bool) -> Iterator[RenderableType]:
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
    """How this study is steered, as it can be typed; ``where``: further options, such as the data directory.

    ``is_decided``: it ends when it is decided, and what is rated is nobody's choice.
    """
    orders = "pause|resume" if is_decided else "pause|resume|more|stop-pair|resume-pair|retire|restore …"
    task = shlex.join(["--task-name", task_name, *where])
    words = f"To steer it: parlai-humaneval steer {orders} {task}"
    return Text(plain(words), style="dim")
