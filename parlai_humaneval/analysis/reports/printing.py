"""What the prints of all reports share: 80 columns, and names of models that may look like markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.types import DialogueCount, Excluded, JudgedReport, LiveReport, PlaceRow, Report
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import counted, p_cell, p_words, percent, percent_range, seconds_words

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


def span_title(first_turn: int, last_turn: int | None) -> str:
    """“All turns”, “Turns 2–10”, “Turn 2”, or “Turns from 2 on” where there is none of them."""
    if first_turn == 1:
        return "All turns"
    if last_turn is None or last_turn < first_turn:
        return f"Turns from {first_turn} on"
    return f"Turn {first_turn}" if last_turn == first_turn else f"Turns {first_turn}–{last_turn}"


def none_answered(first_turn: int) -> Text:
    """Why nothing is said of the turns from ``first_turn`` on."""
    return Text(
        f"No answer that counts was given from turn {first_turn} on: nothing can be estimated there.", style="dim"
    )


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
    for label, words in _basis(report):
        table.add_row(label, words)
    table.add_row("Workers", f"{report.workers:,}")
    if (practice := report.practice) is not None:
        table.add_row(
            "Practice", f"{practice.passed:,} passed, {practice.failed:,} failed, {practice.not_ended:,} not ended"
        )
    known = [f"{seconds_words(seconds)} a {what}" for seconds, what in _times(report) if seconds is not None]
    if known:
        table.add_row("Median time", ", ".join(known))
    return table


def _basis(report: Report) -> Iterator[tuple[str, str]]:
    """What was done, in counts."""
    if isinstance(report, LiveReport):
        turns = report.turn_count
        yield "Dialogues", _by_status(report.dialogue_count)
        yield "Turns", f"{turns.complete:,} answered, {turns.incomplete:,} begun and not answered"
    if isinstance(report, JudgedReport):
        checks = report.attention_checks
        yield "Judgements", _by_status(report.judgements)
        yield "Shown", f"{counted(report.items, 'item')} of {counted(report.dialogues_shown, 'dialogue')}"
        if checks.passed or checks.failed or checks.not_answered:
            by = f" (by {counted(checks.workers_failing, 'worker')})" if checks.failed else ""
            done = f"{checks.passed:,} passed, {checks.failed:,} failed{by}, {checks.not_answered:,} not answered"
            yield "Attention checks", done


def _by_status(count: DialogueCount) -> str:
    return f"{count.complete:,} complete, {count.partial:,} partial, {count.failed:,} failed, {count.running:,} running"


def _times(report: Report) -> list[tuple[float | None, str]]:
    if isinstance(report, LiveReport):
        return [(report.median_turn_seconds, "turn"), (report.median_dialogue_seconds, "dialogue")]
    return [(report.median_seconds, "judgement")] if isinstance(report, JudgedReport) else []


def _excluded(excluded: Excluded) -> Table:
    reach = "all that a failing worker did" if excluded.scope == "worker" else "dialogues that failed"
    where = f" (judged in {counted(len(excluded.tasks), 'task')})" if excluded.tasks else ""
    table = titled_table(f"Left out, nothing is deleted: {reach}{where}")
    table.add_column("Check", no_wrap=True)
    # Columns of what there is: dialogues and their turns, judgements, or both.
    titles = ("Dialogues failed", "Workers failed", "Turns removed", "Judgements removed")
    number_columns(table, *_that_apply(titles, excluded), "Not judged")
    for row in excluded.counts:
        counts = (row.dialogues_failed, row.workers_failed, row.turns_removed, row.judgements_removed)
        table.add_row(Text(row.check), *_that_apply([f"{n:,}" for n in counts], excluded), f"{row.not_judged:,}")
    here = excluded.here
    table.add_section()
    left = (here.dialogues, here.workers, here.turns, here.judgements)
    table.add_row("left out here", *_that_apply([f"{n:,}" for n in left], excluded), "")
    return table


def _that_apply(cells: Sequence[str], excluded: Excluded) -> list[str]:
    """Of the columns on dialogues, workers, turns and judgements those that were there to be judged."""
    judged = excluded.judgements_total > 0
    live = excluded.dialogues_total > 0 or not judged
    return [cell for cell, applies in zip(cells, (live, True, live, judged), strict=True) if applies]
