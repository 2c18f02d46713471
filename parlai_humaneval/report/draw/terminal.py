"""A document on a terminal: the answers, what to know before using them, and the main tables, within its width."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.printing import heading, titled_table
from parlai_humaneval.report.cells import Layout, laid_out
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import DataTable
from parlai_humaneval.report.words import data_words, raters_words
from parlai_humaneval.statistics.wording import counted
from parlai_humaneval.tables.from_records import Tables

ROWS = 15
"""As many rows of a table are printed."""
NAMES, NAMES_OF_TWO = 24, 14
"""A column of names is as wide as that, at most, alone or beside another; longer ones are folded."""
_GAP = 3


def print_document(document: Document, console: Console) -> None:
    """The answers first; then what they rest on, and of each section its remarks and its first table."""
    console.print(Text(document.facts.title, style="bold"))
    for question in document.facts.questions:
        console.print(Text(f"{question.metric}: “{question.text}”".removeprefix(": "), style="dim"))
    console.print()
    for section in document.sections.values():
        if section.headline:
            console.print(Text(section.headline, style="bold"))
    console.print()
    for label, words in [*data_words(document.facts), *raters_words(document.facts)]:
        console.print(Text.assemble((f"{label}: ", "dim"), words))
    for section in document.sections.values():
        _print_section(section, console)


def print_replies(tables: Tables, console: Console) -> None:
    """Below a technique's own report: whether raters were told whose replies they saw, and what models cost, if known."""
    from parlai_humaneval.report.sections.replies import build

    section = build(tables, Options())
    lines = [] if section is None else section.in_short()
    if section is None or not lines:
        return
    console.print()
    console.print(heading(section.TITLE))
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 2)))


def _print_section(section: Section, console: Console) -> None:
    console.print()
    console.print(heading(section.TITLE))
    for remark in section.remarks:
        console.print(Padding(Text(remark), (0, 0, 0, 2)))
    tables = [table for table in section.data_tables() if table.rows]
    for table in tables[:1]:
        _print_table(table, console)
    if len(tables) > 1:
        titles = "; ".join(table.title for table in tables[1:])
        console.print(Text(f"With --out also: {titles}", style="dim"))


def _print_table(table: DataTable, console: Console) -> None:
    """As many columns as fit, from the left, and as many rows as one likes to read; what is left out is said."""
    layout = laid_out(table)
    fitting = _fitting(layout, console.width)
    left = ROWS
    for group, rows in layout.groups.items():
        if left > 0:
            console.print(_printed(f"{table.title} ({group})" if group else table.title, layout, rows[:left], fitting))
        left -= len(rows)
    more = [counted(-left, "row")] if left < 0 else []
    columns = len(layout.columns) - fitting
    more += [counted(columns, "column")] if columns else []
    if more:
        console.print(Text(f"({' and '.join(more)} more with --out)", style="dim"))


def _printed(title: str, layout: Layout, rows: list[list[str]], fitting: int) -> Table:
    table = titled_table(title)
    widest = _name_width(layout)
    for place, column in enumerate(layout.columns[:fitting]):
        if column.is_text:
            table.add_column(Text(column.label), overflow="fold", min_width=6, max_width=widest)
        else:
            # Else Rich cuts words of long labels, although there is room below.
            table.add_column(Text(column.label), justify="right", min_width=_needed(layout, place))
    for cells in rows:
        table.add_row(*(Text(cell) for cell in cells[:fitting]))
    return table


def _name_width(layout: Layout) -> int:
    return NAMES if sum(column.is_text for column in layout.columns[:3]) < 2 else NAMES_OF_TWO


def _fitting(layout: Layout, width: int) -> int:
    """How many columns fit side by side; at least two, which may be folded."""
    used, widest = 2, _name_width(layout)
    for place, column in enumerate(layout.columns):
        needed = _needed(layout, place)
        used += _GAP + (min(needed, widest) if column.is_text else needed)
        if used > width:
            return max(2, place)
    return len(layout.columns)


def _needed(layout: Layout, place: int) -> int:
    """Width of a column: of its widest cell, or of the longest word above it."""
    cells = (cell_len(row[place]) for rows in layout.groups.values() for row in rows)
    return max([*cells, *map(cell_len, layout.columns[place].label.split())], default=0)
