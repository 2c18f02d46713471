"""One item on a rater's page: the steps and questions that it shows, and every answer, stored when it arrives."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar
from uuid import uuid4

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.session.page import PageSession, ShownModels
from parlai_humaneval.allocation.groups import Item
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue, persona_line
from parlai_humaneval.display.images import pictures
from parlai_humaneval.display.masking import TALK_MASK
from parlai_humaneval.display.presenter import AS_SAID, Presented, Presenter
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.events import Judged
from parlai_humaneval.schema.records import (
    AskedQuestion,
    Candidate,
    GivenAnswer,
    JudgementItem,
    ShownDialogue,
    ShownLine,
)
from parlai_humaneval.schema.steps import (
    Card,
    FormQuestion,
    FormStep,
    Option,
    Panel,
    PanelLine,
    RankStep,
    RateStep,
    ReasonField,
    Scale,
)
from parlai_humaneval.techniques.questions import (
    DIMENSIONS_QUESTION,
    FEATURE_OPTIONS,
    LABEL_OPTIONS,
    PAIR_OPTIONS,
    PAIR_SPEAKERS,
    RANK_QUESTION,
    SPOT_SPEAKERS,
    dimension_records,
    dimensions_for,
    feature_question,
    label_questions,
    pair_question,
)

OTHER = phrase("Partner")  # what the speaker is called who is not judged
REPLAYED = (phrase("Person"), phrase("Partner"))
"""What the two speakers of a dialogue with a chatbot are called where it is rated once more."""

Said = TypeVar("Said", ShownLine, Candidate)
Names = Literal["pair", "segment", "replay"]


def shown_dialogue(
    dialogue: Dialogue, *, position: int = 1, judged: int | None = None, k: int | None = None, seeded: int = 0
) -> ShownDialogue:
    """What a record says of a dialogue whose ``k`` exchanges after ``seeded`` ones are shown (None: all). Raises
    ValueError."""
    speakers = dialogue.speakers
    if len(speakers) != 2:
        raise ValueError(f"dialogue {dialogue.dialogue_id} has {len(speakers)} speakers; two can be shown")
    if k is not None and dialogue.exchanges < k + seeded:
        raise ValueError(f"dialogue {dialogue.dialogue_id} has {dialogue.exchanges} exchanges, not {k + seeded}")
    lines = dialogue.lines if k is None else dialogue.lines[: 2 * (k + seeded)]
    return ShownDialogue(
        dialogue_id=dialogue.dialogue_id,
        position=position,
        kind=dialogue.kind,
        entities=[dialogue.entities.get(speaker, HUMAN) for speaker in speakers],
        judged=judged,
        k=k,
        lines=[
            ShownLine(speaker=speakers.index(line.speaker), text=line.text, images=list(line.images)) for line in lines
        ],
        context=list(dialogue.context),
        source=dialogue.source,
        settings=dict(dialogue.settings),
        replayed=dialogue.rating,
    )


def shown_item(
    item: Item, dialogues: Mapping[str, Dialogue], seeded: int, *, swapped: bool = False
) -> list[ShownDialogue]:
    """The dialogues of an item in their places; ``swapped``: the second stands on the left. Raises ValueError."""
    order = list(zip(item.dialogues, item.judged, strict=True))
    if swapped:
        order.reverse()
    return [
        shown_dialogue(dialogues[name], position=position, judged=judged, k=item.k, seeded=seeded)
        for position, (name, judged) in enumerate(order, start=1)
    ]


def masked(shown: ShownDialogue, models: Sequence[str], presenter: Presenter = AS_SAID) -> ShownDialogue:
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


def names_of(shown: ShownDialogue, how: Names) -> list[str]:
    if how == "segment":
        return list(SPOT_SPEAKERS)
    if how == "pair":
        return [PAIR_SPEAKERS[shown.position - 1] if index == shown.judged else OTHER for index in range(2)]
    return [REPLAYED[0] if entity == HUMAN else REPLAYED[1] for entity in shown.entities]


def panel(
    shown: ShownDialogue, how: Names, *, title: str, lines: Sequence[ShownLine] | None = None, context: bool = False
) -> Panel:
    """A dialogue on the page, with random line ids. ``lines``: those to show, or all. ``context``: with persona
    sentences and topics, in the page's words in place of ParlAI's."""
    names = names_of(shown, how)
    return Panel(
        title=title,
        context=[_plain(line, shown.replayed is not None) for line in shown.context] if context else [],
        judged_label=None if shown.judged is None else names[shown.judged],
        lines=[
            PanelLine(
                line_id=uuid4().hex,
                speaker=names[line.speaker],
                judged=line.speaker == shown.judged,
                text=line.text,
                images=pictures(line.images),
            )
            for line in (shown.lines if lines is None else lines)
        ],
    )


def speakers_of(panel: Panel, lines: Sequence[ShownLine], shown: ShownDialogue) -> list[tuple[str, str]]:
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


def asked(config: StaticConfig) -> list[AskedQuestion]:
    """Every question of an item that is not a replay, as it will stand in the record."""
    match config.show:
        case "pair":
            text = config.question or pair_question(config.metric, config.technique)
            return [AskedQuestion(question_id=config.metric, text=text, options=dict(PAIR_OPTIONS))]
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
            text, criteria = config.question or DIMENSIONS_QUESTION, dimension_records(dimensions_for(config.scales))
            return [AskedQuestion(question_id="rate", kind="rate", text=text, criteria=criteria)]
        case "replay":
            return []


def form_step(config: StaticConfig, step_id: str, questions: list[AskedQuestion], *, reasons: bool = True) -> FormStep:
    """All questions of a pair or a segment at once; of a pair with the written reason, where the study wants one."""
    is_pair, reason = config.show == "pair", None
    if config.reason_required and reasons and is_pair:
        label = t("Why is this speaker better? Please say it in your own words.")
        reason = ReasonField(label=label, min_words=config.min_reason_words)
    return FormStep(
        step_id=step_id,
        questions=[
            FormQuestion(
                question_id=question.question_id,
                text=question.text,
                options=[Option(option_id=name, label=label) for name, label in question.options.items()],
                group=None if is_pair else (BETTER if question.about is None else WHO),
                reason=reason,
            )
            for question in questions
        ],
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

    def __init__(self, item: JudgementItem, page: PageSession, shown: ShownModels) -> None:
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
        self._shown.forget(self._on_page)

    def step_id(self, what: str) -> str:
        return f"{what}-{self.item.number}"

    def is_answered(self) -> bool:
        """True, once for each step, where it was answered in an earlier visit."""
        return self.page.recorded.take(Judged) is not None

    def store(self, *answers: Mapping[str, Any]) -> None:
        now = time.time()
        timed = [GivenAnswer(**answer, seconds=now - self.page.shown_at, at=now) for answer in answers]
        self.page.state.append(Judged(at=time.time(), answers=timed))
