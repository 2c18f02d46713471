"""Numbers freed of where things stood: each place counts alike, however often a model stood there.

Raters may favour what they see first. Where places are drawn by chance that favours no model in the long run, but in one
study a model may have stood first more often than the other; and where the habit is stronger than the difference of the
models, that decides who looks better.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parlai_humaneval.statistics.core.result import Result

Floats = npt.NDArray[np.float64]
ALPHA = 0.05
SOURCE = "Holt & Smith 1979 (post-stratification by place)"
METHOD = "each place counts alike"


def place_balanced(values: npt.ArrayLike, places: npt.ArrayLike) -> Floats | None:
    """A number an observation, whose mean is the mean over places of the mean of ``values`` at each place.

    It is the value's distance from the mean of its place, weighted so that all places count alike, plus that mean of
    means; so the clustered interval of its mean is that of the adjusted estimate (post-stratification). None where that
    is not possible (one place only, or a place that is not known) or not needed (as often at each place). A nan value stays
    nan and does not count.

    Args:
        values: what was found.
        places: where the model stood, or whether it stood before the other.

    Assumes that places were drawn without regard to what is shown there.

    Source: Holt & Smith 1979 (post-stratification).

    >>> won, first = [1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0]  # first four times of six: won 3 of 4, else 1 of 2
    >>> round(float(place_balanced(won, first).mean()), 3)
    0.625
    """
    x, where = np.asarray(values, dtype=float), np.asarray(places, dtype=float)
    known = ~np.isnan(x)
    if np.isnan(where[known]).any():
        return None
    names, codes = np.unique(where[known], return_inverse=True)
    n = np.bincount(codes).astype(float)
    if len(names) < 2 or np.ptp(n) == 0:
        return None
    means = np.bincount(codes, weights=x[known]) / n
    weights = known.sum() / (len(names) * n)
    balanced: Floats = np.full(x.shape, np.nan)
    balanced[known] = weights[codes] * (x[known] - means[codes]) + means.mean()
    return balanced


def place_outweighs(effect: Result, by_place: float | None, gap: float | None) -> bool:
    """Whether the effect of the place is shown and is larger than the gap between the models.

    ``effect``: the test of the place; ``by_place``: its size on the scale of ``gap``.
    """
    shown = effect.p_value is not None and effect.p_value < ALPHA
    return shown and by_place is not None and gap is not None and abs(by_place) > abs(gap)
