"""The practice conversation before a rater's first dialogue, judged on the server.

Smith et al. 2022, App. B.2: a conversation with two replies at each turn, one clearly better for the metric in
use; all must be chosen right, with two tries. After the first try the rater is told which were wrong, and why. For the
other techniques the items ask what their tasks ask; feedback may also come at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from mephisto_tasks.interactive import asking
from mephisto_tasks.interactive.config import InteractiveConfig
from mephisto_tasks.interactive.page_session import PageSession
from parlai_humaneval.protocol.criteria import RANGES
from parlai_humaneval.protocol.events import PracticeAnswered, PracticeEnded
from parlai_humaneval.protocol.practice import ChooseItem, Practice, PracticeItem, RateItem, TickItem, VerdictItem
from parlai_humaneval.protocol.steps import Card, Notice, Progress

PASSED_TITLE = "Practice passed"
FAILED_TITLE = "The practice ends here"
FAILED_TEXT = (
    "Thank you for trying. This task needs a particular way of judging, and some of your practice answers differed from "
    "what we look for. You cannot take part in this one. There is no penalty: please simply return the task."
)


class PracticeWorld:
    """Shows the items in order; the right reply continues the conversation whatever was chosen.

    Args:
        practice: the items.
        config: the study's settings; where it has several, those of its first.
        page: the rater's page.
        seed: of the order of the replies.
        used: attempts that this rater failed before (they left, and came back).
        on_verdict: told whether it was passed, before the rater is.
    """

    def __init__(
        self,
        practice: Practice,
        config: InteractiveConfig,
        page: PageSession,
        *,
        seed: int,
        used: int,
        on_verdict: Callable[[bool], None],
    ) -> None:
        self.practice = practice
        self.config = config
        self.question = practice.question or config.question
        self.tries = config.onboarding_tries
        self.used = min(used, self.tries - 1)
        self.page = page
        self.passed = False
        self._on_verdict = on_verdict
        self._shuffles = any(isinstance(item, ChooseItem) for item in practice.items)
        self._random = random.Random(f"practice:{seed}")

    def run(self) -> bool:
        """True when all items of one attempt were right."""
        for attempt in range(self.used + 1, self.tries + 1):
            wrong = self._attempt(attempt)
            self.passed, self.used = not wrong, attempt
            if self.passed or attempt == self.tries:
                self.page.state.append(PracticeEnded(at=time.time(), passed=self.passed, attempts=attempt))
                break
            self.page.notice = _feedback(wrong, self.tries - attempt, self._shuffles)
        self._on_verdict(self.passed)
        if self.passed:
            self.page.end(PASSED_TITLE, "All right! Now the real conversation begins.", "submit_onboarding")
        else:
            self.page.end(FAILED_TITLE, FAILED_TEXT, "submit_onboarding")
        return self.passed

    def _attempt(self, attempt: int) -> list[PracticeItem]:
        wrong: list[PracticeItem] = []
        self.page.clear()
        for number, item in enumerate(self.practice.items, start=1):
            self.page.progress = Progress(unit="practice", current=number, total=len(self.practice.items))
            right, given = self._ask(f"practice-{attempt}-{number}", item)
            self.page.state.append(
                PracticeAnswered(
                    at=time.time(), attempt=attempt, item=number, choice="good" if right else "bad", given=given
                )
            )
            if not right:
                wrong.append(item)
            if self.config.onboarding_feedback == "each_item":
                self.page.notice = _at_once(right, item)
        return wrong

    def _ask(self, step_id: str, item: PracticeItem) -> tuple[bool, Any]:
        """Show an item; returns whether the answer was right, and the answer in terms of the item."""
        match item:
            case ChooseItem():
                return self._choose(step_id, item)
            case TickItem():
                return self._tick(step_id, item)
            case RateItem():
                return self._rate(step_id, item)
            case VerdictItem():
                return self._compare(step_id, item)
            case _:
                raise AssertionError("practice_rules let an item of another engine through")

    def _choose(self, step_id: str, item: ChooseItem) -> tuple[bool, list[int]]:
        self.page.say("you", item.human)
        # The ids are random: nothing in the page tells which reply is the right one.
        numbers = {uuid4().hex: number for number in range(1, len(item.replies) + 1)}
        cards = [Card(candidate_id=key, text=item.replies[number - 1]) for key, number in numbers.items()]
        self._random.shuffle(cards)
        step = asking.choose_step(self.config, step_id, cards, self.question).model_copy(update={"reason": None})
        given = sorted(numbers[key] for key in self.page.ask_choice(step).selected)
        self.page.say("partner", item.next_line)
        return given == sorted(item.right), given

    def _tick(self, step_id: str, item: TickItem) -> tuple[bool, list[str]]:
        self.page.say("you", item.human)
        step = asking.tick_step(self.config, step_id, Card(candidate_id=uuid4().hex, text=item.reply), self.question)
        given = self.page.ask_ticks(step).selected
        self.page.say("partner", item.reply)
        return set(item.must) <= set(given) and not set(item.must_not) & set(given), given

    def _rate(self, step_id: str, item: RateItem) -> tuple[bool, dict[str, float]]:
        self.page.clear()
        for number, line in enumerate(item.lines):
            self.page.say("partner" if number % 2 else "you", line)
        asked = [criterion for criterion in self.config.scales() if criterion.name in item.sides]
        given = self.page.ask_ratings(asking.rate_step(self.config, step_id, asked, self.question)).values
        middle = sum(RANGES[self.config.final_scale]) / 2
        right = all(
            (given[name] > middle) == (side == "high") and given[name] != middle for name, side in item.sides.items()
        )
        return right, given

    def _compare(self, step_id: str, item: VerdictItem) -> tuple[bool, str]:
        self.page.clear()
        self.page.columns = asking.SIDES
        self.page.say("you", item.human)
        for column, reply in enumerate(item.replies):
            self.page.say("partner", reply, column=column)
        given = self.page.ask_ticks(asking.verdict_step(self.config, step_id, self.question)).selected[0]
        return given == item.better, given


def _at_once(right: bool, item: PracticeItem) -> Notice:
    if right:
        return Notice(level="success", text=f"Your last answer was right. {item.why}")
    return Notice(level="info", text=f"Your last answer was not what we look for. {item.why}")


def _feedback(wrong: list[PracticeItem], tries_left: int, shuffled: bool) -> Notice:
    count = "One answer was" if len(wrong) == 1 else f"{len(wrong)} answers were"
    again = "You have one more try." if tries_left == 1 else f"You have {tries_left} more tries."
    order = " The replies may stand in another order." if shuffled else ""
    return Notice(
        level="info",
        text=f"{count} not what we look for. {again} Please answer again.{order}",
        points=[f"After “{item.human if hasattr(item, 'human') else item.lines[-1]}”: {item.why}" for item in wrong],
    )
