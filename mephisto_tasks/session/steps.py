"""How a dialogue with models is rated, by who holds it and by who judges it once more: settings, steps, practice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from mephisto_tasks.config.task import TaskConfig
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.materials import instructions as items
from parlai_humaneval.schema.records import Candidate
from parlai_humaneval.schema.steps import Card, ChooseStep, Option, RateStep, ReasonField, Scale, TickStep
from parlai_humaneval.techniques.questions import FINAL_QUESTION, RANGES, SLIDER_ENDS, VERDICTS, Criterion, criteria_for

SIDES = ["A", "B"]  # names of two partners side by side


class RatingConfig(TaskConfig):
    """Settings of what a rater is asked about a dialogue with models, at its turns and at its end."""

    question: str = ""
    """Question at each turn, or at the end if turns are not rated; if empty, the published wording for the metric. You
    can compare results with others' only if the wording is the same."""
    turn_question: Literal["choose", "tick", "none"] = "choose"
    """What raters do at a turn: choose among the replies, tick statements about the reply, or nothing (none). Choices
    separate replies best. Ticks rate one model alone. Asking nothing leaves chats undisturbed."""
    min_choices: int = Field(default=1, ge=0)
    """Fewest replies to choose at a turn. With 0, raters can say that no reply is good instead of guessing."""
    max_choices: int | None = Field(default=1, ge=1)
    """Most replies to choose at a turn; null: all. A limit of one finds the best reply. Without a limit, raters choose
    all good replies, which is faster."""
    turn_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """Statements to tick at a turn: names, or your own as {name, text}. They say what was right or wrong, which a
    choice alone does not."""
    none_label: str = phrase("None of these")
    """Label of the explicit “none” of a choice. Word it for your question, such as “None is appropriate”."""
    verdict: bool = False
    """Whether the rater says which of two partners is better, which ends the dialogue. This gives one judgement per
    chat, from people who stop as soon as they are sure."""
    final_scale: Literal["likert", "slider"] = "slider"
    """Scale of ``final_criteria``: Likert 1–5, or a continuous slider 0–100. Everybody knows Likert scales. A slider
    captures smaller differences."""
    final_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """Criteria to rate at the end of the dialogue: names, or your own as {name, text, reversed}. They judge the chat as
    a whole, about which single turns say little."""

    @model_validator(mode="after")
    def _known_criteria(self) -> Self:
        self.ticks()
        self.scales()
        return self

    def ticks(self) -> list[Criterion]:
        return criteria_for("tick", self.turn_criteria)

    def scales(self) -> list[Criterion]:
        return criteria_for(self.final_scale, self.final_criteria)


def choose_step(config: RatingConfig, step_id: str, cards: list[Card], question: str = "") -> ChooseStep:
    """Choose among ``cards``; where equal replies left fewer of them, so many at most."""
    most = len(cards) if config.max_choices is None else min(config.max_choices, len(cards))
    reason = ReasonField(
        label=t("Why is this response better? Please explain your choice in your own words."),
        required=True,
        min_words=config.min_reason_words,
    )
    return ChooseStep(
        step_id=step_id,
        question=question or config.question,
        cards=cards,
        min_choices=min(config.min_choices, most),
        max_choices=most,
        none_label=config.none_label if config.min_choices == 0 else None,
        reason=reason if config.reason_required else None,
    )


def credited(candidates: Sequence[Candidate], cards: Iterable[str]) -> list[str]:
    """The candidates behind the chosen cards: all whose equal texts were shown as one are credited."""
    from parlai_humaneval.models.bot_speaker.bot_speaker import (
        standing_for,  # loads PyTorch, which settings do not need
    )

    return [name for card in cards for name in standing_for(candidates, card)]


def tick_step(config: RatingConfig, step_id: str, reply: Card, question: str = "") -> TickStep:
    """Tick what is true of ``reply``; nothing is ticked only by saying so."""
    options = [Option(option_id=criterion.name, label=criterion.text) for criterion in config.ticks()]
    return TickStep(
        step_id=step_id,
        question=question or config.question,
        reply=reply,
        options=options,
        min_choices=0,
        max_choices=len(options),
        none_label=config.none_label,
    )


def verdict_step(config: RatingConfig, step_id: str, question: str = "") -> TickStep:
    return TickStep(
        step_id=step_id,
        question=question or config.question,
        options=[Option(option_id=verdict, label=label) for verdict, label in VERDICTS.items()],
        min_choices=1,
        max_choices=1,
    )


def rate_step(config: RatingConfig, step_id: str, criteria: Sequence[Criterion], question: str) -> RateStep:
    return RateStep(step_id=step_id, question=question, scales=[_scale(config, criterion) for criterion in criteria])


def _scale(config: RatingConfig, criterion: Criterion) -> Scale:
    minimum, maximum = RANGES[config.final_scale]
    slider = config.final_scale == "slider"
    left, right = (t(SLIDER_ENDS[0]), t(SLIDER_ENDS[1])) if slider else criterion.ends(minimum, maximum)
    return Scale(
        scale_id=criterion.name,
        statement=criterion.text,
        style="slider" if slider else "points",
        minimum=minimum,
        maximum=maximum,
        left=left,
        right=right,
        labels=[] if slider else [str(point) for point in range(int(minimum), int(maximum) + 1)],
    )


def final_question(config: RatingConfig) -> str:
    if config.turn_question == "none":
        return config.question
    return FINAL_QUESTION


def check_practice(practice: items.Practice, config: RatingConfig) -> str | None:
    """What makes a practice unfit for a study, or None: it asks what the study does not, or what nobody can pass."""
    for number, item in enumerate(practice.items, start=1):
        problem = _unfit(item, config)
        if problem is not None:
            return f"item {number} {problem}"
    return None


def _unfit(item: items.PracticeItem, config: RatingConfig) -> str | None:
    match item:
        case items.ChooseItem():
            most = len(item.replies) if config.max_choices is None else config.max_choices
            if config.turn_question != "choose":
                return "chooses among replies, which this study does not"
            if not config.min_choices <= len(item.right) <= most:
                return f"has {len(item.right)} right replies, but raters choose {config.min_choices} to {most}"
            return None
        case items.TickItem():
            return _unknown([*item.must, *item.must_not], [criterion.name for criterion in config.ticks()])
        case items.RateItem():
            return _unknown(list(item.sides), [criterion.name for criterion in config.scales()])
        case items.VerdictItem():
            return None if config.verdict else "compares two partners, which this study does not"
        case items.PairItem() | items.SegmentItem():
            return "judges finished chats, which this study does not"


def _unknown(named: list[str], known: list[str]) -> str | None:
    wrong = [name for name in named if name not in known]
    return f"names {', '.join(wrong)}, but this study asks for {', '.join(known) or 'none'}" if wrong else None
