"""Items whose right answer is known: the practice (Smith et al. 2022, App. B.2), and attention checks."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from mephisto_tasks.annotation import steps as asking
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.steps import REPLAYED, panel, shown_dialogue
from mephisto_tasks.session.practice import PracticeLoop, numbered_cards, on_right_sides
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.dialogue import Dialogue, SaidLine
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials import instructions as items
from parlai_humaneval.schema.records import AskedQuestion, ShownDialogue
from parlai_humaneval.schema.steps import ChooseAnswer, ChooseStep, FormAnswer, Panel, PanelLine, RankAnswer, RateAnswer
from parlai_humaneval.techniques.questions import dimensions_for

PREFIX = "gold:"  # ids of attention checks begin with it


class GoldDeck:
    """Gives each worker attention checks that they have not seen, ``per_unit`` at most; thread-safe."""

    def __init__(self, practice: items.Practice | None, per_unit: int, seed: int) -> None:
        self.items = [] if practice is None else list(practice.items)
        self._per_unit = per_unit
        self._seed = seed
        self._seen: dict[str, set[int]] = defaultdict(set)
        self._judged: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note_shown(self, worker: str, item_id: str) -> None:
        with self._lock:
            self._seen[worker].add(int(item_id.removeprefix(PREFIX)))

    def note_judged(self, session: str) -> None:
        with self._lock:
            self._judged[session] += 1

    def judged(self, session: str) -> int:
        with self._lock:
            return self._judged[session]

    def draw(self, worker: str, session: str, visit: str) -> list[int]:
        """Numbers (from 1) of the checks that a unit still lacks; who leaves at one gets another."""
        with self._lock:
            fresh = [number for number in range(1, len(self.items) + 1) if number not in self._seen[worker]]
            random.Random(f"golds:{self._seed}:{visit}").shuffle(fresh)
            return fresh[: max(0, self._per_unit - self._judged[session])]

    def has(self, number: int) -> bool:
        return number <= len(self.items)

    def item(self, number: int) -> items.PracticeItem:
        return self.items[number - 1]


def load_golds(path: Path, config: StaticConfig) -> items.Practice:
    """The attention checks of a study. Raises DataError: the file cannot be used, or this study cannot ask them."""
    golds = items.load_practice(path, config.metric)
    for number, item in enumerate(golds.items, start=1):
        if isinstance(item, items.SegmentItem) and any(len(right) > 1 for right in item.right):
            raise DataError(f"item {number}: an attention check has one right label for each speaker", where=path)
    return golds


def shown_pair(item: items.PairItem, name: str, swapped: bool = False) -> list[ShownDialogue]:
    """The two dialogues of an item of practice; on the left stands the first, unless they are ``swapped``."""
    order = (1, 0) if swapped else (0, 1)
    return [
        shown_dialogue(
            _dialogue(item.conversations[index], f"{name}:{index + 1}"), position=position, judged=item.judged - 1
        )
        for position, index in enumerate(order, start=1)
    ]


def shown_segment(item: items.SegmentItem, name: str) -> list[ShownDialogue]:
    return [shown_dialogue(_dialogue(item.lines, name))]


def right_side(item: items.PairItem, swapped: bool = False) -> str:
    on_left = (item.better == 1) != swapped
    return "first" if on_left else "second"


def _dialogue(lines: list[str], name: str) -> Dialogue:
    said = tuple(SaidLine(f"speaker_{number % 2 + 1}", t(text)) for number, text in enumerate(lines))
    return Dialogue(name, said, (), 1, entities={"speaker_1": "practice", "speaker_2": "practice"})


class JudgingPractice(PracticeLoop):
    """Pairs with a clearly better side, segments with explained labels, or what a recorded dialogue is asked about."""

    config: StaticConfig
    _said: Sequence[str] = ()

    def place(self, number: int, item: items.PracticeItem) -> str:
        if isinstance(item, items.PairItem):
            return t("Pair {number}", number=number)
        if isinstance(item, items.ChooseItem):
            return t("After “{line}”", line=item.human)
        return t("Conversation {number}", number=number)

    def ask(self, step_id: str, item: items.PracticeItem) -> tuple[bool, Any]:
        self.page.clear()
        match item:
            case items.PairItem():
                self._show(shown_pair(item, "practice"), "pair")
                answer = self.page.ask(
                    FormAnswer, asking.form_step(self.config, step_id, self._questions(), reasons=False)
                )
                given = answer.values[self.config.metric]
                return given == right_side(item), given
            case items.SegmentItem():
                return self._segment(step_id, item)
            case items.ChooseItem():
                return self._choose(step_id, item)
            case items.RateItem():
                return self._rate(step_id, item)
            case _:
                raise AssertionError("check_practice let an item of another engine through")

    def _questions(self) -> list[AskedQuestion]:
        questions = asking.asked(self.config)
        if self.practice.question is None:
            return questions
        return [question.model_copy(update={"text": self.practice.question}) for question in questions]

    def _segment(self, step_id: str, item: items.SegmentItem) -> tuple[bool, dict[str, str]]:
        self._show(shown_segment(item, "practice"), "segment")
        labels = [question for question in self._questions() if question.about is not None]
        given = dict(self.page.ask(FormAnswer, asking.form_step(self.config, step_id, labels)).values)
        return all(given[f"label_{index}"] in right for index, right in enumerate(item.right)), given

    def _choose(self, step_id: str, item: items.ChooseItem) -> tuple[bool, list[int]]:
        """The replies to a line; in a replay the items are the turns of one chat, so that it grows."""
        goes_on = self.config.show == "replay" and item is not self.practice.items[0]
        said = [*(self._said if goes_on else []), item.human]
        self._show_lines(said)
        cards, numbers = numbered_cards(item)
        self._said = [*said, item.next_line]
        if self.config.show == "turn":
            question = asking.asked(self.config)[0].text
            ranks = self.page.ask(RankAnswer, asking.rank_step(self.config, step_id, question, cards)).ranks
            places = {numbers[key]: place for key, place in ranks.items()}
            good = [places[number] for number in item.right]
            bad = [place for number, place in places.items() if number not in item.right]
            return not good or not bad or max(good) < min(bad), [places[number] for number in sorted(places)]
        exactly_one = all(len(other.right) == 1 for other in self.practice.items if isinstance(other, items.ChooseItem))
        step = ChooseStep(
            step_id=step_id,
            question=self.practice.question or self.config.question,
            cards=cards,
            min_choices=1 if exactly_one else 0,
            max_choices=1 if exactly_one else len(cards),
            none_label=None if exactly_one else t("None of these"),
        )
        given = sorted(numbers[key] for key in self.page.ask(ChooseAnswer, step).selected)
        return given == sorted(item.right), given

    def _rate(self, step_id: str, item: items.RateItem) -> tuple[bool, dict[str, float]]:
        self._show_lines(item.lines)
        wanted = [name for name in self.config.scales if name in item.sides]
        config = self.config.model_copy(update={"scales": wanted})
        question = asking.asked(self.config)[0].text
        given = self.page.ask(RateAnswer, asking.scales_step(config, step_id, question)).values
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


def unfit(practice: items.Practice, config: StaticConfig) -> str | None:
    """What makes a practice unfit for a study, or None: it asks what the study does not."""
    kinds = {
        "pair": items.PairItem,
        "segment": items.SegmentItem,
        "turn": items.ChooseItem,
        "whole": items.RateItem,
        "replay": items.ChooseItem,
    }
    for number, item in enumerate(practice.items, start=1):
        if not isinstance(item, kinds[config.show]):
            return f"item {number} does not ask what show={config.show} asks"
        if isinstance(item, items.RateItem):
            strange = [name for name in item.sides if name not in config.scales]
            if strange:
                return f"item {number} names {', '.join(strange)}, but this study asks for other scales"
    return None
