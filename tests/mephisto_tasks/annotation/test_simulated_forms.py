"""Simulated raters of finished dialogues: only their page guides them, and never do they send what a person could not."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mephisto_tasks.session import answers as checks
from mephisto_tasks.simulation.raters import Answers, Behaviour
from parlai_humaneval.dialogues.dialogue import HUMAN
from parlai_humaneval.materials.instructions import Practice
from parlai_humaneval.schema.steps import (
    FormAnswer,
    FormQuestion,
    FormStep,
    PageState,
    Panel,
    PanelLine,
    Progress,
    RankAnswer,
    RankStep,
    RateAnswer,
    RateStep,
    Scale,
)
from parlai_humaneval.schema.wire import Card, Option, ReasonField

BETTER, FEATURE, LABEL = ("first", "second"), ("first", "same", "second"), ("human", "unsure", "bot")


def question(name: str, options: tuple[str, ...], reason: bool = False) -> FormQuestion:
    field = ReasonField(label="Why?", min_words=3) if reason else None
    shown = [Option(option_id=option, label=option) for option in options]
    return FormQuestion(question_id=name, text="?", options=shown, reason=field)


PAIR = FormStep(step_id="s", questions=[question("preference", BETTER, reason=True)])
SPOT = FormStep(
    step_id="s", questions=[question("label_0", LABEL), question("label_1", LABEL), question("fluent", FEATURE)]
)


def panel(judged_text: str, other: str = "ok", *, ids: tuple[str, str] = ("o", "j"), lines: int = 4) -> Panel:
    """Speaker B is judged."""
    said = [
        PanelLine(
            line_id=f"{ids[n % 2]}-{n}", speaker="AB"[n % 2], judged=n % 2 == 1, text=judged_text if n % 2 else other
        )
        for n in range(lines)
    ]
    return Panel(title="Conversation", judged_label="B", lines=said)


def page(step: Any, panels: list[Panel], **more: Any) -> PageState:
    return PageState(version=1, phase=more.pop("phase", "task"), step=step, panels=panels, **more)


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    return {"update_id": "u", "step_id": "s", **answer}


def long_ones(text: str) -> float:
    return 1.0 if len(text) > 10 else 0.0


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([None, long_ones]), st.text(max_size=30), st.booleans())
def test_answers_are_such_as_the_server_takes(seed: int, taste: Any, text: str, ties: bool) -> None:
    make = Answers(Behaviour(taste=taste), random.Random(seed))
    for step, panels in ((PAIR, [panel(text), panel("ok")]), (SPOT, [panel(text)])):
        answer = FormAnswer.model_validate(whole(make.form(step, page(step, panels))))
        assert checks.check_form(step, answer) is None
    rank = RankStep(step_id="s", question="?", cards=[Card(candidate_id=i, text=text + i) for i in "xyz"], ties=ties)
    assert checks.check_ranking(rank, RankAnswer.model_validate(whole(make.rank(rank, page(rank, []))))) is None
    scales = [Scale(scale_id="a", statement="A", style="points", minimum=1, maximum=3, left="1", right="3")]
    rate = RateStep(step_id="s", question="?", scales=scales)
    answer_ = RateAnswer.model_validate(whole(make.rate(rate, page(rate, [panel(text)]))))
    assert checks.check_ratings(rate, answer_) is None


@pytest.mark.parametrize("left", [True, False])
def test_a_taste_of_text_alone_tells_two_dialogues_apart(left: bool) -> None:
    """Only the judged speaker's lines count, on whichever side they stand."""
    make = Answers(Behaviour(taste=long_ones), random.Random(1))
    good, bad = panel("this is a long reply"), panel("short", other="this is long and not judged")
    panels = [good, bad] if left else [bad, good]
    chosen = {make.form(PAIR, page(PAIR, panels))["values"]["preference"] for _ in range(50)}
    assert chosen == {"first" if left else "second"}


def test_who_has_no_taste_tosses_a_coin() -> None:
    make = Answers(Behaviour(), random.Random(1))
    panels = [panel("this is a long reply"), panel("short")]
    chosen = [make.form(PAIR, page(PAIR, panels))["values"]["preference"] for _ in range(400)]
    assert 150 < chosen.count("first") < 250


def test_an_ordering_follows_the_taste() -> None:
    make = Answers(Behaviour(taste=lambda text: len(text) / 10), random.Random(1))
    cards = [Card(candidate_id=text, text=text) for text in ("a" * 50, "b" * 20, "c")]
    step = RankStep(step_id="s", question="?", cards=cards)
    ranks = make.rank(step, page(step, []))["ranks"]
    assert sorted(ranks, key=lambda name: ranks[name]) == [card.candidate_id for card in cards]


def test_people_pass_for_people_more_often_than_bots() -> None:
    """Where the launch tells who spoke; and a bot is found out more often the longer it talks."""
    who = {"h": HUMAN, "b": "eliza"}
    told = Behaviour(model_of=lambda line: who[line[0]], prefer="retrieval", strength=0.7)
    shares = {}
    for lines in (2, 10):
        make = Answers(told, random.Random(1))
        step = page(SPOT, [panel("x", ids=("h", "b"), lines=lines)])
        labels = [make.form(SPOT, step)["values"] for _ in range(400)]
        shares[lines] = [sum(one[f"label_{index}"] == "human" for one in labels) / 400 for index in range(2)]
    assert 0.7 < shares[2][0] < 0.9
    assert shares[10][1] < shares[2][1] < shares[2][0]


def test_practice_is_answered_right() -> None:
    chats = [["Hi!", "Hello!"], ["Hi!", "ERROR"]]
    items: list[dict[str, Any]] = [
        {"conversations": chats, "better": 2, "why": "w"},
        {"lines": ["Hi!", "ERROR"], "labels": [["human", "unsure"], "bot"], "why": "w"},
    ]
    practice = Practice.model_validate({"metric": "m", "items": items})
    make = Answers(Behaviour(practice=practice, taste=long_ones), random.Random(1))

    def answered(number: int, step: FormStep, panels: list[Panel]) -> dict[str, str]:
        progress = Progress(unit="practice", current=number, total=2)
        values: dict[str, str] = make.form(step, page(step, panels, phase="practice", progress=progress))["values"]
        return values

    assert answered(1, PAIR, [panel("this is a long reply"), panel("x")]) == {"preference": "second"}
    values = answered(2, SPOT, [panel("x")])
    assert values["label_0"] in ("human", "unsure")
    assert values["label_1"] == "bot"
