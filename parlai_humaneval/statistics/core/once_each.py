"""Every worker counts once: the same estimate from the mean of each worker, next to the one in which every answer counts.

Where workers who give many answers prefer another model than those who give few, both are right, about other things: what
a typical answer says, and what a typical worker says. In studies of models that are equal in the mean over workers, of 150
workers whose number of dialogues correlates by .4 with their taste, the first differs from 0 in three of four studies.
``python -m benchmarks.inference`` measures both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core.result import Result

VALUE, LOW, HIGH, P, P_HOLM = "per_worker", "per_worker_low", "per_worker_high", "p_per_worker", "p_per_worker_holm"
"""Details of a result: the estimate in which every worker counts once, its interval, its p, and that after Holm."""
ALPHA = 0.05
Estimate = Callable[..., Result]


def once_each(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Objects]:
    """The mean of each cluster, in the order in which clusters come, and the clusters; nan does not count.

    >>> means, workers = once_each([1, 0, 1, 1], ['w1', 'w1', 'w1', 'w2'])
    >>> means.round(2).tolist(), workers.tolist()
    ([0.67, 1.0], ['w1', 'w2'])
    """
    y = np.asarray(values, dtype=float)
    known = ~np.isnan(y)
    codes, names = pd.factorize(np.asarray(clusters, dtype=object)[known])
    sums = np.bincount(codes, weights=y[known], minlength=len(names))
    return sums / np.maximum(np.bincount(codes, minlength=len(names)), 1), np.asarray(names, dtype=object)


def answer_weights(clusters: npt.ArrayLike, *, once: bool, sizes: npt.ArrayLike | None = None) -> Floats:
    """How much each answer counts: as it is, or (``once``) so that those of each cluster count 1 together.

    ``sizes``: how much each counts as it is; None: 1.
    """
    owners = np.asarray(clusters, dtype=object)
    counts = np.ones(len(owners)) if sizes is None else np.asarray(sizes, dtype=float)
    if not once:
        return counts
    codes, names = pd.factorize(owners)
    return np.asarray(counts / np.bincount(codes, weights=counts, minlength=len(names))[codes])


def with_once_each(estimate: Estimate, *given: object, **named: object) -> Result:
    """What ``estimate`` makes of what it is given; its details have the same with every worker counted once.

    ``estimate``: a function that takes ``once`` as a keyword, such as
    :func:`~parlai_humaneval.statistics.core.two_way.crossed_difference`.
    """
    result = estimate(*given, **named)
    once = estimate(*given, **named, once=True)
    details = {VALUE: once.estimate, LOW: once.ci_low, HIGH: once.ci_high, P: once.p_value}
    return result.but(details={**result.details, **details})


class OnceEach(NamedTuple):
    """What a result says with every worker counted once; ``p_decides`` is corrected where the result is."""

    estimate: float | None
    p_decides: float | None


def once_each_of(result: Result) -> OnceEach | None:
    """The answer with every worker counted once; None where the result does not have it."""
    if VALUE not in result.details:
        return None
    estimate, p = (result.details.get(name) for name in (VALUE, P_HOLM if P_HOLM in result.details else P))
    return OnceEach(None if estimate is None else float(estimate), None if p is None else float(p))


def rescaled(result: Result, scale: Callable[[float], float]) -> Result:
    """``result`` with everything that is on its scale, also of every worker counted once, on another one."""
    ends = {name: getattr(result, name) for name in ("estimate", "ci_low", "ci_high")}
    once = {name: result.details[name] for name in (VALUE, LOW, HIGH) if name in result.details}
    changed = {name: None if value is None else scale(float(value)) for name, value in once.items()}
    moved = {name: None if value is None else scale(value) for name, value in ends.items()}
    return result.but(**moved, details={**result.details, **changed})


def counts_matter(result: Result) -> bool:
    """Whether it makes a difference who counts how often: only one of both answers is significant, or both are, on
    different sides of the hypothesis."""
    p, once = result.p_decides, once_each_of(result)
    if p is None or once is None or once.p_decides is None or once.estimate is None or result.estimate is None:
        return False
    if (p < ALPHA) != (once.p_decides < ALPHA):
        return True
    null = float(result.details.get("null") or 0.0)
    return p < ALPHA and (result.estimate - null) * (once.estimate - null) < 0
