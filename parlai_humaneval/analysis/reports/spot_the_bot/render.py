"""The tables of a Spot The Bot report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.agreed import agreement_words
from parlai_humaneval.analysis.reports.duel_tables import matrix_table, pair_table
from parlai_humaneval.analysis.reports.printing import heading, model_column, number_columns, share_cells, titled_table
from parlai_humaneval.analysis.reports.spot_the_bot.types import SpotGroup, SpotReport
from parlai_humaneval.statistics.wording import ABSENT, counted, percent, percent_range, seconds_words
from parlai_humaneval.tables.schema import FEATURES, LABELS


def parts(report: SpotReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        basis = f"{counted(group.n_segments, 'judged segment')}, {counted(group.n_workers, 'worker')}"
        yield heading(", ".join(part for part in (group.setting, basis) if part))
        if not group.n_segments:
            continue
        yield _labels(group)
        yield _survival(group)
        if group.pairs:
            yield matrix_table(group.standings, group.pairs)
            yield pair_table(group.pairs, "χ²")
        if group.features:
            yield _features(group)
        if group.label_agreement:
            yield _agreement(group)
        yield Text(f"{agreement_words(group.agreement, 'speaker')}.")
        times = ", ".join(f"{seconds_words(row.median_seconds)} with {row.k} exchanges" for row in group.seconds)
        yield Text(f"Median time a segment: {seconds_words(group.median_seconds)}; {times}.")


def _labels(group: SpotGroup) -> Table:
    table = titled_table("What each was taken for, over all lengths; 95 % clustered by worker")
    model_column(table)
    number_columns(table, "Human", "Unsure", "Bot", "Taken for human", "95 %", "Spotted", "95 %")
    for row in group.labels:
        if row.k is None:
            counts = (f"{getattr(row, label):,}" for label in LABELS)
            table.add_row(Text(row.model), *counts, *share_cells(row.taken_for_human), *share_cells(row.spotted))
    return table


def _survival(group: SpotGroup) -> Table:
    table = titled_table("Taken for human after k exchanges, and share not spotted by then (survival)")
    model_column(table)
    lengths = [row.k for row in group.seconds]
    number_columns(table, *(f"k={k}" for k in lengths), *(f"S({k})" for k in lengths))
    taken = {(row.model, row.k): percent(row.taken_for_human.estimate) for row in group.labels}
    for row in sorted(group.survival, key=lambda row: -min(row.survival.values())):
        at_k = [taken.get((row.model, k), ABSENT) for k in lengths]
        left = [percent(row.survival.get(k)) for k in lengths]
        table.add_row(Text(row.model), *at_k, *left)
    return table


def _features(group: SpotGroup) -> Table:
    table = titled_table("Win rates in the features (ties left out), 95 % clustered by worker")
    model_column(table)
    asked = [name for name in FEATURES if any(row.feature == name for row in group.features)]
    for name in asked:
        number_columns(table, name.capitalize(), "95 %")
    rows = {(row.model, row.feature): row for row in group.features}
    for model in dict.fromkeys(row.model for row in group.features):
        own = [rows.get((model, name)) for name in asked]
        cells = [cell for row in own for cell in (share_cells(row.win_rate) if row else (ABSENT, ABSENT))]
        table.add_row(Text(model), *cells)
    table.caption_justify, table.caption_style = "left", ""
    table.caption = Text(f"Found the same: {percent(group.feature_ties)} of answers")
    return table


def _agreement(group: SpotGroup) -> Table:
    table = titled_table("Pairs of raters who both gave the label, of those of whom one did (by dialogue)")
    model_column(table)
    for label in LABELS:
        number_columns(table, label.capitalize(), "95 %", "n")
    rows = {(row.model, row.label): row for row in group.label_agreement}
    for model in dict.fromkeys(row.model for row in group.label_agreement):
        cells = []
        for row in (rows[model, label] for label in LABELS):
            share = row.share
            cells += [percent(share.estimate), percent_range(share.ci_low, share.ci_high), f"{row.either:,}"]
        table.add_row(Text(model), *cells)
    return table
