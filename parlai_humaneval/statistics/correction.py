"""Several tests at once: which of them are one family, and Holm's correction over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parlai_humaneval.statistics.result import Result


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
    None, a test that could not be made, stays None and does not count towards the family.

    Assumes nothing of how the tests depend on each other, only that each p is right by itself.

    Source: Holm 1979.

    >>> holm([0.01, None, 0.04])
    [0.02, None, 0.04]
    """
    # As statsmodels.stats.multitest.multipletests, which runs a full garbage collection each time: .05 to .5 s a family.
    made = np.array([p for p in p_values if p is not None], dtype=float)
    order = np.argsort(made)
    stepped = np.empty_like(made)
    stepped[order] = np.maximum.accumulate(made[order] * np.arange(len(made), 0, -1))
    corrections = iter(np.minimum(stepped, 1.0).tolist())
    return [None if p is None else next(corrections) for p in p_values]


def corrected(results: Sequence[Result], families: Sequence[Family] | None = None) -> list[Result]:
    """The ``results``, in their order, each with Holm's correction over its family; a test alone keeps its p.

    Args:
        results: tests of pairs of models; one that rests on nothing (``n`` is 0) or could not be made does not count.
        families: the family of each; None: all are one.

    Returns:
        copies, whose ``details`` say which ``family`` and of how many tests (``family_tests``) it was.

    Raises:
        ValueError: not as many families as results.
    """
    of_each = [Family("", "", "")] * len(results) if families is None else list(families)
    if len(of_each) != len(results):
        raise ValueError(f"{len(results)} results, but {len(of_each)} families")
    p_holm: dict[int, float | None] = {}
    tests: dict[Family, int] = {}
    for family in dict.fromkeys(of_each):
        places = [place for place, of in enumerate(of_each) if of == family]
        p_values = [results[place].p_value if results[place].n else None for place in places]
        tests[family] = sum(p is not None for p in p_values)
        p_holm.update(zip(places, holm(p_values), strict=True))
    return [
        result.but(
            p_holm=p_holm[place], details={**result.details, "family": str(family), "family_tests": tests[family]}
        )
        for place, (result, family) in enumerate(zip(results, of_each, strict=True))
    ]
