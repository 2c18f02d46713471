"""Checks on a worker's slider ratings (Ji et al. 2022, §3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from parlai_humaneval.quality.verdicts import Finding
from parlai_humaneval.schema.records import DialogueRecord

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ALPHA = 0.05
"""“any worker with p>=0.05 … is filtered out” (Ji et al. 2022, §3.2)."""

MOST_EXACT = 20
"""Ratings of either side up to which the test is exact, as in :mod:`parlai_humaneval.statistics.core.ranks`."""


class RankSum(NamedTuple):
    """``p``: one-sided, that the degraded model's ratings are no lower. ``passed`` None: one side has no rating."""

    passed: bool | None
    p: float


def degraded_rated_lower(degraded: ArrayLike, others: ArrayLike, *, alpha: float = ALPHA) -> RankSum:
    """Whether a worker rated the degraded model lower than the others.

    One-sided Wilcoxon rank-sum (Mann–Whitney) test: exact where no two ratings are equal and neither side has more than
    ``MOST_EXACT``, else the normal approximation with correction for ties and continuity. A worker whose ratings are all
    equal has p = 1.

    Args:
        degraded: ratings of the degraded model, any shape; of positive criteria only.
        others: ratings of all other models.
        alpha: passed where p is below it.

    Raises:
        ValueError: a rating is nan or infinite.
    """
    import numpy as np  # here, and scipy below: commands read this module at their start

    low, high = np.asarray(degraded, dtype=float).ravel(), np.asarray(others, dtype=float).ravel()
    if not low.size or not high.size:
        return RankSum(None, 1.0)
    together = np.concatenate([low, high])
    if not np.isfinite(together).all():
        raise ValueError("a rating is nan or infinite: leave unanswered ones out")
    if np.ptp(together) == 0:
        return RankSum(False, 1.0)
    from scipy.stats import mannwhitneyu

    untied = np.unique(together).size == together.size
    method = "exact" if untied and max(low.size, high.size) <= MOST_EXACT else "asymptotic"
    p = float(mannwhitneyu(low, high, alternative="less", method=method).pvalue)
    return RankSum(p < alpha, p)


def _slider_ratings(record: DialogueRecord, *, positive_only: bool = False) -> list[float]:
    """The finite slider ratings of a dialogue, as given (not reversed)."""
    wanted = (
        criterion.name
        for criterion in record.criteria
        if criterion.scale == "slider" and not (positive_only and criterion.reversed)
    )
    found = (record.final_ratings.get(name) for name in wanted)
    return [float(value) for value in found if value is not None and isfinite(value)]


def constant_scores(records: Sequence[DialogueRecord]) -> Finding:
    """All slider ratings of the worker are the same number; ``value`` is their standard deviation."""
    values = [value for record in records for value in _slider_ratings(record)]
    if len(values) < 2:
        return Finding(None, f"The worker gave {len(values)} slider ratings; at least 2 are needed to judge.")
    if min(values) == max(values):
        return Finding(False, f"All {len(values)} slider ratings are {values[0]:g}.", 0.0)
    import numpy as np

    spread = float(np.std(values, ddof=1))
    return Finding(True, f"The {len(values)} slider ratings differ (standard deviation {spread:.3g}).", spread)


def rank_sum(records: Sequence[DialogueRecord]) -> Finding:
    """The degraded model's ratings are not significantly lower than the others'; ``value`` is p.

    Criteria where a high rating is bad do not count, and all units of the worker are pooled.
    """
    low: list[float] = []
    high: list[float] = []
    for record in records:
        if record.quality_control_model:
            is_degraded = any(model.name == record.quality_control_model for model in record.models)
            (low if is_degraded else high).extend(_slider_ratings(record, positive_only=True))
    result = degraded_rated_lower(low, high)
    if result.passed is None:
        missing = "the degraded model" if not low else "the other models"
        return Finding(None, f"The worker has not rated {missing}.")
    verb = "are" if result.passed else "are not"
    counts = f"{len(low)} against {len(high)}"
    return Finding(
        result.passed, f"Ratings of the degraded model {verb} lower (p = {result.p:.3g}, {counts}).", result.p
    )
