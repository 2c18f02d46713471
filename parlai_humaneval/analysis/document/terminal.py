"""A document on a terminal: the answers, what to know before using them, and the main tables, within its width."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.document.cells import ShownColumn, shown_columns
from parlai_humaneval.analysis.document.model import Document
from parlai_humaneval.analysis.document.words import data_words, raters_words
from parlai_humaneval.analysis.reports.printing import heading, titled_table
from parlai_humaneval.analysis.sections.base import Section
from parlai_humaneval.analysis.sections.views import DataTable
from parlai_humaneval.analysis.wording import counted

ROWS = 15
"""As many rows of a table are printed."""
NAMES = 24
"""A column of names is as wide as that, at most; longer ones are folded."""
_GAP = 2


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
    """As many columns as fit, from the left; what is left out is said."""
    columns = shown_columns(table)
    rows = [[column.cell(row) for column in columns] for row in table.rows[:ROWS]]
    fitting = _fitting(columns, rows, console.width)
    printed: Table = titled_table(table.title)
    for column in columns[:fitting]:
        if column.is_text:
            printed.add_column(Text(column.label), overflow="fold", min_width=6)
        else:
            printed.add_column(Text(column.label), justify="right")
    for cells in rows:
        printed.add_row(*(Text(cell) for cell in cells[:fitting]))
    console.print(printed)
    left = [counted(len(table.rows) - ROWS, "row")] if len(table.rows) > ROWS else []
    left += [counted(len(columns) - fitting, "column")] if fitting < len(columns) else []
    if left:
        console.print(Text(f"({' and '.join(left)} more with --out)", style="dim"))


def _fitting(columns: list[ShownColumn], rows: list[list[str]], width: int) -> int:
    """How many columns fit side by side; at least two, which may be folded."""
    used = 1
    for place, column in enumerate(columns):
        cells = max((len(row[place]) for row in rows), default=0)
        label = max(map(len, column.label.split()), default=0)
        used += _GAP + (min(max(cells, label), NAMES) if column.is_text else max(cells, label))
        if used > width:
            return max(2, place)
    return len(columns)
