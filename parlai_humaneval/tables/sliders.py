"""Which ratings of a table were given on sliders, and where those end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Mask = npt.NDArray[np.bool_]
SLIDER_MINIMUM, SLIDER_MAXIMUM = 0.0, 100.0
"""Where a table from elsewhere does not say."""
MOST_POINTS = 10.0
"""Scales that reach further are sliders."""


def on_sliders(ratings: pd.DataFrame) -> Mask:
    """Which ratings were given on sliders, or on scales of more than ten points, and not on Likert scales.

    Where a table does not name its scales, all its ratings of a technique are taken for sliders as soon as one of them is
    above ten or of a degraded model, and those of direct assessment always.
    """
    technique = ratings["technique"].fillna("")
    high = (
        (ratings["value"] > MOST_POINTS)
        | (ratings["maximum"].fillna(0) > MOST_POINTS)
        | (ratings["degraded"].fillna(0) == 1)
    )
    unnamed = ratings["scale"].isna()
    sliders = {*technique[(unnamed & high).to_numpy(dtype=bool)], "direct_assessment"}
    found = (ratings["scale"] == "slider") | (unnamed & technique.isin(sliders)) | (~unnamed & high)
    return np.asarray(found.fillna(False), dtype=bool)
