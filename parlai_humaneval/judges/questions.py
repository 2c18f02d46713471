"""Records of raters → what a judge is asked: the same question on the same turn or dialogue, in both orders.

Nothing that raters answered is in it. Attention checks, turns in which nothing was asked, and what no rater finished are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.schema.records import (
    HUMAN,
    AskedQuestion,
    Candidate,
    DialogueRecord,
    JudgementRecord,
    Rated,
    RatedRecord,
    ShownDialogue,
    Turn,
)
from parlai_humaneval.techniques.questions import FINAL_QUESTION, VERDICTS
from parlai_humaneval.techniques.registry import techniques

PERSON, PARTNER = "Person", "Partner"
"""Who speaks in a conversation with a chatbot."""
READ_AGAIN = "third_party"
TURN, VERDICT, FINAL = "turn", "verdict", "final"

Order = Literal[1, 2]


class CannotJudge(HumanevalError, ValueError):
    """There is nothing in these records that a judge could be asked; the message says why, and what to do."""


@dataclass(frozen=True)
class Said:
    """A line of a conversation. ``side``: whose it is, seen from a chatbot that is judged."""

    name: str
    side: Literal["human", "bot"]
    text: str


@dataclass(frozen=True)
class Conversation:
    """A conversation as a rater saw it; ``title`` is empty where there is one only."""

    title: str
    context: tuple[str, ...]
    lines: tuple[Said, ...]


@dataclass(frozen=True)
class Reply:
    """A reply that can be chosen, or the one that is asked about."""

    candidate_id: str
    text: str


@dataclass(frozen=True)
class JudgeQuestion:
    """What is asked once.

    ``asked``: the questions, as they stand in the record of a rater. ``several``: any number of replies may be chosen.
    ``shown``: candidates, models or dialogues in shown order. ``turn``: of a live dialogue. See
    :class:`~parlai_humaneval.schema.judge_answers.JudgeAnswer` for the others.
    """

    thing: str
    unit: str
    technique: str
    setting: str
    metric: str
    order: Order
    dialogues: tuple[str, ...]
    shown: tuple[str, ...]
    conversations: tuple[Conversation, ...]
    asked: tuple[AskedQuestion, ...]
    replies: tuple[Reply, ...] = ()
    several: bool = False
    turn: int | None = None

    @property
    def text(self) -> str:
        """The questions, each once."""
        return "\n".join(dict.fromkeys(question.text for question in self.asked))

    @property
    def single(self) -> AskedQuestion | None:
        """The question, where it is one of which one thing is chosen."""
        (first, *others) = self.asked
        return first if not others and first.kind in ("choose", "form") and not self.several else None


def questions_of(records: Sequence[Rated], *, both_orders: bool = True) -> list[JudgeQuestion]:
    """All that a judge can be asked of these records: each dialogue and each item once, whoever rated it.

    Raises:
        CannotJudge: nothing; the message says why.
    """
    finished = [record for record in records if record.status == "complete"]
    found: dict[tuple[str, str, str, int], JudgeQuestion] = {}
    for record in finished:
        for question in _asked_in_both(record, both_orders):
            found.setdefault((question.unit, question.setting, question.metric, question.order), question)
    if not found:
        raise _nothing(records, finished)
    return list(found.values())


def _nothing(records: Sequence[Rated], finished: Sequence[Rated]) -> CannotJudge:
    if not records:
        return CannotJudge(
            "nothing has been rated in this task yet, and a judge answers what raters were asked",
            try_="collect answers first",
        )
    if not finished:
        return CannotJudge(
            f"none of the {len(records)} dialogues or judgements of this task is complete, and a judge is "
            "asked about complete ones only",
            try_="wait until raters are done",
        )
    if all(record.technique == READ_AGAIN for record in finished):
        return CannotJudge(
            "the raters of this task rated recorded dialogues once more",
            try_="name the task in which these dialogues were held: there a judge is asked what their own raters "
            "were asked",
        )
    return CannotJudge(
        "the raters of this task were asked nothing that a judge can be asked: no choice, tick, verdict, scale or form"
    )


def _asked_in_both(record: Rated, both_orders: bool) -> Iterator[JudgeQuestion]:
    if record.technique == READ_AGAIN:
        return
    orders: tuple[Order, ...] = (1, 2) if both_orders else (1,)
    for order in orders:
        if isinstance(record, JudgementRecord):
            yield from _of_item(record, order)
        else:
            yield from _of_turns(record, order)
            at = {one.position: one.model for turn in record.turns for one in turn.candidates if one.position}
            models = [at[place] for place in (1, 2) if place in at]
            if record.verdict is not None and len(models) == 2:
                models = models if order == 1 else models[::-1]
                sides = [
                    _transcript_with(record, model, f"partner {name}") for model, name in zip(models, "AB", strict=True)
                ]
                asked = AskedQuestion(question_id=VERDICT, text=record.question, options=dict(VERDICTS))
                yield _whole(record, VERDICT, order, tuple(models), tuple(sides), asked)
            if record.final_ratings and record.criteria and order == 1:
                asked = AskedQuestion(
                    question_id=FINAL, kind="rate", text=_final_question(record), criteria=record.criteria
                )
                yield _whole(record, FINAL, order, (), (_as_held(record),), asked)


# -- live dialogues


def _of_turns(record: DialogueRecord, order: Order) -> Iterator[JudgeQuestion]:
    lines = _opening(record)
    for turn in record.turns:
        lines.append(Said(PERSON, "human", turn.human_text))
        if turn.complete and not turn.automatic and not turn.continued_each:
            yield from _of_turn(record, turn, tuple(lines), order)
        if went_on := _went_on(turn):
            lines.append(Said(PARTNER, "bot", went_on))


def _of_turn(record: DialogueRecord, turn: Turn, lines: tuple[Said, ...], order: Order) -> Iterator[JudgeQuestion]:
    cards = _cards(turn)
    if turn.ticks is None:
        if len(cards) < 2:
            return
        cards = cards if order == 1 else cards[::-1]
        asked = AskedQuestion(question_id=TURN, kind="choose", text=record.question)
    else:
        if order == 2 or not cards or not record.turn_criteria:  # one reply has no order
            return
        asked = AskedQuestion(question_id=TURN, kind="tick", text=record.question, criteria=record.turn_criteria)
    yield JudgeQuestion(
        thing=record.dialogue_id,
        unit=f"{record.dialogue_id}:{turn.turn}",
        technique=record.technique,
        setting=record.setting,
        metric=record.metric,
        order=order,
        dialogues=(record.dialogue_id,),
        shown=tuple(card.candidate_id for card in cards),
        conversations=(Conversation("", _background(record), lines),),
        asked=(asked,),
        replies=tuple(Reply(card.candidate_id, card.text) for card in cards),
        several=turn.ticks is None and not _picks_one(record),
        turn=turn.turn,
    )


def _cards(turn: Turn) -> list[Candidate]:
    shown = [one for one in turn.candidates if not one.failed and one.same_as is None]
    return sorted(shown, key=lambda one: one.position)


def _picks_one(record: RatedRecord) -> bool:
    entry = techniques().get(record.technique)
    if entry is not None and entry.picks:
        return entry.picks_one(record.setting)
    return bool(record.settings.get("max_choices", 1) == 1)


def _went_on(turn: Turn) -> str:
    chosen = next((one.text for one in turn.candidates if one.candidate_id == turn.continued), "")
    return turn.written or chosen


def _whole(
    record: DialogueRecord,
    what: str,
    order: Order,
    shown: tuple[str, ...],
    conversations: tuple[Conversation, ...],
    asked: AskedQuestion,
) -> JudgeQuestion:
    return JudgeQuestion(
        thing=record.dialogue_id,
        unit=f"{record.dialogue_id}:{what}",
        technique=record.technique,
        setting=record.setting,
        metric=record.metric,
        order=order,
        dialogues=(record.dialogue_id,),
        shown=shown,
        conversations=conversations,
        asked=(asked,),
    )


def _final_question(record: DialogueRecord) -> str:
    of_turns = record.turn_criteria or any(
        turn.ticks is not None or (len(_cards(turn)) > 1 and not turn.continued_each) for turn in record.turns
    )
    return FINAL_QUESTION if of_turns else record.question


def _transcript_with(record: DialogueRecord, model: str, title: str) -> Conversation:
    lines = _opening(record)
    for turn in record.turns:
        lines.append(Said(PERSON, "human", turn.human_text))
        lines += [Said(PARTNER, "bot", one.text) for one in turn.candidates if one.model == model and one.text]
    return Conversation(title, _background(record), tuple(lines))


def _as_held(record: DialogueRecord) -> Conversation:
    lines = _opening(record)
    for turn in record.turns:
        lines.append(Said(PERSON, "human", turn.human_text))
        alone = turn.candidates[0].text if len(turn.candidates) == 1 else ""
        if went_on := _went_on(turn) or alone:
            lines.append(Said(PARTNER, "bot", went_on))
    return Conversation("", _background(record), tuple(lines))


def _opening(record: DialogueRecord) -> list[Said]:
    names = {"human": PERSON, "bot": PARTNER}
    return [Said(names[line.speaker], line.speaker, line.text) for line in record.context.opening]


def _background(record: DialogueRecord) -> tuple[str, ...]:
    persona = [f"{PERSON}: {sentence}" for sentence in record.context.persona]
    return (*persona, *([f"Topic: {record.context.topic}"] if record.context.topic else []))


# -- judgements of finished dialogues


def _of_item(record: JudgementRecord, order: Order) -> Iterator[JudgeQuestion]:
    forms = tuple(question for question in record.questions if question.kind == "form" and question.options)
    scales = tuple(question for question in record.questions if question.kind == "rate" and question.criteria)
    asked = forms or scales[:1]
    dialogues = sorted(record.dialogues, key=lambda shown: shown.position)
    if record.expected is not None or not asked or (order == 2 and len(dialogues) != 2):
        return
    dialogues = dialogues if order == 1 else dialogues[::-1]
    pair = len(dialogues) == 2
    yield JudgeQuestion(
        thing=record.item_id,
        unit=record.item_id,
        technique=record.technique,
        setting=record.setting,
        metric=record.metric,
        order=order,
        dialogues=tuple(shown.dialogue_id for shown in dialogues),
        shown=tuple(shown.dialogue_id for shown in dialogues),
        conversations=tuple(_finished(shown, place if pair else 0) for place, shown in enumerate(dialogues, start=1)),
        asked=asked,
    )


def _finished(shown: ShownDialogue, place: int) -> Conversation:
    """``place``: 1 or 2 of two dialogues, 0 of one alone."""
    names = _speaker_names(shown, place)
    judged = [
        name != HUMAN if shown.judged is None else index == shown.judged for index, name in enumerate(shown.entities)
    ]
    lines = tuple(
        Said(names[line.speaker], "bot" if judged[line.speaker] else "human", line.text) for line in shown.lines
    )
    return Conversation(str(place) if place else "", tuple(shown.context), lines)


def _speaker_names(shown: ShownDialogue, place: int) -> list[str]:
    if place:
        return [f"Speaker {place}" if index == shown.judged else PARTNER for index in range(2)]
    if shown.judged is not None:
        return [PERSON if index != shown.judged else PARTNER for index in range(2)]
    return ["Speaker A", "Speaker B"]
