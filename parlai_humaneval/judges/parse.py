"""What a judge wrote → an answer as a rater gives it; or that it refused, or that nobody can tell.

An answer is read where it can be one thing only. Nothing is guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parlai_humaneval.judges.prompts import labels_of
from parlai_humaneval.judges.questions import TURN, JudgeQuestion
from parlai_humaneval.schema.judge_answers import Outcome
from parlai_humaneval.schema.records import AskedQuestion, CriterionRecord, GivenAnswer

FILTERED = "content_filter"
"""``finish_reason`` of servers that let nobody see a reply."""
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
"""Letters of a reply that are read; an answer stands at its end."""

Read = list[GivenAnswer]


class Unreadable(ValueError):
    """No answer can be read in what a judge wrote."""


def outcome_of(reply: str, finish_reason: str | None = None) -> Outcome:
    """Why there is no answer in a reply in which none was read."""
    silent = not reply.strip() or finish_reason == FILTERED
    return "refused" if silent or _REFUSAL.match(reply) else "unparsable"


def read_answer(reply: str, question: JudgeQuestion, *, seconds: float, at: float) -> Read:
    """The answers in a reply.

    Raises:
        Unreadable: there is none, or it could be several.
    """
    given = _given(reply, alone=question.single is not None)
    (first, *others) = question.asked
    times = {"seconds": seconds, "at": at}
    if first.kind == "choose":
        named = labels_of(question, first)
        selected = [named[letter] for letter in _letters(given, named, several=question.several)]
        return [GivenAnswer(question_id=TURN, turn=question.turn, selected=selected, none_said=not selected, **times)]
    if first.kind == "tick":
        ticked = _names(given, [criterion.name for criterion in first.criteria])
        return [GivenAnswer(question_id=TURN, turn=question.turn, selected=ticked, none_said=not ticked, **times)]
    if first.kind == "rate":
        return [GivenAnswer(question_id=first.question_id, ratings=_ratings(given, first.criteria), **times)]
    chosen = _of_form(given, question, [first, *others])
    return [GivenAnswer(question_id=name, option=option, **times) for name, option in chosen.items()]


def read_score(reply: str) -> float:
    """The one number in a reply.

    Raises:
        Unreadable: there is none, or there are several.
    """
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


def _letters(given: Any, named: Mapping[str, str], *, several: bool) -> list[str]:
    if not several:
        return [_letter(given, named)]
    if not isinstance(given, list):
        raise Unreadable(given)
    return list(dict.fromkeys(_letter(one, named) for one in given))


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


def _ratings(given: Any, criteria: Sequence[CriterionRecord]) -> dict[str, float]:
    if not isinstance(given, dict) and len(criteria) == 1:
        given = {criteria[0].name: given}
    if not isinstance(given, dict):
        raise Unreadable(given)
    return {criterion.name: _rating(given.get(criterion.name), criterion) for criterion in criteria}


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


def _of_form(given: Any, question: JudgeQuestion, asked: Sequence[AskedQuestion]) -> dict[str, str]:
    if len(asked) == 1 and not isinstance(given, dict):
        given = {asked[0].question_id: given}
    if not isinstance(given, dict):
        raise Unreadable(given)
    chosen = {}
    for one in asked:
        named = labels_of(question, one)
        chosen[one.question_id] = named[_letter(given.get(one.question_id), named)]
    return chosen
