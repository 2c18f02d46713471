"""Which p-value tells two models apart: the one by worker, as a rule."""

from __future__ import annotations

from typing import Literal

from parlai_humaneval.statistics.dispersion import agreement_shown
from parlai_humaneval.statistics.result import Result

ALPHA = 0.05
DecidedBy = Literal["clustered", "paper"]


def deciding(paper: Result | None, clustered: Result, alpha: float = ALPHA) -> tuple[float | None, DecidedBy]:
    """The p to go by, corrected where there are several tests, and whose it is: the clustered one, as a rule.

    Where only that one is below ``alpha``, the larger of the two decides, the paper's: that workers agree with each other
    more than chance would have it, which makes the clustered p the smaller one, has to be shown
    (:func:`~parlai_humaneval.statistics.dispersion.with_dispersion`) before it may tell models apart.

    Assumes what both tests assume.

    Source: Holm 1979, of the correction.

    >>> sure, unsure = (Result(name='a − b', estimate=0.2, p_value=p, n=40, method='by hand') for p in (0.01, 0.2))
    >>> deciding(unsure, sure), deciding(sure, unsure)
    ((0.2, 'paper'), (0.2, 'clustered'))
    """
    p, independent = clustered.p_decides, None if paper is None else paper.p_decides
    if p is None or independent is None or p >= alpha or independent < alpha or agreement_shown(clustered):
        return p, "clustered"
    return independent, "paper"
