"""Records of raters → what a judge is asked: the same question, in both orders, with nothing that raters answered; and the
text that a judge reads. What people and chatbots said is data, between marks that it cannot hold."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from string import ascii_uppercase
from typing import Any, Literal

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.display.images import NO_ALT
from parlai_humaneval.schema.judge_answers import AnswerFormat, Outcome
from parlai_humaneval.schema.records import (
    HUMAN,
    AskedQuestion,
    Candidate,
    CriterionRecord,
    DialogueRecord,
    GivenAnswer,
    ImageRecord,
    JudgementRecord,
    Rated,
    ShownDialogue,
    Turn,
)
from parlai_humaneval.techniques.questions import FINAL_QUESTION, SLIDER_ENDS, VERDICTS
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
        what = "nothing has been rated in this task yet, and a judge answers only questions that raters were asked"
        return CannotJudge(what, try_="collect answers first")
    if not finished:
        none = f"none of the {len(records)} dialogues or judgements of this task is complete"
        return CannotJudge(f"{none}, and a judge is asked only about complete ones", try_="wait until raters are done")
    if all(record.technique in with_trait("read_again") for record in finished):
        where = "there a judge is asked what their own raters were asked"
        return CannotJudge(
            "the raters of this task rated recorded dialogues again",
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


PLACES = ("conversation", "choices", "question", "answer_format", "mark")
"""What a template may hold in braces. Any other braces, such as those of JSON, stay what they are."""
NEEDED = PLACES[:4]
_PLACE = re.compile(r"\{(" + "|".join(PLACES) + r")\}")
REMINDER = (
    "Your answer could not be read. Answer the question that you were asked. {answer_format} Write that and nothing else: "
    "no explanation, no other word."
)


def default_template() -> str:
    return files(__package__).joinpath("prompt.txt").read_text(encoding="utf-8")


def template_trouble(template: str) -> str | None:
    missing = [f"{{{name}}}" for name in NEEDED if f"{{{name}}}" not in template]
    if missing:
        return f"it has no {', '.join(missing)}; a prompt needs {', '.join(f'{{{name}}}' for name in NEEDED)}"
    return None


def prompt_of(question: JudgeQuestion, template: str, answer_format: AnswerFormat) -> str:
    """The whole text. Places are filled once: braces within what was said are left alone."""
    # Six letters that stand nowhere in what was said: nobody can end a quotation from within.
    said = "\n".join(
        [
            *(reply.text for reply in question.replies),
            *(text for one in question.conversations for text in (*one.context, *(line.text for line in one.lines))),
        ]
    )
    mark = hashlib.sha256(said.encode()).hexdigest()[:6]
    while mark in said:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:6]
    parts = {
        "conversation": "\n\n".join(_told_conversation(one, mark) for one in question.conversations),
        "choices": choices_of(question, mark),
        "question": question.text,
        "answer_format": format_words(question, answer_format),
        "mark": mark,
    }
    return _PLACE.sub(lambda place: parts[place[1]], template).strip()


def reminder_of(question: JudgeQuestion, answer_format: AnswerFormat) -> str:
    return REMINDER.format(answer_format=format_words(question, answer_format))


def letters(count: int) -> list[str]:
    return list(ascii_uppercase[:count])


def choices_of(question: JudgeQuestion, mark: str) -> str:
    (first, *others) = question.asked
    if first.kind == "choose":
        return "\n\n".join(
            _marked(f"reply {letter}", reply.text, mark)
            for reply, letter in zip(question.replies, letters(len(question.replies)), strict=True)
        )
    if first.kind == "tick":
        ticks = "\n".join(f"- {criterion.name}: {criterion.text}" for criterion in first.criteria)
        return f"{_marked('reply', question.replies[0].text, mark)}\n\n{ticks}"
    if first.kind == "rate":
        return "\n".join(_scale(criterion) for criterion in first.criteria)
    if not others:
        return _options(first)
    return "\n\n".join(f"{one.question_id}: {one.text}\n{_options(one)}" for one in question.asked)


def format_words(question: JudgeQuestion, answer_format: AnswerFormat) -> str:
    """How the answer is to be written. No example can be taken for an answer, where a model repeats what it read."""
    (first, *others) = question.asked
    if question.single is not None:
        known = letters(len(question.replies) or len(first.options))
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        if answer_format == "letter":
            return f"Answer with one letter alone: {listed}."
        return f'Answer with a JSON object that holds one letter, {listed}: {{"answer": "<letter>"}}'
    if first.kind == "choose":
        return (
            "Answer with a JSON object that lists the letters of all that you select (an empty list selects none): "
            '{"answer": ["<letter>", "<letter>"]}'
        )
    if first.kind == "tick":
        return (
            "Answer with a JSON object that lists the names of what you tick (an empty list ticks nothing): "
            '{"answer": ["<name>", "<name>"]}'
        )
    if first.kind == "rate":
        ratings = {criterion.name: f"<number from {_ends(criterion)}>" for criterion in first.criteria}
        return f"Answer with a JSON object that rates each: {json.dumps({'answer': ratings}, ensure_ascii=False)}"
    chosen = {one.question_id: "<letter>" for one in (first, *others)}
    return f"Answer with a JSON object that has a letter for each: {json.dumps({'answer': chosen}, ensure_ascii=False)}"


def _options(question: AskedQuestion) -> str:
    labels = zip(letters(len(question.options)), question.options.values(), strict=True)
    return "\n".join(f"{letter}: {label}" for letter, label in labels)


def _scale(criterion: CriterionRecord) -> str:
    ends = f", from {SLIDER_ENDS[0]} to {SLIDER_ENDS[1]}" if criterion.scale == "slider" else ""
    points = "".join(f"\n    {point}: {hint}" for point, hint in enumerate(criterion.hints, start=1))
    return f"- {criterion.name} ({_ends(criterion)}{ends}): {criterion.text}{points}"


def _ends(criterion: CriterionRecord) -> str:
    return f"{criterion.minimum:g} to {criterion.maximum:g}"


def _told_conversation(conversation: Conversation, mark: str) -> str:
    name = " ".join(filter(None, ("conversation", conversation.title)))
    lines = [*conversation.context, *([""] if conversation.context else [])]
    lines += [f"{said.name}: {said.text}" for said in conversation.lines]
    return _marked(name, "\n".join(lines), mark)


def _marked(name: str, text: str, mark: str) -> str:
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"


def labels_of(question: JudgeQuestion, asked: AskedQuestion) -> Mapping[str, str]:
    known = [reply.candidate_id for reply in question.replies] or list(asked.options)
    return dict(zip(letters(len(known)), known, strict=True))


FILTERED = "content_filter"
_REFUSAL = re.compile(
    r"\A\W*(i['’]?m (very |so |really )?sorry|sorry\b|i apologi[sz]e|unfortunately,? i\b|as an ai\b|(i|we) "
    r"(can['’]?t|can ?not|could ?n['’]t|won['’]?t|will not|am (not able|unable)|must (decline|refuse)|decline|refuse))",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\A[\s\"'“`*_(\[]*(?:answer|choice|reply|response|option)?[\s:=*_\"'“`(\[]*([A-Z])[\s\"'”`*_.)\]!]*\Z",
    re.IGNORECASE,
)
"""A letter with nothing around it but what people put around letters."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

LONGEST = 20_000

Read = list[GivenAnswer]


class Unreadable(ValueError):
    """No answer can be read in what a judge wrote."""


def outcome_of(reply: str, finish_reason: str | None = None) -> Outcome:
    silent = not reply.strip() or finish_reason == FILTERED
    return "refused" if silent or _REFUSAL.match(reply) else "unparsable"


def read_answer(reply: str, question: JudgeQuestion, *, seconds: float, at: float) -> Read:
    given = _given(reply, alone=question.single is not None)
    first = question.asked[0]
    times = {"seconds": seconds, "at": at}
    if first.kind == "choose":
        named = labels_of(question, first)
        if question.several and not isinstance(given, list):
            raise Unreadable(given)
        letters = [_letter(one, named) for one in given] if question.several else [_letter(given, named)]
        selected = [named[letter] for letter in dict.fromkeys(letters)]
        return [GivenAnswer(question_id=TURN, turn=question.turn, selected=selected, none_said=not selected, **times)]
    if first.kind == "tick":
        ticked = _names(given, [criterion.name for criterion in first.criteria])
        return [GivenAnswer(question_id=TURN, turn=question.turn, selected=ticked, none_said=not ticked, **times)]
    if first.kind == "rate":
        each = _by_name(given, [criterion.name for criterion in first.criteria])
        ratings = {criterion.name: _rating(each.get(criterion.name), criterion) for criterion in first.criteria}
        return [GivenAnswer(question_id=first.question_id, ratings=ratings, **times)]
    each = _by_name(given, [one.question_id for one in question.asked])
    labels = {one.question_id: labels_of(question, one) for one in question.asked}
    chosen = {name: named[_letter(each.get(name), named)] for name, named in labels.items()}
    return [GivenAnswer(question_id=name, option=option, **times) for name, option in chosen.items()]


def read_score(reply: str) -> float:
    found = _NUMBER.findall(reply)
    if len(found) != 1 or not math.isfinite(score := float(found[0])):
        raise Unreadable(reply)
    return score


def _given(reply: str, *, alone: bool) -> Any:
    """The value of “answer” in the JSON object of a reply; or its letter, where that is all that it says."""
    answers = [found["answer"] for found in _objects(reply) if "answer" in found]
    distinct = {json.dumps(answer, sort_keys=True) for answer in answers}
    if len(distinct) == 1:
        return answers[0]
    letter = _ALONE.match(reply) if alone and not answers else None
    if letter is None:
        raise Unreadable(reply)
    return letter[1]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, text = json.JSONDecoder(), text[-LONGEST:]
    place = text.find("{")
    while place >= 0:
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(found, dict):
                yield found
        place = text.find("{", end)


def _letter(given: Any, named: Mapping[str, str]) -> str:
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    letter = _ALONE.match(given) if isinstance(given, str) else None
    if letter is None or letter[1].upper() not in named:
        raise Unreadable(given)
    return letter[1].upper()


def _names(given: Any, known: Sequence[str]) -> list[str]:
    """Which of the names are listed; also where each has a yes or no."""
    if isinstance(given, dict) and all(isinstance(ticked, bool) for ticked in given.values()):
        given = [name for name, ticked in given.items() if ticked]
    if not isinstance(given, list) or not all(isinstance(name, str) and name in known for name in given):
        raise Unreadable(given)
    return [name for name in known if name in given]


def _by_name(given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """What is given for each of the names, of which one alone need not be named."""
    if not isinstance(given, dict) and len(names) == 1:
        given = {names[0]: given}
    if not isinstance(given, dict):
        raise Unreadable(given)
    return given


def _rating(given: Any, criterion: CriterionRecord) -> float:
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        given = float(given)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not criterion.minimum <= given <= criterion.maximum:
        raise Unreadable(given)
    value = float(given)
    if criterion.scale != "slider" and not value.is_integer():  # raters have no half points either
        raise Unreadable(given)
    return value
