"""One item on a rater's page: the steps and questions that it shows, and every answer, stored when it arrives."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.steps import PracticeLoop, numbered_cards, on_right_sides
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.allocation.groups import Item
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue, SaidLine, persona_line
from parlai_humaneval.display.images import pictures
from parlai_humaneval.display.masking import TALK_MASK
from parlai_humaneval.display.presenter import AS_SAID, Presented, Presenter
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.materials import instructions as items
from parlai_humaneval.schema import records, steps
from parlai_humaneval.schema.events import Judged
from parlai_humaneval.schema.steps import ChooseAnswer, ChooseStep, FormAnswer, Panel, PanelLine, RankAnswer, RateAnswer
from parlai_humaneval.techniques import questions as wordings

OTHER = phrase("Partner")  # what the speaker is called who is not judged
REPLAYED = (phrase("Person"), phrase("Partner"))
"""What the two speakers of a dialogue with a chatbot are called where it is rated once more."""

Said = TypeVar("Said", records.ShownLine, records.Candidate)
Names = Literal["pair", "segment", "replay"]


def shown_dialogue(
    dialogue: Dialogue, *, position: int = 1, judged: int | None = None, k: int | None = None, seeded: int = 0
) -> records.ShownDialogue:
    """What a record says of a dialogue whose ``k`` exchanges after ``seeded`` ones are shown (None: all). Raises
    InvalidValue."""
    speakers = dialogue.speakers
    if len(speakers) != 2:
        what = f"it has {len(speakers)} speakers, but only two can be shown"
        raise InvalidValue(what, where=f"dialogue {dialogue.dialogue_id}", try_="leave it out")
    if k is not None and dialogue.exchanges < k + seeded:
        what = f"it has {dialogue.exchanges} exchanges, not {k + seeded}"
        raise InvalidValue(what, where=f"dialogue {dialogue.dialogue_id}", try_="choose shorter segments")
    lines = dialogue.lines if k is None else dialogue.lines[: 2 * (k + seeded)]
    return records.ShownDialogue(
        dialogue_id=dialogue.dialogue_id,
        position=position,
        kind=dialogue.kind,
        entities=[dialogue.entities.get(speaker, HUMAN) for speaker in speakers],
        judged=judged,
        k=k,
        lines=[
            records.ShownLine(speaker=speakers.index(line.speaker), text=line.text, images=list(line.images))
            for line in lines
        ],
        context=list(dialogue.context),
        source=dialogue.source,
        settings=dict(dialogue.settings),
        replayed=dialogue.rating,
    )


def shown_item(
    item: Item, dialogues: Mapping[str, Dialogue], seeded: int, *, swapped: bool = False
) -> list[records.ShownDialogue]:
    """The dialogues of an item in their places; ``swapped``: the second stands on the left. Raises ValueError."""
    order = list(zip(item.dialogues, item.judged, strict=True))
    if swapped:
        order.reverse()
    return [
        shown_dialogue(dialogues[name], position=position, judged=judged, k=item.k, seeded=seeded)
        for position, (name, judged) in enumerate(order, start=1)
    ]


def masked(
    shown: records.ShownDialogue, models: Sequence[str], presenter: Presenter = AS_SAID
) -> records.ShownDialogue:
    """The same as people may see it: give-aways of ``models``, and well-known ones, are masked in what models say."""
    lines = [
        line if shown.entities[line.speaker] == HUMAN else _presented(line, models, presenter) for line in shown.lines
    ]
    replayed = shown.replayed
    if replayed is not None:  # rated alike
        turns = []
        for turn in replayed.turns:
            candidates = [_presented(candidate, models, presenter) for candidate in turn.candidates]
            turns.append(turn.model_copy(update={"candidates": candidates}))
        replayed = replayed.model_copy(update={"turns": turns})
    return shown.model_copy(update={"lines": lines, "replayed": replayed})


def _presented(said: Said, models: Sequence[str], presenter: Presenter) -> Said:
    """What a model said, as it is shown; something is shown of every line, though only an emoji stood in it."""
    presented: Presented = presenter.present(said.text, models)
    if presented.text == said.text:
        return said
    before = {"raw_text": said.raw_text or said.text, "masks": [*said.masks, *presented.masks]}
    text = TALK_MASK if is_blank(presented.text) else presented.text
    return said.model_copy(update={"text": text, **before, "changes": [*said.changes, *presented.changes]})


def names_of(shown: records.ShownDialogue, how: Names) -> list[str]:
    if how == "segment":
        return list(wordings.SPOT_SPEAKERS)
    if how == "pair":
        return [wordings.PAIR_SPEAKERS[shown.position - 1] if index == shown.judged else OTHER for index in range(2)]
    return [REPLAYED[0] if entity == HUMAN else REPLAYED[1] for entity in shown.entities]


def panel(
    shown: records.ShownDialogue,
    how: Names,
    *,
    title: str,
    lines: Sequence[records.ShownLine] | None = None,
    context: bool = False,
) -> steps.Panel:
    """A dialogue on the page, with random line ids. ``lines``: those to show, or all. ``context``: with persona
    sentences and topics, in the page's words in place of ParlAI's."""
    names = names_of(shown, how)
    return steps.Panel(
        title=title,
        context=[_plain(line, shown.replayed is not None) for line in shown.context] if context else [],
        judged_label=None if shown.judged is None else names[shown.judged],
        lines=[
            steps.PanelLine(
                line_id=uuid4().hex,
                speaker=names[line.speaker],
                judged=line.speaker == shown.judged,
                text=line.text,
                images=pictures(line.images),
            )
            for line in (shown.lines if lines is None else lines)
        ],
    )


def speakers_of(
    panel: steps.Panel, lines: Sequence[records.ShownLine], shown: records.ShownDialogue
) -> list[tuple[str, str]]:
    """(line id, who said it) of a panel's lines, for the launch alone."""
    return [(on_page.line_id, shown.entities[line.speaker]) for on_page, line in zip(panel.lines, lines, strict=True)]


def _plain(line: str, rated: bool) -> str:
    persona = persona_line(line)
    if persona is None:
        return t("Topic: {topic}", topic=line) if rated else line
    whose, sentence = persona  # written as the bot would hear it
    speaker = REPLAYED[whose == "own"]
    return t("{speaker}: {sentence}", speaker=t(speaker), sentence=sentence)


WHO = phrase("Human or bot?")
BETTER = phrase("Who is better?")


def asked(config: StaticConfig) -> list[records.AskedQuestion]:
    """Every question of an item that is not a replay, as the record will contain it."""
    match config.show:
        case "pair":
            text = config.question or wordings.pair_question(config.metric, config.technique)
            return [records.AskedQuestion(question_id=config.metric, text=text, options=dict(wordings.PAIR_OPTIONS))]
        case "segment":
            labels = [
                records.AskedQuestion(question_id=name, text=text, about=index, options=dict(wordings.LABEL_OPTIONS))
                for index, (name, text) in enumerate(wordings.label_questions().items())
            ]
            features = [
                records.AskedQuestion(
                    question_id=name, text=wordings.feature_question(name), options=dict(wordings.FEATURE_OPTIONS)
                )
                for name in config.features
            ]
            return [*labels, *features]
        case "turn":
            return [
                records.AskedQuestion(question_id="rank", kind="rank", text=config.question or wordings.RANK_QUESTION)
            ]
        case "whole":
            text = config.question or wordings.DIMENSIONS_QUESTION
            criteria = [
                records.CriterionRecord(
                    name=one.name, text=one.text, scale="points", minimum=1, maximum=one.maximum, hints=list(one.hints)
                )
                for one in wordings.dimensions_for(config.scales)
            ]
            return [records.AskedQuestion(question_id="rate", kind="rate", text=text, criteria=criteria)]
        case "replay":
            return []


def form_step(
    config: StaticConfig, step_id: str, questions: list[records.AskedQuestion], *, reasons: bool = True
) -> steps.FormStep:
    """All questions of a pair or a segment at once; of a pair with the written reason, where the study wants one."""
    is_pair, reason = config.show == "pair", None
    if config.reason_required and reasons and is_pair:
        label = t("Why is this speaker better? Please explain your choice in your own words.")
        reason = steps.ReasonField(label=label, min_words=config.min_reason_words)
    return steps.FormStep(
        step_id=step_id,
        questions=[
            steps.FormQuestion(
                question_id=question.question_id,
                text=question.text,
                options=[steps.Option(option_id=name, label=label) for name, label in question.options.items()],
                group=None if is_pair else (BETTER if question.about is None else WHO),
                reason=reason,
            )
            for question in questions
        ],
    )


def rank_step(config: StaticConfig, step_id: str, question: str, cards: list[steps.Card]) -> steps.RankStep:
    """Rank all replies of a turn (Ma et al. 2023, §3.2, Preference Ranking)."""
    return steps.RankStep(step_id=step_id, question=question, cards=cards, ties=config.ties)


def scales_step(config: StaticConfig, step_id: str, question: str) -> steps.RateStep:
    """Rate a dialogue on scales on which every point says what it means (Ma et al. 2023, Table 3)."""
    scales = [
        steps.Scale(
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
        for dimension in wordings.dimensions_for(config.scales)
    ]
    return steps.RateStep(step_id=step_id, question=question, scales=scales)


@dataclass(eq=False, repr=False)
class ItemPage:
    """The page of a rater who judges ``item``; ``shown`` receives the speaker of each line on the page."""

    item: records.JudgementItem
    page: PageSession
    shown: dict[str, str]
    _on_page: list[str] = field(default_factory=list)

    def show_panels(self, panels: list[steps.Panel], speakers: Sequence[Sequence[tuple[str, str]]] = ()) -> None:
        """Put dialogues on the page; ``speakers``: line id → speaker of each panel, known to the launch alone."""
        self.page.panels = panels
        for lines in speakers:
            self.note(lines)

    def note(self, said: Sequence[tuple[str, str]]) -> None:
        """Line or candidate id → who said what stands on the page, known to the launch alone."""
        self.shown.update(said)
        self._on_page += [shown_id for shown_id, _ in said]

    def forget(self) -> None:
        for shown_id in self._on_page:
            self.shown.pop(shown_id, None)

    def step_id(self, what: str) -> str:
        return f"{what}-{self.item.number}"

    def is_answered(self) -> bool:
        """True, once for each step, where it was answered in an earlier visit."""
        return self.page.recorded.take(Judged) is not None

    def store(self, *answers: Mapping[str, Any]) -> None:
        now = time.time()
        timed = [records.GivenAnswer(**answer, seconds=now - self.page.shown_at, at=now) for answer in answers]
        self.page.state.append(Judged(at=time.time(), answers=timed))


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
        """Numbers (from 1) of the checks that a unit still lacks; a rater who leaves during a check gets another."""
        with self._lock:
            fresh = [number for number in range(1, len(self.items) + 1) if number not in self._seen[worker]]
            random.Random(f"golds:{self._seed}:{visit}").shuffle(fresh)
            return fresh[: max(0, self._per_unit - self._judged[session])]


def load_golds(path: Path, config: StaticConfig) -> items.Practice:
    """The attention checks of a study. Raises DataError: the file cannot be used, or this study cannot ask them."""
    golds = items.load_practice(path, config.metric)
    for number, item in enumerate(golds.items, start=1):
        if isinstance(item, items.SegmentItem) and any(len(right) > 1 for right in item.right):
            raise DataError(f"item {number}: an attention check has one right label for each speaker", where=path)
    return golds


def shown_pair(item: items.PairItem, name: str, swapped: bool = False) -> list[records.ShownDialogue]:
    """The two dialogues of an item of practice; on the left stands the first, unless they are ``swapped``."""
    order = (1, 0) if swapped else (0, 1)
    return [
        shown_dialogue(
            _dialogue(item.conversations[index], f"{name}:{index + 1}"), position=position, judged=item.judged - 1
        )
        for position, index in enumerate(order, start=1)
    ]


def shown_segment(item: items.SegmentItem, name: str) -> list[records.ShownDialogue]:
    return [shown_dialogue(_dialogue(item.lines, name))]


def right_side(item: items.PairItem, swapped: bool = False) -> str:
    return "first" if (item.better == 1) != swapped else "second"


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
                answer = self.page.ask(FormAnswer, form_step(self.config, step_id, self._questions(), reasons=False))
                given = answer.values[self.config.metric]
                return given == right_side(item), given
            case items.SegmentItem():
                self._show(shown_segment(item, "practice"), "segment")
                labels = [question for question in self._questions() if question.about is not None]
                values = dict(self.page.ask(FormAnswer, form_step(self.config, step_id, labels)).values)
                return all(values[f"label_{index}"] in right for index, right in enumerate(item.right)), values
            case items.ChooseItem():
                return self._choose(step_id, item)
            case items.RateItem():
                return self._rate(step_id, item)
            case _:
                raise AssertionError("check_practice let an item of another engine through")

    def _questions(self) -> list[records.AskedQuestion]:
        questions = asked(self.config)
        if self.practice.question is None:
            return questions
        return [question.model_copy(update={"text": self.practice.question}) for question in questions]

    def _choose(self, step_id: str, item: items.ChooseItem) -> tuple[bool, list[int]]:
        """The replies to a line; in a replay the items are the turns of one chat, so that it grows."""
        goes_on = self.config.show == "replay" and item is not self.practice.items[0]
        said = [*(self._said if goes_on else []), item.human]
        self._show_lines(said)
        cards, numbers = numbered_cards(item)
        self._said = [*said, item.next_line]
        if self.config.show == "turn":
            question = asked(self.config)[0].text
            ranks = self.page.ask(RankAnswer, rank_step(self.config, step_id, question, cards)).ranks
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
        question = asked(self.config)[0].text
        given = self.page.ask(RateAnswer, scales_step(config, step_id, question)).values
        middles = {dimension.name: (1 + dimension.maximum) / 2 for dimension in wordings.dimensions_for(wanted)}
        return on_right_sides(given, item, middles), given

    def _show(self, shown: list[records.ShownDialogue], how: Any) -> None:
        titles = [t("Conversation")] if len(shown) == 1 else [t("Conversation 1"), t("Conversation 2")]
        self.page.panels = [panel(dialogue, how, title=title) for dialogue, title in zip(shown, titles, strict=True)]

    def _show_lines(self, lines: list[str]) -> None:
        on_page = [
            PanelLine(line_id=uuid4().hex, speaker=REPLAYED[number % 2], judged=number % 2 == 1, text=text)
            for number, text in enumerate(lines)
        ]
        self.page.panels = [Panel(title=t("Conversation"), judged_label=REPLAYED[1], lines=on_page)]


def unfit(practice: items.Practice, config: StaticConfig) -> str | None:
    """Why a practice does not fit a study, or None: it asks other questions."""
    kinds = {
        "pair": items.PairItem,
        "segment": items.SegmentItem,
        "turn": items.ChooseItem,
        "whole": items.RateItem,
        "replay": items.ChooseItem,
    }
    for number, item in enumerate(practice.items, start=1):
        if not isinstance(item, kinds[config.show]):
            return f"item {number} does not ask the question of show={config.show}"
        if isinstance(item, items.RateItem):
            strange = [name for name in item.sides if name not in config.scales]
            if strange:
                return f"item {number} names {', '.join(strange)}, but this study asks for other scales"
    return None
