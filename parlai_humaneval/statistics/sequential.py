"""Looking at a study again and again while it grows: p-values of every look, and one that allows for the looking.

A p-value that is right at one planned end is wrong as a rule for stopping: who looks after every answer and stops at
the first p < .05 finds a difference between two equal models in a third of studies of 400 answers.
:func:`anytime_p_values` may be looked at after every answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, stdtr

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SEQUENTIAL_SOURCE = (
    "Robbins 1970, Statistical methods related to the law of the iterated logarithm; "
    "Johari, Koomen, Pekelis & Walsh 2022, Always valid inference"
)
PRIOR_WEIGHT = 20.0
"""Answers that the prior of the e-process is worth: differences of about ten points are looked for first."""


def t_p_values(values: npt.ArrayLike, of_a: npt.ArrayLike) -> Floats:
    """The two-sided t test of A against B after every value: two independent samples, equal variances.

    ``values`` in the order in which they came; ``of_a``: True where a value is of A. 1 as long as a sample is empty
    or no value differs, so that no variance can be estimated.

    Right for one look that was fixed beforehand. Assumes independent, normal values.

    Source: Smith et al. 2022, App. C.7.

    >>> t_p_values([5, 3, 4, 2, 5, 3], [True, False] * 3).round(3).tolist()
    [1.0, 1.0, 0.333, 0.106, 0.032, 0.013]
    """
    y, a = np.asarray(values, dtype=float), np.asarray(of_a, dtype=bool)
    if y.shape != a.shape or y.ndim != 1:
        raise ValueError(f"values and of_a must be equally long lists: they are {y.shape} and {a.shape}")
    if not np.isfinite(y).all():
        raise ValueError("values hold missing or infinite numbers: leave them out")
    y = y - (y.mean() if y.size else 0.0)  # sums of squares lose no digits to a high mean
    n_a, n_b = np.cumsum(a), np.cumsum(~a)
    sums = [np.cumsum(np.where(own, y, 0.0)) for own in (a, ~a)]
    means = [total / np.maximum(count, 1) for total, count in zip(sums, (n_a, n_b), strict=True)]
    squares = np.cumsum(y**2) - n_a * means[0] ** 2 - n_b * means[1] ** 2
    df = n_a + n_b - 2
    floor = 1e-12 * max(1.0, float((y**2).sum()))
    known = (n_a > 0) & (n_b > 0) & (df > 0) & (squares > floor)
    variance = np.where(known, squares / np.maximum(df, 1), 1.0) * (1 / np.maximum(n_a, 1) + 1 / np.maximum(n_b, 1))
    t = (means[0] - means[1]) / np.sqrt(variance)
    return np.asarray(np.where(known, 2 * stdtr(np.maximum(df, 1), -np.abs(t)), 1.0), dtype=float)


def e_values(outcomes: npt.ArrayLike, p0: float = 0.5, *, weight: float = PRIOR_WEIGHT) -> Floats:
    """The beta-binomial e-process after each of ``outcomes`` (0 or 1): how much better they fit a share unlike ``p0``.

    The chance of the outcomes so far under shares spread as Beta(``weight``·p0, ``weight``·(1−p0)), over their chance
    under ``p0``. Under ``p0`` its mean is 1 at any time, and it ever reaches 1/α with a chance of at most α
    (Ville's inequality). Infinite evidence is cut to the largest number there is.

    Assumes that outcomes are independent, also those of one worker.

    An e-value of 20 is evidence as strong as p = .05.

    Source: Ville 1939; Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021.

    >>> e_values([1, 1, 0, 1, 1, 1, 1, 1]).round(2).tolist()
    [1.0, 1.05, 0.95, 0.99, 1.08, 1.21, 1.39, 1.65]
    """
    x = _flags(outcomes)
    if not 0 < p0 < 1 or not weight > 0:
        raise ValueError(f"p0 must lie between 0 and 1 and weight above 0: they are {p0} and {weight}")
    k, n = np.cumsum(x), np.arange(1, len(x) + 1)
    a, b = weight * p0, weight * (1 - p0)
    log_e = betaln(a + k, b + n - k) - betaln(a, b) - k * np.log(p0) - (n - k) * np.log1p(-p0)
    return np.asarray(np.exp(np.minimum(log_e, 700.0)), dtype=float)


def anytime_p_values(outcomes: npt.ArrayLike, p0: float = 0.5, *, weight: float = PRIOR_WEIGHT) -> Floats:
    """A p-value after each outcome that stays right however often one looks: 1 over the highest e-value so far.

    Below .05 at any look: the share differs from ``p0``, and one may stop there. Assumes what :func:`e_values` does.

    Source: Howard, Ramdas, McAuliffe & Sekhon 2021, §1; Ville 1939.

    >>> anytime_p_values([1, 1, 0, 1, 1, 1, 1, 1]).round(3).tolist()
    [1.0, 0.955, 0.955, 0.955, 0.929, 0.829, 0.719, 0.606]
    """
    e = e_values(outcomes, p0, weight=weight)
    return np.asarray(np.minimum(1.0, 1 / np.maximum.accumulate(e)), dtype=float) if e.size else e


def _flags(outcomes: npt.ArrayLike) -> Ints:
    x = np.asarray(outcomes, dtype=float)
    if x.ndim != 1 or not np.isin(x, (0.0, 1.0)).all():
        raise ValueError("outcomes must be a list of 0 and 1; leave ties out")
    return x.astype(np.int64)


@dataclass(frozen=True)
class Crossing:
    """Where p fell below α. ``first``: index of the first look; ``sustained``: of the first from which on all are."""

    first: int | None
    sustained: int | None


def crossing(p_values: npt.ArrayLike, alpha: float = 0.05, min_looks: int = 1) -> Crossing:
    """Looks before the ``min_looks``-th do not count.

    Where p fell below ``alpha`` for the first time, and for good.

    Assumes nothing of how the p-values were made; a first crossing is not corrected for many looks.

    Source: Smith et al. 2022, App. C.7.

    >>> crossing([0.2, 0.04, 0.07, 0.03, 0.01])
    Crossing(first=1, sustained=3)
    """
    p = np.asarray(p_values, dtype=float)
    below = (p < alpha) & (np.arange(1, len(p) + 1) >= min_looks)
    if not below.any():
        return Crossing(None, None)
    above = np.flatnonzero(~below)
    start = int(above[-1]) + 1 if above.size else 0
    return Crossing(int(below.argmax()), start if start < len(p) else None)
