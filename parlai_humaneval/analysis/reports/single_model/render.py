"""The tables of a single-model report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.printing import (
    criterion_column,
    group_heading,
    holm_title,
    model_column,
    none_answered,
    number_columns,
    p_cells,
    share_cells,
    span_title,
    titled_table,
)
from parlai_humaneval.analysis.reports.single_model.types import (
    CriterionPair,
    SingleModelGroup,
    SingleModelReport,
    TickSpan,
)
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import (
    ABSENT,
    p_cell,
    percent,
    percent_range,
    points_range,
    points_words,
    signed,
    signed_range,
)

NOTHING_TICKED = "nothing ticked"


def parts(report: SingleModelReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        yield group_heading(group.setting, group.metric, group.n_dialogues, group.n_workers)
        if group.all_turns.rates:
            yield _rates(group.all_turns, "All turns")
            later = group.later_turns
            if later.n_turns:
                yield _rates(later, span_title(later.first_turn, later.last_turn))
            else:
                yield none_answered(later.first_turn)
        if group.tick_pairs:
            yield _share_pairs(group.tick_pairs)
        if group.ratings:
            yield _means(group)
        if group.rating_pairs:
            yield _mean_pairs(group.rating_pairs)


def _rates(span: TickSpan, title: str) -> Table:
    table = titled_table(f"{title}: share of replies ticked, clustered by worker; Wald interval of the paper")
    criterion_column(table, [*(rate.criterion for rate in span.rates), NOTHING_TICKED])
    model_column(table)
    number_columns(table, "Share", "95 %", "Wald", "Turns", "Dialogues")
    for rate in span.rates:
        table.add_row(
            Text(rate.criterion),
            Text(rate.model),
            *share_cells(rate.rate),
            percent_range(rate.paper_low, rate.paper_high),
            f"{rate.turns:,}",
            percent(rate.dialogues_won.estimate),
        )
    table.add_section()
    for model, none in span.none.items():
        table.add_row(NOTHING_TICKED, Text(model), *share_cells(none), "", f"{none.n:,}", "")
    return table


def _share_pairs(pairs: Sequence[CriterionPair]) -> Table:
    table = titled_table("All turns, difference in points; p clustered by worker, and the paper's")
    gaps = _pair_columns(table, pairs)
    for pair in pairs:
        gap = pair.difference
        interval = points_range(gap.ci_low, gap.ci_high, flip=not pair.a_leads)
        table.add_row(
            *_names(pair), points_words(gap.estimate), interval, *p_cells(gaps, gap), p_cell(pair.paper.p_value)
        )
    return table


def _means(group: SingleModelGroup) -> Table:
    table = titled_table("Ratings at the end of the dialogue, clustered by worker")
    criterion_column(table, [rating.criterion for rating in group.ratings])
    model_column(table)
    number_columns(table, "Mean", "95 %", "sd", "n", "Scale")
    for rating in group.ratings:
        mean = rating.mean
        known = rating.minimum is not None and rating.maximum is not None
        table.add_row(
            Text(rating.criterion),
            Text(rating.model),
            signed(mean.estimate),
            signed_range(mean.ci_low, mean.ci_high),
            signed(rating.sd),
            f"{mean.n:,}",
            f"{rating.minimum:g}–{rating.maximum:g}" if known else ABSENT,
        )
    return table


def _mean_pairs(pairs: Sequence[CriterionPair]) -> Table:
    table = titled_table("Difference of means; p clustered by worker, and the paper's")
    gaps = _pair_columns(table, pairs)
    for pair in pairs:
        gap, sign = pair.difference, 1 if pair.a_leads else -1
        ends = sorted(sign * end for end in (gap.ci_low, gap.ci_high) if end is not None)
        interval = signed_range(*ends) if ends else ABSENT
        size = None if gap.estimate is None else abs(gap.estimate)
        table.add_row(*_names(pair), signed(size), interval, *p_cells(gaps, gap), p_cell(pair.paper.p_value))
    return table


def _names(pair: CriterionPair) -> tuple[Text, Text]:
    return Text(pair.criterion), Text(pair.leader_first)


def _pair_columns(table: Table, pairs: Sequence[CriterionPair]) -> list[Result]:
    """Adds the columns of differences; the results whose p-values stand in them."""
    gaps = [pair.difference for pair in pairs]
    criterion_column(table, [pair.criterion for pair in pairs])
    model_column(table, "Pair")
    number_columns(table, "Points", "95 %", "p", *holm_title(gaps), "p, paper")
    return gaps
