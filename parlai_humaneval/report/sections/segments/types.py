"""What the section on segments holds; p-values and shares that cannot be estimated are None."""

from __future__ import annotations

from pydantic import Field

from parlai_humaneval.report.section import Part

ByLength = dict[str, float | None]
"""Exchanges (as text, as JSON has it) → a share."""


class Estimate(Part):
    """A share with its worker-clustered interval."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None


class SpeakerRow(Part):
    """What a speaker was taken for, and the share not spotted within so many exchanges (``survival``) with its band.

    ``taken_for_human`` and ``spotted``: shares of the labels human and bot, over all lengths.
    """

    model: str
    n: int
    human: int
    unsure: int
    bot: int
    taken_for_human: Estimate
    spotted: Estimate
    survival: ByLength
    survival_low: ByLength
    survival_high: ByLength


class ModelRow(SpeakerRow):
    """A bot. ``win_rate`` (Eq. 1) is over decided segments against other bots, ``ties`` are left out of it.

    ``p_clustered`` tests it against one half. ``rank_low`` to ``rank_high`` and ``cluster`` (1: best) are the paper's:
    TrueSkill over resamples of segments, central range; ``rank_low_shortest`` and ``rank_high_shortest`` their shortest
    range. ``rank``, ``rank_low_workers``, ``rank_high_workers``, ``cluster_workers``: median, range and cluster over
    resamples of whole workers. All None for a bot that met no other.
    """

    wins: int
    losses: int
    ties: int
    tie_share: float | None
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    rank_low: int | None = None
    rank_high: int | None = None
    cluster: int | None = None
    rank_low_shortest: int | None = None
    rank_high_shortest: int | None = None
    rank: int | None = None
    rank_low_workers: int | None = None
    rank_high_workers: int | None = None
    cluster_workers: int | None = None


class PairRow(Part):
    """Two bots in segments in which they talk to each other. ``p_value``: the paper's χ² of wins against losses."""

    model_a: str
    model_b: str
    n: int
    n_dialogues: int
    n_workers: int
    wins_a: int
    wins_b: int
    ties: int
    tie_share: float
    win_rate_a: float | None
    ci_low: float | None
    ci_high: float | None
    statistic: float | None
    p_value: float | None
    p_holm: float | None = None
    p_clustered: float | None
    p_clustered_holm: float | None = None
    method: str
    notes: list[str] = Field(default_factory=list)


class SurvivalTest(Part):
    """Two bots: is one spotted sooner? ``p_value``: the score test that takes judgements for independent.

    ``log_hazard_ratio``: above 0 where the second of ``models`` is spotted sooner; one step from 0, so too small where it
    is large; its interval is clustered by worker. ``statistic_zhao_sun`` and ``p_zhao_sun``: the paper's test.
    """

    name: str
    models: list[str]
    n: int
    statistic: float | None
    p_value: float | None
    p_holm: float | None = None
    method: str
    log_hazard_ratio: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    p_clustered_holm: float | None = None
    statistic_zhao_sun: float | None
    p_zhao_sun: float | None
    p_zhao_sun_holm: float | None = None
    p_permutation: float | None
    p_permutation_holm: float | None = None
    notes: list[str] = Field(default_factory=list)


class FeatureRow(Part):
    """A feature of a bot: its win rate (against other bots, those found the same left out) and its effect.

    ``effect``: log hazard ratio of being spotted, of one step (worse → same → better), with the other features held;
    below 0: the better, the longer it survives. Interval and ``p_clustered`` are clustered by worker; ``p_value``, the
    paper's, takes judgements for independent; ``p_dialogue`` is clustered by dialogue.
    """

    model: str
    feature: str
    n: int
    better: int
    worse: int
    same: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    effect: float | None
    hazard_ratio: float | None
    effect_low: float | None
    effect_high: float | None
    p_value: float | None
    p_holm: float | None = None
    p_clustered: float | None
    p_clustered_holm: float | None = None
    p_dialogue: float | None
    notes: list[str] = Field(default_factory=list)


class LabelRow(Part):
    """Pairs of raters of the same speaker of whom ``either`` gave the label, and ``both`` did; by dialogue."""

    model: str
    label: str
    either: int
    both: int
    share: float | None
    ci_low: float | None
    ci_high: float | None


class StabilityRow(Part):
    """Share of subsamples with the most frequent ranking (``stability``) and with that of all data (``as_all``).

    ``dialogues``: of each pair of bots; ``left_out``: the bot taken out of the pool, empty: none.
    """

    left_out: str
    dialogues: list[int]
    stability: list[float]
    as_all: list[float]


class SecondsRow(Part):
    """Median time to judge a segment, of ``kind`` of dialogue and of ``k`` exchanges; None: of any."""

    kind: str | None
    k: int | None
    n: int
    median_seconds: float


class Analysis(Part):
    """All that is said of some judged segments. ``models``: bots only, best first; ``humans``: people, if shown."""

    n_segments: int
    n_dialogues: int
    n_workers: int
    unfinished: int
    lengths: list[int]
    models: list[ModelRow]
    humans: SpeakerRow | None
    pairs: list[PairRow]
    tests: list[SurvivalTest]
    features: list[FeatureRow]
    labels: list[LabelRow]
    stability: list[StabilityRow]
    seconds: list[SecondsRow]
    resamples: int
    """Of the ranks: as many as asked for, or fewer where there are very many segments."""


class SettingAnalysis(Analysis):
    """One setting (domain) by itself."""

    setting: str
    headline: str = ""
    remarks: list[str] = Field(default_factory=list)
