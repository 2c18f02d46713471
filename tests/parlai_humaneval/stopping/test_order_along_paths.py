"""Who is better is decided over all orders in which models can stand: no claim is wrong before the capital of who knew the
true order has reached 1/α."""

from __future__ import annotations

from copy import deepcopy
from itertools import groupby, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.stopping.batch import ALL_DIRECTIONS, Decisions, along_paths
from parlai_humaneval.stopping.events import Began, log_rows, read_log
from parlai_humaneval.stopping.evidence import Evidence, pairs_of
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.study import SequentialStudy

MODELS = 4
PAIRS = pairs_of(MODELS)
ORDERS = sorted(set(product(range(MODELS), repeat=MODELS)))
"""Places of all models, ties included; some of them say the same."""


def _paid(now: Floats, places: tuple[int, ...]) -> float:
    """The capital of somebody who knows at which place each model stands, 0 for the best."""
    bets = np.zeros((MODELS, MODELS))  # that the row's model is better
    bets[PAIRS.first, PAIRS.second], bets[PAIRS.second, PAIRS.first] = now
    rows = [
        [
            model
            for _, tied in groupby(sorted(range(MODELS), key=lambda m: places[m]), lambda m: places[m])
            for model in (tied if way == 1 else reversed(list(tied)))
        ]
        for way in (1, -1)
    ]
    neighbors = [float(np.mean([bets[lower, higher] for higher, lower in pairwise(row)])) for row in rows]
    wrong = [float(bets[i, j]) for i, j in permutations(range(MODELS), 2) if places[i] >= places[j]]
    return (1 - ALL_DIRECTIONS) * float(np.mean(neighbors)) + ALL_DIRECTIONS * float(np.mean(wrong))


PLACES = np.array(ORDERS)
FALSE = PLACES[:, :, None] >= PLACES[:, None]
"""Orders × models × models; where the row's model is not better than the column's."""


@pytest.fixture(scope="module")
def after_true_claims() -> Decisions:
    """Four studies an order, one after another: nothing is claimed, all that is true, and what sets the best models apart,
    or the worst."""
    best, worst = PLACES.min(axis=1, keepdims=True) == PLACES, PLACES.max(axis=1, keepdims=True) == PLACES
    kinds = [np.zeros_like(FALSE), ~FALSE, ~FALSE & best[:, :, None], ~FALSE & worst[:, None]]
    true = np.stack(kinds, axis=1).reshape(-1, MODELS, MODELS)
    decisions = Decisions(len(true), MODELS, alpha=0.05, beta=0.0, floor=0)
    for study, i, j in np.argwhere(true):
        if not decisions.better[study, i, j]:
            decisions._claim(np.array([study]), np.array([PAIRS.number[i, j] + PAIRS.count * (i > j)]))
    assert (decisions.better == true).all()
    return decisions


@settings(max_examples=40)  # each is 300 studies
@given(st.lists(st.floats(0, 500), min_size=2 * PAIRS.count, max_size=2 * PAIRS.count))
def test_a_false_claim_has_no_more_against_it_than_who_knows_the_order_has_won(
    after_true_claims: Decisions, values: list[float]
) -> None:
    """Brute force over all orders with ties, after true claims: one that an order makes false is not made as long as its
    capital is below 1/α."""
    now = np.array(values).reshape(2, PAIRS.count)
    decisions, studies = deepcopy(after_true_claims), np.arange(4 * len(ORDERS))
    capital = np.repeat([_paid(now, places) for places in ORDERS], 4)
    decisions._order(studies, 19.99 * now / np.maximum(capital, 1e-9)[:, None, None])
    assert not (decisions.better & np.repeat(FALSE, 4, axis=0)).any()


def test_two_models_are_decided_as_before() -> None:
    """Of two models there is one order of neighbors and its mirror: the bar is 2/α."""
    now = np.array([[[40.0], [0.5]]])
    least = along_paths(now, np.zeros((1, 2, 2), dtype=bool), pairs_of(2))
    assert least[0, :, 0] == pytest.approx([20.0, 0.25])


def test_earlier_claims_rule_orders_out() -> None:
    """A path on which a lower model was called better than a higher one is no longer one."""
    now = np.full((1, 2, PAIRS.count), 1.0)
    now[0, 0, PAIRS.number[0, 1]] = 1000.0
    better = np.zeros((1, MODELS, MODELS), dtype=bool)
    before = along_paths(now, better, PAIRS)[0, 0, PAIRS.number[0, 1]]
    better[0, 0, 2:] = True  # the paths from the second model over the others to the first
    after = along_paths(now, better, PAIRS)[0, 0, PAIRS.number[0, 1]]
    assert before < 10 < after


class _Worth(Evidence):
    """Evidence that is said to be worth so much."""

    def __init__(self, models: int, now: Floats) -> None:
        super().__init__(1, models, 0.1, pooled=models > 2)
        self._best[:], self._now[:] = now[:, None], now[:, None]
        self.dialogues[:] = 100.0


def _claims(models: int, *, paths: bool, worth: float) -> int:
    """Of models in a row, where all that is true is worth so much, and the rest nothing."""
    count = pairs_of(models).count
    now = np.stack([np.full(count, worth), np.zeros(count)])
    decisions = Decisions(1, models, alpha=0.05, beta=0.05, floor=4, paths=paths)
    decisions.look(np.zeros(1, dtype=np.int64), _Worth(models, now))
    return int(decisions.better.sum())


@pytest.mark.parametrize("models", [2, 4, 6])
def test_a_clear_order_needs_less_than_pair_by_pair(models: int) -> None:
    """Less than a quarter above 2(K − 1)/α for all at once; pair by pair K(K − 1)/α for the first claim."""
    count = pairs_of(models).count
    bar = 20 / ((1 - ALL_DIRECTIONS) / 2 / (models - 1) + ALL_DIRECTIONS / 2 / count)
    assert bar < 50.0 * (models - 1)
    assert _claims(models, paths=True, worth=bar * 1.001) == count
    assert _claims(models, paths=True, worth=bar * 0.99) == 0
    assert _claims(models, paths=False, worth=bar * 1.001) == (count if models == 2 else 0)


def test_studies_of_before_decide_pair_by_pair() -> None:
    """A log without the word goes on as it began; a new study writes it."""
    rule = StoppingRule(models=("a", "b", "c"), margin=0.1, max_dialogues=60)
    study = SequentialStudy(rule)
    assert study.began.order == "paths"
    assert study.studies.decisions.paths
    earlier = study.began.model_dump(exclude={"order"})
    assert not SequentialStudy.of(Began(**earlier)).studies.decisions.paths
    assert read_log(log_rows(study.log))[0] == study.began


def test_without_a_line_pairs_stay_on_their_own() -> None:
    """``transitive=false``: there is no order to bet on."""
    assert not Decisions(1, 3, alpha=0.05, beta=0.05, floor=4, transitive=False).paths
    assert Decisions(1, 3, alpha=0.05, beta=0.05, floor=4).paths
