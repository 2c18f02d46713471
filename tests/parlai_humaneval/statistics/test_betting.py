"""Bets on workers are fair where nobody is better, and what is concluded of them may be looked at after each worker."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parlai_humaneval.statistics.core.sequential import (
    direct_terms,
    equality_bets,
    equality_evidence,
    order_bets,
    order_evidence,
    score_evidence,
    share_interval,
)


def shares(mean: float, workers: int, rng: np.random.Generator) -> np.ndarray:
    """Of workers who differ in what they like, each with six turns."""
    return rng.binomial(6, rng.beta(5 * mean, 5 * (1 - mean), workers)) / 6


ORDER = ([0.9, 1.6, 2.4, 5.0], [0.5, 0.2, 0.2, 0.1])
"""Bets for a gap of the margin: multiples of δ/s², and their weights."""


def test_stakes_follow_the_margin_the_variance_and_the_dialogues() -> None:
    """Half of the margin over the variance, less for dialogues of one worker, and never all that there is."""
    one, three = np.ones(1), np.full(1, 3.0)
    for bets, dialogues, variance, stakes in (
        (order_bets(0.1), one, 0.05, [0.9, 1.6, 1.9, 1.9]),
        (order_bets(0.1), one, 0.25, [0.18, 0.32, 0.48, 1.0]),
        (order_bets(0.1), three, 0.05, [0.9 / 1.6, 1.9 / 3, 1.9 / 3, 1.9 / 3]),
        (equality_bets(0.1), one, 0.05, [0.65, 0.85]),
    ):
        assert bets.of(direct_terms(dialogues), np.full(1, variance))[:, 0] == pytest.approx(stakes)
    assert order_bets(0.1).weights.tolist() == ORDER[1]


def test_evidence_is_the_product_of_the_bets() -> None:
    """By hand, for two workers: the mixture of Π (1 + λ(y − ½)), the second λ after what the first one showed."""
    stakes = [[min(1.9, 0.05 / variance * times) for times in ORDER[0]] for variance in (0.05, (0.4 + 0.0625) / 9)]
    for_a, for_b = order_evidence([0.75, 0.25])
    assert for_a[0] == pytest.approx(sum(w * (1 + a / 4) for a, w in zip(stakes[0], ORDER[1], strict=True)))
    up, down = (
        sum(w * (1 + sign * a / 4) * (1 - sign * b / 4) for a, b, w in zip(*stakes, ORDER[1], strict=True))
        for sign in (1, -1)
    )
    assert (for_a[1], for_b[1]) == (pytest.approx(up), pytest.approx(down))


def test_no_bet_gains_on_average_where_it_should_not() -> None:
    """A worker's share of 0 or 1 as often, and a gap of just the margin: the mean evidence after a worker is 1."""
    for_a, for_b = (np.mean([order_evidence([y])[side][0] for y in (0.0, 1.0)]) for side in (0, 1))
    assert (for_a, for_b) == (pytest.approx(1), pytest.approx(1))
    stakes = equality_bets(0.2).of(direct_terms(np.ones(1)), np.full(1, 0.05))
    at_the_margin = 0.6 * (1 - stakes * (1 - 0.6)) + 0.4 * (1 + stakes * 0.6)
    assert np.allclose(at_the_margin, 1)
    assert np.mean([score_evidence([d])[0][0] for d in (-0.7, 0.7)]) == pytest.approx(1)


@pytest.mark.parametrize("mean", [0.5, 0.65])
def test_intervals_hold_the_mean_at_every_look(mean: float) -> None:
    """Of 200 studies of 60 workers at most one in twenty, and two standard errors, misses it even once."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        low, high = share_interval(shares(mean, 60, rng), last=True)
        missed += not low[0] <= mean <= high[0]
    assert missed / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_intervals_hold_though_workers_leave_when_contented() -> None:
    """Who goes when A has won more turns of a dialogue: stakes by what they stayed for would miss the mean."""
    rng = np.random.default_rng(1)
    missed = np.zeros(2)
    for _ in range(60):
        won = rng.binomial(6, 0.5, (150, 3)) / 6
        gone = np.cumsum(won > 0.5, axis=1) - (won > 0.5) > 0
        terms = (~gone).sum(axis=1)
        y = np.where(gone, 0.0, won).sum(axis=1) / terms
        for place, asked in enumerate((np.full(150, 3), terms)):
            low, high = share_interval(y, terms, asked=asked, last=True)
            missed[place] += not low[0] <= 0.5 <= high[0]
    assert missed[0] / 60 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 60) < missed[1] / 60


def test_the_interval_says_what_the_evidence_says() -> None:
    """One half lies outside just from the worker on at whom somebody is called better."""
    y = shares(0.7, 60, np.random.default_rng(3))
    low, high = share_interval(y)
    decided = np.maximum.accumulate(order_evidence(y)[0]) >= 40
    assert not decided.all()
    assert decided.any()
    assert ((low > 0.5) == decided).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) <= 0).all()
    last = share_interval(y, last=True)
    assert (last[0][0], last[1][0]) == pytest.approx((low[-1], high[-1]), abs=2e-4)


def test_equality_needs_both_sides() -> None:
    """A model that always wins by more than the margin is never called equal; one that never does, is."""
    assert equality_evidence(np.full(200, 0.65), margin=0.2).max() < 1
    assert equality_evidence(np.full(200, 0.5), margin=0.2)[-1] > 1e4


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: order_evidence([0.5, 1.2]), "from 0 to 1"),
        (lambda: order_evidence([0.5, float("nan")]), "from 0 to 1"),
        (lambda: order_evidence([0.5], margin=0), "between 0 and 1"),
        (lambda: equality_evidence([0.5], margin=10), "between 0 and 1"),
        (lambda: score_evidence([float("nan")]), "nothing missing"),
        (lambda: share_interval([0.5], [0]), "1 or more"),
        (lambda: share_interval([0.5], [2], asked=[1]), "no fewer than terms"),
        (lambda: share_interval([0.5], level=1), "level"),
    ],
)
def test_what_cannot_be_is_refused(call: object, said: str) -> None:
    """With words that say what to give."""
    assert callable(call)
    with pytest.raises(ValueError, match=said):
        call()


def test_nobody_has_come() -> None:
    """Empty lists stay empty."""
    assert order_evidence([])[0].size == equality_evidence([]).size == share_interval([])[0].size == 0
