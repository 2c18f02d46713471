"""The practice before a rater's first unit, judged on the server (Smith et al. 2022, App. B.2)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from mephisto_tasks.config.task import TaskConfig
from mephisto_tasks.session.page import PageSession
from parlai_humaneval.i18n.translate import joined, phrase, phrases, t, tn
from parlai_humaneval.materials.instructions import ChooseItem, Practice, PracticeItem, RateItem, in_language
from parlai_humaneval.schema.events import PracticeAnswered, PracticeEnded
from parlai_humaneval.schema.steps import Card, Notice, Progress

PASSED_TITLE = phrase("Practice passed")
FAILED_TITLE = phrase("The practice ends here")
PHRASES = phrases(__file__)
FAILED_TEXT = PHRASES["failed_text"]


class PracticeLoop(ABC):
    """Shows the items in order, in as many tries as there are; an engine asks each. ``used``: attempts that this rater
    failed before; ``on_verdict`` is told whether it was passed before the rater is; then ``begins`` what is said."""

    again = ""  # said with the feedback on a failed try

    def __init__(
        self,
        practice: Practice,
        config: TaskConfig,
        page: PageSession,
        *,
        begins: str,
        used: int,
        on_verdict: Callable[[bool], None],
    ) -> None:
        self.config = config
        self._begins = begins
        self.practice = practice.model_copy(update={"items": [in_language(item) for item in practice.items]})
        self.page = page
        self.tries = config.onboarding_tries
        self.used = min(used, self.tries - 1)
        self.passed = False
        self._at_once = config.onboarding_feedback == "each_item"
        self._on_verdict = on_verdict

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
            self.page.notice = Notice(level="info", text=joined(said), points=points)
        self._on_verdict(self.passed)
        if self.passed:
            self.page.end(PASSED_TITLE, t("All right! {begins}", begins=t(self._begins)), "submit_onboarding")
        else:
            self.page.end(FAILED_TITLE, FAILED_TEXT, "submit_onboarding")
        return self.passed

    def _attempt(self, attempt: int) -> list[tuple[int, PracticeItem]]:
        wrong: list[tuple[int, PracticeItem]] = []
        self.page.clear()
        for number, item in enumerate(self.practice.items, start=1):
            self.page.progress = Progress(unit="practice", current=number, total=len(self.practice.items))
            right, given = self.ask(f"practice-{attempt}-{number}", item)
            self.page.state.append(
                PracticeAnswered(
                    at=time.time(), attempt=attempt, item=number, choice="good" if right else "bad", given=given
                )
            )
            if not right:
                wrong.append((number, item))
            if self._at_once:
                self.page.notice = _at_once(right, item)
        return wrong


def numbered_cards(item: ChooseItem) -> tuple[list[Card], dict[str, int]]:
    """The replies of an item as cards of random ids, and the number of each card's reply, from 1."""
    numbers = {uuid4().hex: number for number in range(1, len(item.replies) + 1)}
    return [Card(candidate_id=key, text=item.replies[number - 1]) for key, number in numbers.items()], numbers


def on_right_sides(given: Mapping[str, float], item: RateItem, middles: Mapping[str, float]) -> bool:
    """Whether each rating that an item asks for lies on the right side of its scale's middle."""
    return all(
        given[name] != middles[name] and (given[name] > middles[name]) == (side == "high")
        for name, side in item.sides.items()
    )


def _at_once(right: bool, item: PracticeItem) -> Notice:
    if right:
        return Notice(level="success", text=t("Your last answer was right. {why}", why=item.why))
    return Notice(level="info", text=t("Your last answer was not what we were looking for. {why}", why=item.why))
