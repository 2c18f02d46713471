"""Studies in which each model is rated on its own: who is compared with whom, and what becomes evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parlai_humaneval.statistics.core.sequential import order_evidence
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.estimates import crowd_seen
from parlai_humaneval.stopping.events import Arrived, Folded, Outcome, log_rows, read_log
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, _strengths
from parlai_humaneval.stopping.study import SequentialStudy, StudyError, replay
from parlai_humaneval.stopping.units import Scores, share_of_ratings

MODELS = ("A", "B")
RULE: dict[str, Any] = {"models": MODELS, "margin": 0.1, "max_dialogues": 200, "rated": "apart"}


def study(**changes: Any) -> SequentialStudy:
    return SequentialStudy(StoppingRule(**{**RULE, **changes}), seed=3)


def rating(points: int) -> Outcome:
    return Outcome(picks=(points,), turns=100)


def given(running: SequentialStudy, worker: str, *, at: float = 0.0, dialogues: int = 1) -> list[str]:
    return [model for (model,) in running.arrive(worker, dialogues, at=at).dialogues]


def test_two_who_came_one_after_the_other_are_compared_whoever_is_quick() -> None:
    """Guards against the order of completion: those who like A are quick, and would meet whom B's slow raters wait for."""
    running, rng = study(), np.random.default_rng(1)
    came: list[tuple[str, str, int]] = []
    for number in range(60):
        (model,) = given(running, f"w{number}", at=float(number))
        points = int(rng.integers(0, 101))
        came.append((f"w{number}", model, points))
    # Of A the best ratings first, of B the worst.
    for worker, _, points in sorted(came, key=lambda one: -one[2] if one[1] == "A" else one[2]):
        running.answer(worker, 0, rating(points), at=100.0)
    matched = [{one[1]: one[2], other[1]: other[2]} for one, other in zip(came[::2], came[1::2], strict=True)]
    shares = [float(share_of_ratings((both["A"] - both["B"]) / 100)) for both in matched]
    expected = np.array([evidence.max() for evidence in order_evidence(shares, 0.1)])
    assert running.studies.evidence.of("direct")[0, :, 0] == pytest.approx(np.maximum(expected, 1))
    assert [event.worker for event in running.log if isinstance(event, Folded)] == [worker for worker, _, _ in came]
    first = [one[1] for one in came[::2]]
    assert 5 < first.count("A") < 25, "who of two rates which model is drawn"
    assert replay(read_log(log_rows(running.log))).standing() == running.standing()


def test_half_the_scale_is_a_whole_win() -> None:
    """Guards the meaning of the margin: 0.1 is a twentieth of the scale."""
    assert share_of_ratings([0.0, 0.05, 0.5, 0.9, -0.25]).tolist() == pytest.approx([0.5, 0.55, 1, 1, 0.25])


def test_ratings_of_one_worker_are_compared_with_each_other() -> None:
    """Guards several models of a worker: every two of them, and nothing of those who rated one and left."""
    running = study(models=("A", "B", "C", "D"), shown="panel")
    points = {"A": 90, "B": 60, "C": 30, "D": 60}
    models = given(running, "whole", dialogues=3)
    assert len(set(models)) == 3
    running.finish("whole", [rating(points[model]) for model in models], at=1.0)
    (first, *_) = given(running, "leaver", at=2.0, dialogues=3)
    running.answer("leaver", 0, rating(points[first]), at=3.0)
    running.leave("leaver", at=3.0)
    folded = [(event.worker, event.dialogues) for event in running.log if isinstance(event, Folded)]
    assert folded == [("whole", 3), ("leaver", 0)]
    standing = running.standing()
    assert (standing.workers, standing.dialogues, standing.answered) == (2, 3, 4)
    shares = {(pair.first, pair.second): pair.share for pair in standing.pairs}
    for (first, second), share in shares.items():
        both = {first, second} <= set(models)
        wanted = share_of_ratings((points[first] - points[second]) / 100) if both else None
        assert share == (None if wanted is None else pytest.approx(float(wanted)))
    assert replay(running.log).standing() == standing


def test_two_models_of_a_worker_are_those_of_one_open_pair() -> None:
    """Guards pooled evidence, which needs every open pair to be as likely as any other."""
    running = study(models=("A", "B", "C"))
    for number in range(30):
        models = given(running, f"w{number}", at=float(number), dialogues=2)
        running.finish(f"w{number}", [rating({"A": 95, "B": 50, "C": 50}[model]) for model in models], at=number + 0.5)
        if running.open == [("B", "C")]:
            break
    assert running.open == [("B", "C")]
    assert set(given(running, "next", at=50.0, dialogues=2)) == {"B", "C"}
    arrived = [event for event in running.log if isinstance(event, Arrived)]
    assert {len(event.dialogues) for event in arrived} == {2}
    assert {event.dialogues[0] for event in arrived} == {("A",), ("B",), ("C",)}, "either may come first"


def test_who_waits_for_a_partner() -> None:
    """Guards what becomes of the first of two: the next worker is theirs, unless they left or nobody came in time."""
    running = study(timeout=60.0)
    first = given(running, "left", at=0.0)
    running.leave("left", at=1.0)
    again = given(running, "stays", at=2.0)
    other = given(running, "partner", at=3.0)
    assert len(first) == 1
    assert {*again, *other} == set(MODELS)
    running.answer("partner", 0, rating(50), at=4.0)
    assert running.folded == 0, "the first of the two is not through"
    running.answer("stays", 0, rating(50), at=5.0)
    assert running.folded == 2
    early = given(running, "early", at=6.0)
    running.answer("early", 0, rating(50), at=7.0)
    assert {*early, *given(running, "late", at=8.0)} == set(MODELS), "who is through waits for the next one"
    running.answer("late", 0, rating(50), at=9.0)
    assert running.folded == 4
    given(running, "alone", at=10.0)
    running.answer("alone", 0, rating(50), at=11.0)
    running.look(at=100.0)
    assert [event.dialogues for event in running.log if isinstance(event, Folded)] == [0, 1, 1, 1, 1, 0]
    begins = given(running, "begins", at=101.0)
    ends = given(running, "ends", at=102.0)
    assert {*begins, *ends} == set(MODELS), "whoever was waited for in vain is not compared with a newcomer"
    assert replay(running.log).standing() == running.standing()


def test_the_last_single_dialogue_before_the_cap_is_given_to_nobody() -> None:
    """Guards the end: one rating could be compared with nothing, and the study is over."""
    running = study(max_dialogues=9)
    for number in range(8):
        assert running.free == 9 - number
        given(running, f"w{number}", at=float(number))
    assert running.free == 0
    with pytest.raises(StudyError, match="the cap of 9 dialogues is reached"):
        given(running, "too-many", at=20.0)
    for number in range(8):
        running.answer(f"w{number}", 0, rating(50), at=30.0)
    assert running.ended == "cap"


def test_what_cannot_be_of_ratings_is_refused() -> None:
    """Guards outcomes of the other kind, and that a started rating is no evidence."""
    running = study()
    given(running, "w", at=0.0)
    with pytest.raises(StudyError, match="give one number per model"):
        running.answer("w", 0, Outcome(picks=(1, 2), turns=3), at=1.0)
    running.choose("w", 0, rating(20), whole=200, at=1.0)
    assert running.turns == 0
    assert running.strengths() is None


def test_studies_of_ratings_and_of_panels_are_foreseen() -> None:
    """Guards every form of rating: ranges for all dialogues and each open pair, and raters as they were seen to be."""
    rng = np.random.default_rng(2)
    forms: list[dict[str, Any]] = [
        {"margin": 0.3},
        {"margin": 0.3, "shown": "panel", "models": ("A", "B", "C")},
        {"margin": 0.2, "shown": "panel", "models": ("A", "B", "C"), "rated": "together"},
    ]
    for form in forms:
        running = study(**form, max_dialogues=400)
        assert running.forecast(simulations=20).pairs, "before anybody came, raters are taken to be the usual ones"
        for number in range(12):
            together = form.get("rated") == "together"
            groups = running.arrive(f"w{number}", 1 if together else 2, at=float(number)).dialogues
            level = rng.normal(50, 20)
            points = (int(np.clip(rng.normal(level, 10), 0, 100)) for _ in groups)
            outcomes = [
                Outcome(picks=tuple(rng.multinomial(6, [1 / 3] * 3)), turns=6) if together else rating(next(points))
                for _ in groups
            ]
            running.finish(f"w{number}", outcomes, at=number + 0.5)
        foreseen = running.forecast(simulations=40)
        assert 0 < foreseen.low <= foreseen.expected <= foreseen.high <= 400 - running.answered
        assert [(pair.first, pair.second) for pair in foreseen.pairs] == running.open
        assert all(0 <= pair.low <= pair.expected <= pair.high for pair in foreseen.pairs)
        if running.rule.is_apart:
            seen = crowd_seen(running.studies, [], [2] * 12)
            assert isinstance(seen, Scores)
            assert 0.05 < seen.within < 0.2, "what a rater adds to all models is left out"


def test_choices_stay_as_alike_when_models_leave_the_chat() -> None:
    """Guards forecasts and plans of panels: with two of four models left, a rater's choices have the ICC that was given."""
    raters, rng = Scores(4, turns=6, icc=0.3), np.random.default_rng(1)
    for levels in ([0.25, 0.25, 1e-9, 1e-9], [0.5, 0.5, 1e-9, 1e-9]):
        chosen = raters.drawn(np.tile(levels, (20_000, 1)), rng)
        assert (chosen[:, 0] - chosen[:, 1]).var() == pytest.approx(0.3 + 0.7 / 6, rel=0.03)


@pytest.mark.parametrize(("won", "low", "high"), [(0.5, 0.6, 0.9), (0.6, 0.0, 0.05)], ids=["alike", "ahead"])
def test_models_that_tie_may_well_be_equal(won: float, low: float, high: float) -> None:
    """Guards late forecasts: after 100 dialogues of each pair without a leader, many draws have no gap of a tenth of ten
    points; with a leader, hardly any."""
    studies = Studies(StoppingRule(models=("A", "B", "C", "D"), margin=0.1, max_dialogues=2000))
    studies.evidence.met[0] = 100 * (1 - np.eye(4))
    studies.evidence.won[0] = 50 * (1 - np.eye(4))
    studies.evidence.won[0, 0, 1:], studies.evidence.won[0, 1:, 0] = 100 * won, 100 * (1 - won)
    drawn = _strengths(studies, 0, Crowd(), 400, np.random.default_rng(1))
    assert low <= (np.ptp(drawn, axis=1) < 0.04).mean() <= high


def test_those_who_stay_in_a_chat_share_the_choices_of_those_who_left() -> None:
    """Guards late forecasts of panels: of models that are chosen in 35 and 25 % of turns, one is 17 points ahead in a
    chat of two."""
    rule = StoppingRule(models=("A", "B", "C", "D"), margin=0.1, max_dialogues=2000, shown="panel")
    studies, levels = Studies(rule), np.array([0.35, 0.25, 0.25, 0.15])
    studies.decisions._open[:] = [True, *[False] * 5]
    ahead = Scores(4, turns=6).before(
        studies, 0.5 + (levels[:, None] - levels)[None] / 2, begun=np.zeros(1, int), seed=1
    )
    chances = ahead.levels[0, :2] / ahead.levels[0, :2].sum()
    assert chances[0] - chances[1] == pytest.approx(0.1 / 0.6)
