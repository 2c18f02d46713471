"""A live study: whom it sends where, what it decides, what it refuses, and that its log leads to the same decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.estimates import warnings
from parlai_humaneval.stopping.events import Answered, Arrived, Claimed, Folded, Forecast, Outcome, log_rows, read_log
from parlai_humaneval.stopping.rule import RuleChanged, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, _strengths, first_crossing
from parlai_humaneval.stopping.study import ReplayError, SequentialStudy, StudyError, replay

STRENGTH = {"A": 1.2, "B": 0.6, "C": 0.0, "D": 0.0}
TURNS = 6


def rule(**changes: Any) -> StoppingRule:
    return StoppingRule.model_validate({"models": ("A", "B", "C", "D"), "margin": 0.2, "max_dialogues": 600, **changes})


def by_strength(models: tuple[str, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """Picks of each of the models."""
    odds = np.exp([STRENGTH[model] for model in models])
    return tuple(map(int, rng.multinomial(TURNS, odds / odds.sum())))


def driven(
    study: SequentialStudy,
    picks: Callable[[tuple[str, ...], np.random.Generator], tuple[int, ...]] = by_strength,
    *,
    workers: int = 2000,
    dialogues: int = 2,
) -> SequentialStudy:
    """With eight raters at a time, who take turns of different lengths; one in ten leaves after the first dialogue."""
    rng, flying, now = np.random.default_rng(5), [], 0.0
    for number in range(workers):
        while flying and (len(flying) >= 8 or study.free < 1):
            flying.sort()
            now, _, came = flying.pop(0)
            outcomes = [Outcome(picks=picks(models, rng), turns=TURNS) for models in came.dialogues]
            if rng.random() < 0.1:
                study.answer(came.worker, 0, outcomes[0], at=now)
                study.leave(came.worker, at=now)
            else:
                study.finish(came.worker, outcomes, at=now)
        if study.ended:
            break
        came = study.arrive(f"w{number}", dialogues, at=now)
        flying.append((now + float(rng.exponential(600)), number, came))
    return study


@pytest.fixture(scope="module")
def ended() -> SequentialStudy:
    """A study of four models that reached its answer."""
    return driven(SequentialStudy(rule(), seed=3))


def test_the_answer_is_reached_and_said_in_words(ended: SequentialStudy) -> None:
    """Two that differ, and two that do not; the rest of a fixed plan's dialogues is saved."""
    standing = ended.standing()
    assert standing.ended == "decided"
    assert standing.answer == "A > B > {C ≈ D within 20 points}"
    assert str(standing).startswith("answer reached: A > B > {C ≈ D within 20 points}; ")
    assert standing.answered < standing.fixed
    assert not standing.warnings


def test_the_log_leads_to_the_same_study(ended: SequentialStudy) -> None:
    """Through JSON, event by event; the replayed study says the same."""
    log = read_log(json.loads(json.dumps(log_rows(ended.log))))
    again = replay(log, rule=ended.rule)
    assert again.log == ended.log
    assert again.standing() == ended.standing()
    assert sum(isinstance(event, Claimed) for event in log) == 6


def test_a_replayed_study_goes_on_as_the_first_one_would_have() -> None:
    """Cut off anywhere, it gives the next worker what they would have got."""
    whole = driven(SequentialStudy(rule(), seed=3), workers=30)
    before = [place for place, event in enumerate(whole.log) if isinstance(event, Arrived)][20]
    again = replay(whole.log[:before])
    wanted = whole.log[before]
    assert isinstance(wanted, Arrived)
    assert again.arrive(wanted.worker, wanted.asked, at=wanted.at) == wanted


def test_a_log_that_was_changed_is_refused(ended: SequentialStudy) -> None:
    """Another answer, another seed, or a missing beginning: the decisions no longer follow."""
    place = next(number for number, event in enumerate(ended.log) if isinstance(event, Answered))
    answered = ended.log[place]
    assert isinstance(answered, Answered)
    turned = answered.model_copy(update={"outcome": Outcome(picks=answered.outcome.picks[::-1], turns=TURNS)})
    changed = [turned if event is answered else event for event in ended.log]
    seeded = [ended.log[0].model_copy(update={"seed": 4}), *ended.log[1:]]
    for log in (changed, seeded, ended.log[1:], ended.log[:-1], []):
        if log is changed and answered.outcome.picks[0] * 2 == TURNS:
            continue
        with pytest.raises(ReplayError):
            replay(log)


def test_the_rule_cannot_change_in_mid_study(ended: SequentialStudy) -> None:
    """Who goes on with another α or margin is told what it was."""
    with pytest.raises(RuleChanged, match=r"alpha was 0\.05 and is now 0\.1"):
        replay(ended.log, rule=rule(alpha=0.1, beta=0.05))
    # beta, which nobody gave, is as alpha
    with pytest.raises(RuleChanged, match=r"hold: alpha was 0\.05 and is now 0\.1; keep"):
        replay(ended.log, rule=rule(alpha=0.1))


def test_dialogues_are_drawn_from_the_open_pairs_as_probable(ended: SequentialStudy) -> None:
    """Each logs its chance, 1 over the open pairs; closed pairs are given to nobody, and two dialogues are of two pairs."""
    for event in ended.log:
        if isinstance(event, Arrived):
            assert {tuple(pair) for pair in event.dialogues} <= set(event.open)
            assert set(event.propensities) == {1 / len(event.among or event.open)}
            assert len(set(event.dialogues)) == min(len(event.dialogues), len(event.open))
    assert len({len(event.open) for event in ended.log if isinstance(event, Arrived)}) > 2


def test_workers_are_folded_in_once_in_the_order_of_arrival(ended: SequentialStudy) -> None:
    """Whoever finished first waits for those who came before."""
    arrived = [event.worker for event in ended.log if isinstance(event, Arrived)]
    folded = [event.worker for event in ended.log if isinstance(event, Folded)]
    assert folded == arrived[: len(folded)]
    study = SequentialStudy(rule(), seed=1)
    study.arrive("slow", at=0)
    study.arrive("quick", at=1)
    study.finish("quick", [Outcome(picks=(6, 0), turns=6)], at=2)
    assert study.standing().workers == 0
    study.finish("slow", [Outcome(picks=(6, 0), turns=6)], at=3)
    assert study.standing().workers == 2


def test_nobody_is_waited_for_who_has_run_out_of_time() -> None:
    """What they answered in time counts; what comes later is logged, and no evidence. Many of them are warned of."""
    study = SequentialStudy(rule(timeout=50), seed=1)
    study.arrive("slow", 2, at=0)
    study.answer("slow", 0, Outcome(picks=(6, 0), turns=6), at=50)
    study.arrive("next", at=60)
    study.look(at=99)
    assert study.standing().workers == 0
    study.look(at=100)
    assert [(event.worker, event.dialogues, event.timed_out) for event in study.log if isinstance(event, Folded)] == [
        ("slow", 1, True)
    ]
    assert study.standing().warnings[0].startswith("1 rater (100%) ran out of time")
    study.answer("slow", 1, Outcome(picks=(6, 0), turns=6), at=150)
    late = study.log[-1]
    assert isinstance(late, Answered)
    assert late.late
    assert study.standing().dialogues == 1
    assert "ran out of time" in study.standing().warnings[0]
    assert replay(study.log).standing() == study.standing()


@pytest.mark.parametrize(("timed_out", "said"), [(2, 0), (4, 1)])
def test_a_few_who_run_out_of_time_are_warned_of(timed_out: int, said: int) -> None:
    """At 3 % of raters, .06 of simulated studies claim something false if all who are slow like the second model."""
    studies = Studies(rule())
    studies.folded[:] = 100
    assert len(warnings(studies, timed_out=timed_out, cut_off=0, unheard=0)) == said


def test_who_ran_out_of_time_behind_somebody_else_is_late_all_the_same() -> None:
    """What counts does not depend on how long the one before takes, who was given more dialogues."""
    study = SequentialStudy(rule(timeout=50), seed=1)
    study.arrive("before", 3, at=0)
    study.arrive("slow", 2, at=1)
    study.answer("slow", 0, Outcome(picks=(6, 0), turns=6), at=100)
    study.answer("slow", 1, Outcome(picks=(6, 0), turns=6), at=101)
    late = study.log[-1]
    assert isinstance(late, Answered)
    assert late.late
    study.look(at=150)
    assert [(event.worker, event.dialogues, event.timed_out) for event in study.log if isinstance(event, Folded)] == [
        ("before", 0, True),
        ("slow", 1, True),
    ]
    standing = study.standing()
    assert (standing.dialogues, standing.answered, standing.in_flight, standing.timed_out) == (1, 2, 0, 2)
    assert replay(study.log).standing() == standing


def test_before_the_floor_nothing_is_decided() -> None:
    """However clear: every model has its dialogues first."""
    study = SequentialStudy(rule(models=("A", "B"), floor=30), seed=1)
    for number in range(30):
        assert study.ended is None
        assert study.open == [("A", "B")]
        study.arrive(f"w{number}", at=number)
        study.finish(f"w{number}", [Outcome(picks=(6, 0), turns=6)], at=number)
    assert study.ended == "decided"


def test_the_cap_ends_a_study_and_who_leaves_makes_room() -> None:
    """No more dialogues are given than it allows; what is open is said."""
    study = SequentialStudy(rule(models=("A", "B"), max_dialogues=5, margin=0.1), seed=1)
    assert len(study.arrive("w0", 3, at=0).dialogues) == 3
    assert len(study.arrive("w1", 9, at=0).dialogues) == 2
    with pytest.raises(StudyError, match="cap of 5 dialogues is reached, with 5 of them in progress"):
        study.arrive("w2", at=1)
    study.leave("w1", at=2)
    assert len(study.arrive("w3", 9, at=3).dialogues) == 2
    for worker, count in (("w0", 3), ("w3", 2)):
        study.finish(worker, [Outcome(picks=(3, 3), turns=6)] * count, at=9)
    standing = study.standing()
    assert standing.ended == "cap"
    assert str(standing) == "the cap of 5 dialogues is reached: 1 of 1 pairs open"
    assert replay(study.log).standing() == standing


def test_a_circle_is_warned_of() -> None:
    """A beats B, B beats C, C beats A: dialogues of two contradict those with the third."""
    rates = {("A", "B"): 0.65, ("B", "C"): 0.65, ("A", "C"): 0.35}

    def in_a_circle(models: tuple[str, ...], rng: np.random.Generator) -> tuple[int, ...]:
        won = int(rng.binomial(TURNS, rates[models[0], models[1]]))
        return won, TURNS - won

    study = driven(SequentialStudy(rule(models=("A", "B", "C"), margin=0.1, max_dialogues=900), seed=3), in_a_circle)
    assert "circle" in study.standing().warnings[0]


def test_panels_drop_a_model_when_all_of_its_pairs_are_decided() -> None:
    """The others are shown on; nobody is sent with one model alone."""

    def far_apart(models: tuple[str, ...], rng: np.random.Generator) -> tuple[int, ...]:
        odds = np.exp([2.5 * STRENGTH[model] for model in models])
        return tuple(map(int, rng.multinomial(TURNS, odds / odds.sum())))

    study = driven(SequentialStudy(rule(shown="panel"), seed=2), far_apart, dialogues=1)
    sizes = [len(event.dialogues[0]) for event in study.log if isinstance(event, Arrived)]
    assert sizes[0] == 4
    assert 2 <= sizes[-1] < 4
    assert all(first >= second for first, second in pairwise(sizes))
    assert study.standing().answer == "A > B > {C ≈ D within 20 points}"
    assert replay(study.log).standing() == study.standing()


def test_the_forecast_gets_shorter_as_the_study_goes_on() -> None:
    """About as many dialogues as the study still takes, and the same again with the same seed."""
    study = driven(SequentialStudy(rule(), seed=3), workers=40)
    forecast = study.forecast(simulations=10)
    assert forecast == study.forecast(simulations=10)
    assert forecast.low <= forecast.expected <= forecast.high
    begun = study.answered + study.in_flight
    taken = driven(SequentialStudy(rule(), seed=3)).answered - begun
    assert forecast.low / 2 <= taken <= forecast.high * 2
    assert "more dialogues (80 %: " in str(forecast)


def test_two_models_that_are_apart_are_not_foreseen_as_nearly_equal() -> None:
    """Guards the ranges of two models: by a prior of nearly equal ones a third of studies ended before their range."""
    studies = Studies(rule(models=("A", "B")))
    studies.evidence.won[0], studies.evidence.met[0] = [[0, 18], [12, 0]], [[0, 30], [30, 0]]
    drawn = _strengths(studies, 0, Crowd(), 4000, np.random.default_rng(0))
    seen = np.log(18 / 12)
    assert 0.8 * seen < (drawn[:, 0] - drawn[:, 1]).mean() < seen


def test_a_forecast_of_the_cap_says_so() -> None:
    """Where nearly all simulated studies end at the cap, a range of one number foresees nothing."""
    foreseen: dict[str, Any] = {"expected": 30.0, "low": 30, "high": 30, "simulations": 200, "seed": 0}
    assert str(Forecast(capped=1.0, **foreseen)) == "will most likely end at the cap, after 30 more dialogues"
    assert str(Forecast(capped=0.25, **foreseen | {"low": 12})) == (
        "about 30 more dialogues (80 %: 12–30; 25 % would end at the cap)"
    )


def test_a_forecast_is_never_of_more_dialogues_than_are_left() -> None:
    """It was made when 11 of 60 had begun, and 41 have since; when some leave, their places are to be filled again."""
    made = Forecast(expected=49.0, low=20, high=49, capped=1.0, simulations=200, seed=0, begun=11)
    later = made.after(41, cap=60)
    assert (later.low, later.expected, later.high) == (0, 19, 19)
    assert str(later) == "will most likely end at the cap, after 19 more dialogues"
    assert str(made.after(60, cap=60).model_copy(update={"capped": 0.0})) == "about 0 more dialogues (80 %: 0–0)"
    assert made.after(9, cap=60).high == 51
    study = driven(SequentialStudy(rule(max_dialogues=60), seed=3), workers=20)
    assert study.forecast(simulations=10).begun == study.answered + study.in_flight


def test_strengths_are_labelled(ended: SequentialStudy) -> None:
    """They order the models, and say that the study stopped by itself; p-values of a fixed study are not given."""
    strengths = ended.strengths()
    assert strengths is not None
    by_name = {result.name.split()[-1]: result for result in strengths.models}
    assert by_name["A"].estimate > by_name["B"].estimate > by_name["C"].estimate
    assert all("after optional stopping" in result.method and result.p_value is None for result in by_name.values())
    assert SequentialStudy(rule()).strengths() is None


def test_what_looking_would_have_said(ended: SequentialStudy) -> None:
    """A t test after every worker finds a difference of two equal models as soon as chance allows."""
    peeks = {(peek.first, peek.second): peek for peek in ended.peeks()}
    assert peeks["A", "C"].better == "first"
    assert peeks["A", "C"].wrongly is False
    rng = np.random.default_rng(1)
    crossed = [first_crossing(rng.binomial(6, 0.5, 200) / 6, 0.05) for _ in range(100)]
    assert np.mean([each is not None for each in crossed]) > 0.25
    assert first_crossing(np.array([1, 1, 0.9, 1, 1]), 0.05) == (4, "first")
    assert first_crossing(np.array([1.0, 1.0]), 0.05) is None


@pytest.mark.parametrize(("share", "better"), [(1.0, "first"), (0.7, "first"), (0.0, "second")])
def test_workers_who_all_agree_would_have_been_believed(share: float, better: str) -> None:
    """There is no t without variance: signs of six workers are flipped, 2/2⁶ = .031. Agreement is no lack of evidence."""
    assert first_crossing(np.full(12, share), 0.05) == (6, better)
    assert first_crossing(np.full(5, share), 0.05) is None
    assert first_crossing(np.full(12, 0.5), 0.05) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"margin": 0}, "a margin of 0"),
        ({"margin": 10}, "above 0 and below 1"),
        ({"alpha": 0}, "above 0"),
        ({"max_dialogues": 7}, "need 8 at least"),
        ({"max_dialogues": 3, "shown": "panel"}, "need 4 at least"),
        ({"models": ("A",)}, "two models or more"),
        ({"models": ("A", "A")}, "named twice"),
        ({"models": ("A", " ")}, "no name"),
        ({"floor": 0}, "1 or more"),
        ({"timeout": 0}, "time-out"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    """With words that say what to give."""
    with pytest.raises(ValidationError, match=said):
        rule(**changes)


def test_what_could_not_happen_is_refused_and_changes_nothing() -> None:
    """A stranger, a second answer, a second arrival, a missing outcome: the log stays as it was."""
    study = SequentialStudy(rule(), seed=1)
    study.arrive("w", 2, at=0)
    outcome = Outcome(picks=(4, 2), turns=6)
    study.answer("w", 0, outcome, at=1)
    before = list(study.log)
    for call, said in (
        (lambda: study.answer("stranger", 0, outcome, at=2), "no rater stranger"),
        (lambda: study.answer("w", 0, outcome, at=2), "answered before"),
        (lambda: study.answer("w", 2, outcome, at=2), "none at position 2"),
        (lambda: study.answer("w", 1, Outcome(picks=(1, 1, 1), turns=6), at=2), "one number per model"),
        (lambda: study.finish("w", [outcome] * 2, at=2), "2 outcomes for the 1 open"),
        (lambda: study.arrive("w", at=2), "has taken part"),
        (lambda: study.arrive("x", 0, at=2), "at least one"),
        (lambda: study.look(at=float("nan")), "give seconds"),
    ):
        with pytest.raises(StudyError, match=said):
            call()
    assert study.log == before
    for picks, turns in (((7, 0), 6), ((), 6), ((0, 0), 0)):
        with pytest.raises(ValidationError):
            Outcome(picks=picks, turns=turns)


def test_who_comes_back_before_they_are_folded_in_goes_on() -> None:
    """Somebody ahead is still at work, so that nothing was made of the one who left; later it is too late."""
    study = SequentialStudy(rule(models=("A", "B"), max_dialogues=4), seed=1)
    for worker in ("ahead", "leaver", "late"):
        study.arrive(worker, at=0)
    study.leave("leaver", at=1)
    assert (study.in_flight, study.free) == (2, 2)
    assert study.can_return("leaver")
    study.come_back("leaver", at=2)
    assert (study.in_flight, study.free) == (3, 1)
    study.finish("leaver", [Outcome(picks=(2, 4), turns=6)], at=3)
    study.leave("late", at=4)
    study.finish("ahead", [Outcome(picks=(3, 3), turns=6)], at=5)
    assert [event.worker for event in study.log if isinstance(event, Folded)] == ["ahead", "leaver", "late"]
    assert not study.can_return("late")
    with pytest.raises(StudyError, match="went on without them"):
        study.come_back("late", at=6)
    with pytest.raises(StudyError, match="had not left"):
        study.come_back("ahead", at=6)
    assert study.folded == 2
    assert replay(study.log).standing() == study.standing()


def test_what_comes_after_leaving_is_kept_and_no_evidence() -> None:
    """It is in the log; neither the dialogues folded in nor those in flight count it."""
    study = SequentialStudy(rule(models=("A", "B")), seed=1)
    study.arrive("ahead", at=0)
    study.arrive("leaver", 2, at=0)
    study.leave("leaver", at=1)
    study.answer("leaver", 0, Outcome(picks=(6, 0), turns=6), at=2)
    assert (study.in_flight, study.answered) == (1, 1)
    study.finish("ahead", [Outcome(picks=(3, 3), turns=6)], at=3)
    assert study.folded == 1
    assert study.standing().pairs[0].workers == 1
    assert replay(study.log).standing() == study.standing()


def test_a_cap_can_be_raised_also_after_it_was_reached() -> None:
    """The study goes on, and its log leads to the same one; it is not lowered, and nothing else of the rule changes."""
    study = SequentialStudy(rule(models=("A", "B"), max_dialogues=5), seed=1)
    study.arrive("w0", 5, at=0)
    study.finish("w0", [Outcome(picks=(3, 3), turns=6)] * 5, at=1)
    assert study.ended == "cap"
    with pytest.raises(StudyError, match="not higher"):
        study.extend(5, at=2)
    study.extend(9, at=2)
    assert (study.ended, study.free) == (None, 4)
    study.arrive("w1", 9, at=3)
    again = replay(study.log, rule=rule(models=("A", "B"), max_dialogues=9))
    assert (again.standing(), again.rule) == (study.standing(), study.rule)
    with pytest.raises(RuleChanged, match="can only be raised: max_dialogues was 5 and is now 4"):
        replay(study.log, rule=rule(models=("A", "B"), max_dialogues=4))


def test_a_log_that_was_cut_off_in_the_midst_of_what_followed_can_go_on(ended: SequentialStudy) -> None:
    """A launch was killed between an answer and what the study made of it: that is made of it again."""
    last = max(place for place, event in enumerate(ended.log) if isinstance(event, Answered))
    assert last < len(ended.log) - 1
    with pytest.raises(ReplayError):
        replay(ended.log[: last + 1])
    assert replay(ended.log[: last + 1], cut_off=True).log == ended.log
