"""What somebody would have said who tests after every worker as if it were the planned end, and stops at p < α.

The study that would be planned without looking: against it, what a stopping rule saves is counted.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.special import ndtri, stdtr

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.sequential import PRIOR_VARIANCE
from parlai_humaneval.stopping.rule import StoppingRule

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


FEWEST = 4
"""Workers before the first test."""
AGREE = 1e-9
"""A standard error, or a lead, below this is 0 but for rounding."""


class Peek(BaseModel):
    """Two models, by a t test of the workers' shares against one half after each of them.

    Attributes:
        after: workers at the first p < α; None: there was none.
        better: whom it called better then.
        wrongly: it called better who, by the study's claims, is worse, or equal within the margin; None where nothing is
            decided, or nobody was called better.
    """

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    after: int | None
    better: Literal["first", "second"] | None
    wrongly: bool | None


def first_crossing(shares: Floats, alpha: float) -> tuple[int, Literal["first", "second"]] | None:
    """After how many workers the two-sided t test first has p < ``alpha``, and who is ahead then; None: never.

    As long as all workers agree there is no t, and signs are flipped: with n workers that is 2/2ⁿ.
    """
    n = np.arange(1, len(shares) + 1)
    apart = shares - 0.5
    mean = np.cumsum(apart) / n
    squares = np.maximum(np.cumsum(apart**2) - n * mean**2, 0.0)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / n)
    agree = error < AGREE
    known = (n >= FEWEST) & ~agree
    t = np.divide(mean, error, out=np.zeros_like(mean), where=known)
    p = np.where(known, 2 * stdtr(np.maximum(n - 1, 1), -np.abs(t)), 1.0)
    p = np.where((n >= FEWEST) & agree & (np.abs(mean) > AGREE), 0.5 ** (n - 1), p)
    found = np.flatnonzero(p < alpha)
    return (int(n[found[0]]), "first" if mean[found[0]] > 0 else "second") if found.size else None
