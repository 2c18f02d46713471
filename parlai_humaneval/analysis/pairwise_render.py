"""A pairwise report on a terminal of 80 columns; nothing is printed that the report does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.pairwise_types import PairReport, PairwiseReport, Rate, TurnRange
from parlai_humaneval.analysis.wording import ABSENT, counted, p_cell, percent, percent_range, seconds_words


def render(report: PairwiseReport, console: Console) -> None:
    """Print ``report``: the answer first, then what it rests on."""
    title = " · ".join([*report.tasks, *report.techniques]) or "report"
    console.print(Text(title, style="bold"))
    for metric, questions in report.questions.items():
        for question in questions:
            console.print(Text(f"{metric}: “{question}”", style="dim"))
    console.print()
    for pair in report.pairs:
        console.print(Text(pair.headline, style="bold"))
        for remark in pair.remarks:
            console.print(Padding(Text(remark), (0, 0, 0, 2)))
    if not report.pairs:
        console.print(Text(report.headline, style="bold"))
    console.print()
    console.print(_data(report))
    for pair in report.pairs:
        for part in _pair_tables(pair):
            console.print()
            console.print(part)
    console.print()
    for method in report.methods:
        console.print(Text(method, style="dim"))
    console.print(Text(f"Bootstrap: {report.bootstrap_draws:,} resamples, seed {report.seed}.", style="dim"))


def _data(report: PairwiseReport) -> Table:
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


def _pair_tables(pair: PairReport) -> Iterator[RenderableType]:
    leader = pair.favoured or pair.model_b
    other = pair.model_a if leader == pair.model_b else pair.model_b
    basis = f"{counted(pair.n_dialogues, 'dialogue')}, {counted(pair.n_workers, 'worker')}"
    yield Text(f"{leader} against {other}: {pair.metric} ({basis})", style="bold underline")
    yield _rates(pair, leader)
    if pair.by_turn:
        yield _turns(pair, leader, other)
    if any(row.n for row in pair.by_position):
        yield _positions(pair, leader, other)


def _rates(pair: PairReport, leader: str) -> Table:
    rates = pair.win_rates[leader]
    whole, later = rates.all_turns, rates.turns_2_to_last
    table = _table(f"Win rate of {leader}, 95 % interval clustered by worker")
    table.add_column("")
    for part in (whole, later):
        table.add_column(_range_title(part), justify="right")
        table.add_column("95 %", justify="right")
    for label, key in (("Lin", "lin"), ("Sqr", "sqr"), ("WTA", "wta")):
        table.add_row(label, *_cells(getattr(whole, key)), *_cells(getattr(later, key)))
    table.add_section()
    for label, key in (("Lin", "lin"), ("Sqr", "sqr"), ("WTA", "wta")):
        table.add_row(f"{label}, bootstrap", *_check_cells(getattr(whole, key)), *_check_cells(getattr(later, key)))
    table.add_section()
    table.add_row("won : lost : tied", _won(whole), "", _won(later), "")
    table.add_row("p, clustered (Lin)", p_cell(whole.lin.p_value), "", p_cell(later.lin.p_value), "")
    if pair.p_holm is not None:
        table.add_row("p, Holm", p_cell(pair.p_holm), "", "", "")
    table.add_row("p, binomial (paper's)", p_cell(whole.binomial_p), "", p_cell(later.binomial_p), "")
    return table


def _cells(rate: Rate) -> tuple[str, str]:
    return percent(rate.estimate), percent_range(rate.ci_low, rate.ci_high)


def _check_cells(rate: Rate) -> tuple[str, str]:
    return "", percent_range(rate.bootstrap_low, rate.bootstrap_high)


def _won(part: TurnRange) -> str:
    return f"{part.wins} : {part.losses} : {part.ties}"


def _range_title(part: TurnRange) -> str:
    last = ABSENT if part.last_turn is None else str(part.last_turn)
    return "All turns" if part.first_turn == 1 else f"Turns {part.first_turn}–{last}"


def _turns(pair: PairReport, leader: str, other: str) -> Table:
    table = _table(f"By turn: {leader}")
    for heading in ("Turn", "Won", "Lost", "Tied", "Win rate", "95 %"):
        table.add_column(heading, justify="right")
    for row in pair.by_turn:
        share = row.win_rates[leader]
        table.add_row(
            str(row.turn),
            str(row.wins[leader]),
            str(row.wins[other]),
            str(row.ties),
            percent(share.estimate),
            percent_range(share.ci_low, share.ci_high),
        )
    return table


def _positions(pair: PairReport, leader: str, other: str) -> Table:
    table = _table("By position shown")
    for heading in ("Position", "Chosen", "Share", "95 %", "p"):
        table.add_column(heading, justify="right")
    for model in (leader, other):
        table.add_column(Text(f"{model} here"), justify="right", overflow="fold")
    for row in pair.by_position:
        table.add_row(
            str(row.position),
            f"{row.selected} of {row.n}",
            percent(row.share.estimate),
            percent_range(row.share.ci_low, row.share.ci_high),
            p_cell(row.p_value),
            percent(row.win_rates[leader]),
            percent(row.win_rates[other]),
        )
    return table


def _table(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1))
