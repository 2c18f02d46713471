"""A question → the text that a judge reads. What people and chatbots said is data, between marks that it cannot hold."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from string import ascii_uppercase
from typing import Any

from parlai_humaneval.judges.questions import TURN, Conversation, JudgeQuestion
from parlai_humaneval.schema.judge_answers import AnswerFormat, Outcome
from parlai_humaneval.schema.records import AskedQuestion, CriterionRecord, GivenAnswer
from parlai_humaneval.techniques.questions import SLIDER_ENDS

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
        "conversation": "\n\n".join(_conversation(one, mark) for one in question.conversations),
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


def _conversation(conversation: Conversation, mark: str) -> str:
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
