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
from parlai_humaneval.analysis.wording import counted, p_cell, p_words, percent, percent_range, seconds_words

UNBROKEN = 20
"""Criteria of up to so many characters stand on one line."""


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


def group_heading(setting: str, metric: str, n_dialogues: int, n_workers: int) -> Text:
    """What a group of a report is about, and what it rests on."""
    basis = f"{counted(n_dialogues, 'dialogue')}, {counted(n_workers, 'worker')}"
    return heading(", ".join(part for part in (setting, metric, basis) if part))


def titled_table(title: str) -> Table:
    """A light table under its title; add columns with :func:`model_column` and ``add_column``."""
    return Table(title=Text(title), title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1))


def model_column(table: Table, title: str = "Model") -> None:
    """A column of names, which may be long: they are folded, not cut."""
    table.add_column(title, overflow="fold", min_width=8)


def criterion_column(table: Table, names: Iterable[str]) -> None:
    """A column of criteria, which are not broken unless they are very long; the models' names give way."""
    width = min(max((len(name) for name in names), default=0), UNBROKEN)
    table.add_column("Criterion", overflow="fold", min_width=max(width, len("Criterion")))


def number_columns(table: Table, *titles: str) -> None:
    for title in titles:
        table.add_column(Text(title), justify="right")


def share_cells(share: Result) -> tuple[str, str]:
    """“68 %” and its interval “59–76 %”."""
    return percent(share.estimate), percent_range(share.ci_low, share.ci_high)


def holm_title(results: Iterable[Result]) -> list[str]:
    """The title of the column of corrected p-values, where any of ``results`` has one."""
    return ["Holm"] if any(result.p_holm is not None for result in results) else []


def p_cells(results: Iterable[Result], of: Result) -> list[str]:
    """p of one of ``results``, and below :func:`holm_title` the corrected one."""
    return [p_cell(of.p_value), *(p_cell(of.p_holm) for _ in holm_title(results))]


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
    times = ((report.median_turn_seconds, "turn"), (report.median_dialogue_seconds, "dialogue"))
    known = [f"{seconds_words(seconds)} a {what}" for seconds, what in times if seconds is not None]
    if known:
        table.add_row("Median time", ", ".join(known))
    return table


def _excluded(excluded: Excluded) -> Table:
    reach = "all that a failing worker did" if excluded.scope == "worker" else "dialogues that failed"
    where = f" (judged in {counted(len(excluded.tasks), 'task')})" if excluded.tasks else ""
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
