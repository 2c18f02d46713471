"""A judge inside the rule: it saves raters where it is right, and no claim is false more often, whatever it says."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.judged_stopping import Judged
from parlai_humaneval.statistics.core.sequential import prediction_weight
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.events import Outcome, Predicted, log_rows, read_log
from parlai_humaneval.stopping.rule import RuleChanged, StoppingRule
from parlai_humaneval.stopping.study import ReplayError, SequentialStudy, StudyError, replay

STUDIES = 100
MOST = 0.05 + 2 * math.sqrt(0.05 * 0.95 / STUDIES)
RULE = StoppingRule(models=("A", "B"), margin=0.2, max_dialogues=200, judge="j@1")
A, B = Outcome(picks=(1, 0), turns=1), Outcome(picks=(0, 1), turns=1)


@cache
def needed(truth: tuple[float, ...], judge: str | None, studies: int = STUDIES) -> float:
    ended = Judged(truth, judge, studies, cap=560).run()
    assert ended.false <= MOST
    return float(ended.dialogues.mean())


@pytest.mark.parametrize("judge", ["useless", "biased", "contrary", "turncoat", "copies people"])
def test_no_judge_makes_more_claims_false(judge: str) -> None:
    """α = .05 and two standard errors, of two equal models; and none costs more than three in a hundred."""
    assert needed((0.0, 0.0), judge) <= 1.03 * needed((0.0, 0.0), None) + 12


def test_a_judge_that_is_right_saves_raters() -> None:
    """About what it explains of people's answers, at a gap of the margin, where claims of equality are tempting."""
    alone, best = (needed((0.2, 0.0), judge, 50) for judge in (None, "says what people say on average"))
    assert best <= 0.75 * alone


def test_the_check_catches_a_judge_that_peeks() -> None:
    """One that answers after the person, and as that person did, would make every study claim something false."""
    assert Judged((0.0, 0.0), "peeks", 40, cap=560).run().false > 0.9


def began(**more: Any) -> SequentialStudy:
    study = SequentialStudy(RULE.model_copy(update=more), seed=1)
    study.arrive("w", 2, at=0)
    return study


def test_what_is_said_after_a_person_is_refused_and_the_first_item_counts() -> None:
    """Guards the order of judge and person, of which all the rest hangs, and items that were drawn in place of others."""
    study = began()
    study.predict("w", 0, 0.9, 0.4, at=1)
    study.predict("w", 0, 0.1, 0.4, at=2)
    study.answer("w", 0, A, at=3)
    said = "an answer of a judge after that of a person is not a prediction"
    with pytest.raises(StudyError, match=said):
        study.predict("w", 0, 0.9, 0.4, at=4)
    study.choose("w", 1, A, whole=2, at=4)
    with pytest.raises(StudyError, match=said):
        study.predict("w", 1, 0.9, 0.4, at=5)
    assert [event.share for event in study.log if isinstance(event, Predicted)] == [0.9]
    for wrong in ((2, 0.5), (-1, 0.5)):
        with pytest.raises(StudyError, match="has no dialogue of two models"):
            study.predict("w", *wrong, 0.5, at=6)
    with pytest.raises(StudyError, match="began without a judge"):
        began(judge="").predict("w", 0, 0.5, 0.5, at=1)


def judged_study() -> SequentialStudy:
    rng = np.random.default_rng(4)
    study = SequentialStudy(RULE, seed=3)
    for number in range(60):
        study.arrive(f"w{number}", at=number)
        likes_a = rng.random() < 0.75
        study.predict(f"w{number}", 0, 0.8 if likes_a else 0.2, 0.65, at=number)
        if number % 7:
            study.finish(f"w{number}", [A if likes_a else B], at=number + 0.5)
        else:
            study.leave(f"w{number}", at=number + 0.5)
        if study.ended:
            break
    return study


def test_the_log_leads_to_the_same_decisions() -> None:
    """Guards replays with a judge: over JSON, of a log in which a prediction was changed, and of another judge."""
    study = judged_study()
    rows = log_rows(study.log)
    again = replay(read_log(rows))
    assert again.standing() == study.standing()
    judge = study.standing().judge
    assert judge is not None
    assert judge.weight > 0.3
    assert judge.worth > 1.1
    changed = [{**row, "share": 0.5} if row["event"] == "predicted" else row for row in rows]
    with pytest.raises(ReplayError, match="it was changed"):
        replay(read_log(changed))
    with pytest.raises(RuleChanged, match="judge was j@1 and is now j@2"):
        replay(study.log, rule=RULE.model_copy(update={"judge": "j@2"}))


def test_a_forecast_counts_with_the_judge() -> None:
    study = judged_study()
    with_it = study.forecast(simulations=40)
    study.studies.evidence.judged = False
    assert with_it.expected < study.forecast(simulations=40).expected or study.ended


def test_predictions_of_who_answers_nothing_are_taken_off_too() -> None:
    """Guards against raters who leave because of what the judge goes by: what is taken off must be 0 on average over all
    that was drawn, answered or not."""
    studies = Studies(RULE, 2)
    rows, one = np.arange(2), np.ones((2, 1))
    for number in range(30):
        shares = np.full((2, 1), float(number % 2))
        studies.enter(rows, np.zeros((2, 1), int), shares, one, shares - 0.5, due=one[:, 0], ended=one[:, 0])
    studies.advance(rows, np.ones(2))
    before = studies.evidence._capital[:4, 0, :, :, 0].copy()  # bets on who is better × sides × studies
    weight = studies.evidence.weight(rows)
    assert (weight > 0.5).all()
    predicted = np.array([[0.5], [0.0]])
    nothing = np.full((2, 1), np.nan)
    studies.enter(rows, np.zeros((2, 1), int), nothing, one, predicted, due=one[:, 0], ended=one[:, 0])
    studies.advance(rows, np.ones(2))
    after = studies.evidence._capital[:4, 0, :, :, 0]
    assert (after[:, 0, 0] < before[:, 0, 0]).all()
    assert (after[:, 1, 0] > before[:, 1, 0]).all()
    assert (after[:, :, 1] == before[:, :, 1]).all()


def test_the_weight_is_learnt_from_earlier_raters_alone() -> None:
    """Guards predictable bets: a weight that has seen the answer takes off what suits it. The first rater counts
    in full, whatever was predicted; the second does not."""
    studies = Studies(RULE, 2)
    rows, one = np.arange(2), np.ones((2, 1))
    predicted = np.array([[0.5], [0.0]])
    same = []
    for _ in range(2):
        studies.enter(rows, np.zeros((2, 1), int), one, one, predicted, due=one[:, 0], ended=one[:, 0])
        studies.advance(rows, np.ones(2))
        capital = studies.evidence._capital
        same.append(bool((capital[..., 0, :] == capital[..., 1, :]).all()))
    assert (studies.evidence.weight(rows) > 0).tolist() == [True, False]
    assert same == [True, False]


def test_stakes_leave_capital_whatever_comes() -> None:
    """Guards bets against outcomes beyond one half: a prediction of 1 that is wrong cannot ruin anybody."""
    studies = Studies(RULE, 1)
    rows, one = np.arange(1), np.ones((1, 1))
    for number in range(40):
        shares = np.full((1, 1), float(number % 2))
        studies.enter(rows, np.zeros((1, 1), int), shares, one, shares - 0.5, due=one[:, 0], ended=one[:, 0])
    studies.advance(rows, np.ones(1))
    before = studies.evidence._capital.copy()
    studies.enter(rows, np.zeros((1, 1), int), 0 * one, one, one, due=one[:, 0], ended=one[:, 0])
    studies.advance(rows, np.ones(1))
    assert (studies.evidence._capital >= 0.01 * before).all()


def test_the_weight_is_0_until_it_is_more_than_its_error() -> None:
    together, predicted, variance = np.array([1.0, 20.0, -20.0, 90.0]), np.full(4, 40.0), np.full(4, 0.25)
    weight = prediction_weight(together, predicted, variance)
    assert weight[0] == weight[2] == 0
    assert 0.4 < weight[1] < 0.5
    assert weight[3] == 1
