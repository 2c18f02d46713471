"""The practice conversation before a rater's first dialogue.

Smith et al. 2022, App. B.2: a conversation with two replies at each turn, one clearly better for the metric in use. For
the other techniques the items ask what their tasks ask.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from mephisto_tasks.admission.wording import UnitWords
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.practice import PracticeLoop, numbered_cards, on_right_sides
from mephisto_tasks.session.steps import SIDES, choose_step, rate_step, tick_step, verdict_step
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.materials.practice import ChooseItem, Practice, PracticeItem, RateItem, TickItem, VerdictItem
from parlai_humaneval.schema.steps import Card
from parlai_humaneval.techniques.criteria import RANGES


class PracticeWorld(PracticeLoop):
    """The right reply continues the conversation whatever was chosen.

    Args:
        practice: the items.
        config: the study's settings; where it has several, those of its first.
        page: the rater's page.
        seed: of the order of the replies.
        used: attempts that this rater failed before (they left, and came back).
        on_verdict: told whether it was passed, before the rater is.
    """

    config: InteractiveConfig

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
        super().__init__(practice, config, page, begins=UnitWords().begins, used=used, on_verdict=on_verdict)
        self.question = practice.question or config.question
        if any(isinstance(item, ChooseItem) for item in practice.items):
            self.again = phrase("The replies may stand in another order.")
        self._random = random.Random(f"practice:{seed}")

    def place(self, number: int, item: PracticeItem) -> str:
        """The line that was answered."""
        if isinstance(item, (ChooseItem, TickItem, VerdictItem)):
            return t("After “{line}”", line=item.human)
        assert isinstance(item, RateItem)
        return t("After “{line}”", line=item.lines[-1])

    def ask(self, step_id: str, item: PracticeItem) -> tuple[bool, Any]:
        """Show an item; returns whether the answer was right, and the answer in terms of the item."""
        match item:
            case ChooseItem():
                return self._choose(step_id, item)
            case TickItem():
                self.page.say("you", item.human)
                step = tick_step(self.config, step_id, Card(candidate_id=uuid4().hex, text=item.reply), self.question)
                given = self.page.ask_ticks(step).selected
                self.page.say("partner", item.reply)
                return set(item.must) <= set(given) and not set(item.must_not) & set(given), given
            case RateItem():
                return self._rate(step_id, item)
            case VerdictItem():
                return self._compare(step_id, item)
            case _:
                raise AssertionError("check_practice let an item of another engine through")

    def _choose(self, step_id: str, item: ChooseItem) -> tuple[bool, list[int]]:
        self.page.say("you", item.human)
        cards, numbers = numbered_cards(item)
        self._random.shuffle(cards)
        step = choose_step(self.config, step_id, cards, self.question).model_copy(update={"reason": None})
        given = sorted(numbers[key] for key in self.page.ask_choice(step).selected)
        self.page.say("partner", item.next_line)
        return given == sorted(item.right), given

    def _rate(self, step_id: str, item: RateItem) -> tuple[bool, dict[str, float]]:
        self.page.clear()
        for number, line in enumerate(item.lines):
            self.page.say("partner" if number % 2 else "you", line)
        asked = [criterion for criterion in self.config.scales() if criterion.name in item.sides]
        given = self.page.ask_ratings(rate_step(self.config, step_id, asked, self.question)).values
        middle = sum(RANGES[self.config.final_scale]) / 2
        return on_right_sides(given, item, dict.fromkeys(item.sides, middle)), given

    def _compare(self, step_id: str, item: VerdictItem) -> tuple[bool, str]:
        self.page.clear()
        self.page.columns = SIDES
        self.page.say("you", item.human)
        for column, reply in enumerate(item.replies):
            self.page.say("partner", reply, column=column)
        given = self.page.ask_ticks(verdict_step(self.config, step_id, self.question)).selected[0]
        return given == item.better, given
