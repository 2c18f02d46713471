"""Slider ratings on one scale (Ji et al. 2022, §3.3): turned round where a high one is bad, standardised by worker."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.analysis.reports.facts import is_set
from parlai_humaneval.quality.ratings import degraded_rated_lower

Floats = npt.NDArray[np.float64]
SLIDER_MINIMUM, SLIDER_MAXIMUM = 0.0, 100.0
"""Where a table from elsewhere does not say."""


def worker_checks(ratings: pd.DataFrame) -> pd.DataFrame:
    """Which workers rate the degraded model lower than the others, over all that they rated.

    One-sided rank-sum test on the criteria where more is better. (With the reversed ones the test would pass fewer of
    the workers whom the authors passed.)

    Returns:
        A row per worker, sorted: ``worker_id``, ``p``, ``passed`` (False also where one side has no rating),
        ``constant`` (all ratings of the worker are equal).
    """
    positive = ratings[~is_set(ratings, "reversed")]
    rows = []
    for worker, own in positive.groupby("worker_id", sort=True):
        degraded, values = is_set(own, "degraded"), own["value"].to_numpy(dtype=float)
        result = degraded_rated_lower(values[degraded], values[~degraded])
        rows.append((worker, result.p, result.passed is True, bool(np.ptp(values) == 0)))
    table: pd.DataFrame = pd.DataFrame(rows, columns=["worker_id", "p", "passed", "constant"])
    return table


def turned(ratings: pd.DataFrame) -> Floats:
    """Each rating with more as better: minimum + maximum − x where the criterion is reversed (100 − x on sliders)."""
    x = ratings["value"].to_numpy(dtype=float)
    low = ratings["minimum"].to_numpy(dtype=float, na_value=SLIDER_MINIMUM)
    high = ratings["maximum"].to_numpy(dtype=float, na_value=SLIDER_MAXIMUM)
    return np.where(is_set(ratings, "reversed"), low + high - x, x)


def standardised(ratings: pd.DataFrame) -> Floats:
    """Each rating as (x − mean) / sd of its worker, after :func:`turned`; nan for a worker whose ratings do not vary.

    All criteria and all models of the worker count, the degraded one's too (Ji et al. 2022, §3.3). sd with n − 1.
    """
    x = turned(ratings)
    codes, workers = pd.factorize(ratings["worker_id"])
    z = np.full(x.shape, np.nan)
    for code in range(len(workers)):
        own = codes == code
        scores = standardise(x[own])
        if scores is not None:
            z[own] = scores
    return z


def standardise(ratings: npt.ArrayLike) -> Floats | None:
    """(x − mean) / sd of all ratings of one worker, ddof = 1; None where they do not vary.

    ``ratings``: of all criteria, reversed ones turned round, the degraded model's among them (Ji et al. 2022, §3.3).
    """
    x = np.asarray(ratings, dtype=float)
    if x.size < 2 or (x == x[0]).all():
        return None
    z: Floats = (x - x.mean()) / x.std(ddof=1)
    return z
