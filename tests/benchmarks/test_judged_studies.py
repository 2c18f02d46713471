"""Prediction-powered intervals hold the truth, whoever the judge is; ``python -m benchmarks prediction_powered`` has all."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.judged_stopping import Ended
from benchmarks.judged_studies import PROPHET, Found, Study
from benchmarks.prediction_powered import MUTANT, WIDEST, Row, Stopped, measured

STUDIES = 80


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


def test_false_claims_that_break_the_promise_are_a_fault_and_the_mutant_must_make_them() -> None:
    """Guards that the benchmark can fail: too many false claims, too few of the mutant's, a useless judge that costs."""

    def ended(false: float, dialogues: float = 100.0) -> Ended:
        wrong = np.arange(1000) < 1000 * false
        return Ended(np.full(1000, dialogues), wrong, np.zeros(1000, dtype=bool), np.ones(1000, dtype=bool))

    alone = ended(0.04)
    assert not Stopped("t", "biased", ended(0.06), alone).fault
    assert "claim something false" in Stopped("t", "biased", ended(0.07), alone).fault
    assert "claim something false" in Stopped("t", MUTANT, ended(0.04), alone).fault
    assert not Stopped("t", MUTANT, ended(0.5), alone).fault
    assert not Stopped("t", "useless", ended(0.04, 103), alone).fault
    assert "1.040 times" in Stopped("t", "useless", ended(0.04, 104), alone).fault
