"""What the report of a third party holds: replays (Liu et al. 2023), rankings and dimensions (Ma et al. 2023)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parlai_humaneval.analysis.reports.agreed import Agreement
from parlai_humaneval.analysis.reports.duels import Duel
from parlai_humaneval.analysis.reports.types import Group, JudgedReport, Part
from parlai_humaneval.statistics.result import Result


class TurnRow(Part):
    """Agreement in one turn of the dialogues."""

    turn: int
    n: int
    percent: Result
    kappa: Result


class AnswerAgreement(Part):
    """Yes-or-no answers on ``what`` (chosen, what was ticked, or the verdict) of the third party and the own rater.

    ``own_share`` and ``third_share``: how often each said yes; None where the answer is not yes or no. ``percent`` is
    clustered by dialogue, ``kappa`` is Cohen's with a bootstrap over dialogues. ``among_several``: of all who rated the
    same, the own rater among them, where there are several third parties.
    """

    what: str
    n: int
    n_dialogues: int
    own_share: float | None
    third_share: float | None
    percent: Result
    kappa: Result
    by_turn: list[TurnRow]
    among_several: Agreement | None


class RatingAgreement(Part):
    """Ratings of one criterion. ``difference``: third party minus own rater, clustered by worker, tested against 0.

    ``equal``: share of equal ratings; ``alpha``: Krippendorff's α at interval level, bootstrap over dialogues.
    """

    criterion: str
    n: int
    own_mean: float
    third_mean: float
    difference: Result
    equal: Result
    alpha: Result


class ReplayGroup(Group):
    """Dialogues of one live technique, setting and metric, rated once more."""

    kind: Literal["replay"] = "replay"
    technique: str
    setting: str
    metric: str
    n_dialogues: int
    n_workers: int
    answers: list[AnswerAgreement]
    ratings: list[RatingAgreement]


class RankRow(Part):
    """A model's places. ``best``: share of rankings in which no reply stood above it; ``own_picked``: share of the
    same turns in which the own rater chose it."""

    model: str
    n: int
    mean_rank: Result
    best: Result
    own_picked: float | None


class RankGroup(Group):
    """All replies of a turn ranked. ``tau``: mean over rankings of Kendall's τ-b with the own rater's picks, clustered
    by worker; ``tau_of_models``: of the models' mean ranks with how often they were picked. ``agreement``: on who of two
    is better, where a turn was ranked by several."""

    kind: Literal["ranking"] = "ranking"
    metric: str
    n_rankings: int
    n_turns: int
    n_workers: int
    models: list[RankRow]
    pairs: list[Duel]
    tau: Result
    tau_of_models: float | None
    agreement: Agreement | None


class ScaleRow(Part):
    """Mean rating of one model in one criterion, clustered by worker."""

    model: str
    criterion: str
    n: int
    mean: Result


class ScaleAgreement(Part):
    """Krippendorff's α at interval level over dialogues that several people rated."""

    criterion: str
    minimum: float | None
    maximum: float | None
    alpha: Result


class ScaleGroup(Group):
    """Whole dialogues rated on scales."""

    kind: Literal["scales"] = "scales"
    setting: str
    metric: str
    n_dialogues: int
    n_workers: int
    rows: list[ScaleRow]
    agreement: list[ScaleAgreement]


ThirdPartyGroup = Annotated[ReplayGroup | RankGroup | ScaleGroup, Field(discriminator="kind")]


class ThirdPartyReport(JudgedReport):
    groups: list[ThirdPartyGroup]
