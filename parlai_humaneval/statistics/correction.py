"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parlai_humaneval.statistics.result import Result


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction (Holm 1979), in the given order.

    None, a test that could not be made, stays None and does not count towards the family.
    """
    made = [i for i, p in enumerate(p_values) if p is not None]
    values = np.array([p for p in p_values if p is not None], dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, stepped, strict=True):
        corrected[made[place]] = min(1.0, float(value))
    return corrected


def corrected(results: Sequence[Result]) -> list[Result]:
    """``results`` with Holm's p where several of them rest on something and could be tested."""
    family = [result.p_value if result.n else None for result in results]
    if sum(p is not None for p in family) < 2:
        return list(results)
    return [
        result if p is None else result.model_copy(update={"p_holm": p})
        for result, p in zip(results, holm(family), strict=True)
    ]
