"""What the report of a free-for-all holds (Ma et al. 2023): points, ranks and TrueSkill of each model."""

from __future__ import annotations

from pydantic import Field

from parlai_humaneval.analysis.reports.gaps import Gap
from parlai_humaneval.analysis.reports.types import Finding, Part, PlaceRow, Report
from parlai_humaneval.analysis.result import Result


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


class FreeForAllGroup(Part):
    """One setting, metric and set of models; ``standings`` from the highest score to the lowest.

    ``tied_dialogues``: those in which several models share the first rank. ``gaps``: of point shares, turn by turn.
    """

    setting: str
    metric: str
    models: list[str]
    n_dialogues: int
    n_turns: int
    n_workers: int
    tied_dialogues: int
    standings: list[Standing]
    gaps: list[Gap]
    by_position: list[PlaceRow]
    anchoring: Result
    automatic_turns: int
    failed_replies: int
    unfinished_dialogues: int
    unfinished_turns: int
    headline: str = ""
    remarks: list[str] = Field(default_factory=list)


class FreeForAllReport(Report):
    groups: list[FreeForAllGroup]

    def findings(self) -> list[Finding]:
        return [(group.headline, group.remarks) for group in self.groups]
