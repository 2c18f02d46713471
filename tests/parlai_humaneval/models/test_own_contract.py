"""The four-line JSON contract: any text travels whole, and whatever comes back is a text or an error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.models.backends.base import MAX_BYTES, BadAnswer, Heard, from_answer, to_question

LINES = st.lists(st.tuples(st.sampled_from(["human", "bot"]), st.text()), max_size=4).map(tuple)
HEARD = st.builds(
    Heard, dialogue=LINES, persona=st.lists(st.text()).map(tuple), partner_persona=st.just(()), seed=st.integers()
)


@given(HEARD)
def test_a_question_is_one_line_and_holds_all(heard: Heard) -> None:
    """Guards a program that reads by the line: no line break of any alphabet within a text ends the question."""
    question = to_question(heard)
    assert question.decode("ascii").splitlines() == [question.decode("ascii")]
    found = json.loads(question)
    assert tuple((turn["speaker"], turn["text"]) for turn in found["history"]) == heard.dialogue
    assert (tuple(found["persona"]), found["seed"]) == (heard.persona, heard.seed)


@given(st.text(), st.booleans())
def test_any_text_comes_back_whole(text: str, ascii_only: bool) -> None:
    """Guards every alphabet, escaped or not, and keys that the contract does not know."""
    answer = json.dumps({"text": text, "mood": 3}, ensure_ascii=ascii_only).encode("utf-8")
    assert from_answer(answer).text == text


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(st.none() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_anything_else_is_an_error(answer: bytes) -> None:
    """Guards the thread that asks: no answer raises anything but BadAnswer."""
    with pytest.raises(BadAnswer):
        from_answer(answer)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"<html>", "not JSON in UTF-8: '<html>'"),
        (b'{"text": "\xff"}', "not JSON in UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b'{"reply": "Hi"}', 'not a JSON object with a "text"'),
        (b'["text"]', 'not a JSON object with a "text"'),
        (b'{"text": null}', '"text" of the answer is not a string'),
        (b'{"text": ["Hi"]}', "not a string"),
        (b" " * (MAX_BYTES + 1), "longer than 1,000,000 bytes"),
    ],
)
def test_an_error_says_what_came(answer: bytes, sentence: str) -> None:
    """Guards a short sentence that can stand in a log, whatever came."""
    with pytest.raises(BadAnswer) as caught:
        from_answer(answer)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()
