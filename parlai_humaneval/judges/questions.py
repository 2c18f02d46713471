"""Records of raters → what a judge is asked: the same question, in both orders, with nothing that raters answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.display.images import NO_ALT
from parlai_humaneval.schema.records import (
    HUMAN,
    AskedQuestion,
    Candidate,
    DialogueRecord,
    ImageRecord,
    JudgementRecord,
    Rated,
    ShownDialogue,
    Turn,
)
from parlai_humaneval.techniques.questions import FINAL_QUESTION, VERDICTS
from parlai_humaneval.techniques.registry import techniques, with_trait

PERSON, PARTNER = "Person", "Partner"
TURN, VERDICT, FINAL = "turn", "verdict", "final"

Order = Literal[1, 2]
_Told = tuple[str, tuple[ImageRecord, ...]]


class CannotJudge(HumanevalError, ValueError):
    """There is nothing in these records that a judge could be asked; the message says why, and what to do."""


@dataclass(frozen=True)
class Said:
    """A line of a conversation. ``side``: whose it is, seen from a chatbot that is judged."""

    name: str
    side: Literal["human", "bot"]
    text: str
    images: tuple[ImageRecord, ...] = ()


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
    images: tuple[ImageRecord, ...] = ()


@dataclass(frozen=True)
class JudgeQuestion:
    """What is asked once, as in the record of a rater. ``several``: any number of replies may be chosen. ``shown``:
    candidates, models or dialogues in shown order. ``turn``: of a live dialogue."""

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
        return "\n".join(dict.fromkeys(question.text for question in self.asked))

    @property
    def images(self) -> tuple[ImageRecord, ...]:
        """All pictures, in the order in which the question describes them."""
        said: list[Said | Reply] = [*(line for talk in self.conversations for line in talk.lines), *self.replies]
        return tuple(image for one in said for image in one.images)

    @property
    def single(self) -> AskedQuestion | None:
        (first, *others) = self.asked
        return first if not others and first.kind in ("choose", "form") and not self.several else None


def questions_of(records: Sequence[Rated], *, both_orders: bool = True) -> list[JudgeQuestion]:
    """All that a judge can be asked of these records, each once; :class:`CannotJudge` where that is nothing."""
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
        what = "nothing has been rated in this task yet, and a judge answers what raters were asked"
        return CannotJudge(what, try_="collect answers first")
    if not finished:
        none = f"none of the {len(records)} dialogues or judgements of this task is complete"
        return CannotJudge(f"{none}, and a judge is asked about complete ones only", try_="wait until raters are done")
    if all(record.technique in with_trait("read_again") for record in finished):
        where = "there a judge is asked what their own raters were asked"
        return CannotJudge(
            "the raters of this task rated recorded dialogues once more",
            try_=f"name the task in which these dialogues were held: {where}",
        )
    what = "no choice, tick, verdict, scale or form"
    return CannotJudge(f"the raters of this task were asked nothing that a judge can be asked: {what}")


def _asked_in_both(record: Rated, both_orders: bool) -> Iterator[JudgeQuestion]:
    if record.technique in with_trait("read_again"):
        return
    orders: tuple[Order, ...] = (1, 2) if both_orders else (1,)
    for order in orders:
        if isinstance(record, JudgementRecord):
            yield from _of_item(record, order)
        else:
            for each in record.turns:
                if each.complete and not each.automatic and not each.continued_each:
                    lines = _conversation(record, _went_on, before=each)
                    yield from _of_turn(record, each, lines, order)
            at = {one.position: one.model for turn in record.turns for one in turn.candidates if one.position}
            models = [at[place] for place in (1, 2) if place in at]
            if record.verdict is not None and len(models) == 2:
                models = models if order == 1 else models[::-1]
                sides = [
                    _conversation(record, partial(_replies_of, model), title=f"partner {name}")
                    for model, name in zip(models, "AB", strict=True)
                ]
                asked = AskedQuestion(question_id=VERDICT, text=record.question, options=dict(VERDICTS))
                ask = _asking(record, order, VERDICT)
                yield ask(shown=tuple(models), conversations=tuple(sides), asked=(asked,))
            if record.final_ratings and record.criteria and order == 1:
                of_turns = record.turn_criteria or any(
                    turn.ticks is not None or (len(_cards(turn)) > 1 and not turn.continued_each)
                    for turn in record.turns
                )
                text = FINAL_QUESTION if of_turns else record.question
                asked = AskedQuestion(question_id=FINAL, kind="rate", text=text, criteria=record.criteria)
                ask = _asking(record, order, FINAL)
                yield ask(shown=(), conversations=(_conversation(record, _as_held),), asked=(asked,))


# -- live dialogues


def _of_turn(record: DialogueRecord, turn: Turn, said: Conversation, order: Order) -> Iterator[JudgeQuestion]:
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
    entry = techniques().get(record.technique)
    one = record.settings.get("max_choices", 1) == 1
    if entry is not None and entry.picks:
        one = entry.picks_one(record.setting)
    yield _asking(record, order, str(turn.turn))(
        shown=tuple(card.candidate_id for card in cards),
        conversations=(said,),
        asked=(asked,),
        replies=tuple(Reply(card.candidate_id, *_told(card.text, card.images)) for card in cards),
        several=turn.ticks is None and not one,
        turn=turn.turn,
    )


def _asking(record: DialogueRecord, order: Order, part: str) -> Callable[..., JudgeQuestion]:
    return partial(
        JudgeQuestion,
        thing=record.dialogue_id,
        unit=f"{record.dialogue_id}:{part}",
        technique=record.technique,
        setting=record.setting,
        metric=record.metric,
        order=order,
        dialogues=(record.dialogue_id,),
    )


def _cards(turn: Turn) -> list[Candidate]:
    shown = [one for one in turn.candidates if not one.failed and one.same_as is None]
    return sorted(shown, key=lambda one: one.position)


def _replies_of(model: str, turn: Turn) -> list[_Told]:
    return [_told(one.text, one.images) for one in turn.candidates if one.model == model]


def _as_held(turn: Turn) -> list[_Told]:
    alone = turn.candidates[: len(turn.candidates) == 1]
    return _went_on(turn) or [_told(one.text, one.images) for one in alone]


def _went_on(turn: Turn) -> list[_Told]:
    went_on = [_told(one.text, one.images) for one in turn.candidates if one.candidate_id == turn.continued]
    return [_told(turn.written, ())] if turn.written else went_on[:1]


def _told(text: str, images: Sequence[ImageRecord]) -> _Told:
    """A text with descriptions of its pictures, and these."""
    return "\n".join([text, *(f"[image: {image.alt or NO_ALT}]" for image in images)]), tuple(images)


def _conversation(
    record: DialogueRecord, replies: Callable[[Turn], Iterable[_Told]], *, title: str = "", before: Turn | None = None
) -> Conversation:
    """The conversation with the ``replies`` to each turn; ``before``: up to the words of its person."""
    names = {"human": PERSON, "bot": PARTNER}
    lines = [Said(names[line.speaker], line.speaker, line.text) for line in record.context.opening]
    for turn in record.turns:
        lines.append(Said(PERSON, "human", *_told(turn.human_text, turn.human_images)))
        if turn is before:
            break
        lines += [Said(PARTNER, "bot", *told) for told in replies(turn) if told[0]]
    persona = [f"{PERSON}: {sentence}" for sentence in record.context.persona]
    topic = [f"Topic: {record.context.topic}"] if record.context.topic else []
    return Conversation(title, (*persona, *topic), tuple(lines))


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
    names = ["Speaker A", "Speaker B"]
    if place:
        names = [f"Speaker {place}" if index == shown.judged else PARTNER for index in range(2)]
    elif shown.judged is not None:
        names = [PERSON if index != shown.judged else PARTNER for index in range(2)]
    judged = [
        name != HUMAN if shown.judged is None else index == shown.judged for index, name in enumerate(shown.entities)
    ]
    lines = tuple(
        Said(names[line.speaker], "bot" if judged[line.speaker] else "human", *_told(line.text, line.images))
        for line in shown.lines
    )
    return Conversation(str(place) if place else "", tuple(shown.context), lines)
