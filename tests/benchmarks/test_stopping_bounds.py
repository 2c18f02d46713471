"""Bounds of what any stopping rule needs are above the simplest one, and below what a valid rule needs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.stopping_bounds import (
    ALPHA,
    CAP,
    DRIFT,
    EQUAL,
    IN_ORDER,
    INSIDE,
    ONE_PAIR,
    OURS,
    WAITING,
    WITH_TWICE,
    LearningGaps,
    OnePair,
    betting,
    distinguishing,
    equal_models,
    kl,
    knowing,
    knowing_gaps,
    made_for,
    plan_of,
    sets_apart,
    waiting,
)
from parlai_humaneval.statistics.core.sequential import order_bets

WALD = kl(1 - ALPHA, ALPHA) / (DRIFT**2 / 2)
"""Dialogues to tell two equal models from two that are the margin apart, in one direction."""


@pytest.mark.parametrize("models", [2, 3, 5])
def test_equal_models_need_wald_times_one_less(models: int) -> None:
    """Guards the search over allocations by a case with a closed form: all pairs alike, K − 1 times one pair."""
    assert distinguishing(np.zeros(models)) == pytest.approx((models - 1) * WALD, rel=1e-3)


def test_two_directions_cost_more_than_one() -> None:
    """Guards the backward induction: above Wald's bound of one direction, below what our rule needs (.715 of the plan)."""
    bound = ONE_PAIR["0"][0].bound(round(CAP * plan_of(2)))
    assert WALD < bound < 0.715 * plan_of(2)


@pytest.mark.parametrize(("better", "equal"), [(100, 527), (252, 200), (900, 900)])
def test_no_multiplier_gives_a_higher_bound_by_chance(better: float, equal: float) -> None:
    """Guards duality: the listed multipliers are near the best, and others only give lower bounds."""
    cap = round(CAP * plan_of(2))
    assert OnePair((1, 0, 0), better, equal).bound(cap) <= ONE_PAIR["0"][0].bound(cap) + 0.5


@pytest.mark.parametrize(("models", "ours"), [(3, 0.62 * plan_of(4)), (4, 0.73 * plan_of(4))])
def test_equal_models_need_more_than_by_change_of_measure(models: int, ours: float) -> None:
    """Guards the space of differences: above the simple bound of so many models, and below what our rule needs: for four
    of which three are equal, and for four equal ones."""
    assert (models - 1) * WALD < equal_models(models, *EQUAL[models], 1500, 30, 3.0) < ours


def test_two_equal_models_have_the_same_bound_in_both_ways() -> None:
    """Guards the size of the gaps between more than two models, which follows from that of two."""
    directly = ONE_PAIR["0"][0].bound(round(CAP * plan_of(2)))
    assert equal_models(2, ONE_PAIR["0"][0].better, ONE_PAIR["0"][0].equal, 810, 1, 0.5) == pytest.approx(
        directly, abs=1
    )


def test_a_promise_that_knows_no_raters_costs_little() -> None:
    """Guards bets on two equal models: above the bound of rules that know the shares to be normal, and below what our rule
    needs (.715 of the plan)."""
    assert ONE_PAIR["0"][0].bound(round(CAP * plan_of(2))) - 3 < betting(12) < 0.7 * plan_of(2)


def test_risks_are_split_over_all_orders() -> None:
    """Guards the bound of models in steps: five neighbors need more than if each alone had all of α, and less than if each
    had a tenth of it."""
    steps = np.array([-0.4 * place for place in range(6)])
    lead = 1 / (1 + np.exp(-0.4)) - 0.5
    alone, tenth = (kl(0.9, risk) * 2 * DRIFT**-2 * (0.05 / lead) ** 2 for risk in (ALPHA, ALPHA / 10))
    assert 5 * alone < distinguishing(steps) < 5 * tenth


def test_what_a_study_knows_saves_dialogues() -> None:
    """Guards both kinds of knowledge: who is better, and on what no capital need be bet; of one model twice the margin
    above two equal ones."""
    strengths = np.array([0.4, 0.0, 0.0])
    bets = order_bets(0.1)
    ours = made_for(strengths, bets.gains / 0.05, bets.weights, 40).mean()
    spent, spared = (knowing(strengths, 40, spent=spent).mean() for spent in (True, False))
    assert distinguishing(strengths) / plan_of(3) < spared < spent < ours


def test_knowing_the_gaps_is_worth_less_than_knowing_who_is_better() -> None:
    """Guards the capital that follows what is believed, and that it does not know the order of the models."""
    strengths = np.array([0.4, 0.0, 0.0])
    bets = order_bets(0.1)
    ours = made_for(strengths, bets.gains / 0.05, bets.weights, 60).mean()
    shape = knowing_gaps(strengths, np.array([2.0]), np.ones(1), 60, truths=1000).mean()
    turned = knowing_gaps(strengths[::-1], np.array([2.0]), np.ones(1), 60, truths=1000).mean()
    assert knowing(strengths, 60, spent=False).mean() < min(shape, turned) < max(shape, turned) < ours


def test_learning_the_gaps_costs_more_than_knowing_them() -> None:
    """Guards that the bets of a rule that learns the gaps know nothing of the truth at first: of two equal models below
    another one, it needs more dialogues than a rule that knows the gaps."""
    strengths, bets = np.array([0.4, 0.0, 0.0]), order_bets(0.1)
    given = strengths, bets.gains / 0.05, bets.weights, 100
    learning = knowing_gaps(*given, truths=1000, believing=LearningGaps).mean()
    assert knowing_gaps(*given, truths=1000).mean() < learning < 2 * knowing_gaps(*given, truths=1000).mean()


def test_sets_that_can_be_apart_at_once() -> None:
    """Guards what claims are tested against: of three models, 6 single directions, and 12 sets of two; no circle, and not
    all three pairs."""
    sets = sets_apart(3, 3000)
    assert sorted(sets.sum(axis=1)) == [1] * 6 + [2] * 12


def test_raters_wait_for_those_who_came_before_them() -> None:
    """Guards the number that is added to bounds where raters count in the order of arrival."""
    assert waiting(60, 1000) == pytest.approx(WAITING, abs=0.3)


def test_the_three_goals_of_one_pair_cannot_be_reached_together() -> None:
    """Guards the statement of the documentation: above the goals where raters count in the order of arrival."""
    plan = plan_of(2)
    goals = [goal * plan - INSIDE - WAITING for _, goal in ONE_PAIR.values()]
    assert IN_ORDER.bound(round(CAP * plan)) > 1.02 * sum(np.array(IN_ORDER.weights) * goals)


def test_equal_models_cost_more_than_the_goal_where_that_at_twenty_points_is_reached() -> None:
    """Guards the statement of the documentation: above the goal of .70, with that of .18, and what ours needs at ten."""
    plan = plan_of(2)
    bound = WITH_TWICE.bound(round(CAP * plan)) + INSIDE + WAITING
    for weight, share in zip(WITH_TWICE.weights[1:], (OURS[1], ONE_PAIR["20"][1]), strict=True):
        bound -= weight * (share * plan - INSIDE - WAITING)
    assert bound > 0.72 * plan
