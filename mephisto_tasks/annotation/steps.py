"""One item on a rater's page: the steps and questions that it shows, and every answer, stored when it arrives."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import ItemToJudge
from mephisto_tasks.session.display import ShownModels
from mephisto_tasks.session.page import PageSession
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.events import Judged
from parlai_humaneval.schema.panels import FormQuestion, FormStep, Panel, RankStep
from parlai_humaneval.schema.records import AskedQuestion, GivenAnswer
from parlai_humaneval.schema.steps import Card, Option, RateStep, ReasonField, Scale
from parlai_humaneval.techniques.criteria import dimension_records, dimensions_for
from parlai_humaneval.techniques.questions import (
    DIMENSIONS_QUESTION,
    FEATURE_OPTIONS,
    LABEL_OPTIONS,
    PAIR_OPTIONS,
    RANK_QUESTION,
    feature_question,
    label_questions,
    pair_question,
)

WHO = phrase("Human or bot?")
BETTER = phrase("Who is better?")


def asked(config: StaticConfig) -> list[AskedQuestion]:
    """Every question of an item that is not a replay, as it will stand in the record."""
    match config.show:
        case "pair":
            return [
                AskedQuestion(
                    question_id=config.metric,
                    text=config.question or pair_question(config.metric),
                    options=dict(PAIR_OPTIONS),
                )
            ]
        case "segment":
            labels = [
                AskedQuestion(question_id=name, text=text, about=index, options=dict(LABEL_OPTIONS))
                for index, (name, text) in enumerate(label_questions().items())
            ]
            features = [
                AskedQuestion(question_id=name, text=feature_question(name), options=dict(FEATURE_OPTIONS))
                for name in config.features
            ]
            return [*labels, *features]
        case "turn":
            return [AskedQuestion(question_id="rank", kind="rank", text=config.question or RANK_QUESTION)]
        case "whole":
            return [
                AskedQuestion(
                    question_id="rate",
                    kind="rate",
                    text=config.question or DIMENSIONS_QUESTION,
                    criteria=dimension_records(dimensions_for(config.scales)),
                )
            ]
        case "replay":
            return []


def reason_field(config: StaticConfig) -> ReasonField | None:
    """The written reason, where the study wants one."""
    if not config.reason_required:
        return None
    label = t("Why is this speaker better? Please say it in your own words.")
    return ReasonField(label=label, min_words=config.min_reason_words)


def form_step(config: StaticConfig, step_id: str, questions: list[AskedQuestion], *, reasons: bool = True) -> FormStep:
    """All questions of a pair or a segment at once."""
    return FormStep(step_id=step_id, questions=[_form_question(config, question, reasons) for question in questions])


def _form_question(config: StaticConfig, question: AskedQuestion, reasons: bool) -> FormQuestion:
    group = None if config.show == "pair" else (BETTER if question.about is None else WHO)
    return FormQuestion(
        question_id=question.question_id,
        text=question.text,
        options=[Option(option_id=name, label=label) for name, label in question.options.items()],
        group=group,
        reason=reason_field(config) if reasons and config.show == "pair" else None,
    )


def rank_step(config: StaticConfig, step_id: str, question: str, cards: list[Card]) -> RankStep:
    """Rank all replies of a turn (Ma et al. 2023, §3.2, Preference Ranking)."""
    return RankStep(step_id=step_id, question=question, cards=cards, ties=config.ties)


def scales_step(config: StaticConfig, step_id: str, question: str) -> RateStep:
    """Rate a dialogue on scales on which every point says what it means (Ma et al. 2023, Table 3)."""
    scales = [
        Scale(
            scale_id=dimension.name,
            statement=dimension.text,
            style="points",
            minimum=1,
            maximum=dimension.maximum,
            left="1",
            right=str(dimension.maximum),
            labels=[str(point) for point in range(1, dimension.maximum + 1)],
            hints=list(dimension.hints),
        )
        for dimension in dimensions_for(config.scales)
    ]
    return RateStep(step_id=step_id, question=question, scales=scales)


class ItemPage:
    """The page of a rater who judges ``item``; ``shown`` is told who said each line that stands on it."""

    def __init__(self, item: ItemToJudge, page: PageSession, shown: ShownModels) -> None:
        self.item = item
        self.page = page
        self._shown = shown
        self._on_page: list[str] = []

    def show_panels(self, panels: list[Panel], speakers: Sequence[Sequence[tuple[str, str]]] = ()) -> None:
        """Put dialogues on the page; ``speakers``: line id → speaker of each panel, known to the launch alone."""
        self.page.panels = panels
        for lines in speakers:
            self.note(lines)

    def note(self, said: Sequence[tuple[str, str]]) -> None:
        """Line or candidate id → who said what stands on the page, known to the launch alone."""
        self._shown.note(said)
        self._on_page += [shown_id for shown_id, _ in said]

    def forget(self) -> None:
        """The item is over: nothing of it is on the page any more."""
        self._shown.forget(self._on_page)

    def step_id(self, what: str) -> str:
        """Unique among the steps of a unit."""
        return f"{what}-{self.item.number}"

    def is_answered(self) -> bool:
        """True, once for each step, where it was answered in an earlier visit."""
        return self.page.recorded.take(Judged) is not None

    def store(self, *answers: Mapping[str, Any]) -> None:
        """Write answers down, now: the fields of each, without its time."""
        now = time.time()
        timed = [GivenAnswer(**answer, seconds=now - self.page.shown_at, at=now) for answer in answers]
        self.page.state.append(Judged(at=time.time(), answers=timed))
