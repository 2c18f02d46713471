"""A document on a terminal: its summary on one screen, or every section; within the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.report.document import Document
from parlai_humaneval.report.facts import data_words, excluded_table, qualifying, raters_line, raters_words
from parlai_humaneval.report.section import Summary
from parlai_humaneval.report.summary import leading, models_table, name_of, pairs_table, superiority_table
from parlai_humaneval.report.views import CellKind, DataTable, Layout, cell_text, laid_out
from parlai_humaneval.statistics.core.formatting import counted

ROWS = 15
"""As many rows of a table are printed."""
QUESTIONS, BLOCKS, REMARKS = 2, 6, 4
"""The most questions, answers and remarks in the summary; the others are counted."""
MODELS, PAIRS = 8, 8
"""The most models and pairs in the tables of the summary."""
NAMES = (24, 18, 14)
"""Where not all columns fit, texts are as wide as the first of these with which they do, broken between words."""
BROKEN = (40, 32)
"""Before that, where only long words are in the way, which are broken."""
_GAP, _EDGES = 3, 2
"""Letters between two columns, and at both ends of a row."""


def print_report_summary(document: Document, console: Console, *, has_page: bool = False) -> None:
    """Print one screen: the answer, the models, the pairs, qualifications, and where to read more.

    ``has_page``: the report is written as a page, too.

    >>> from io import StringIO
    >>> from parlai_humaneval.report.build import build_report
    >>> from parlai_humaneval.tables.example import example_tables
    >>> paper = Console(file=StringIO())
    >>> print_report_summary(build_report(example_tables(), title="Our study"), paper)
    >>> paper.file.getvalue().split("\\n")[0].strip()
    'Our study'
    """
    answers = leading(document.summaries())
    _print_title(document, console)
    if len(answers) == 1:
        for table, most in ((models_table(answers[0]), MODELS), (pairs_table(answers[0]), PAIRS)):
            _print_noted(table, console, most, more="--full")
    for answer in answers[:BLOCKS] if len(answers) > 1 else ():
        _print_block(answer, console)
    if len(answers) > BLOCKS:
        console.print(Text(f"{len(answers) - BLOCKS:,} more questions: use --full to see them.", style="dim"))
    _print_superiority(answers, console, PAIRS, more="--full")
    remarks = qualifying(document.facts, answers, document.in_short())
    console.print()
    asked = [line for one in document.sections.values() if one.ASKED_FOR for line in one.in_short()]
    shown = [*remarks[:REMARKS], *(remark for remark in remarks[REMARKS:] if remark in asked)]
    for remark in shown:
        console.print(Text(f"- {remark}"))
    if left := len(remarks) - len(shown):
        console.print(Text(f"- {counted(left, 'more remark')}: --full shows them.", style="dim"))
    console.print(Text.assemble(("Rated by: ", "dim"), raters_line(document.facts)))
    page = "" if has_page else ", or --out report.html for a page with figures and methods"
    console.print(Text(f"Use --full for all sections{page}.", style="dim"))


def _print_title(document: Document, console: Console) -> None:
    if document.facts.note:
        console.print(Text(document.facts.note, style="bold reverse"))
    facts = document.facts
    techniques = [name for name in facts.techniques if facts.from_task and name not in facts.title]
    console.print(Text(" · ".join([document.facts.title, *techniques]), style="bold"))
    questions = document.facts.questions
    for question in questions[:QUESTIONS]:
        console.print(Text(f"{question.metric}: “{question.text}”".removeprefix(": "), style="dim"))
    if len(questions) > QUESTIONS:
        console.print(Text(f"and {counted(len(questions) - QUESTIONS, 'more question')}", style="dim"))
    console.print()
    console.print(Text(document.headline(), style="bold"))


def _print_block(answer: Summary, console: Console) -> None:
    kind: CellKind = "share" if all(line.share for line in answer.models) else "number"
    models = [f"{line.model} {cell_text(line.estimate, kind)}" for line in answer.models[:MODELS]]
    console.print()
    console.print(Text(name_of(answer), style="underline"))
    console.print(Padding(Text(answer.verdict), (0, 0, 0, 2)))
    if models:
        console.print(Padding(Text(f"{answer.what}: {', '.join(models)}", style="dim"), (0, 0, 0, 2)))


def _print_superiority(answers: Sequence[Summary], console: Console, most: int = ROWS, *, more: str = "--out") -> None:
    table = superiority_table(answers)
    if table.rows:
        console.print()
        _print_noted(table, console, most, more=more)


def print_document(document: Document, console: Console) -> None:
    """Print every section: the answers first, then the facts, then each section's remarks and tables.

    >>> from io import StringIO
    >>> from parlai_humaneval.report.build import build_report
    >>> from parlai_humaneval.tables.example import example_tables
    >>> paper = Console(file=StringIO())
    >>> print_document(build_report(example_tables(), title="Our study"), paper)
    >>> paper.file.getvalue().split("\\n")[0].strip()
    'Our study'
    """
    _print_title(document, console)
    answers = leading(document.summaries())
    for answer in answers if len(answers) > 1 else ():
        _print_block(answer, console)
    _print_superiority(answers, console)
    console.print()
    for label, words in [*data_words(document.facts), *raters_words(document.facts)]:
        console.print(Text.assemble((f"{label}: ", "dim"), words))
    for remark in qualifying(document.facts, answers, document.in_short()):
        console.print(Text(f"- {remark}"))
    if document.facts.excluded is not None:
        _print_table(excluded_table(document.facts.excluded), console)
    console.print(Text.assemble(("For a paper: ", "dim"), document.sentence()))
    for section in document.sections.values():
        console.print()
        console.print(Text(section.heading(), style="bold underline"))
        if section.headline:
            console.print(Text(section.headline))
        for remark in section.remarks:
            console.print(Padding(Text(remark), (0, 0, 0, 2)))
        for table in section.data_tables():
            _print_noted(table, console)


def _print_noted(table: DataTable, console: Console, most: int = ROWS, *, more: str = "--out") -> None:
    if table.rows:
        _print_table(table, console, most, more=more)
        for note in table.notes:
            console.print(Text(note, style="dim"))


def _print_table(table: DataTable, console: Console, most: int = ROWS, *, more: str = "--out") -> None:
    for part in table_lines(table, console.width, most, more=more):
        console.print(part)


def table_lines(
    table: DataTable, width: int, most: int = ROWS, *, more: str = "--out", wider: str = ""
) -> Iterator[RenderableType]:
    """As many columns as fit, from the left, and at most so many rows, with a note on omissions.

    ``more``: the option that shows the rest; ``wider``: what shows the other columns, where that is something else.
    """
    layout = laid_out(table)
    widths = _widths(layout, width)
    left = most
    for group, rows in layout.groups.items():
        if left > 0:
            yield Text(f"{table.title} ({group})" if group else table.title)
            # Each column is as wide as ``widths`` says: left to Rich, words would be broken so that all fit.
            printed = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
            for column, width_of in zip(layout.columns, widths, strict=False):
                justify: JustifyMethod = "left" if column.is_text else "right"
                printed.add_column(Text(column.label), justify=justify, overflow="fold", width=width_of)
            for cells in rows[:left]:
                printed.add_row(*(Text(cell) for cell in cells[: len(widths)]))
            yield printed
        left -= len(rows)
    columns = len(layout.columns) - len(widths)
    hidden: dict[str, list[str]] = {}
    for count, what, shown_by in ((-left, "row", more), (columns, "column", wider or more)):
        if count > 0:
            hidden.setdefault(shown_by, []).append(counted(count, what))
    if hidden:
        said = [f"{' and '.join(counts)} more with {shown_by}" for shown_by, counts in hidden.items()]
        yield Text(f"({', '.join(said)})", style="dim")


def _widths(layout: Layout, screen: int) -> list[int]:
    """Widths of the columns, from the left, that fit side by side; at least of two.

    Words are broken only where otherwise columns would be left out, or two of them are wider than the screen. Room that
    is left goes to labels above numbers.
    """
    places = range(len(layout.columns))
    by_cap = [[_needed(layout, place, most) for place in places] for most in (screen, *NAMES)]
    by_cap += [[_needed(layout, place, most, whole_words=False) for place in places] for most in (*BROKEN, *NAMES)]
    fitting = next((widths for widths in by_cap if _total(widths) <= screen), None)
    # Where columns are left out anyway, texts of those that remain need not be narrow.
    widths = list(fitting or by_cap[1])
    while len(widths) > 2 and _total(widths) > screen:
        widths.pop()
    for place in sorted(range(len(widths)), key=lambda place: -widths[place]):
        least = min(widths[place], (screen - _EDGES) // len(widths) - _GAP)
        widths[place] = max(least, widths[place] - max(0, _total(widths) - screen))
    for place, column in enumerate(layout.columns[: len(widths)]):
        widths[place] += max(0, min(cell_len(column.label) - widths[place], screen - _total(widths)))
    return widths


def _total(widths: Sequence[int]) -> int:
    return _EDGES + sum(width + _GAP for width in widths)


def _needed(layout: Layout, place: int, most: int, *, whole_words: bool = True) -> int:
    """Width of a column: of its widest cell, or of the longest word above it; texts wider than ``most`` are broken.

    ``whole_words``: between words, so that a long name stays whole.
    """
    column = layout.columns[place]
    cells = [row[place] for rows in layout.groups.values() for row in rows]
    whole_texts = (column.label, *(cells if column.is_text and whole_words else ()))
    words = [word for text in whole_texts for word in text.split()]
    whole = max(map(cell_len, cells), default=0)
    return max([*map(cell_len, words), min(whole, most) if column.is_text else whole])
