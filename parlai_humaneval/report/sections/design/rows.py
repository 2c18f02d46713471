"""What the section on the study's design says of each question, and of each pair of models."""

from __future__ import annotations

from parlai_humaneval.report.section import Part
from parlai_humaneval.statistics.measures import Source, Unit

Score = float | None
POWER = 0.8


class MeasureRow(Part):
    """One question of the study.

    ``variance_ratio``: of the gap between two models, clustered by worker, by that of independent answers: what likeness
    costs a comparison, or (below 1) what it gains. ``icc_for_planning``: with it a plan's design effect is that ratio.
    Both, and ``judged_both``, the share of workers who judged both models, are medians over pairs.

    ``n`` answers, ``per_worker`` and ``per_dialogue`` of them to a worker and dialogue (Σn²/Σn). ``icc_worker``,
    ``icc_dialogue``: how alike those of one are; can be negative. Where models are judged one at a time (``levels``) that
    is about levels, of which a comparison within workers is free. ``design_effect``, ``effective_n``: of the mean level,
    by worker; ``effective_n`` is not above ``n``. ``detectable_gap``: between two models, the median over pairs, clustered
    by worker, found with power .8 at two-sided .05; ``_largest``: of the pair with the least data; ``_independent``: if all
    answers were independent. ``unit``: of gaps. ``sentence``: the same in words.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    unit: Unit
    n: int
    n_workers: int
    n_dialogues: int
    per_worker: Score
    per_dialogue: Score
    icc_worker: Score
    icc_worker_low: Score
    icc_worker_high: Score
    icc_dialogue: Score
    design_effect: Score
    design_effect_dialogue: Score
    effective_n: Score
    levels: bool
    variance_ratio: Score
    icc_for_planning: Score
    judged_both: Score
    detectable_gap: Score
    detectable_gap_largest: Score
    detectable_gap_independent: Score
    sentence: str


class GapRow(Part):
    """Model A against B: the gap seen, its standard errors, and the smallest gap that such data would show.

    ``variance_ratio``: the variance of the gap, clustered by worker, by that of independent answers: the design effect
    that the test really meets. Below 1 where workers judge both models and differ in level. ``per_worker``: answers of a
    worker to the pair, or to each model judged by itself; with ``icc_for_planning`` they give that ratio.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    unit: Unit
    model_a: str
    model_b: str
    n: int
    n_workers: int
    gap: float
    standard_error: Score
    standard_error_independent: Score
    variance_ratio: Score
    per_worker: Score
    judged_both: float
    icc_for_planning: Score
    detectable_gap: Score
    detectable_gap_independent: Score


def name_of(row: MeasureRow | GapRow) -> str:
    """“preference (sata, sata_user)”."""
    where = ", ".join(text for text in (row.technique, row.setting) if text)
    return f"{row.metric} ({where})" if where else row.metric
