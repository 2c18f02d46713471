"""The tables of an arena's report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.arena.types import ArenaModel, ArenaPair, ArenaReport
from parlai_humaneval.analysis.reports.printing import (
    heading,
    holm_title,
    model_column,
    number_columns,
    p_cells,
    share_cells,
    titled_table,
)
from parlai_humaneval.statistics.wording import counted, p_cell


def parts(report: ArenaReport) -> Iterator[RenderableType]:
    """The standing of each model, then each pair."""
    keys = dict.fromkeys((row.setting, row.metric) for row in report.models)
    for setting, metric in keys:
        yield Text()
        yield heading(", ".join(part for part in (setting, metric) if part) or "Verdicts")
        yield _models([row for row in report.models if (row.setting, row.metric) == (setting, metric)])
        for pair in report.pairs:
            if (pair.setting, pair.metric) == (setting, metric):
                yield _pair(pair)


def _models(rows: list[ArenaModel]) -> Table:
    table = titled_table("Win rate over all opponents, 95 % interval clustered by worker")
    model_column(table)
    number_columns(table, "Won", "Lost", "Tied", "Both bad", "Win rate", "95 %")
    for row in sorted(rows, key=lambda row: -(row.win_rate.estimate or 0)):
        counts = (f"{count:,}" for count in (row.wins, row.losses, row.ties, row.both_bad))
        table.add_row(Text(row.model), *counts, *share_cells(row.win_rate))
    return table


def _pair(pair: ArenaPair) -> Table:
    basis = f"{counted(pair.n_verdicts, 'verdict')}, {counted(pair.n_workers, 'worker')}"
    rate = pair.win_rate_a
    table = titled_table(f"{pair.model_a} against {pair.model_b} ({basis})")
    number_columns(table, "Won", "Lost", "Tied", "Both bad", "Win rate", "95 %", "p", *holm_title([rate]), "Binomial p")
    counts = (f"{count:,}" for count in (pair.wins_a, pair.wins_b, pair.ties, pair.both_bad))
    table.add_row(*counts, *share_cells(rate), *p_cells([rate], rate), p_cell(pair.binomial_p))
    first = pair.by_position[0]
    if first.shown:
        share, interval = share_cells(first.share)
        table.caption_justify, table.caption_style = "left", ""
        table.caption = Text(f"Shown first: found better in {first.chosen:,} of {first.shown:,} ({share}, {interval})")
    return table
