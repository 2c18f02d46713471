"""The tables of a free-for-all report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.free_for_all.types import FreeForAllGroup, FreeForAllReport
from parlai_humaneval.analysis.reports.printing import (
    group_heading,
    holm_title,
    model_column,
    number_columns,
    p_cells,
    place_table,
    share_cells,
    titled_table,
)
from parlai_humaneval.statistics.wording import points_range, points_words, signed, signed_range


def parts(report: FreeForAllReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        yield group_heading(group.setting, group.metric, group.n_dialogues, group.n_workers)
        yield _skills(group)
        yield _points(group)
        yield _gaps(group)
        yield place_table(group.by_position, group.anchoring)


def _skills(group: FreeForAllGroup) -> Table:
    table = titled_table("TrueSkill over dialogues, in the order in which they began")
    model_column(table)
    number_columns(table, "μ − 3σ", "μ", "σ", "Mean rank", "95 %", "Dialogues")
    for row in group.standings:
        rank = row.mean_rank
        table.add_row(
            Text(row.model),
            *(signed(value) for value in (row.score, row.mu, row.sigma, rank.estimate)),
            signed_range(rank.ci_low, rank.ci_high),
            f"{row.dialogues:,}",
        )
    return table


def _points(group: FreeForAllGroup) -> Table:
    table = titled_table("Turns won, clustered by worker")
    model_column(table)
    number_columns(table, "Points", "Turns", "Share", "95 %")
    for row in group.standings:
        table.add_row(Text(row.model), f"{row.points:,}", f"{row.point_share.n:,}", *share_cells(row.point_share))
    return table


def _gaps(group: FreeForAllGroup) -> Table:
    table = titled_table("Difference in points of the share of turns won, clustered by worker")
    model_column(table, "Pair")
    gaps = [gap.difference for gap in group.gaps]
    number_columns(table, "Points", "95 %", "p", *holm_title(gaps))
    for gap in group.gaps:
        size = gap.difference
        interval = points_range(size.ci_low, size.ci_high, flip=not gap.a_leads)
        cells = (points_words(size.estimate), interval, *p_cells(gaps, size))
        table.add_row(Text(gap.leader_first), *cells)
    return table
