"""Claims follow from evidence, pair by pair at the bar of Holm and Shaffer, from each other, and can be said in words."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from parlai_humaneval.stopping.batch import Decisions, in_words
from parlai_humaneval.stopping.evidence import Evidence

ROW = np.zeros(1, dtype=np.int64)
ABC = ("A", "B", "C")


def decided(evidence: dict[tuple[int, int], float], models: int = 3, paths: bool = False, **changes: bool) -> Decisions:
    """One study with so much evidence that the first of each two models is better than the second."""
    learnt = Evidence(1, models, 0.1, pooled=False)
    learnt.dialogues[:] = 10
    for (better, worse), value in evidence.items():
        pair = learnt.pairs.number[better, worse]
        learnt.of("direct")[0, 0 if better < worse else 1, pair] = value
    decisions = Decisions(1, models, alpha=0.05, beta=0.05, floor=4, paths=paths, **changes)
    decisions.look(ROW, learnt)
    return decisions


@pytest.mark.parametrize(
    ("evidence", "claims"),
    [
        ({(0, 1): 119}, ""),
        ({(0, 1): 120}, "A > B"),
        ({(1, 0): 120, (1, 2): 79}, "B > A"),
        ({(1, 0): 120, (1, 2): 80}, "B > A; B > C"),
        ({(0, 1): 120, (1, 2): 80}, "A > B > C"),
        ({(2, 1): 500, (1, 0): 400, (0, 2): 300}, "C > B > A"),
    ],
)
def test_the_bar_falls_with_what_is_claimed(evidence: dict[tuple[int, int], float], claims: str) -> None:
    """Six directions at α = .05: 120; a first claim refutes two of them, as a third model is unlike one of the two.

    What follows from two claims is claimed, so that of a circle the weakest side is not.
    """
    assert in_words(ABC, decided(evidence), 0.1) == claims


def test_without_transitivity_nothing_follows() -> None:
    """The bar is Holm's, and the third pair stays open."""
    decisions = decided({(0, 1): 120, (1, 2): 99}, transitive=False)
    assert in_words(ABC, decisions, 0.1) == "A > B"
    decisions = decided({(0, 1): 120, (1, 2): 100}, transitive=False)
    assert in_words(ABC, decisions, 0.1) == "A > B; B > C"
    assert decisions.open()[0].sum() == 1


def test_no_more_is_taken_for_refuted_than_true_claims_refute() -> None:
    """Of four models in any order with ties, and any of their true claims: the bar counts every direction that is true."""
    rng, decisions = np.random.default_rng(1), Decisions(1, 4, alpha=0.05, beta=0.05, floor=1)
    for places in product(range(4), repeat=4):
        place = np.array(places)
        strict = place[:, None] < place[None, :]
        for share in (0.2, 0.5, 1.0):
            claimed = strict & (rng.random((4, 4)) < share)
            for k in range(4):
                claimed |= claimed[:, [k]] & claimed[[k], :]
            decisions.better[0] = claimed
            assert claimed.sum() <= decisions._refuted(ROW)[0] <= strict.sum()


def equal_of(evidence: list[tuple[float, float]], models: int, **changes: Any) -> list[bool]:
    """Which pairs are called equal, with so much evidence of either side."""
    learnt = Evidence(1, models, 0.1, pooled=False)
    learnt.dialogues[:] = 10
    learnt.equal[0] = learnt.equal_now[0] = np.array(evidence).T
    decisions = Decisions(1, models, floor=4, **{"alpha": 0.05, "beta": 0.05, **changes})
    decisions.look(ROW, learnt)
    return list(map(bool, decisions.equal[0]))


def test_equal_models_need_both_sides() -> None:
    """Each at the bar; and as much more as makes up for pairs that fall short of it."""
    assert equal_of([(20, 20), (90, 20), (20, 20)], 3) == [True, True, True]
    assert equal_of([(38, 38), (90, 1), (90, 20)], 3) == [False, False, False]
    assert equal_of([(39, 39), (90, 1), (90, 39)], 3) == [True, False, True]
    assert equal_of([(90, 90), (0, 0), (0, 0)], 3) == [True, False, False]
    assert equal_of([(59, 59), (0, 0), (0, 0)], 3, transitive=False) == [False, False, False]
    assert equal_of([(60, 60), (0, 0), (0, 0)], 3, transitive=False) == [True, False, False]
    assert equal_of([(90, 90)] * 3, 3, beta=0.0) == [False, False, False]


def test_studies_of_before_call_pairs_equal_one_by_one() -> None:
    """Of six pairs, four can be a margin apart; once three are called equal, three, and then two, and one."""
    bars = [80, 80, 80, 60, 40, 20]
    assert equal_of([(bar, bar) for bar in bars], 4, together=False) == [True] * 6
    assert equal_of([(bar, bar) for bar in (80, 80, 79, 60, 40, 20)], 4, together=False) == [True] * 2 + [False] * 4


def test_words_for_what_is_no_row_of_groups() -> None:
    """A ≈ B and B ≈ C, though A > C."""
    decisions = decided({(0, 2): 500})
    decisions.equal[0, [0, 2]] = True
    assert in_words(ABC, decisions, 0.1) == "A > C; A ≈ B, B ≈ C within 10 points"
