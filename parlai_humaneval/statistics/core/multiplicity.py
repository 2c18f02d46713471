"""Several tests at once: families, Holm's correction, the deciding p; and results with every worker counted once.

Where workers who give many answers prefer another model than those who give few, both are right, about other things: what
a typical answer says, and what a typical worker says (``python -m benchmarks.inference`` measures both). So results have
next to the estimate the same from the mean of each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.clustered import agreement_shown
from parlai_humaneval.statistics.core.result import Result

VALUE, LOW, HIGH, P, P_HOLM = "per_worker", "per_worker_low", "per_worker_high", "p_per_worker", "p_per_worker_holm"
"""Details of a result: the estimate in which every worker counts once, its interval, its p, and that after Holm."""
ALPHA = 0.05
Estimate = Callable[..., Result]


def answer_weights(clusters: npt.ArrayLike, *, once: bool, sizes: npt.ArrayLike | None = None) -> Floats:
    """How much each answer counts (``sizes``; None: 1), with ``once`` so that those of each cluster count 1 together."""
    owners = np.asarray(clusters, dtype=object)
    counts = np.ones(len(owners)) if sizes is None else np.asarray(sizes, dtype=float)
    if not once:
        return counts
    codes, names = pd.factorize(owners)
    return np.asarray(counts / np.bincount(codes, weights=counts, minlength=len(names))[codes])


def with_once_each(estimate: Estimate, *given: object, **named: object) -> Result:
    """The result of ``estimate``, with the result for every worker counted ``once`` in its details."""
    result = estimate(*given, **named)
    once = estimate(*given, **named, once=True)
    details = {VALUE: once.estimate, LOW: once.ci_low, HIGH: once.ci_high, P: once.p_value}
    return result.but(details={**result.details, **details})


class OnceEach(NamedTuple):
    """A result with every worker counted once; ``p_decides`` is corrected if the result is."""

    estimate: float | None
    p_decides: float | None


def once_each_of(result: Result) -> OnceEach | None:
    """The result with every worker counted once; None if it is missing."""
    if VALUE not in result.details:
        return None
    estimate, p = (result.details.get(name) for name in (VALUE, P_HOLM if P_HOLM in result.details else P))
    return OnceEach(None if estimate is None else float(estimate), None if p is None else float(p))


def rescaled(result: Result, scale: Callable[[float], float]) -> Result:
    """Convert ``result`` to another scale, including the result with every worker counted once."""
    ends = {name: getattr(result, name) for name in ("estimate", "ci_low", "ci_high")}
    once = {name: result.details[name] for name in (VALUE, LOW, HIGH) if name in result.details}
    changed = {name: None if value is None else scale(float(value)) for name, value in once.items()}
    moved = {name: None if value is None else scale(value) for name, value in ends.items()}
    return result.but(**moved, details={**result.details, **changed})


def counts_matter(result: Result) -> bool:
    """Whether only one of both results is significant, or both are, on different sides of the hypothesis."""
    p, once = result.p_decides, once_each_of(result)
    if p is None or once is None or once.p_decides is None or once.estimate is None or result.estimate is None:
        return False
    if (p < ALPHA) != (once.p_decides < ALPHA):
        return True
    null = float(result.details.get("null") or 0.0)
    return p < ALPHA and (result.estimate - null) * (once.estimate - null) < 0


class Family(NamedTuple):
    """The tests of one correction: the pairs of models of one technique, setting, metric and question."""

    technique: str
    setting: str
    metric: str
    question: str = ""

    def __str__(self) -> str:
        """The parts that say something; a setting always does, whatever a researcher calls it."""
        metric = self.metric if self.metric != self.technique else ""
        question = self.question if self.question not in (self.technique, self.metric) else ""
        return ", ".join(filter(None, (self.technique, self.setting, metric, question)))


NO_FAMILY = Family("", "", "")  # for tests that form a single family


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
    """Apply Holm's correction to each of ``results`` over its family, in order; a single test keeps its p."""
    of_each = [NO_FAMILY] * len(results) if families is None else list(families)
    if len(of_each) != len(results):
        raise ValueError(f"{len(results)} results, but {len(of_each)} families")
    p_holm: dict[int, float | None] = {}
    p_once: dict[int, float | None] = {}
    tests: dict[Family, int] = {}
    for family in dict.fromkeys(of_each):
        places = [place for place, of in enumerate(of_each) if of == family and results[place].n]
        tests[family] = len(places)
        p_holm.update(zip(places, holm([results[place].p_value for place in places]), strict=True))
        once = [results[place].details.get(P) for place in places]
        p_once.update(zip(places, holm([None if p is None else float(p) for p in once]), strict=True))
    return [
        result.but(
            p_holm=p_holm.get(place),
            details={
                **result.details,
                "family": str(family),
                "family_tests": tests[family],
                **({P_HOLM: p_once.get(place)} if P in result.details else {}),
            },
        )
        for place, (result, family) in enumerate(zip(results, of_each, strict=True))
    ]


Row = TypeVar("Row")


def corrected_fields(rows: Sequence[Row], family: Family, *names: str) -> list[Row]:
    """Apply Holm's correction over all ``rows`` to the results called ``names``."""
    families = [family] * len(rows)
    tests = [corrected([getattr(row, name) for row in rows], families) for name in names]
    copies = [copy(row) for row in rows]
    for row, *of in zip(copies, *tests, strict=True):
        vars(row).update(zip(names, of, strict=True))
    return copies


DecidedBy = Literal["clustered", "paper"]


def deciding(paper: Result | None, clustered: Result, alpha: float = ALPHA) -> tuple[float | None, DecidedBy]:
    """The deciding p-value, corrected if there are several tests, and its test: usually the clustered one."""
    p, independent = clustered.p_decides, None if paper is None else paper.p_decides
    if p is None or independent is None or p >= alpha or independent < alpha or agreement_shown(clustered):
        return p, "clustered"
    return independent, "paper"
