"""The practice before a rater's first batch of finished dialogues (Smith et al. 2022, App. B.2, for pairs of dialogues)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.attention_checks import right_side, shown_pair, shown_segment
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import REPLAYED, panel
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.practice import PracticeLoop, numbered_cards, on_right_sides
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.practice import ChooseItem, PairItem, Practice, PracticeItem, RateItem, SegmentItem
from parlai_humaneval.schema.panels import Panel, PanelLine
from parlai_humaneval.schema.records import AskedQuestion, ShownDialogue
from parlai_humaneval.schema.steps import Card, ChooseStep
from parlai_humaneval.techniques.criteria import dimensions_for


class JudgingPractice(PracticeLoop):
    """Pairs with a clearly better side, segments with explained labels, or what a recorded dialogue is asked about."""

    def __init__(
        self,
        practice: Practice,
        config: StaticConfig,
        page: PageSession,
        *,
        begins: str,
        used: int,
        on_verdict: Callable[[bool], None],
    ) -> None:
        super().__init__(practice, config, page, begins=begins, used=used, on_verdict=on_verdict)
        self.config = config
        self._said: list[str] = []

    def place(self, number: int, item: PracticeItem) -> str:
        """Which of the items it was."""
        if isinstance(item, PairItem):
            return t("Pair {number}", number=number)
        if isinstance(item, ChooseItem):
            return t("After “{line}”", line=item.human)
        return t("Conversation {number}", number=number)

    def ask(self, step_id: str, item: PracticeItem) -> tuple[bool, Any]:
        self.page.clear()
        match item:
            case PairItem():
                return self._pair(step_id, item)
            case SegmentItem():
                return self._segment(step_id, item)
            case ChooseItem():
                return self._choose(step_id, item)
            case RateItem():
                return self._rate(step_id, item)
            case _:
                raise AssertionError("check_practice let an item of another engine through")

    def _questions(self) -> list[AskedQuestion]:
        questions = asking.asked(self.config)
        if self.practice.question is None:
            return questions
        return [question.model_copy(update={"text": self.practice.question}) for question in questions]

    def _pair(self, step_id: str, item: PairItem) -> tuple[bool, str]:
        self._show(shown_pair(item, "practice"), "pair")
        answer = self.page.ask_form(asking.form_step(self.config, step_id, self._questions(), reasons=False))
        given = answer.values[self.config.metric]
        return given == right_side(item), given

    def _segment(self, step_id: str, item: SegmentItem) -> tuple[bool, dict[str, str]]:
        self._show(shown_segment(item, "practice"), "segment")
        labels = [question for question in self._questions() if question.about is not None]
        given = dict(self.page.ask_form(asking.form_step(self.config, step_id, labels)).values)
        return all(given[f"label_{index}"] in right for index, right in enumerate(item.right)), given

    def _choose(self, step_id: str, item: ChooseItem) -> tuple[bool, list[int]]:
        """The replies to a line; in a replay the items are the turns of one chat, so that it grows."""
        goes_on = self.config.show == "replay" and item is not self.practice.items[0]
        self._said = [*(self._said if goes_on else []), item.human]
        self._show_lines(self._said)
        cards, numbers = numbered_cards(item)
        self._said.append(item.next_line)
        if self.config.show == "turn":
            return self._rank(step_id, item, cards, numbers)
        exactly_one = all(len(other.right) == 1 for other in self.practice.items if isinstance(other, ChooseItem))
        step = ChooseStep(
            step_id=step_id,
            question=self.practice.question or self.config.question,
            cards=cards,
            min_choices=1 if exactly_one else 0,
            max_choices=1 if exactly_one else len(cards),
            none_label=None if exactly_one else t("None of these"),
        )
        given = sorted(numbers[key] for key in self.page.ask_choice(step).selected)
        return given == sorted(item.right), given

    def _rank(
        self, step_id: str, item: ChooseItem, cards: list[Card], numbers: dict[str, int]
    ) -> tuple[bool, list[int]]:
        """Right where every right reply has a better place than every other; given: the places, reply by reply."""
        question = asking.asked(self.config)[0].text
        ranks = self.page.ask_ranking(asking.rank_step(self.config, step_id, question, cards)).ranks
        places = {numbers[key]: place for key, place in ranks.items()}
        good = [places[number] for number in item.right]
        bad = [place for number, place in places.items() if number not in item.right]
        return not good or not bad or max(good) < min(bad), [places[number] for number in sorted(places)]

    def _rate(self, step_id: str, item: RateItem) -> tuple[bool, dict[str, float]]:
        self._show_lines(item.lines)
        wanted = [name for name in self.config.scales if name in item.sides]
        config = self.config.model_copy(update={"scales": wanted})
        question = asking.asked(self.config)[0].text
        given = self.page.ask_ratings(asking.scales_step(config, step_id, question)).values
        middles = {dimension.name: (1 + dimension.maximum) / 2 for dimension in dimensions_for(wanted)}
        return on_right_sides(given, item, middles), given

    def _show(self, shown: list[ShownDialogue], how: Any) -> None:
        titles = [t("Conversation")] if len(shown) == 1 else [t("Conversation 1"), t("Conversation 2")]
        self.page.panels = [panel(dialogue, how, title=title) for dialogue, title in zip(shown, titles, strict=True)]

    def _show_lines(self, lines: list[str]) -> None:
        on_page = [
            PanelLine(line_id=uuid4().hex, speaker=REPLAYED[number % 2], judged=number % 2 == 1, text=text)
            for number, text in enumerate(lines)
        ]
        self.page.panels = [Panel(title=t("Conversation"), judged_label=REPLAYED[1], lines=on_page)]


def unfit(practice: Practice, config: StaticConfig) -> str | None:
    """What makes a practice unfit for a study, or None: it asks what the study does not."""
    kinds: dict[str, tuple[type[PracticeItem], ...]] = {
        "pair": (PairItem,),
        "segment": (SegmentItem,),
        "turn": (ChooseItem,),
        "whole": (RateItem,),
        "replay": (ChooseItem,),
    }
    for number, item in enumerate(practice.items, start=1):
        if not isinstance(item, kinds[config.show]):
            return f"item {number} does not ask what show={config.show} asks"
        if isinstance(item, RateItem):
            strange = [name for name in item.sides if name not in config.scales]
            if strange:
                return f"item {number} names {', '.join(strange)}, but this study asks for other scales"
    return None
