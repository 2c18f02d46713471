"""Answers of judges without a model: what a function says to a question, read as a judge's reply is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parlai_humaneval.judges.questions import (
    JudgeQuestion,
    Unreadable,
    outcome_of,
    prompt_of,
    questions_of,
    read_answer,
)
from parlai_humaneval.schema.judge_answers import JudgeAnswer, JudgeCard
from parlai_humaneval.schema.records import Rated

TEMPLATE = "{conversation} {choices} {question} {answer_format}"
AT = 1_700_000_500.0


def card(judge: str = "j", **fields: Any) -> JudgeCard:
    known = {"version": "v1", "package_version": "0", "model": "m", "options": {}, "template": TEMPLATE, "seed": 0}
    return JudgeCard(judge=judge, answer_format="json", both_orders=True, at=AT, **{**known, **fields})


def judged(
    records: Sequence[Rated], says: Callable[[JudgeQuestion], str], judge: str = "j", **of_card: Any
) -> list[JudgeCard | JudgeAnswer]:
    """The card of a judge that says so, and its answer to every question; it read 100 tokens, wrote 10, and cost .5."""
    return [card(judge, **of_card), *(_answer(judge, question, says(question)) for question in questions_of(records))]


def _answer(judge: str, question: JudgeQuestion, reply: str) -> JudgeAnswer:
    try:
        answers, outcome = read_answer(reply, question, seconds=1.5, at=AT), "answered"
    except Unreadable:
        answers, outcome = [], outcome_of(reply)
    return JudgeAnswer(
        judge=judge,
        version="v1",
        thing=question.thing,
        unit=question.unit,
        technique=question.technique,
        setting=question.setting,
        metric=question.metric,
        order=question.order,
        dialogues=list(question.dialogues),
        shown=list(question.shown),
        question=question.text,
        prompts=[prompt_of(question, TEMPLATE, "json")],
        replies=[reply],
        outcome=outcome,
        answers=answers,
        seed=1,
        served_model="served",
        prompt_tokens=100,
        completion_tokens=10,
        cost=0.5,
        currency="USD",
        seconds=1.5,
        at=AT,
    )


def letter(number: int) -> str:
    """The reply that chooses what stands in this place."""
    return f'{{"answer": "{"ABCDEF"[number - 1]}"}}'
