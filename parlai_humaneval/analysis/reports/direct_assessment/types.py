"""What the report of a direct assessment holds (Ji et al. 2022): ratings of each model, and who gave them."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.gaps import Gap
from parlai_humaneval.analysis.reports.types import Group, GroupedReport, Part
from parlai_humaneval.statistics.result import Result


class Cell(Part):
    """One model on one criterion: means of ``n`` ratings, turned so that more is better.

    ``raw``: on the scale of the slider. ``z``: standardised by worker; its interval is clustered by worker.
    """

    n: int
    raw: Result
    z: Result


class ModelScores(Part):
    """``overall``: the mean over criteria of each dialogue, then over dialogues. ``criteria``: by name."""

    model: str
    dialogues: int
    overall: Cell
    criteria: dict[str, Cell]


class ScorePair(Gap):
    """Two models, A with the higher overall z.

    ``difference``: of overall z. ``paper_p``: the paper's one-sided rank-sum test on the scores of dialogues, taken as
    independent.
    """

    paper_p: float


class Scores(Part):
    """The table of one set of workers, best model first; the degraded model is left out."""

    workers: int
    dialogues: int
    models: list[ModelScores]
    pairs: list[ScorePair]


class WorkerRow(Part):
    """One worker's check: ``p`` of the rank-sum test that they rate the degraded model lower."""

    worker: str
    passed: bool
    p: float
    constant: bool


class AssessmentGroup(Group):
    """One setting. ``passed``: the workers who passed the check, on whom the headline rests; ``everyone``: all.

    ``checked``: whether there was a degraded model to check workers with; where not, nobody passed or failed, and the
    headline rests on everyone.
    """

    setting: str
    criteria: list[str]
    reversed: list[str]
    checked: bool
    workers: list[WorkerRow]
    workers_passed: int
    workers_constant: int
    passed: Scores
    everyone: Scores


class AssessmentReport(GroupedReport):
    groups: list[AssessmentGroup]
