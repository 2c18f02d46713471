"""What a page shows and asks of finished dialogues: one or two of them, and a form, a ranking or scales beneath."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parlai_humaneval.schema.wire import Card, Name, Option, ReasonField, Said, Text, Wire, WireAnswer, Words


class PanelLine(Said):
    """One line of a finished dialogue. ``judged``: said by the speaker that is asked about."""

    line_id: str
    speaker: Words
    judged: bool


class Panel(Wire):
    """A finished dialogue, or its beginning. Two panels stand side by side, the first on the left.

    ``context`` holds sentences that the dialogue was led by (a persona, a topic); ``judged_label`` is what the judged
    speaker is called above the lines (“Speaker A”), None where no speaker is marked.
    """

    title: Words
    context: list[Words] = Field(default_factory=list)
    judged_label: Words | None = None
    lines: list[PanelLine]


class FormQuestion(Wire):
    """One of ``options`` is to be chosen. Questions of one ``group`` stand together under its name."""

    question_id: str
    text: Words
    options: list[Option]
    group: Words | None = None
    reason: ReasonField | None = None


class FormStep(Wire):
    """Answer every question."""

    kind: Literal["form"] = "form"
    step_id: str
    questions: list[FormQuestion]


class RankStep(Wire):
    """Give every card a place from 1 (best); with ``ties`` several cards may share one."""

    kind: Literal["rank"] = "rank"
    step_id: str
    question: Words
    cards: list[Card]
    ties: bool = False
    reason: ReasonField | None = None


class FormAnswer(WireAnswer):
    """``values``: question id → option id. ``reasons``: question id → text, where one is asked for."""

    kind: Literal["form"]
    values: Annotated[dict[Name, Name], Field(max_length=50)]
    reasons: Annotated[dict[Name, Text], Field(max_length=50)] = Field(default_factory=dict)


class RankAnswer(WireAnswer):
    """``ranks``: card id → place, from 1. With ties a place may be given twice; places need not be without gaps."""

    kind: Literal["rank"]
    ranks: Annotated[dict[Name, Annotated[int, Field(strict=True, ge=1, le=50)]], Field(max_length=50)]
    reason: Text = ""
