"""What the report of Spot The Bot holds (Deriu et al. 2020): who is taken for a person, and for how long."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.agreed import Agreement
from parlai_humaneval.analysis.reports.duels import Duel, Standing
from parlai_humaneval.analysis.reports.types import Group, JudgedReport, Part
from parlai_humaneval.statistics.result import Result


class LabelRow(Part):
    """What a model (or ``human``, the upper bound) was taken for, in segments of ``k`` exchanges (None: of any).

    ``taken_for_human`` and ``spotted``: shares labelled human and bot, clustered by worker.
    """

    model: str
    k: int | None
    n: int
    human: int
    unsure: int
    bot: int
    taken_for_human: Result
    spotted: Result


class SurvivalRow(Part):
    """``survival``: exchanges → share not spotted within so many."""

    model: str
    n: int
    survival: dict[int, float]


class FeatureRow(Part):
    """How often a model did better than its opponent in a feature, of those in which one did (the paper's Table 2)."""

    feature: str
    model: str
    better: int
    worse: int
    same: int
    win_rate: Result


class LabelAgreement(Part):
    """Pairs of raters of the same speaker of whom ``either`` gave the label, and ``both`` did (the paper's Table 3)."""

    model: str
    label: str
    either: int
    both: int
    share: Result


class SecondsRow(Part):
    """Median time for a segment of ``k`` exchanges."""

    k: int
    n: int
    median_seconds: float | None


class SpotGroup(Group):
    """One setting: the dialogues of one domain. ``pairs`` are of segments in which the two talk to each other.

    ``feature_ties``: share of answers on features in which the two were found the same.
    """

    setting: str
    models: list[str]
    n_segments: int
    n_dialogues: int
    n_workers: int
    labels: list[LabelRow]
    survival: list[SurvivalRow]
    standings: list[Standing]
    pairs: list[Duel]
    features: list[FeatureRow]
    feature_ties: float | None
    agreement: Agreement | None
    label_agreement: list[LabelAgreement]
    seconds: list[SecondsRow]
    median_seconds: float | None
    unfinished: int


class SpotReport(JudgedReport):
    groups: list[SpotGroup]
