"""Win rates of two models against each other, over many comparisons: counts, intervals and tests of every pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import LEVEL
from parlai_humaneval.analysis.reports.gaps import Contest
from parlai_humaneval.analysis.reports.types import Part, Share, rest
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.correction import corrected
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.win_rates import Floats, outcomes
from parlai_humaneval.tables.counting import unique

PaperTest = Callable[[int, int], Result]
"""Wins of A and wins of B → the paper's test, which takes all comparisons as independent."""


class Duel(Contest):
    """All comparisons of two models; ``ties`` are left out of the win rate.

    ``win_rate_a``: wins of A, of those of either; clustered by worker, tested against one half, its ``p_holm`` corrected
    for all pairs of the report; ``win_rate_b`` is the rest. ``paper``: the paper's test; its ``p_holm`` is corrected for
    the pairs of the group.
    """

    n: int
    n_workers: int
    wins_a: int
    wins_b: int
    ties: int
    win_rate_a: Result
    win_rate_b: Share
    paper: Result

    @property
    def tested(self) -> Result:
        return self.win_rate_a

    @property
    def a_leads(self) -> bool:
        return self.wins_a >= self.wins_b

    @property
    def share_of_leader(self) -> Share:
        """Win rate of the one who is ahead."""
        result = self.win_rate_a
        won_by_a = Share(estimate=result.estimate, ci_low=result.ci_low, ci_high=result.ci_high)
        return won_by_a if self.a_leads else self.win_rate_b


class Standing(Part):
    """One model over all its opponents. ``win_rate`` as of a pair; a model with weaker opponents wins more."""

    model: str
    wins: int
    losses: int
    ties: int
    tie_share: float | None
    win_rate: Result


def duels_of(rows: pd.DataFrame, paper: PaperTest) -> list[Duel]:
    """Every pair of ``rows`` (``model_a``, ``model_b``, ``winner``, ``worker_id``); the paper's tests are corrected."""
    duels = [_duel(own, str(a), str(b), paper) for (a, b), own in rows.groupby(["model_a", "model_b"], sort=True)]
    for duel, result in zip(duels, corrected([duel.paper for duel in duels]), strict=True):
        duel.paper = result
    return duels


def correct_duels(duels: Sequence[Duel]) -> None:
    """Holm's correction of the clustered tests."""
    for duel, result in zip(duels, corrected([duel.win_rate_a for duel in duels]), strict=True):
        duel.win_rate_a = result


def standings_of(rows: pd.DataFrame) -> list[Standing]:
    """Every model of ``rows``, the most often winning first."""
    models = unique(pd.concat([rows["model_a"], rows["model_b"]]))
    return sorted((_standing(rows, model) for model in models), key=lambda one: -(one.win_rate.estimate or 0))


def rate(won: Floats, decided: Floats, rows: pd.DataFrame, name: str) -> Result:
    """Wins of those decided, clustered by worker, tested against one half."""
    workers = rows["worker_id"].to_numpy(dtype=object)
    return clustered_share(cluster_sums(won, decided, workers), name=name, level=LEVEL)


def _duel(rows: pd.DataFrame, model_a: str, model_b: str, paper: PaperTest) -> Duel:
    won, tied = outcomes(rows, model_a)
    wins, ties = int(won.sum()), int(tied.sum())
    losses = len(rows) - wins - ties
    won_by_a = rate(won, 1 - tied, rows, f"win rate of {model_a} over {model_b}")
    return Duel(
        model_a=model_a,
        model_b=model_b,
        n=len(rows),
        n_workers=int(rows["worker_id"].nunique()),
        wins_a=wins,
        wins_b=losses,
        ties=ties,
        win_rate_a=won_by_a,
        win_rate_b=Share(
            estimate=rest(won_by_a.estimate), ci_low=rest(won_by_a.ci_high), ci_high=rest(won_by_a.ci_low)
        ),
        paper=paper(wins, losses),
    )


def _standing(rows: pd.DataFrame, model: str) -> Standing:
    own = rows[np.asarray((rows["model_a"] == model) | (rows["model_b"] == model), dtype=bool)]
    won, tied = outcomes(own, model)
    return Standing(
        model=model,
        wins=int(won.sum()),
        losses=int((1 - won - tied).sum()),
        ties=int(tied.sum()),
        tie_share=float(tied.mean()) if len(own) else None,
        win_rate=rate(won, 1 - tied, own, f"win rate of {model}"),
    )
