"""Dialogues that raters leave in the middle: what they count for, and that leaving by taste does not make a difference."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.sequential import order_bets
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.events import Began, Chose, Claimed, Event, Folded, Outcome, log_rows, read_log
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, win_rates
from parlai_humaneval.stopping.study import ReplayError, SequentialStudy, StudyError, replay

EARLIER = Path(__file__).with_name("log_of_an_earlier_version.jsonl")
STUDIES = 60
MOST = 0.05 + 2 * math.sqrt(0.05 * 0.95 / STUDIES)
TASTE = Crowd(icc=0.17, quit=0.1, quit_by_taste=0.7)
CHOICE = Crowd(icc=0.05, quit=0.1, quit_by_choice=0.7)


def rule(**changes: Any) -> StoppingRule:
    return StoppingRule.model_validate({"models": ("A", "B"), "margin": 0.1, "max_dialogues": 240, **changes})


class LeftOut(Crowded):
    """As it was: a dialogue that is not finished counts for nothing."""

    def enter(self, rows: Ints, shown: Ints, shares: Floats, now: Floats, ended: Floats, done: Floats) -> None:
        super().enter(rows, shown, np.where(done == 1, shares, np.nan), now, ended, done)


def false_claims(study: type[Crowded], crowd: Crowd, models: int = 2, studies: int = STUDIES) -> float:
    rates, asked = win_rates(np.zeros(models)), rule(models=tuple("ABCD"[:models]))
    done = study(Studies(asked, studies), rates, crowd, seed=models).run()
    return float(done.false_claims(rates, margin=0.1).mean())


@pytest.mark.parametrize(("crowd", "models"), [(TASTE, 4), (CHOICE, 2)], ids=["by taste", "by what they chose"])
def test_equal_models_stay_equal_whoever_leaves(crowd: Crowd, models: int) -> None:
    """Half the raters leave, those who like the second model, or have just chosen the first one, more often."""
    assert false_claims(Crowded, crowd, models) <= MOST


@pytest.mark.parametrize("crowd", [TASTE, CHOICE], ids=["by taste", "by what they chose"])
def test_leaving_their_dialogues_out_would_tell_equal_models_apart(crowd: Crowd) -> None:
    """The check catches it: most studies claimed something false."""
    assert false_claims(LeftOut, crowd, studies=20) > 0.5


def test_where_nobody_leaves_nothing_is_lost() -> None:
    """The same studies, to the last dialogue, with and without filling."""
    rates = win_rates([0.4, 0.0])
    with_it, without = (
        Crowded(Studies(rule(), 50, filled=filled), rates, Crowd(), seed=1).run() for filled in (True, False)
    )
    assert with_it.dialogues.tolist() == without.dialogues.tolist()
    assert with_it.better.tolist() == without.better.tolist()


def test_turns_of_a_dialogue_that_was_left_count() -> None:
    """Two of six turns: the share is that of the two; a dialogue that is finished after all counts as a whole."""
    study = SequentialStudy(rule(), seed=1)
    for worker in ("leaver", "stays"):
        study.arrive(worker, at=0)
        study.choose(worker, 0, Outcome(picks=(1, 0), turns=1), whole=6, at=1)
        study.choose(worker, 0, Outcome(picks=(2, 0), turns=2), whole=6, at=2)
        study.choose(worker, 0, Outcome(picks=(2, 0), turns=2), whole=6, at=3)
    assert sum(isinstance(event, Chose) for event in study.log) == 4, "what is known is not noted again"
    study.leave("leaver", at=4)
    study.finish("stays", [Outcome(picks=(3, 3), turns=6)], at=5)
    standing = study.standing()
    assert (standing.dialogues, standing.cut_off, standing.workers) == (1, 1, 2)
    (pair,) = standing.pairs
    assert (pair.dialogues, pair.share) == (2, pytest.approx((1 / 3 * 1.0 + 1 * 0.5) / (1 + 1 / 3)))
    assert study.studies.evidence.met[0, 0, 1] == pytest.approx(1 + 1 / 3)
    assert [event.dialogues for event in study.log if isinstance(event, Folded)] == [0, 1]
    again = replay(read_log(json.loads(json.dumps(log_rows(study.log)))))
    assert again.standing() == standing


def test_the_lower_of_two_bets_counts() -> None:
    """By hand: one rater, one of two turns, which A won. Filled evenly the share is ¾, by their own mean 1."""
    study = SequentialStudy(rule(), seed=1)
    study.arrive("w", at=0)
    study.choose("w", 0, Outcome(picks=(1, 0), turns=1), whole=2, at=1)
    study.leave("w", at=2)
    bets = order_bets(study.rule.margin)
    stakes = np.minimum(bets.gains / 0.05, bets.most)
    assert study.studies.evidence.of("direct")[0, 0, 0] == pytest.approx(float((1 + stakes * 0.25) @ bets.weights))
    assert study.studies.evidence.of("direct")[0, 1, 0] == 1.0, "the highest so far, from the beginning"


def test_who_chose_nothing_counts_for_no_model_and_is_warned_of() -> None:
    """Neither better nor equal: nobody knows what they would have chosen."""
    study = SequentialStudy(rule(), seed=1)
    for number in range(4):
        study.arrive(f"w{number}", at=0)
        study.leave(f"w{number}", at=1)
    assert (study.studies.evidence.of("direct") == 1).all()
    assert (study.studies.evidence.equal == 1).all()
    assert "4 raters of 4 left before choosing anything" in study.standing().warnings[0]


def test_a_panel_and_a_time_out_count_as_far_as_they_go() -> None:
    """All models at once, several may be chosen; whoever is waited for no longer counts with what there is by then."""
    study = SequentialStudy(rule(models=("A", "B", "C"), shown="panel", timeout=50), seed=1)
    study.arrive("slow", at=0)
    study.choose("slow", 0, Outcome(picks=(2, 1, 0), turns=2), whole=4, at=10)
    study.choose("slow", 0, Outcome(picks=(2, 1, 1), turns=3), whole=4, at=60)
    study.look(at=61)
    shares = {(pair.first, pair.second): pair.share for pair in study.standing().pairs}
    assert shares == {("A", "B"): 0.75, ("A", "C"): 1.0, ("B", "C"): 0.75}
    assert study.studies.evidence.dialogues[0].tolist() == [0.5, 0.5, 0.5]
    assert replay(study.log).standing() == study.standing()


def test_what_cannot_be_chosen_is_refused() -> None:
    """A stranger; a dialogue that was finished."""
    study = SequentialStudy(rule(), seed=1)
    study.arrive("w", at=0)
    study.finish("w", [Outcome(picks=(4, 2), turns=6)], at=1)
    for worker, said in (("w", "answered before"), ("x", "no rater x has arrived")):
        with pytest.raises(StudyError, match=said):
            study.choose(worker, 0, Outcome(picks=(1, 0), turns=1), whole=6, at=2)


@pytest.fixture(scope="module")
def earlier() -> list[Event]:
    """A log that the version before this rule wrote, of a study that one rater in ten left."""
    return read_log(map(json.loads, EARLIER.read_text().splitlines()))


def test_a_log_of_an_earlier_version_leads_to_the_decisions_it_holds(earlier: list[Event]) -> None:
    """On the same evidence, but for the last digits, in which processors differ; by the new rule it would be another."""
    assert isinstance(earlier[0], Began)
    assert earlier[0].cut_off == "left_out"
    study = replay(earlier)
    assert study.log == earlier
    claims = [place for place, event in enumerate(earlier) if isinstance(event, Claimed)]
    for factor, is_same in ((1 + 1e-12, True), (1.01, False)):
        other, first = list(earlier), earlier[claims[0]]
        assert isinstance(first, Claimed)
        assert first.e_value is not None
        other[claims[0]] = first.model_copy(update={"e_value": first.e_value * factor})
        with nullcontext() if is_same else pytest.raises(ReplayError, match="differs when it is replayed"):
            replay(other)
    assert str(study.standing()).startswith("answer reached: A > B > C; ")
    filled = SequentialStudy.of(earlier[0].model_copy(update={"cut_off": "filled"}))
    assert filled.studies.evidence.filled
    assert not study.studies.evidence.filled
    assert len(claims) == 3


def test_a_study_of_an_earlier_version_goes_on_by_its_own_rule(earlier: list[Event]) -> None:
    """Its rule cannot change in mid-study: turns of dialogues that are not finished stay out of its log."""
    last = max(place for place, event in enumerate(earlier) if isinstance(event, Folded)) - 40
    study = replay(earlier[:last], cut_off=True)
    study.arrive("new", at=study.now)
    before = len(study.log)
    study.choose("new", 0, Outcome(picks=(1, 0), turns=1), whole=6, at=study.now)
    assert len(study.log) == before
    assert SequentialStudy(study.rule).began.cut_off == "filled"
