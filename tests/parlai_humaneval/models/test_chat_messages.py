"""What a chat-completions server is sent, how its answers are read, and what they cost; no server is needed for that."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from faulty_server import completion, piece
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.chat_completions import Prices
from parlai_humaneval.models.backends.chat_server import BrokenOff, read_stream, read_whole
from parlai_humaneval.models.backends.prompting import BEGIN, GO_ON, Wording

HI: Line = ("human", "Hi!")
lines = st.lists(st.tuples(st.sampled_from(["human", "bot"]), st.text("ab {}\n", min_size=1)), max_size=8)


def sent(wording: Wording, *dialogue: Line, persona: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    messages = wording.messages(Heard(tuple(dialogue), persona, (), 0))
    return [(message["role"], message["content"]) for message in messages]


def test_the_bots_lines_are_the_assistants_and_the_persons_the_users() -> None:
    """Guards the shared history: whoever wrote a line that continued, the model hears it as its own."""
    got = sent(Wording("Be kind."), HI, ("bot", "Hello."), ("human", "Well?"))
    assert got == [("system", "Be kind."), ("user", "Hi!"), ("assistant", "Hello."), ("user", "Well?")]


@pytest.mark.parametrize(
    ("prompt", "system"),
    [
        ('You: {persona} Answer as {"text": …}.', 'You: I ski. I bake. Answer as {"text": …}.'),
        ("Be kind.", "Be kind.\nYour persona: I ski. I bake."),
        ("", "Your persona: I ski. I bake."),
    ],
)
def test_a_persona_is_told_in_its_place_or_after_the_prompt(prompt: str, system: str) -> None:
    """Guards personas against being lost, and other braces of a prompt against being taken for a place."""
    assert sent(Wording(prompt), HI, persona=("I ski.", "I bake."))[0] == ("system", system)


def test_where_the_bot_begins_or_goes_on_the_user_says_so() -> None:
    """Guards against servers that refuse an empty dialogue, one that the assistant begins, or one that it ends."""
    assert sent(Wording()) == [("user", BEGIN)]
    assert sent(Wording(), ("bot", "Hello.")) == [("user", BEGIN), ("assistant", "Hello."), ("user", GO_ON)]
    silent = Wording(begin_prompt="", go_on_prompt="")
    assert sent(silent, ("bot", "Hello.")) == [("assistant", "Hello.")]
    assert sent(silent) == []


def test_lines_of_one_speaker_in_a_row_are_joined_unless_told_otherwise() -> None:
    """Guards against servers whose templates demand that roles alternate."""
    twice: tuple[Line, ...] = (HI, ("human", "Anyone?"))
    assert sent(Wording(), *twice) == [("user", "Hi!\nAnyone?")]
    assert sent(Wording(alternate=False), *twice) == [("user", "Hi!"), ("user", "Anyone?")]


def test_without_a_system_role_the_users_first_message_begins_with_the_prompt() -> None:
    """Guards servers that know no system role."""
    wording = Wording("Be kind.", system_role="user", begin_prompt="")
    assert sent(wording, HI) == [("user", "Be kind.\n\nHi!")]
    assert sent(wording) == [("user", "Be kind.")]
    assert sent(wording, ("bot", "Hello."), HI) == [("user", "Be kind."), ("assistant", "Hello."), ("user", "Hi!")]


@given(lines, st.sampled_from(["system", "developer", "user"]), st.text("ab", max_size=3))
def test_roles_always_alternate_and_nothing_that_was_said_is_lost(dialogue: Any, role: Any, prompt: str) -> None:
    """Guards every dialogue, not only tidy ones: user first, user last, by turns, with all words in their order."""
    got = sent(Wording(prompt, system_role=role), *dialogue)
    turns = [role for role, _ in got if role in ("user", "assistant")]
    assert turns == (["user", "assistant"] * len(turns))[: len(turns)]
    assert turns[-1] == "user"
    told = "\n".join(content for _, content in got)
    place = 0
    for _, text in dialogue:
        place = told.index(text, place) + len(text)


def test_of_several_choices_the_first_is_the_reply_and_a_refusal_is_what_was_said() -> None:
    """Guards against an order of choices that servers do not promise, and against a refusal taken for silence."""
    choices = [
        {"index": 1, "message": {"content": "second"}, "finish_reason": "stop"},
        {"index": 0, "message": {"content": None, "refusal": "I would rather not."}, "finish_reason": "stop"},
    ]
    assert read_whole(json.dumps(completion(choices=choices)).encode()).text == "I would rather not."


@pytest.mark.parametrize("delta", [None, "", {"content": 5}])
def test_fields_that_are_not_read_may_be_anything(delta: object) -> None:
    """Guards servers that fill in the field of the other form: nothing of it is read."""
    choices = [{"index": 0, "message": {"content": "Yes."}, "delta": delta, "finish_reason": "stop"}]
    assert read_whole(json.dumps(completion(choices=choices)).encode()).text == "Yes."
    last = {"index": 0, "delta": {"content": "Yes."}, "message": "", "finish_reason": "stop"}
    assert read_stream([{"choices": [last]}]).text == "Yes."


def test_content_in_parts_is_read_without_the_parts_that_are_no_text() -> None:
    """Guards servers that put their reasoning in a part of its own."""
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes"}, {"type": "text", "text": "."}]
    choices = [{"index": 0, "message": {"content": parts}, "finish_reason": "stop"}]
    assert read_whole(json.dumps(completion(choices=choices)).encode()).text == "Yes."


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_a_stream_says_what_the_whole_would_have_said(text: str, cuts: list[int]) -> None:
    """Guards against words lost or doubled between pieces, wherever they are cut."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [piece(text[start:end]) for start, end in pairwise(places)]
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    got = read_stream([*parts, piece(None, "stop"), piece(choices=[], usage=usage)])
    assert (got.text, got.finish_reason, got.model, got.usage.completion_tokens) == (text, "stop", "served-1", 2)


def test_a_stream_with_no_end_is_no_reply() -> None:
    """Guards against half a reply that is shown as a whole one, and against a server that never stops."""
    with pytest.raises(BrokenOff, match="broke off after 4"):
        read_stream([piece("Half")])
    with pytest.raises(BrokenOff, match="without an end"):
        read_stream(piece("x" * 10_000) for _ in range(10_000))


def test_a_cost_is_of_both_kinds_of_tokens_and_unknown_where_one_is() -> None:
    """Guards sums of money: per million tokens, never a guess."""
    assert Prices(2.0, 8.0).cost(1_000_000, 500_000) == 6.0
    assert Prices(2.0).cost(500_000, None) == 1.0
    assert Prices(2.0, 8.0).cost(100, None) is None
    assert Prices().cost(100, 100) is None
    assert Prices(0.0, 0.0).cost(1, 1) == 0
    with pytest.raises(ValueError, match=r"price_prompt: -1\.0 is not a price"):
        Prices(-1.0)
