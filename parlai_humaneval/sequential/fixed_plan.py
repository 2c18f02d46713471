"""The study that would be planned without looking: against it, what a stopping rule saves is counted."""

from __future__ import annotations

from scipy.special import ndtri

from parlai_humaneval.sequential.rule import StoppingRule
from parlai_humaneval.statistics.betting import PRIOR_VARIANCE

POWER = 0.95


def fixed_plan(
    rule: StoppingRule, *, variance: float = PRIOR_VARIANCE, design_effect: float = 1.0, pooled: bool = False
) -> float:
    """Dialogues with which a gap of the margin is found in 95 % of studies, in any one of all pairs corrected for.

    ``variance``: of the share of a dialogue's turns that is won. ``pooled``: all dialogues together estimate strengths
    (Bradley–Terry), so that a pair learns from those of its models with others as well, as K/2 times as many dialogues of
    its own would tell it; else each pair is a study of its own.
    """
    models = len(rule.models)
    pairs = models * (models - 1) / 2
    each = (ndtri(1 - rule.alpha / (2 * pairs)) + ndtri(POWER)) ** 2 * variance / (rule.margin / 2) ** 2
    return float(each * design_effect * pairs / (models / 2 if pooled else 1))
