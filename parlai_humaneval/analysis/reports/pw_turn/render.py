"""The tables of a PW-Turn report."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.printing import none_answered, span_title, titled_table
from parlai_humaneval.analysis.reports.pw_turn.types import PairReport, PairwiseReport, Rate, TurnRange
from parlai_humaneval.statistics.wording import ABSENT, counted, p_cell, percent, percent_range


def parts(report: PairwiseReport) -> Iterator[RenderableType]:
    """What stands below the data: the tables of each pair."""
    for pair in report.pairs:
        for part in _pair_tables(pair):
            yield Text()
            yield part


def _pair_tables(pair: PairReport) -> Iterator[RenderableType]:
    leader = pair.favoured or pair.model_b
    other = pair.model_a if leader == pair.model_b else pair.model_b
    basis = f"{counted(pair.n_dialogues, 'dialogue')}, {counted(pair.n_workers, 'worker')}"
    yield Text(f"{leader} against {other}: {pair.metric} ({basis})", style="bold underline")
    yield _rates(pair, leader)
    later = pair.win_rates[leader].turns_2_to_last
    if not later.n_turns:
        yield none_answered(later.first_turn)
    if pair.by_turn:
        yield _turns(pair, leader, other)
    if any(row.n for row in pair.by_position):
        yield _positions(pair, leader, other)


def _rates(pair: PairReport, leader: str) -> Table:
    rates = pair.win_rates[leader]
    whole, later = rates.all_turns, rates.turns_2_to_last
    table = titled_table(f"Win rate of {leader}, 95 % interval clustered by worker")
    table.add_column("")
    for part in (whole, later):
        table.add_column(span_title(part.first_turn, part.last_turn), justify="right")
        table.add_column("95 %", justify="right")
    for label, key in (("Lin", "lin"), ("Sqr", "sqr"), ("WTA", "wta")):
        table.add_row(label, *_cells(getattr(whole, key)), *_cells(getattr(later, key)))
    table.add_section()
    for label, key in (("Lin", "lin"), ("Sqr", "sqr"), ("WTA", "wta")):
        table.add_row(f"{label}, bootstrap", *_check_cells(getattr(whole, key)), *_check_cells(getattr(later, key)))
    table.add_section()
    table.add_row("won : lost : tied", _won(whole), "", _won(later), "")
    table.add_row("p, clustered (Lin)", _clustered_p(whole), "", _clustered_p(later), "")
    if pair.p_holm is not None:
        table.add_row("p, Holm", p_cell(pair.p_holm), "", "", "")
    table.add_row("p, binomial (paper's)", _binomial_p(whole), "", _binomial_p(later), "")
    return table


def _cells(rate: Rate) -> tuple[str, str]:
    return percent(rate.estimate), percent_range(rate.ci_low, rate.ci_high)


def _check_cells(rate: Rate) -> tuple[str, str]:
    return "", percent_range(rate.bootstrap_low, rate.bootstrap_high)


def _won(part: TurnRange) -> str:
    return f"{part.wins} : {part.losses} : {part.ties}" if part.n_turns else ABSENT


def _clustered_p(part: TurnRange) -> str:
    """The dash where no turn was decided: its p of 1 is no finding."""
    return p_cell(part.lin.p_value if part.wins + part.losses else None)


def _binomial_p(part: TurnRange) -> str:
    return p_cell(part.binomial_p if part.wins + part.losses else None)


def _turns(pair: PairReport, leader: str, other: str) -> Table:
    table = titled_table(f"By turn: {leader}")
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
    table = titled_table("By position shown")
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
