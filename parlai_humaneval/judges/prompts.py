"""A question → the text that a judge reads. What people and chatbots said is data, between marks that it cannot hold."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from string import ascii_uppercase

from parlai_humaneval.judges.questions import Conversation, JudgeQuestion, Reply
from parlai_humaneval.schema.judge_answers import AnswerFormat
from parlai_humaneval.schema.records import AskedQuestion, CriterionRecord
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
    """The packaged prompt."""
    return files(__package__).joinpath("prompt.txt").read_text(encoding="utf-8")


def template_trouble(template: str) -> str | None:
    """What is wrong with a template of one's own; None where nothing is."""
    missing = [f"{{{name}}}" for name in NEEDED if f"{{{name}}}" not in template]
    if missing:
        return f"it has no {', '.join(missing)}; a prompt needs {', '.join(f'{{{name}}}' for name in NEEDED)}"
    return None


def prompt_of(question: JudgeQuestion, template: str, answer_format: AnswerFormat) -> str:
    """The whole text. Places are filled once: braces within what was said are left alone."""
    mark = _mark(question)
    parts = {
        "conversation": "\n\n".join(_conversation(one, mark) for one in question.conversations),
        "choices": choices_of(question, mark),
        "question": question.text,
        "answer_format": format_words(question, answer_format),
        "mark": mark,
    }
    return _PLACE.sub(lambda place: parts[place[1]], template).strip()


def reminder_of(question: JudgeQuestion, answer_format: AnswerFormat) -> str:
    """What is said to a judge whose answer could not be read."""
    return REMINDER.format(answer_format=format_words(question, answer_format))


def letters(count: int) -> list[str]:
    """A, B, C …: what choices are called."""
    return list(ascii_uppercase[:count])


def choices_of(question: JudgeQuestion, mark: str) -> str:
    """What can be chosen, ticked or rated."""
    (first, *others) = question.asked
    if first.kind == "choose":
        return "\n\n".join(
            _reply(reply, letter, mark)
            for reply, letter in zip(question.replies, letters(len(question.replies)), strict=True)
        )
    if first.kind == "tick":
        ticks = "\n".join(f"- {criterion.name}: {criterion.text}" for criterion in first.criteria)
        return f"{_reply(question.replies[0], '', mark)}\n\n{ticks}"
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


def _reply(reply: Reply, letter: str, mark: str) -> str:
    return _marked(" ".join(filter(None, ("reply", letter))), reply.text, mark)


def _marked(name: str, text: str, mark: str) -> str:
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"


def _mark(question: JudgeQuestion) -> str:
    """Six letters that stand nowhere in what was said: nobody can end a quotation from within."""
    said = "\n".join(
        [
            *(reply.text for reply in question.replies),
            *(text for one in question.conversations for text in (*one.context, *(line.text for line in one.lines))),
        ]
    )
    mark = hashlib.sha256(said.encode()).hexdigest()[:6]
    while mark in said:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:6]
    return mark


def labels_of(question: JudgeQuestion, asked: AskedQuestion) -> Mapping[str, str]:
    """Letter → candidate, or option."""
    known = [reply.candidate_id for reply in question.replies] or list(asked.options)
    return dict(zip(letters(len(known)), known, strict=True))
