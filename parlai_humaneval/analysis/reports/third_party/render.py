"""The tables of a third party's report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.agreed import agreement_words
from parlai_humaneval.analysis.reports.duel_tables import pair_table
from parlai_humaneval.analysis.reports.printing import (
    criterion_column,
    heading,
    model_column,
    number_columns,
    share_cells,
    titled_table,
)
from parlai_humaneval.analysis.reports.third_party.types import (
    AnswerAgreement,
    RankGroup,
    ReplayGroup,
    ScaleGroup,
    ThirdPartyReport,
)
from parlai_humaneval.analysis.reports.third_party.words import title
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.wording import counted, p_cell, percent, signed, signed_range


def parts(report: ThirdPartyReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        yield heading(title(group))
        if isinstance(group, ReplayGroup):
            yield from _replay(group)
        elif isinstance(group, RankGroup):
            yield from _ranking(group)
        else:
            yield from _scales(group)


def _replay(group: ReplayGroup) -> Iterator[RenderableType]:
    if group.answers:
        yield _answers(group)
    for answer in group.answers:
        if len(answer.by_turn) > 1 and answer.n_dialogues >= MIN_CLUSTERS:
            yield _by_turn(answer)
        if answer.among_several is not None:
            yield Text(f"{answer.what}, all raters: {agreement_words(answer.among_several, 'answer')}.")
    if group.ratings:
        yield _ratings(group)


def _answers(group: ReplayGroup) -> Table:
    table = titled_table("How often the own rater and the third party said yes, and agree; Cohen's κ (by dialogue)")
    criterion_column(table, (row.what for row in group.answers))
    number_columns(table, "n", "Own", "Third", "Agree", "95 %", "κ", "95 %")
    for row in group.answers:
        kappa = row.kappa
        table.add_row(
            Text(row.what),
            f"{row.n:,}",
            percent(row.own_share),
            percent(row.third_share),
            *share_cells(row.percent),
            signed(kappa.estimate),
            signed_range(kappa.ci_low, kappa.ci_high),
        )
    return table


def _by_turn(answer: AnswerAgreement) -> Table:
    table = titled_table(f"{answer.what}, turn by turn")
    number_columns(table, "Turn", "n", "Agree", "95 %", "Cohen's κ", "95 %")
    for row in answer.by_turn:
        kappa = row.kappa
        interval = signed_range(kappa.ci_low, kappa.ci_high)
        table.add_row(str(row.turn), f"{row.n:,}", *share_cells(row.percent), signed(kappa.estimate), interval)
    return table


def _ratings(group: ReplayGroup) -> Table:
    table = titled_table("Ratings: third party against own rater")
    criterion_column(table, (row.criterion for row in group.ratings))
    number_columns(table, "n", "Own", "Third", "Gap", "95 %", "p", "Equal", "α", "95 %")
    for row in group.ratings:
        gap, alpha = row.difference, row.alpha
        table.add_row(
            Text(row.criterion),
            f"{row.n:,}",
            signed(row.own_mean),
            signed(row.third_mean),
            signed(gap.estimate),
            signed_range(gap.ci_low, gap.ci_high),
            p_cell(gap.p_value),
            percent(row.equal.estimate),
            signed(alpha.estimate),
            signed_range(alpha.ci_low, alpha.ci_high),
        )
    return table


def _ranking(group: RankGroup) -> Iterator[RenderableType]:
    basis = f"{counted(group.n_rankings, 'ranking')} of {counted(group.n_turns, 'turn')}"
    table = titled_table(f"Places, 1 the best ({basis}, {counted(group.n_workers, 'worker')})")
    model_column(table)
    number_columns(table, "n", "Mean place", "95 %", "Best", "95 %", "Own picked")
    for row in group.models:
        rank = row.mean_rank
        interval = signed_range(rank.ci_low, rank.ci_high)
        cells = (signed(rank.estimate), interval, *share_cells(row.best), percent(row.own_picked))
        table.add_row(Text(row.model), f"{row.n:,}", *cells)
    yield table
    if group.pairs:
        yield pair_table(group.pairs, "binomial")
    yield Text(f"Kendall's τ-b of mean places with shares picked, over models: {signed(group.tau_of_models)}.")
    yield Text(f"{agreement_words(group.agreement, 'pair')}.")


def _scales(group: ScaleGroup) -> Iterator[RenderableType]:
    basis = f"{counted(group.n_dialogues, 'dialogue')}, {counted(group.n_workers, 'worker')}"
    table = titled_table(f"Mean ratings, 95 % clustered by worker ({basis})")
    criterion_column(table, (row.criterion for row in group.rows))
    model_column(table)
    number_columns(table, "n", "Mean", "95 %", "α of raters", "95 %")
    alphas = {row.criterion: row.alpha for row in group.agreement}
    for row in group.rows:
        mean = row.mean
        cells = (f"{row.n:,}", signed(mean.estimate), signed_range(mean.ci_low, mean.ci_high))
        alpha = alphas.pop(row.criterion, None)  # once a criterion
        ends = ("", "") if alpha is None else (signed(alpha.estimate), signed_range(alpha.ci_low, alpha.ci_high))
        table.add_row(Text(row.criterion), Text(row.model), *cells, *ends)
    yield table
