"""Whether an answer is what its step asks for; if not, a sentence for the rater that says what to do."""

from __future__ import annotations

from parlai_humaneval.protocol.steps import (
    ChooseAnswer,
    ChooseStep,
    FeedbackAnswer,
    FeedbackStep,
    MessageAnswer,
    MessageStep,
    ReasonField,
)


def count_words(text: str) -> int:
    """Words, as a rater counts them: runs of characters between white space that hold a letter or digit."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def check_message(step: MessageStep, answer: MessageAnswer) -> str | None:
    """Why a message cannot be sent, or None."""
    if not answer.text.strip():
        return "Please write a message first."
    if len(answer.text) > step.max_chars:
        return f"Please shorten your message to {step.max_chars} characters (it has {len(answer.text)})."
    if count_words(answer.text) < step.min_words:
        return f"Please write at least {_words(step.min_words)}."
    return None


def check_choice(step: ChooseStep, answer: ChooseAnswer) -> str | None:
    """Why a choice is refused, or None: unknown or repeated cards, a wrong number of them, a missing reason."""
    shown = {card.candidate_id for card in step.cards}
    if not set(answer.selected) <= shown:
        return "That reply is not among the ones that you were shown. Please choose one of the replies below."
    if len(set(answer.selected)) != len(answer.selected):
        return "The same reply was chosen twice. Please choose again."
    if not step.min_choices <= len(answer.selected) <= step.max_choices:
        return _how_many(step)
    if step.reason is not None and step.reason.required:
        return _check_reason(step.reason, answer.reason)
    return None


def _check_reason(field: ReasonField, reason: str) -> str | None:
    needed = max(1, field.min_words)
    return None if count_words(reason) >= needed else f"Please give your reason in at least {_words(needed)}."


def _how_many(step: ChooseStep) -> str:
    if step.min_choices == step.max_choices:
        return f"Please choose {'one reply' if step.min_choices == 1 else f'{step.min_choices} replies'}."
    return f"Please choose between {step.min_choices} and {step.max_choices} replies."


def _words(number: int) -> str:
    return "one word" if number == 1 else f"{number} words"


def check_feedback(step: FeedbackStep, answer: FeedbackAnswer) -> str | None:
    """Why a comment is refused, or None; an empty one is welcome."""
    if len(answer.text) > step.max_chars:
        return f"Please shorten your comment to {step.max_chars} characters (it has {len(answer.text)})."
    return None
