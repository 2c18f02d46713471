"""Rating a dialogue with models, by its own rater and by other raters afterwards: settings, steps, and the practice
before a rater's first unit, judged on the server (Smith et al. 2022, App. B.2)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mephisto_tasks.config.task import RatingConfig, TaskConfig
from parlai_humaneval.i18n.translate import joined, phrase, phrases, t, tn
from parlai_humaneval.materials import instructions as items
from parlai_humaneval.materials.instructions import ChooseItem, Practice, PracticeItem, RateItem, in_language
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.events import PracticeAnswered, PracticeEnded
from parlai_humaneval.schema.records import Candidate, CriterionRecord
from parlai_humaneval.techniques.questions import FINAL_QUESTION, RANGES, SLIDER_ENDS, VERDICTS, Criterion, Place

if TYPE_CHECKING:
    from mephisto_tasks.session.page import PageSession  # It loads Mephisto, and settings are checked before

SIDES = ["A", "B"]  # names of two partners side by side


def choose_step(config: RatingConfig, step_id: str, cards: list[steps.Card], question: str = "") -> steps.ChooseStep:
    """Choose among ``cards``; where equal replies left fewer of them, so many at most."""
    most = len(cards) if config.max_choices is None else min(config.max_choices, len(cards))
    reason = steps.ReasonField(
        label=t("Why is this response better? Please explain your choice in your own words."),
        required=True,
        min_words=config.min_reason_words,
    )
    return steps.ChooseStep(
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


def criterion_records(place: Place, criteria: Sequence[Criterion]) -> list[CriterionRecord]:
    """As records contain them."""
    minimum, maximum = RANGES[place]
    return [
        CriterionRecord(
            name=criterion.name,
            text=criterion.text,
            reversed=criterion.reversed,
            scale=place,
            minimum=minimum,
            maximum=maximum,
        )
        for criterion in criteria
    ]


def tick_step(config: RatingConfig, step_id: str, reply: steps.Card, question: str = "") -> steps.TickStep:
    """Tick what is true of ``reply``; nothing is ticked only by saying so."""
    options = [steps.Option(option_id=criterion.name, label=criterion.text) for criterion in config.ticks()]
    return steps.TickStep(
        step_id=step_id,
        question=question or config.question,
        reply=reply,
        options=options,
        min_choices=0,
        max_choices=len(options),
        none_label=config.none_label,
    )


def verdict_step(config: RatingConfig, step_id: str, question: str = "") -> steps.TickStep:
    return steps.TickStep(
        step_id=step_id,
        question=question or config.question,
        options=[steps.Option(option_id=verdict, label=label) for verdict, label in VERDICTS.items()],
        min_choices=1,
        max_choices=1,
    )


def rate_step(config: RatingConfig, step_id: str, criteria: Sequence[Criterion], question: str) -> steps.RateStep:
    return steps.RateStep(
        step_id=step_id, question=question, scales=[_scale(config, criterion) for criterion in criteria]
    )


def _scale(config: RatingConfig, criterion: Criterion) -> steps.Scale:
    minimum, maximum = RANGES[config.final_scale]
    slider = config.final_scale == "slider"
    left, right = (t(SLIDER_ENDS[0]), t(SLIDER_ENDS[1])) if slider else criterion.ends(minimum, maximum)
    return steps.Scale(
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
    return config.question if config.turn_question == "none" else FINAL_QUESTION


def check_practice(practice: items.Practice, config: RatingConfig) -> str | None:
    """Why a practice does not fit a study, or None: it asks other questions, or nobody can pass it."""
    problems = ((number, _unfit(item, config)) for number, item in enumerate(practice.items, start=1))
    return next((f"item {number} {problem}" for number, problem in problems if problem is not None), None)


def _unfit(item: items.PracticeItem, config: RatingConfig) -> str | None:
    match item:
        case items.ChooseItem():
            most = len(item.replies) if config.max_choices is None else config.max_choices
            if config.turn_question != "choose":
                return "asks raters to choose a reply, but this study does not"
            if not config.min_choices <= len(item.right) <= most:
                return f"has {len(item.right)} right replies, but raters choose {config.min_choices} to {most}"
            return None
        case items.TickItem():
            return _unknown([*item.must, *item.must_not], [criterion.name for criterion in config.ticks()])
        case items.RateItem():
            return _unknown(list(item.sides), [criterion.name for criterion in config.scales()])
        case items.VerdictItem():
            return None if config.verdict else "asks raters to compare two partners, but this study does not"
        case items.PairItem() | items.SegmentItem():
            return "asks raters to judge finished chats, but this study does not"


def _unknown(named: list[str], known: list[str]) -> str | None:
    wrong = [name for name in named if name not in known]
    return f"names {', '.join(wrong)}, but this study asks for {', '.join(known) or 'none'}" if wrong else None


PASSED_TITLE = phrase("Practice passed")
FAILED_TITLE = phrase("The practice ends here")
PHRASES = phrases(__file__)
FAILED_TEXT = PHRASES["failed_text"]


@dataclass(eq=False, repr=False)
class PracticeLoop(ABC):
    """Shows the items in order, in as many tries as there are; an engine asks each. ``used``: this rater's failed
    attempts so far; ``on_verdict`` gets the result before the rater does; ``begins`` starts the message."""

    practice: Practice
    config: TaskConfig
    page: PageSession
    _: KW_ONLY
    begins: str
    used: int
    on_verdict: Callable[[bool], None]
    again: str = ""  # said with the feedback on a failed try
    passed: bool = False

    def __post_init__(self) -> None:
        self.practice = self.practice.model_copy(update={"items": [in_language(item) for item in self.practice.items]})
        self.tries = self.config.onboarding_tries
        self.used = min(self.used, self.tries - 1)

    @abstractmethod
    def ask(self, step_id: str, item: PracticeItem) -> tuple[bool, Any]:
        """Show an item; returns whether the answer was right, and the answer in terms of the item."""

    @abstractmethod
    def place(self, number: int, item: PracticeItem) -> str:
        """Which item it was, in words that begin a sentence of feedback."""

    def run(self) -> bool:
        self.page.guided = True
        for attempt in range(self.used + 1, self.tries + 1):
            wrong = self._attempt(attempt)
            self.passed, self.used = not wrong, attempt
            if self.passed or attempt == self.tries:
                self.page.state.append(PracticeEnded(at=time.time(), passed=self.passed, attempts=attempt))
                break
            said = [
                tn(
                    "One answer was not what we were looking for.",
                    "{n} answers were not what we were looking for.",
                    len(wrong),
                ),
                tn("You have one more try.", "You have {n} more tries.", self.tries - attempt),
                t("Please answer again."),
                *([t(self.again)] if self.again else []),
            ]
            points = [t("{place}: {why}", place=self.place(number, item), why=item.why) for number, item in wrong]
            self.page.notice = steps.Notice(level="info", text=joined(said), points=points)
        self.on_verdict(self.passed)
        if self.passed:
            self.page.end(PASSED_TITLE, t("All right! {begins}", begins=t(self.begins)), "submit_onboarding")
        else:
            self.page.end(FAILED_TITLE, FAILED_TEXT, "submit_onboarding")
        return self.passed

    def _attempt(self, attempt: int) -> list[tuple[int, PracticeItem]]:
        wrong: list[tuple[int, PracticeItem]] = []
        self.page.clear()
        for number, item in enumerate(self.practice.items, start=1):
            self.page.progress = steps.Progress(unit="practice", current=number, total=len(self.practice.items))
            right, given = self.ask(f"practice-{attempt}-{number}", item)
            self.page.state.append(
                PracticeAnswered(
                    at=time.time(), attempt=attempt, item=number, choice="good" if right else "bad", given=given
                )
            )
            if not right:
                wrong.append((number, item))
            if self.config.onboarding_feedback == "each_item":
                self.page.notice = _at_once(right, item)
        return wrong


def numbered_cards(item: ChooseItem) -> tuple[list[steps.Card], dict[str, int]]:
    """The replies of an item as cards of random ids, and the number of each card's reply, from 1."""
    numbers = {uuid4().hex: number for number in range(1, len(item.replies) + 1)}
    return [steps.Card(candidate_id=key, text=item.replies[number - 1]) for key, number in numbers.items()], numbers


def on_right_sides(given: Mapping[str, float], item: RateItem, middles: Mapping[str, float]) -> bool:
    """Whether each rating that an item asks for lies on the right side of its scale's middle."""
    return all(
        given[name] != middles[name] and (given[name] > middles[name]) == (side == "high")
        for name, side in item.sides.items()
    )


def _at_once(right: bool, item: PracticeItem) -> steps.Notice:
    if right:
        return steps.Notice(level="success", text=t("Your last answer was right. {why}", why=item.why))
    return steps.Notice(level="info", text=t("Your last answer was not what we were looking for. {why}", why=item.why))
