"""Kendall's τ-b: how far two orders of the same things agree, ties counted (Kendall 1945)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]


def kendall_tau_b(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """τ-b of two equally long lists; None where one of them ties everything."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pairs = np.array(list(combinations(range(a.size), 2)), dtype=int).reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    found = tau_b_of_pairs(a[first] - a[second], b[first] - b[second], np.zeros(len(pairs), dtype=int))
    return float(found[0]) if found.size and not np.isnan(found[0]) else None


def tau_b_of_pairs(lead_x: npt.ArrayLike, lead_y: npt.ArrayLike, groups: npt.ArrayLike) -> Floats:
    """τ-b of many small orders at once, from their pairs; nan where one of the two orders ties everything.

    Args:
        lead_x: by how much the first of a pair leads in the one order; only its sign counts.
        lead_y: the same in the other order.
        groups: what is ordered together; the results stand in the order in which they first appear.
    """
    x, y = np.sign(np.asarray(lead_x, dtype=float)), np.sign(np.asarray(lead_y, dtype=float))
    codes, names = pd.factorize(np.asarray(groups, dtype=object))

    def total(values: Floats) -> Floats:
        return np.bincount(codes, weights=values, minlength=len(names)).astype(float)

    scale = np.sqrt(total(x**2) * total(y**2))
    tau: Floats = np.full(len(names), np.nan)
    np.divide(total(x * y), scale, out=tau, where=scale > 0)
    return tau
