"""A packet of a page → an answer to the step that was asked, or a sentence on why it is none."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from parlai_humaneval.languages.speaking import phrase, t
from parlai_humaneval.protocol.page.steps import MAX_TEXT, Answer

NOT_FINISHED = phrase("This is not finished yet, so it cannot be handed in. Please go on below.")

EARLY_SUBMIT: dict[str, Any] = {"kind": "submit"}
"""What a world hears when its page hands the unit in too soon; it refuses it like any wrong answer."""

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
A = TypeVar("A", bound=BaseModel)


def read_answer(
    packet: dict[str, Any], step_id: str, kinds: tuple[type[A], ...], max_chars: int = MAX_TEXT
) -> tuple[A | None, str | None]:
    """The answer in a packet, where it is one of ``kinds`` to the step ``step_id``; else None and a sentence.

    ``max_chars``: what the step allows, for the words on a text that is far too long to be read.
    """
    if packet is EARLY_SUBMIT:
        return None, t(NOT_FINISHED)
    try:
        answer = _ANSWER.validate_python(packet)
    except ValidationError as error:
        return None, _unreadable(error, max_chars)
    if answer.step_id != step_id:
        return None, t("That answer belongs to an earlier step, which is already finished. Nothing has changed.")
    for kind in kinds:
        if isinstance(answer, kind):
            return answer, None
    return None, t("That is not the kind of answer that this step asks for. Please answer the question below.")


def _unreadable(error: ValidationError, max_chars: int) -> str:
    """What a rater is told of a packet that is no answer at all; a page of ours never sends one."""
    for problem in error.errors():
        if problem["type"] == "string_too_long":
            return t(
                "That text is too long to be sent: at most {most} characters. Please shorten it.", most=f"{max_chars:,}"
            )
        if problem["loc"][:2] == ("rate", "values"):
            return t("A rating must be a number on its scale. Please rate the statements below again.")
    return t("That answer could not be read. Please answer the question below again.")
