"""The practice conversation before a rater's first dialogue, judged on the server.

Smith et al. 2022, App. B.2: a conversation with two replies at each turn, one clearly better for the metric in
use; all must be chosen right, with two tries. After the first try the rater is told which were wrong, and why.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from uuid import uuid4

from mephisto_tasks.interactive.page_session import PageSession
from parlai_humaneval.protocol.events import PracticeAnswered, PracticeEnded
from parlai_humaneval.protocol.practice import ChooseItem, Practice
from parlai_humaneval.protocol.steps import Card, ChooseStep, Notice, Progress

PASSED_TITLE = "Practice passed"
FAILED_TITLE = "Thank you for trying"
FAILED_TEXT = (
    "This task needs a particular eye for replies, and some of your practice answers differed from what we look for. "
    "You cannot take part in this one. There is no penalty: please simply return the task."
)


class PracticeWorld:
    """Shows the items in order; the better reply continues the conversation whatever was chosen.

    Args:
        practice: the items.
        question: the question of the metric, as in the real task.
        tries: attempts at the whole conversation.
        page: the rater's page.
        seed: of the order of the two replies.
        used: attempts that this rater failed before (they left, and came back).
        on_verdict: told whether it was passed, before the rater is.
    """

    def __init__(
        self,
        practice: Practice,
        question: str,
        tries: int,
        page: PageSession,
        *,
        seed: int,
        used: int,
        on_verdict: Callable[[bool], None],
    ) -> None:
        self.practice = practice
        self.question = question
        self.tries = tries
        self.used = min(used, tries - 1)
        self.page = page
        self.passed = False
        self._on_verdict = on_verdict
        self._random = random.Random(f"practice:{seed}")

    def run(self) -> bool:
        """True when all items of one attempt were right."""
        notice: Notice | None = None
        for attempt in range(self.used + 1, self.tries + 1):
            wrong = self._attempt(attempt, notice)
            self.passed, self.used = not wrong, attempt
            if self.passed or attempt == self.tries:
                self.page.state.append(PracticeEnded(at=time.time(), passed=self.passed, attempts=attempt))
                break
            notice = _feedback(wrong, self.tries - attempt)
        self._on_verdict(self.passed)
        if self.passed:
            self.page.end(PASSED_TITLE, "All right! Now the real conversation begins.", "submit_onboarding")
        else:
            self.page.end(FAILED_TITLE, FAILED_TEXT, "submit_onboarding")
        return self.passed

    def _attempt(self, attempt: int, notice: Notice | None) -> list[PracticeItem]:
        wrong: list[PracticeItem] = []
        self.page.transcript.clear()
        for number, item in enumerate(self.practice.items, start=1):
            self.page.progress = Progress(unit="practice", current=number, total=len(self.practice.items))
            self.page.say("you", item.human)
            if not self._choose(attempt, number, item, notice):
                wrong.append(item)
            self.page.say("partner", item.good)
            notice = None
        return wrong

    def _choose(self, attempt: int, number: int, item: PracticeItem, notice: Notice | None) -> bool:
        # The ids are random: nothing in the page tells which reply is the right one.
        good, bad = uuid4().hex, uuid4().hex
        cards = [Card(candidate_id=good, text=item.good), Card(candidate_id=bad, text=item.bad)]
        self._random.shuffle(cards)
        step = ChooseStep(step_id=f"practice-{attempt}-{number}", question=self.question, cards=cards)
        right = self.page.ask_choice(step, notice).selected == [good]
        self.page.state.append(
            PracticeAnswered(at=time.time(), attempt=attempt, item=number, choice="good" if right else "bad")
        )
        return right


def _feedback(wrong: list[PracticeItem], tries_left: int) -> Notice:
    count = "One answer was" if len(wrong) == 1 else f"{len(wrong)} answers were"
    again = "You have one more try." if tries_left == 1 else f"You have {tries_left} more tries."
    return Notice(
        level="info",
        text=f"{count} not what we look for. {again} Please choose again.",
        points=[f"After “{item.human}”: {item.why}" for item in wrong],
    )
