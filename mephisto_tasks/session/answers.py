"""A packet of a page → an answer to the current step, or a sentence that tells the rater what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.text import count_words
from parlai_humaneval.i18n.translate import phrase, t, tn
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.wire import MAX_TEXT, WireAnswer

NOT_FINISHED = phrase("This task is not finished yet, so it cannot be submitted. Please continue below.")

EARLY_SUBMIT: dict[str, Any] = {"kind": "submit"}
"""What a world hears when its page hands the unit in too soon; it refuses it like any wrong answer."""

_ANSWER: TypeAdapter[steps.Answer] = TypeAdapter(steps.Answer)
A = TypeVar("A", bound=WireAnswer)


def read_answer(
    packet: dict[str, Any], step_id: str, kinds: tuple[type[A], ...], max_chars: int = MAX_TEXT
) -> tuple[A | None, str | None]:
    """The answer in a packet, where it is one of ``kinds`` to the step; else None and a sentence."""
    if packet is EARLY_SUBMIT:
        return None, t(NOT_FINISHED)
    try:
        answer = _ANSWER.validate_python(packet)
    except ValidationError as error:
        return None, _unreadable(error, max_chars)
    if answer.step_id != step_id:
        return None, t("That answer belongs to an earlier step, which is already finished. Nothing has changed.")
    if isinstance(answer, kinds):
        return answer, None
    return None, t("This step needs a different kind of answer. Please answer the question below.")


def _unreadable(error: ValidationError, max_chars: int) -> str:
    """The message to a rater about a packet that is not a valid answer; our page never sends one."""
    for problem in error.errors():
        if problem["type"] == "string_too_long":
            return t(
                "That text is too long to send: the limit is {most} characters. Please shorten it.",
                most=f"{max_chars:,}",
            )
        if problem["loc"][:2] == ("rate", "values"):
            return t("A rating must be a number on its scale. Please rate the statements below again.")
    return t("That answer could not be read. Please answer the question below again.")


MAX_TOPIC_CHARS = 200
MESSAGE_TOO_LONG = phrase("Please shorten your message to {most} characters (it has {length}).")
TEXT_TOO_LONG = phrase("Please shorten your text to {most} characters (it has {length}).")
COMMENT_TOO_LONG = phrase("Please shorten your comment to {most} characters (it has {length}).")
EMPTY = read_yaml(Path(__file__).with_name("empty.yaml"))
EMPTY_WORDS, EMPTY_PHRASES = set(EMPTY["words"].split()), set(EMPTY["phrases"])


def check_message(step: steps.MessageStep, answer: steps.MessageAnswer) -> str | None:
    if not answer.text.strip():
        return t("Please write a message first.")
    if problem := _too_long(MESSAGE_TOO_LONG, answer.text, step.max_chars):
        return problem
    if count_words(answer.text) < step.min_words:
        return tn("Please write at least one word.", "Please write at least {n} words.", step.min_words)
    if len(answer.images) > step.max_images:
        return tn(
            "Pictures cannot be sent here. Please remove them.",
            "Please send at most {n} pictures with a message.",
            max(1, step.max_images),
        )
    if not all(count_words(image.alt) for image in answer.images):
        return t("Please describe your picture in a few words.")
    return None


def check_action(step: steps.MessageStep, answer: steps.ActionAnswer) -> str | None:
    action = next((action for action in step.actions if action.action_id == answer.action_id), None)
    if action is None:
        return t("That cannot be done here. Please continue below.")
    if not action.enabled:
        return action.hint or t("That is not possible yet. Please continue below.")
    return None if action.text_label is None else _check_text(answer.text, MAX_TOPIC_CHARS)


def check_write(step: steps.WriteStep, answer: steps.WriteAnswer) -> str | None:
    if problem := _check_text(answer.text, step.max_chars):
        return problem
    words = [_letters(word) for word in answer.text.split() if _letters(word)]
    if count_words(answer.text) < step.min_words:
        return tn("Please write at least one word.", "Please write at least {n} words.", step.min_words)
    if _letters(answer.text) in {_letters(card.text) for card in step.cards}:
        return t("Your text repeats a reply that you did not choose. Please write a better reply in your own words.")
    few = len(set(words)) < min(len(words), step.min_words)
    if few or set(words) <= EMPTY_WORDS or " ".join(words) in EMPTY_PHRASES:
        return t("Please write, as a full reply, what your partner should have said here.")
    return None


def check_choice(step: steps.ChooseStep, answer: steps.ChooseAnswer) -> str | None:
    if not set(answer.selected) <= {card.candidate_id for card in step.cards}:
        return t("You were not shown that reply. Please choose one of the replies below.")
    if len(set(answer.selected)) != len(answer.selected):
        return t("The same reply was chosen twice. Please choose again.")
    if answer.selected and answer.none:
        return t("You cannot choose both “{none}” and a reply. Please choose again.", none=_none_words(step))
    if len(answer.selected) in range(step.min_choices, step.max_choices + 1):
        return _check_said(step, answer)
    if step.min_choices == step.max_choices:
        return tn("Please choose one reply.", "Please choose {n} replies.", step.min_choices)
    return t("Please choose between {fewest} and {most} replies.", fewest=step.min_choices, most=step.max_choices)


def check_ticks(step: steps.TickStep, answer: steps.TickAnswer) -> str | None:
    if not set(answer.selected) <= {option.option_id for option in step.options}:
        return t("You were not shown that answer. Please choose one of the answers below.")
    if len(set(answer.selected)) != len(answer.selected):
        return t("The same answer was chosen twice. Please choose again.")
    if answer.selected and answer.none:
        return t("You cannot choose both “{none}” and another answer. Please choose again.", none=_none_words(step))
    if len(answer.selected) in range(step.min_choices, step.max_choices + 1):
        return _check_said(step, answer)
    if step.min_choices == step.max_choices:
        return tn("Please choose one answer.", "Please choose {n} answers.", step.min_choices)
    return t("Please choose between {fewest} and {most} answers.", fewest=step.min_choices, most=step.max_choices)


def _none_words(step: steps.ChooseStep | steps.TickStep) -> str:
    return t(step.none_label) if step.none_label else ""


def _check_said(step: steps.ChooseStep | steps.TickStep, answer: steps.ChooseAnswer | steps.TickAnswer) -> str | None:
    if not answer.selected and not answer.none:
        return t("Please choose, or say that none fits: “{none}”.", none=_none_words(step))
    return _check_reason(step.reason, answer.reason)


def check_ratings(step: steps.RateStep, answer: steps.RateAnswer) -> str | None:
    scales = {scale.scale_id: scale for scale in step.scales}
    if not set(answer.values) <= set(scales):
        return t("You were not shown that statement. Please rate the statements below.")
    if open_ := len(scales) - len(answer.values):
        return tn(
            "Please rate every statement: one still has no answer.",
            "Please rate every statement: {n} still have no answer.",
            open_,
        )
    for scale_id, value in answer.values.items():
        scale = scales[scale_id]
        if not scale.minimum <= value <= scale.maximum:
            return t(
                "A rating must be between {lowest} and {highest}. Please rate the statements again.",
                lowest=f"{scale.minimum:g}",
                highest=f"{scale.maximum:g}",
            )
        if scale.style == "points" and value != int(value):
            return t("Please choose one of the points on the scale.")
    return None


def check_form(step: steps.FormStep, answer: steps.FormAnswer) -> str | None:
    questions = {question.question_id: question for question in step.questions}
    if not {*answer.values, *answer.reasons} <= set(questions):
        return t("You were not shown that question. Please answer the questions below.")
    if open_ := len(questions) - len(answer.values):
        return tn(
            "Please answer every question: one still has no answer.",
            "Please answer every question: {n} still have no answer.",
            open_,
        )
    for name, question in questions.items():
        if answer.values[name] not in {option.option_id for option in question.options}:
            return t("You were not shown that answer. Please choose one of the answers below.")
        if problem := _check_reason(question.reason, answer.reasons.get(name, "")):
            return problem
    return None


def check_ranking(step: steps.RankStep, answer: steps.RankAnswer) -> str | None:
    shown = {card.candidate_id for card in step.cards}
    if not set(answer.ranks) <= shown:
        return t("You were not shown that reply. Please rank each of the replies below.")
    if open_ := len(shown) - len(answer.ranks):
        return tn(
            "Please rank every reply: one has no rank yet.", "Please rank every reply: {n} have no rank yet.", open_
        )
    if max(answer.ranks.values()) > len(shown):
        return t("Ranks go from 1 to {last}. Please give every reply one of these ranks.", last=len(shown))
    if not step.ties and len(set(answer.ranks.values())) < len(shown):
        return t("Two replies have the same rank. Please give each reply a different rank.")
    return _check_reason(step.reason, answer.reason)


def check_topic(step: steps.TopicStep, answer: steps.TopicAnswer) -> str | None:
    if problem := _check_text(answer.text, step.max_chars):
        return problem
    if step.opinions and answer.opinion not in {option.option_id for option in step.opinions}:
        return t("Please say what you think of this topic: choose one of the answers below.")
    return None


def _letters(text: str) -> str:
    """Letters and digits alone, in small letters: no sign, picture or invisible character makes a copy another text."""
    levelled = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in levelled if character.isalnum())


def _check_text(text: str, max_chars: int) -> str | None:
    if not count_words(text):
        return t("Please write something in words first.")
    return _too_long(TEXT_TOO_LONG, text, max_chars)


def _too_long(words: str, text: str, most: int) -> str | None:
    return t(words, most=most, length=len(text)) if len(text) > most else None


def _check_reason(field: steps.ReasonField | None, reason: str) -> str | None:
    needed = max(1, field.min_words) if field is not None and field.required else 0
    if count_words(reason) >= needed:
        return None
    return tn("Please give your reason in at least one word.", "Please give your reason in at least {n} words.", needed)


def check_feedback(step: steps.FeedbackStep, answer: steps.FeedbackAnswer) -> str | None:
    return _too_long(COMMENT_TOO_LONG, answer.text, step.max_chars)


CHECKS: Mapping[type[WireAnswer], Callable[[Any, Any], str | None]] = {
    steps.MessageAnswer: check_message,
    steps.ActionAnswer: check_action,
    steps.WriteAnswer: check_write,
    steps.ChooseAnswer: check_choice,
    steps.TickAnswer: check_ticks,
    steps.RateAnswer: check_ratings,
    steps.FormAnswer: check_form,
    steps.RankAnswer: check_ranking,
    steps.TopicAnswer: check_topic,
    steps.FeedbackAnswer: check_feedback,
}
"""Kind of answer → why it is refused, by the step that it answers."""
