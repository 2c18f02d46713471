"""A better reply is written, not copied and not filled in."""

from __future__ import annotations

import pytest

from mephisto_tasks.session.answers import check_write
from parlai_humaneval.schema.steps import Card, WriteAnswer, WriteStep

STEP = WriteStep(
    step_id="write-1",
    label="Write",
    cards=[Card(candidate_id="x", text="Alpha at turn 1."), Card(candidate_id="y", text="I like tea!")],
    min_words=3,
    max_chars=100,
)


def problem(text: str) -> str | None:
    return check_write(STEP, WriteAnswer(kind="write", update_id="u", step_id="write-1", text=text))


@pytest.mark.parametrize(
    "text", ["Yes I do.", "Do you like tea as well?", "Alpha at turn one.", "I have no idea, but my aunt would know."]
)
def test_a_reply_in_words_of_ones_own_is_taken(text: str) -> None:
    assert problem(text) is None


@pytest.mark.parametrize("sign", ["", " 😊", "~", "$", "\u200b", "…", "  "])
def test_a_copy_is_a_copy_with_any_sign_added(sign: str) -> None:
    said = problem(f"alpha AT turn 1{sign}")
    assert said is not None
    assert said.startswith("Your text repeats a reply that you did not choose")


@pytest.mark.parametrize(
    "text", ["ok ok ok", "I don't know", "I don’t know!", "this is better", "good good reply", "I do not know"]
)
def test_words_that_say_nothing_are_refused(text: str) -> None:
    assert problem(text) == "Please write, as a full reply, what your partner should have said here."


def test_length_is_told() -> None:
    assert problem("too short") == "Please write at least 3 words."
    assert problem("word " * 30) == "Please shorten your text to 100 characters (it has 150)."
    assert problem("?!") == "Please write something in words first."
