"""An answer, as its rater sent it and as it is stored: both as the same kind of fact, to be compared.

Texts that raters write hold a number of their own, so that each fact has a key that no other has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated, Turn
from parlai_humaneval.schema.steps import ChooseStep, PageState, TickStep


@dataclass(frozen=True, order=True)
class Fact:
    """``key``: what was answered, ``value``: how. Two facts of one key are the same answer, stored twice."""

    kind: str
    key: str
    value: str


def sent(answer: Mapping[str, Any], state: PageState) -> list[Fact]:
    """What must be stored of an answer to what ``state`` showed; an action stores nothing of its own."""
    step = state.step
    match answer["kind"]:
        case "message" | "write" | "feedback":
            return [Fact(answer["kind"], answer["text"].strip(), "")] if answer["text"].strip() else []
        case "topic":
            return [Fact("topic", answer["text"].strip(), answer["opinion"])]
        case "choose":
            assert isinstance(step, ChooseStep)
            reason = answer["reason"] if step.reason else ""
            return [_choice([card.candidate_id for card in step.cards], answer["selected"], reason)]
        case "tick":
            assert isinstance(step, TickStep)
            assert step.reply is not None, "storms know ticks on one reply"
            return [Fact("tick", step.reply.candidate_id, _plain(sorted(answer["selected"])))]
        case "rate":
            said = [entry.text for entry in state.transcript if entry.speaker == "you"]
            return [Fact("rate", said[-1], _plain(answer["values"]))]
        case "form":
            reasons = answer["reasons"]
            return [Fact("form", f"{name}: {reasons[name]}", str(answer["values"][name])) for name in reasons]
    return []


def stored(records: Sequence[Rated]) -> list[Fact]:
    """All that is stored of one worker; the comment of a unit, which stands in each of its records, once."""
    facts: list[Fact] = []
    comments: dict[str, str] = {}
    for record in records:
        facts += _of_dialogue(record) if isinstance(record, DialogueRecord) else _of_judgement(record)
        if record.feedback:
            comments[record.session or record.unit_id] = record.feedback.strip()
    return facts + [Fact("feedback", text, "") for text in comments.values()]


def _of_dialogue(record: DialogueRecord) -> Iterator[Fact]:
    if record.context.topic_source == "free" and record.context.topic:
        yield Fact("topic", record.context.topic, record.context.opinion or "")
    for turn in record.turns:
        yield from _of_turn(turn)
    if record.final_ratings:
        yield Fact("rate", record.turns[-1].human_text, _plain(record.final_ratings))


def _of_turn(turn: Turn) -> Iterator[Fact]:
    if not turn.human_fixed:
        yield Fact("message", turn.human_text.strip(), "")
    if turn.written:
        yield Fact("write", turn.written.strip(), "")
    shown = [c.candidate_id for c in turn.candidates if not c.failed and c.same_as is None]
    if turn.ticks is not None:
        yield Fact("tick", shown[0], _plain(sorted(turn.ticks)))
    elif not turn.automatic and (turn.selected or turn.none_said):
        yield _choice(shown, [name for name in turn.selected if name in shown], turn.reason or "")


def _of_judgement(record: JudgementRecord) -> Iterator[Fact]:
    for answer in record.answers:
        yield Fact("form", f"{answer.question_id}: {answer.reason}", str(answer.option))


def _choice(shown: Sequence[str], selected: Sequence[str], reason: str) -> Fact:
    return Fact("choose", " ".join(sorted(shown)), _plain([sorted(selected), reason]))


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
