"""What the server accepts as an answer, at the edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.session.answers import check_choice, check_feedback, check_message
from parlai_humaneval._util.text import count_words
from parlai_humaneval.schema.steps import (
    Card,
    ChooseAnswer,
    ChooseStep,
    FeedbackAnswer,
    FeedbackStep,
    MessageAnswer,
    MessageStep,
    ReasonField,
)

CARDS = [Card(candidate_id=name, text=name) for name in ("x", "y", "z")]


def choose(selected: list[str], reason: str = "") -> ChooseAnswer:
    return ChooseAnswer(kind="choose", update_id="u", step_id="s", selected=selected, reason=reason)


def step(least: int = 1, most: int = 1, words: int | None = None, required: bool = True) -> ChooseStep:
    field = None if words is None else ReasonField(label="Why?", required=required, min_words=words)
    return ChooseStep(step_id="s", question="?", cards=CARDS, min_choices=least, max_choices=most, reason=field)


def message(text: str, **limits: int) -> str | None:
    asked = MessageStep(step_id="s", label="Write", **limits)
    return check_message(asked, MessageAnswer(kind="message", update_id="u", step_id="s", text=text))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("one", 1), ("  two   words \n", 2), ("?! ... —", 0), ("it's o.k. now!", 3), ("你好", 2), ("5 €", 1)],
)
def test_words_are_what_a_rater_would_count(text: str, words: int) -> None:
    assert count_words(text) == words


@pytest.mark.parametrize("text", ["x" * 20, "Hi", "好"])
def test_good_messages(text: str) -> None:
    assert message(text, max_chars=20) is None


@pytest.mark.parametrize(
    ("text", "said"), [("", "write a message"), ("\n\t ", "write a message"), ("x" * 21, "20 characters (it has 21)")]
)
def test_messages_at_the_edges(text: str, said: str) -> None:
    problem = message(text, max_chars=20)
    assert problem is not None
    assert said in problem


def test_least_words_of_a_message() -> None:
    assert message("two words", min_words=2) is None
    assert message("one", min_words=2) == "Please write at least 2 words."
    assert message("...", min_words=1) == "Please write at least one word."


@pytest.mark.parametrize(
    ("least", "most", "selected", "said"),
    [
        (1, 1, ["x"], None),
        (1, 1, [], "Please choose one reply."),
        (1, 1, ["x", "y"], "Please choose one reply."),
        (2, 2, ["x"], "Please choose 2 replies."),
        (0, 3, [], "Please choose, or say that none fits"),
        (0, 3, ["x", "y", "z"], None),
        (1, 2, ["x", "y", "z"], "Please choose between 1 and 2 replies."),
        (0, 3, ["x", "x"], "The same reply was chosen twice. Please choose again."),
        (0, 3, ["q"], "You were not shown that reply"),
        (1, 1, ["x", "q"], "You were not shown that reply"),
    ],
)
def test_how_many_cards(least: int, most: int, selected: list[str], said: str | None) -> None:
    problem = check_choice(step(least, most), choose(selected))
    assert problem == said or (said is not None and problem is not None and problem.startswith(said))


@pytest.mark.parametrize(
    ("words", "required", "reason", "accepted"),
    [
        (None, True, "", True),
        (3, False, "", True),
        (3, True, "two words", False),
        (3, True, "just three words", True),
        (0, True, "", False),
        (0, True, "ok", True),
    ],
)
def test_reasons(words: int | None, required: bool, reason: str, accepted: bool) -> None:
    problem = check_choice(step(words=words, required=required), choose(["x"], reason))
    assert (problem is None) == accepted


def test_comments_may_be_empty_but_not_endless() -> None:
    asked = FeedbackStep(step_id="s", label="?", max_chars=5)

    def check(text: str) -> str | None:
        return check_feedback(asked, FeedbackAnswer(kind="feedback", update_id="u", step_id="s", text=text))

    assert check("") is None
    assert check("12345") is None
    assert check("123456") is not None


@given(st.lists(st.sampled_from(["x", "y", "z", "q"]), max_size=6), st.integers(0, 3), st.integers(0, 3))
def test_only_shown_cards_once_each_in_the_allowed_number_pass(selected: list[str], one: int, other: int) -> None:
    least, most = sorted((one, max(1, other)))
    passes = check_choice(step(least, most), choose(selected)) is None
    distinct = len(set(selected)) == len(selected) and "q" not in selected
    assert passes == (distinct and max(1, least) <= len(selected) <= most)
