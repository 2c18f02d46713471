"""Tables of pairs on 80 columns: the matrix of win rates, and each pair with its tests."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from parlai_humaneval.analysis.reports.duels import Duel, Standing
from parlai_humaneval.analysis.reports.printing import (
    holm_title,
    model_column,
    number_columns,
    p_cells,
    titled_table,
)
from parlai_humaneval.analysis.reports.words import decisive
from parlai_humaneval.statistics.wording import percent, percent_range


def matrix_table(standings: Sequence[Standing], duels: Sequence[Duel]) -> Table:
    """How often the model of the row won against that of the column; the best first."""
    table = titled_table("Win rate of the row over the column (ties left out); * differs from one half")
    model_column(table)
    number_columns(table, *(f"({place})" for place in range(1, len(standings) + 1)), "All", "Ties")
    cells = {(duel.model_a, duel.model_b): _cell(duel.win_rate_a.estimate, duel) for duel in duels}
    cells |= {(duel.model_b, duel.model_a): _cell(duel.win_rate_b.estimate, duel) for duel in duels}
    for place, row in enumerate(standings, start=1):
        against = [cells.get((row.model, other.model), "") for other in standings]
        table.add_row(Text(f"({place}) {row.model}"), *against, percent(row.win_rate.estimate), percent(row.tie_share))
    return table


def _cell(won: float | None, duel: Duel) -> str:
    return percent(won) + ("*" if decisive(duel.win_rate_a) else "")


def pair_table(duels: Sequence[Duel], paper: str) -> Table:
    """Each pair, the leader first; ``paper``: what the paper's test is called."""
    table = titled_table(f"Pairs, the leader first: p clustered by worker, and the paper's ({paper})")
    model_column(table, "Pair")
    rates, papers = [duel.win_rate_a for duel in duels], [duel.paper for duel in duels]
    number_columns(table, "Won, lost, tied", "Rate", "95 %", "p", *holm_title(rates), "paper", *holm_title(papers))
    for duel in duels:
        won, lost = (duel.wins_a, duel.wins_b) if duel.a_leads else (duel.wins_b, duel.wins_a)
        counts = "–".join(f"{count:,}" for count in (won, lost, duel.ties))
        share = duel.share_of_leader
        shares = (percent(share.estimate), percent_range(share.ci_low, share.ci_high))
        tests = (*p_cells(rates, duel.win_rate_a), *p_cells(papers, duel.paper))
        table.add_row(Text(duel.leader_first), counts, *shares, *tests)
    return table
