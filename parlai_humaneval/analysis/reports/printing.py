"""What the prints of all reports share: 80 columns, and names of models that may look like markup."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.types import Excluded, PlaceRow, Report
from parlai_humaneval.analysis.result import Result
from parlai_humaneval.analysis.wording import p_words, percent, percent_range, seconds_words


def print_report(report: Report, console: Console, parts: Iterable[RenderableType]) -> None:
    """The answer first, then what it rests on, the tables, and how the numbers were made."""
    title = " · ".join([*report.tasks, *report.techniques]) or "report"
    console.print(Text(title, style="bold"))
    for metric, questions in report.questions.items():
        for question in questions:
            console.print(Text(f"{metric}: “{question}”", style="dim"))
    console.print()
    for sentence, remarks in report.findings() or [(report.headline, [])]:
        console.print(Text(sentence, style="bold"))
        for remark in remarks:
            console.print(Padding(Text(remark), (0, 0, 0, 2)))
    console.print()
    console.print(_data(report))
    if report.excluded is not None:
        console.print()
        console.print(_excluded(report.excluded))
    for part in parts:
        console.print(part)
    console.print()
    for method in [*report.methods, *report.footnotes()]:
        console.print(Text(method, style="dim"))


def heading(text: str) -> Text:
    return Text(text, style="bold underline")


def titled_table(title: str) -> Table:
    """A light table under its title; add columns with :func:`model_column` and ``add_column``."""
    return Table(title=Text(title), title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1))


def model_column(table: Table, title: str = "Model") -> None:
    """A column of names, which may be long: they are folded, not cut."""
    table.add_column(title, overflow="fold", min_width=8)


def number_columns(table: Table, *titles: str) -> None:
    for title in titles:
        table.add_column(Text(title), justify="right")


def share_cells(share: Result) -> tuple[str, str]:
    """“68 %” and its interval “59–76 %”."""
    return percent(share.estimate), percent_range(share.ci_low, share.ci_high)


def place_table(rows: list[PlaceRow], anchoring: Result) -> Table:
    """How often each position was chosen."""
    table = titled_table(f"By position shown; {anchoring.method}: {p_words(anchoring.p_value)}")
    number_columns(table, "Position", "Chosen", "Share", "95 %")
    for row in rows:
        table.add_row(str(row.position), f"{row.chosen:,} of {row.shown:,}", *share_cells(row.share))
    return table


def _data(report: Report) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    dialogues, turns = report.dialogues, report.turns
    table.add_row(
        "Dialogues",
        f"{dialogues.complete:,} complete, {dialogues.partial:,} partial, "
        f"{dialogues.failed:,} failed, {dialogues.running:,} running",
    )
    table.add_row("Turns", f"{turns.complete:,} answered, {turns.incomplete:,} begun and not answered")
    table.add_row("Workers", f"{report.workers:,}")
    if (practice := report.practice) is not None:
        table.add_row(
            "Practice", f"{practice.passed:,} passed, {practice.failed:,} failed, {practice.not_ended:,} not ended"
        )
    table.add_row(
        "Median time",
        f"{seconds_words(report.median_turn_seconds)} a turn, "
        f"{seconds_words(report.median_dialogue_seconds)} a dialogue",
    )
    return table


def _excluded(excluded: Excluded) -> Table:
    reach = "all that a failing worker did" if excluded.scope == "worker" else "dialogues that failed"
    where = f" (judged in {len(excluded.tasks)} tasks)" if excluded.tasks else ""
    table = titled_table(f"Left out, nothing is deleted: {reach}{where}")
    table.add_column("Check", no_wrap=True)
    number_columns(table, "Dialogues failed", "Workers failed", "Turns removed", "Not judged")
    for row in excluded.counts:
        table.add_row(
            Text(row.check),
            f"{row.dialogues_failed:,}",
            f"{row.workers_failed:,}",
            f"{row.turns_removed:,}",
            f"{row.not_judged:,}",
        )
    here = excluded.here
    table.add_section()
    table.add_row("left out here", f"{here.dialogues:,}", f"{here.workers:,}", f"{here.turns:,}", "")
    return table
