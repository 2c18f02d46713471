"""Prediction-powered intervals hold the truth, whoever the judge is; ``python -m benchmarks prediction_powered`` has all."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.judged_studies import PROPHET, Found, Study
from benchmarks.prediction_powered import WIDEST, Row, measured

STUDIES = 250


@pytest.mark.parametrize("judge", ["useless", "biased", "perfect", PROPHET])
def test_intervals_hold_the_truth(judge: str) -> None:
    """Guards .95 of the intervals of 20 workers, within three standard errors, and that none is wider than people's."""
    row = measured("win rate", Study(20, 120), judge, STUDIES)
    error = 3 * np.sqrt(0.05 * 0.95 / STUDIES)
    assert 0.04 - error <= row.missed <= 0.06 + error
    assert row.widest <= WIDEST + 1e-9
    assert row.gain > {"useless": 0.99, "biased": 1, "perfect": 1.05, PROPHET: 4}[judge]


def test_a_share_of_misses_that_breaks_the_promise_is_a_fault() -> None:
    """Guards that the benchmark can fail: intervals that miss too often, and one that is too wide."""
    right, wrong = Found(True, True, 0.9, 1.2, 0.5), Found(False, True, 0.9, 1.2, 0.5)
    assert not Row("a", "b", (right,) * 95 + (wrong,) * 5, 100).fault
    assert "intervals miss" in Row("a", "b", (right,) * 80 + (wrong,) * 20, 100).fault
    assert "as wide" in Row("a", "b", (right,) * 99 + (Found(True, True, 1.02, 1, 0.5),), 100).fault
