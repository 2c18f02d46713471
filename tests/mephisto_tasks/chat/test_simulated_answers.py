"""Simulated raters judge as they are told to, at every kind of step, and never send what a person could not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mephisto_tasks.session import answers as checks
from mephisto_tasks.simulation.raters import COMMENT, Answers, Behaviour, by_kind
from parlai_humaneval.materials.instructions import Practice
from parlai_humaneval.schema.steps import (
    Action,
    Card,
    ChooseAnswer,
    ChooseStep,
    Entry,
    FeedbackStep,
    MessageStep,
    Option,
    PageState,
    Progress,
    RateAnswer,
    RateStep,
    ReasonField,
    Scale,
    Step,
    TickAnswer,
    TickStep,
    TopicAnswer,
    TopicStep,
    WriteAnswer,
    WriteStep,
)
from parlai_humaneval.techniques.questions import CRITERIA

CARDS = [Card(candidate_id=name, text=f"{name} says this") for name in ("good-1", "bad-1", "bad-2")]


def model_of(candidate: str) -> str:
    return candidate.partition("-")[0]


def behaviour(strength: float, **more: Any) -> Behaviour:
    return Behaviour(model_of=model_of, prefer="good", strength=strength, **more)


def page(step: Step, **more: Any) -> PageState:
    return PageState(version=1, phase=more.pop("phase", "task"), step=step, **more)


def answers(strength: float = 0.7, seed: int = 1, **more: Any) -> Answers:
    return Answers(behaviour(strength, **more), random.Random(seed))


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    return {"update_id": "u", "step_id": "s", **answer}


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 3), st.floats(0, 1), st.booleans())
def test_choices_are_such_as_the_server_takes(seed: int, least: int, most: int, strength: float, reason: bool) -> None:
    """Any numbers of picks, any taste: one, some, none with an explicit none; always with a reason where it is asked."""
    least, most = min(least, most), most
    field = ReasonField(label="Why?", min_words=3) if reason else None
    step = ChooseStep(step_id="s", question="?", cards=CARDS, min_choices=least, max_choices=most, reason=field)
    if least > 1:
        return  # no technique asks for two at least
    answer = ChooseAnswer.model_validate(whole(answers(strength, seed).choose(step, page(step))))
    assert checks.check_choice(step, answer) is None


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_ticks_scores_topics_and_written_replies_are_such_as_the_server_takes(seed: int, strength: float) -> None:
    make = answers(strength, seed)
    options = [Option(option_id=name, label=name) for name in ("engaging", "interesting")]
    tick = TickStep(step_id="s", question="?", reply=CARDS[0], options=options, max_choices=2, none_label="None")
    assert checks.check_ticks(tick, TickAnswer.model_validate(whole(make.tick(tick, page(tick))))) is None
    scales = [
        Scale(scale_id="a", statement="A", style="points", minimum=1, maximum=5, left="1", right="5"),
        Scale(scale_id="b", statement="B", style="slider", minimum=0, maximum=100, left="no", right="yes"),
    ]
    rate = RateStep(step_id="s", question="?", scales=scales)
    assert checks.check_ratings(rate, RateAnswer.model_validate(whole(make.rate(rate, page(rate))))) is None
    topic = TopicStep(step_id="s", label="?", opinion_label="?", opinions=options)
    assert checks.check_topic(topic, TopicAnswer.model_validate(whole(make.topic(topic, page(topic))))) is None
    write = WriteStep(step_id="s", label="?", cards=CARDS, min_words=3)
    assert checks.check_write(write, WriteAnswer.model_validate(whole(make.write(write, page(write))))) is None
    feedback = FeedbackStep(step_id="s", label="?")
    assert make.feedback(feedback, page(feedback)) == {"kind": "feedback", "text": COMMENT}


@pytest.mark.parametrize(("strength", "least", "most"), [(1.0, 200, 200), (0.8, 135, 180), (0.0, 0, 0)])
def test_the_preferred_model_is_chosen_as_often_as_stated(strength: float, least: int, most: int) -> None:
    """200 choices of one; 0.8 leaves 135 to 180 in all but one of a million runs."""
    make = answers(strength)
    step = ChooseStep(step_id="s", question="?", cards=CARDS)
    chosen = [make.choose(step, page(step))["selected"][0] for _ in range(200)]
    assert least <= sum(name == "good-1" for name in chosen) <= most


def test_with_several_picks_each_reply_is_liked_or_not() -> None:
    """At full strength exactly the preferred one; a rater without a preference sometimes says none, sometimes all."""
    step = ChooseStep(step_id="s", question="?", cards=CARDS, min_choices=0, max_choices=3, none_label="None")
    assert answers(1.0).choose(step, page(step))["selected"] == ["good-1"]
    free = Answers(Behaviour(), random.Random(1))
    counts = {len(free.choose(step, page(step))["selected"]) for _ in range(200)}
    assert counts == {0, 1, 2, 3}


def test_a_lazy_rater_takes_the_first_card() -> None:
    lazy = answers(1.0, position_bias=1.0)
    step = ChooseStep(step_id="s", question="?", cards=list(reversed(CARDS)))
    assert {lazy.choose(step, page(step))["selected"][0] for _ in range(20)} == {"bad-2"}


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        (("good-1", "bad-1"), "a"),
        (("bad-1", "good-1"), "b"),
        (("good-1", "good-2"), "tie"),
        (("bad-1", "bad-2"), "both_bad"),
    ],
)
def test_the_verdict_is_of_the_newest_replies(columns: tuple[str, str], verdict: str) -> None:
    """At full strength: who stands where decides, beside the message field and where it is asked outright."""
    transcript = [Entry(entry_id="e1", speaker="you", text="hi")] + [
        Entry(entry_id=name, speaker="partner", text="x", column=column) for column, name in enumerate(columns)
    ]
    actions = [Action(action_id=name, label=name) for name in ("a", "b", "tie", "both_bad")]
    step = MessageStep(step_id="s", label="?", actions=actions)
    state = page(step, transcript=transcript, progress=Progress(unit="turn", current=3, total=None))
    assert answers(1.0).message(step, state) == {"kind": "action", "action_id": verdict}
    options = [Option(option_id=action.action_id, label="x") for action in actions]
    asked = TickStep(step_id="s", question="?", options=options, min_choices=1, max_choices=1)
    assert answers(1.0).tick(asked, page(asked, transcript=transcript))["selected"] == [verdict]


@pytest.mark.parametrize(("turn", "more", "ends"), [(3, 0, False), (4, 0, True), (4, 2, False), (6, 2, True)])
def test_the_conversation_is_ended_when_that_is_possible(turn: int, more: int, ends: bool) -> None:
    """After the fewest turns and as many more as the rater likes; a closed action is never pressed."""
    for enabled in (True, False):
        step = MessageStep(step_id="s", label="?", actions=[Action(action_id="end", label="End", enabled=enabled)])
        state = page(step, progress=Progress(unit="turn", current=turn, total=None, minimum=3))
        kind = answers(more_turns=more).message(step, state)["kind"]
        assert kind == ("action" if ends and enabled else "message")


def test_bad_statements_are_agreed_with_where_the_partner_is_not_liked() -> None:
    """Reversed sliders go the other way; points of a Likert scale are whole numbers."""
    names = list(CRITERIA["slider"])
    scales = [
        Scale(scale_id=n, statement=n, style="slider", minimum=0, maximum=100, left="l", right="r") for n in names
    ]
    step = RateStep(step_id="s", question="?", scales=scales)
    for entry, likes in (("good-1", True), ("bad-1", False)):
        state = page(step, transcript=[Entry(entry_id=entry, speaker="partner", text="x")])
        values = answers(1.0).rate(step, state)["values"]
        for name, criterion in CRITERIA["slider"].items():
            assert (values[name] > 50) == (likes != criterion.reversed), name


def test_practice_is_answered_right() -> None:
    """A person can tell; the rater is told what is right for every kind of item, in its place."""
    items: list[dict[str, Any]] = [
        {"human": "h", "replies": ["x", "y", "z"], "right": [1, 3], "why": "w"},
        {"human": "h", "replies": ["x", "y"], "right": [], "why": "w"},
        {"human": "h", "reply": "r", "must": ["engaging"], "why": "w"},
        {"lines": ["l", "m"], "sides": {"fun": "low"}, "why": "w"},
        {"human": "h", "replies": ["x", "y"], "better": "both_bad", "why": "w"},
    ]
    practice = Practice.model_validate({"metric": "m", "items": items})
    make: dict[str, Callable[..., dict[str, Any]]] = dict(by_kind(answers(0.0, practice=practice)))
    cards = [Card(candidate_id=f"id-{text}", text=text) for text in "zyx"]
    choose = ChooseStep(step_id="s", question="?", cards=cards, min_choices=0, max_choices=3)
    tick = TickStep(step_id="s", question="?", options=[], max_choices=1)
    fun = Scale(scale_id="fun", statement="f", style="slider", minimum=0, maximum=100, left="l", right="r")
    expected: list[tuple[Any, str, Any]] = [
        (choose, "selected", ["id-z", "id-x"]),
        (choose, "selected", []),
        (tick, "selected", ["engaging"]),
        (RateStep(step_id="s", question="?", scales=[fun]), "values", {"fun": 5.0}),
        (tick, "selected", ["both_bad"]),
    ]
    for number, (step, key, value) in enumerate(expected, start=1):
        progress = Progress(unit="practice", current=number, total=5)
        assert make[step.kind](step, page(step, phase="practice", progress=progress))[key] == value


def scores(seed: int, model: str, **more: Any) -> float:
    """How one rater rates a partner, on average over scales where more is better."""
    names = [name for name, criterion in CRITERIA["slider"].items() if not criterion.reversed]
    scales = [
        Scale(scale_id=n, statement=n, style="slider", minimum=0, maximum=100, left="l", right="r") for n in names
    ]
    step = RateStep(step_id="s", question="?", scales=scales)
    state = page(step, transcript=[Entry(entry_id=f"{model}-1", speaker="partner", text="x")])
    values: dict[str, float] = Answers(Behaviour(model_of=model_of, **more), random.Random(seed)).rate(step, state)[
        "values"
    ]
    return sum(values.values()) / len(values)


def test_most_raters_notice_the_model_that_is_bad_on_purpose() -> None:
    """100 raters: some are careless, as people are; others are rated as ever; without such a model nothing changes."""
    noticed = sum(scores(seed, "qc", worst="qc") < 25 for seed in range(100))
    assert 75 <= noticed <= 99
    assert all(scores(seed, "good", worst="qc") > 25 for seed in range(100))
    assert all(scores(seed, "qc") > 25 for seed in range(100))
    assert all(scores(seed, "qc", worst="qc", careless=1.0) > 25 for seed in range(100))
