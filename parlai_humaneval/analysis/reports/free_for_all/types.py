"""What the report of a free-for-all holds (Ma et al. 2023): points, ranks and TrueSkill of each model."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.gaps import Gap
from parlai_humaneval.analysis.reports.types import ChosenGroup, GroupedReport, Part
from parlai_humaneval.statistics.result import Result


class Standing(Part):
    """One model over all dialogues.

    ``points``: turns in which its reply was chosen, of those in which something was asked; ``point_share``: of those in
    which it was shown.
    ``mean_rank``: over dialogues, 1 is best and equal points share the better rank. ``score``: μ − 3σ of TrueSkill.
    """

    model: str
    dialogues: int
    points: int
    point_share: Result
    mean_rank: Result
    mu: float
    sigma: float
    score: float


class FreeForAllGroup(ChosenGroup):
    """One setting, metric and set of models; ``standings`` from the highest score to the lowest.

    ``tied_dialogues``: those in which several models share the first rank. ``gaps``: of point shares, turn by turn.
    """

    n_dialogues: int
    n_turns: int
    n_workers: int
    tied_dialogues: int
    standings: list[Standing]
    gaps: list[Gap]


class FreeForAllReport(GroupedReport):
    groups: list[FreeForAllGroup]
