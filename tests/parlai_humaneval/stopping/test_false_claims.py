"""Equal models are called different in at most one study in twenty, whatever the crowd is like; wrong ways of counting the
same answers are caught by the same check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.rule import RuleChanged, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, Simulated, fixed_plan, win_rates

STUDIES, OF_MUTANTS = 200, 60
MOST = 0.05 + 2 * math.sqrt(0.05 * 0.95 / STUDIES)
CLUSTERED = Crowd(icc=0.17, dialogues=3)
HASTY = Crowd(icc=0.5, dialogues=1, haste=1.0)
"""Who likes the first model is far quicker."""


def rule(models: int, **changes: object) -> StoppingRule:
    given = {"models": tuple("ABCDEFGHIJ"[:models]), "margin": 0.1, "max_dialogues": 100 * models, **changes}
    return StoppingRule.model_validate(given)


def false_claims(study: type[Crowded], models: int, crowd: Crowd, studies: int = STUDIES) -> float:
    """Share of studies of equal models that call one of them better."""
    rates = win_rates(np.zeros(models))
    done: Simulated = study(Studies(rule(models), studies), rates, crowd, seed=models).run()
    return float(done.false_claims(rates, margin=0.1).mean())


class Contented(Crowded):
    """Leaves as soon as the first model of a pair has won more turns of a dialogue; turns are as independent as coins."""

    def _shares(self, of: Ints, shown: Ints, likes: Floats) -> Floats:
        shares = super()._shares(of, shown, likes)
        contented = np.cumsum(shares > 0.5, axis=1) - (shares > 0.5) > 0
        return np.where(contented, np.nan, shares)


class ByDialogue(Crowded):
    """Takes each dialogue for a worker of its own."""

    def enter(self, rows: Ints, shown: Ints, shares: Floats, now: Floats, ended: Floats, done: Floats) -> None:
        for number in range(shown.shape[1]):
            super().enter(rows, shown[:, [number]], shares[:, [number]], now, ended, done[:, [number]])


class ByTurn(Crowded):
    """Takes each turn for a worker of its own."""

    def enter(self, rows: Ints, shown: Ints, shares: Floats, now: Floats, ended: Floats, done: Floats) -> None:
        for number in range(shown.shape[1]):
            won = np.round(shares[:, [number]] * self.crowd.turns)
            turns = self.rng.permuted(np.arange(self.crowd.turns) < won, axis=1).astype(float)
            for turn in range(self.crowd.turns):
                super().enter(rows, shown[:, [number]], turns[:, [turn]], now, ended, done[:, [number]])


class ByCompletion(Crowded):
    """Folds workers in as they finish."""

    def advance(self, rows: Ints, now: Floats) -> Flags:
        studies, all_of_them = self.studies, rows
        while rows.size and studies.ended.shape[1]:
            numbers = studies.ended[rows].argmin(axis=1)
            ready = studies.ended[rows, numbers] <= np.minimum(now, 1e300)
            rows, now, numbers = rows[ready], now[ready], numbers[ready]
            studies.fold(rows, numbers)
            studies.ended[rows, numbers] = np.inf
        return np.ones(len(all_of_them), dtype=bool)


@pytest.mark.parametrize(
    ("models", "crowd"),
    [
        (2, CLUSTERED),
        (2, HASTY),
        (4, Crowd(icc=0.17, dialogues=3, heavy_tail=1.0, leave=0.1, haste=1.0)),
    ],
)
def test_equal_models_are_seldom_called_different(models: int, crowd: Crowd) -> None:
    """α = .05 and two standard errors of the simulation, with eight raters at a time."""
    assert false_claims(Crowded, models, crowd) <= MOST


@pytest.mark.parametrize("models", [2, 3])
def test_who_leaves_when_contented_tips_no_scale(models: int) -> None:
    """Stakes go by the dialogues that a worker was shown: by those that they stayed for, most studies would claim."""
    assert false_claims(Contented, models, Crowd(icc=0.0, dialogues=3)) <= MOST


def test_any_claim_about_two_groups_a_margin_apart_is_seldom_false() -> None:
    """Models of a group are as good as each other, and those of both just so far apart that none may be called equal."""
    rates = win_rates([math.log(0.55 / 0.45)] * 2 + [0] * 2)
    done = Crowded(Studies(rule(4, max_dialogues=2100), 40), rates, Crowd(icc=0.0), seed=4).run()
    assert done.false_claims(rates, margin=0.1).mean() <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 40)


def test_steps_of_a_wide_margin_are_seldom_called_equal() -> None:
    """Win rates end at 1, so such steps shrink towards third models: pooled evidence calls two equal in many studies."""
    rates = win_rates(math.log(0.8 / 0.2) * np.arange(6))
    shares = {}
    for given in ({}, {"evidence": "pooled"}):
        done = Crowded(Studies(rule(6, margin=0.6, **given), STUDIES), rates, Crowd(), seed=6).run()
        shares[bool(given)] = float(done.false_claims(rates, margin=0.6).mean())
    assert shares[False] <= MOST < shares[True]


def test_a_study_of_a_wide_margin_goes_on_as_it_began() -> None:
    """Earlier versions pooled at any margin. Nobody else may change what counts as evidence."""
    before = rule(3, margin=0.6, evidence="pooled")
    assert rule(3, margin=0.6).evidence == "direct"
    assert rule(3, margin=0.4).evidence == "pooled"
    before.refuse_change(rule(3, margin=0.6))
    with pytest.raises(RuleChanged, match="evidence was direct and is now pooled"):
        rule(3, margin=0.6).refuse_change(before)
    with pytest.raises(RuleChanged, match="evidence was direct and is now pooled"):
        rule(3, evidence="direct").refuse_change(rule(3))


@pytest.mark.parametrize(("mutant", "crowd"), [(ByTurn, CLUSTERED), (ByDialogue, CLUSTERED), (ByCompletion, HASTY)])
def test_the_check_catches_who_folds_otherwise(mutant: type[Crowded], crowd: Crowd) -> None:
    """Folding turn by turn, dialogue by dialogue or by the time of completion claims too much."""
    assert false_claims(mutant, 2, crowd, OF_MUTANTS) > MOST


@pytest.mark.parametrize(("points", "most"), [(0, 0.80), (10, 0.68), (20, 0.23)])
def test_a_pair_needs_a_part_of_a_fixed_plan(points: int, most: float) -> None:
    """With a margin of ten points, about .75, .63 and .18 of it, within .05; hardly any answer is wrong."""
    crowd, share = Crowd(), 0.5 + points / 200
    rates = np.array([[0.5, share], [1 - share, 0.5]])
    wanted = rule(2, max_dialogues=800)
    studies = 200
    done = Crowded(Studies(wanted, studies), rates, crowd, seed=points).run()
    assert done.folded.mean() / fixed_plan(wanted, variance=crowd.share_variance()) <= most
    assert done.decided.all()
    assert done.false_claims(rates, margin=0.1).mean() <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)


def test_models_that_differ_need_less_than_half_of_a_pooled_plan() -> None:
    """Four models, each twice the margin above the next: their order is found, and pairs are closed through others."""
    crowd = Crowd()
    rates = win_rates([3 * 0.4, 2 * 0.4, 0.4, 0])
    done = Crowded(Studies(rule(4, max_dialogues=5000), 30), rates, crowd, seed=1).run()
    plan = fixed_plan(rule(4), variance=crowd.share_variance(), pooled=True)
    assert done.dialogues.mean() / plan <= 0.40
    assert done.better[:, 0, 3].all()
