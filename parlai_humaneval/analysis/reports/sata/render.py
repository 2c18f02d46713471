"""The tables of a SOBA or SATA report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.printing import (
    group_heading,
    holm_title,
    model_column,
    none_answered,
    number_columns,
    p_cells,
    place_table,
    share_cells,
    span_title,
    titled_table,
)
from parlai_humaneval.analysis.reports.sata.types import SataGroup, SataReport, TurnSpan
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import (
    number_words,
    p_words,
    points_range,
    points_words,
)


def parts(report: SataReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        yield group_heading(group.setting, group.metric, group.all_turns.n_dialogues, group.all_turns.n_workers)
        yield _wins(group)
        spans = [span for span in (group.all_turns, group.turns_2_to_last) if span.n_turns]
        for part in spans:
            if part.test is not None:
                yield Text(f"{_title(part)}: {test_words(part.test)}")
        for part in spans:
            yield _pairs(part)
        if not group.turns_2_to_last.n_turns:
            yield none_answered(group.turns_2_to_last.first_turn)
        yield place_table(group.by_position, group.anchoring)


def _title(span: TurnSpan) -> str:
    return span_title(span.first_turn, span.last_turn)


def test_words(test: Result) -> str:
    """“Cochran's Q = 9.52, df 3, p = .023, n = 445 turns (the paper's test)”."""
    df = test.details.get("df")
    return f"{test.method}: {number_words(test.statistic)}, df {df}, {p_words(test.p_value)}, n = {test.n:,} (paper's)"


def _wins(group: SataGroup) -> Table:
    whole, later = group.all_turns, group.turns_2_to_last
    table = titled_table("Share of turns in which the reply was chosen, clustered by worker")
    model_column(table)
    for span in (whole, later):
        number_columns(table, _title(span), "95 %", "n")
    later_rows = {row.model: row for row in later.models}
    for row in sorted(whole.models, key=lambda row: -(row.win_rate.estimate or 0)):
        cells = [*share_cells(row.win_rate), f"{row.shown:,}"]
        if (other := later_rows.get(row.model)) is not None:
            cells += [*share_cells(other.win_rate), f"{other.shown:,}"]
        table.add_row(Text(row.model), *cells)
    table.add_section()
    shares = [("all (tie-win)", "tie_win"), ("none (tie-loss)", "tie_loss")]
    shares += [("written", "written")] if whole.written.estimate else []
    for label, key in shares:
        one, two = getattr(whole, key), getattr(later, key)
        table.add_row(label, *share_cells(one), f"{one.n:,}", *share_cells(two), f"{two.n:,}")
    return table


def _pairs(span: TurnSpan) -> Table:
    table = titled_table(f"{_title(span)}, difference in points of win rate; p clustered by worker, and the paper's")
    model_column(table, "Pair")
    gaps, papers = [pair.difference for pair in span.pairs], [pair.paper for pair in span.pairs]
    number_columns(table, "Points", "95 %", "p", *holm_title(gaps), "p, paper", *holm_title(papers))
    for pair in span.pairs:
        gap, flip = pair.difference, not pair.a_leads
        table.add_row(
            Text(pair.leader_first),
            points_words(gap.estimate),
            points_range(gap.ci_low, gap.ci_high, flip=flip),
            *p_cells(gaps, gap),
            *p_cells(papers, pair.paper),
        )
    return table
