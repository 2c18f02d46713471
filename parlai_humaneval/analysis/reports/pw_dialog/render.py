"""The tables of a PW-Dialog report on 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.agreed import agreement_words
from parlai_humaneval.analysis.reports.duel_tables import matrix_table, pair_table
from parlai_humaneval.analysis.reports.printing import heading, model_column, number_columns, share_cells, titled_table
from parlai_humaneval.analysis.reports.pw_dialog.types import DialogGroup, PairwiseDialogReport
from parlai_humaneval.analysis.reports.pw_dialog.words import title
from parlai_humaneval.statistics.wording import counted, p_words, seconds_words


def parts(report: PairwiseDialogReport) -> Iterator[RenderableType]:
    """The tables of each group."""
    for group in report.groups:
        yield Text()
        basis = f"{counted(group.n_judgements, 'judgement')}, {counted(group.n_workers, 'worker')}"
        yield heading(f"{title(group)}, {basis}")
        if not group.pairs:
            continue
        if len(group.standings) > 2:
            yield matrix_table(group.standings, group.pairs)
        yield pair_table(group.pairs, "binomial")
        share, interval = share_cells(group.left)
        yield Text(
            f"The left one was chosen in {share} of decided judgements ({interval}, {p_words(group.left.p_value)})."
        )
        yield Text(
            f"{agreement_words(group.agreement, 'pair')}. Median {seconds_words(group.median_seconds)} a judgement."
        )
        yield _reuse(group)


def _reuse(group: DialogGroup) -> Table:
    table = titled_table("How often the same dialogue was judged")
    model_column(table)
    number_columns(table, "Dialogues", "Shown", "Mean", "Most")
    for row in group.reuse:
        table.add_row(Text(row.model), f"{row.dialogues:,}", f"{row.judgements:,}", f"{row.mean:.1f}", f"{row.most:,}")
    return table
