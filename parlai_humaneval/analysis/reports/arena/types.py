"""What the report of an arena holds: verdicts on two partners who talked side by side (the baseline of Ma et al. 2023)."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.types import Finding, Group, LiveReport, Part, PlaceRow
from parlai_humaneval.statistics.result import Result


class ArenaPair(Group):
    """Two models, judged in the same dialogues. ``ties`` do not count the ``both_bad``.

    ``win_rate_a``: verdicts for A, of those for A or B; clustered by worker, tested against one half, ``p_holm``
    corrected for all pairs of the report. ``binomial_p``: the same with verdicts taken as independent.
    """

    setting: str
    metric: str
    model_a: str
    model_b: str
    n_verdicts: int
    n_workers: int
    wins_a: int
    wins_b: int
    ties: int
    both_bad: int
    win_rate_a: Result
    binomial_p: float
    by_position: list[PlaceRow]
    unfinished_dialogues: int


class ArenaModel(Part):
    """One model over all its opponents of a setting and metric."""

    setting: str
    metric: str
    model: str
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: Result


class ArenaReport(LiveReport):
    models: list[ArenaModel]
    pairs: list[ArenaPair]

    def findings(self) -> list[Finding]:
        return [(pair.headline, pair.remarks) for pair in self.pairs]
