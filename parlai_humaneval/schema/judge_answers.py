"""Answers of a judge (a model) to the raters' questions, which are never records of a rater.

The lines of one file: a card for each judge, which says what it is, a line for each of its answers, and what was shown
of items that no rater has judged.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from parlai_humaneval.schema.records import GivenAnswer, JudgementRecord, Record

JUDGE_SCHEMA_VERSION = 1
JUDGE = "judge"  # ``rater_kind`` of all that a judge answered

Outcome = Literal["answered", "refused", "unparsable"]
"""An answer was read; it said that it does not answer, or said nothing; or nobody can tell what it chose."""
AnswerFormat = Literal["json", "letter", "score"]
"""A JSON object; the letter alone, where one of several is chosen; a number for each candidate by itself."""


class JudgeCard(Record):
    """What a judge is. ``version``: a digest of all that shapes its answers: model, options, prompt, format, orders,
    seed. ``options``: of the model's zoo entry. ``family``: models of studies that come from the same house as the
    judge's own."""

    line: Literal["card"] = "card"
    schema_version: int = JUDGE_SCHEMA_VERSION
    rater_kind: Literal["judge"] = "judge"
    judge: str
    version: str
    package_version: str
    model: str
    options: dict[str, Any]
    template: str
    answer_format: AnswerFormat
    both_orders: bool
    seed: int
    family: list[str] = Field(default_factory=list)
    price_prompt: float | None = None
    price_completion: float | None = None
    currency: str | None = None
    at: float


class JudgeAnswer(Record):
    """One answer of a judge. ``thing``: the live dialogue, or the item of finished ones. ``unit``: what was judged of
    it: ``dialogue:turn``, ``dialogue:verdict``, ``dialogue:final``, or the item. ``order``: 1 as a rater saw it, 2 the
    other way round. ``shown``: candidates, models or dialogues, so ordered. ``dialogues``: those whose texts are in
    ``prompts``. ``prompts`` and ``replies``: what was sent and what came back; several where it was asked again, or
    (``score``) for each candidate. ``thoughts``: what its server or tokenizer tells apart from them as such.
    ``answers``: as a rater's; options and verdicts are those of the shown order. Empty where nothing could be read.
    ``served_model``: the name that its server told. ``estimated``: the tokens were not told, but counted by letters.
    ``images_described``: pictures of which the judge read descriptions alone."""

    line: Literal["answer"] = "answer"
    schema_version: int = JUDGE_SCHEMA_VERSION
    rater_kind: Literal["judge"] = "judge"
    judge: str
    version: str
    thing: str
    unit: str
    technique: str
    setting: str = ""
    metric: str
    order: Literal[1, 2] = 1
    dialogues: list[str]
    shown: list[str] = Field(default_factory=list)
    question: str
    prompts: list[str]
    replies: list[str]
    thoughts: list[str] = Field(default_factory=list)
    outcome: Outcome
    answers: list[GivenAnswer] = Field(default_factory=list)
    reminded: bool = False
    images_described: int = 0
    seed: int
    served_model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    estimated: bool = False
    cost: float | None = None
    currency: str | None = None
    seconds: float
    at: float

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.judge, self.unit, self.setting, self.metric, self.order


class UnjudgedItem(Record):
    """An item of finished dialogues that no rater has judged, as one would have seen it; ``record`` holds no answers."""

    line: Literal["item"] = "item"
    schema_version: int = JUDGE_SCHEMA_VERSION
    rater_kind: Literal["judge"] = "judge"
    record: JudgementRecord


AnyLine: TypeAlias = JudgeCard | JudgeAnswer | UnjudgedItem
JudgeLine = Annotated[AnyLine, Field(discriminator="line")]
