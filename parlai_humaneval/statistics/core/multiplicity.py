"""Several tests at once: which of them are one family, and Holm's correction over it.

Which p-value tells two models apart: the one by worker, as a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from parlai_humaneval.statistics.core import once_each
from parlai_humaneval.statistics.core.clustered import agreement_shown
from parlai_humaneval.statistics.core.result import Result


class Family(NamedTuple):
    """The tests that one correction is over: the pairs of models of one technique, setting, metric and question."""

    technique: str
    setting: str
    metric: str
    question: str = ""

    def __str__(self) -> str:
        """The parts that say something; a setting always does, whatever a researcher calls it."""
        metric = self.metric if self.metric != self.technique else ""
        question = self.question if self.question not in (self.technique, self.metric) else ""
        return ", ".join(filter(None, (self.technique, self.setting, metric, question)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p-values after Holm's step-down correction (Holm 1979), in the given order.

    A corrected p below .05 says that the pair differs, with at most a 5 % chance of any such mistake in the family.
    None, a test that could not be made, stays None and counts as one of p = 1: whether a test can be made depends on the
    answers, and must not make the other tests easier.

    Assumes nothing of how the tests depend on each other, only that each p is right by itself.

    Source: Holm 1979.

    >>> holm([0.01, None, 0.04])
    [0.03, None, 0.08]
    """
    # As statsmodels.stats.multitest.multipletests, which runs a full garbage collection each time: .05 to .5 s a family.
    every = np.array([1.0 if p is None else p for p in p_values], dtype=float)
    order = np.argsort(every)
    stepped = np.empty_like(every)
    stepped[order] = np.maximum.accumulate(every[order] * np.arange(len(every), 0, -1))
    corrections = np.minimum(stepped, 1.0).tolist()
    return [None if p is None else stepped_up for p, stepped_up in zip(p_values, corrections, strict=True)]


def corrected(results: Sequence[Result], families: Sequence[Family] | None = None) -> list[Result]:
    """The ``results``, in their order, each with Holm's correction over its family; a test alone keeps its p.

    Args:
        results: tests of pairs of models. One that rests on nothing (``n`` is 0) does not count: no answer was ever given.
            One that could not be made counts as p = 1.
        families: the family of each; None: all are one.

    Returns:
        copies, whose ``details`` say which ``family`` and of how many tests (``family_tests``) it was. The p of every worker
        counted once (:mod:`~parlai_humaneval.statistics.core.once_each`) is corrected over the same family.

    Raises:
        ValueError: not as many families as results.
    """
    of_each = [Family("", "", "")] * len(results) if families is None else list(families)
    if len(of_each) != len(results):
        raise ValueError(f"{len(results)} results, but {len(of_each)} families")
    p_holm: dict[int, float | None] = {}
    p_once: dict[int, float | None] = {}
    tests: dict[Family, int] = {}
    for family in dict.fromkeys(of_each):
        places = [place for place, of in enumerate(of_each) if of == family and results[place].n]
        tests[family] = len(places)
        p_holm.update(zip(places, holm([results[place].p_value for place in places]), strict=True))
        once = [results[place].details.get(once_each.P) for place in places]
        p_once.update(zip(places, holm([None if p is None else float(p) for p in once]), strict=True))
    return [
        result.but(
            p_holm=p_holm.get(place),
            details={
                **result.details,
                "family": str(family),
                "family_tests": tests[family],
                **({once_each.P_HOLM: p_once.get(place)} if once_each.P in result.details else {}),
            },
        )
        for place, (result, family) in enumerate(zip(results, of_each, strict=True))
    ]


ALPHA = 0.05
DecidedBy = Literal["clustered", "paper"]


def deciding(paper: Result | None, clustered: Result, alpha: float = ALPHA) -> tuple[float | None, DecidedBy]:
    """The p to go by, corrected where there are several tests, and whose it is: the clustered one, as a rule.

    Where only that one is below ``alpha``, the larger of the two decides, the paper's: that workers agree with each other
    more than chance would have it, which makes the clustered p the smaller one, has to be shown
    (:func:`~parlai_humaneval.statistics.core.clustered.with_dispersion`) before it may tell models apart.

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
