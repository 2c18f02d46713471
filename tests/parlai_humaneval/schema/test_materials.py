"""A file that cannot be used is told by name, place and reason, before anything is launched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.materials.contexts import load_personas
from parlai_humaneval.materials.instructions import load_instructions, load_practice

PERSONA = {"persona_id": "p1", "sentences": ["I like tea.", "I have a dog."]}
ITEM = {"human": "Hi!", "good": "Hello, how are you?", "bad": "Go away.", "why": "It is friendly."}
SECTIONS = {"sections": [{"heading": "What you do", "lines": ["Chat for {turns} turns."]}]}
INSTRUCTIONS = {
    "title": "Chat",
    "tagline": "Choose",
    "preview": SECTIONS,
    "instructions": SECTIONS,
    "consent": "I agree.",
    "pay": "{pay}",
    "start_label": "Start",
}
VALUES = {"turns": "6", "pay": "$2"}


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        path = tmp_path / "the_file"
        path.write_text(text, encoding="utf-8")
        return path

    return put


Put = Callable[[str], Path]


def lines(*personas: Any) -> str:
    return "\n".join(json.dumps(persona) for persona in personas)


def test_good_files_are_read(put: Put) -> None:
    (persona,) = load_personas(put(lines(PERSONA)))
    assert persona.sentences == ["I like tea.", "I have a dog."]
    practice = load_practice(put(json.dumps({"metric": "m", "items": [ITEM]})), "m")
    assert practice.items[0].why == "It is friendly."
    words = load_instructions(put(yaml.safe_dump(INSTRUCTIONS)), VALUES)
    assert words.preview.sections[0].lines == ["Chat for 6 turns."]
    assert words.pay == "$2"


def test_marks_and_rare_line_ends_are_no_trouble(put: Put) -> None:
    """A byte order mark, Windows line ends, and a line separator inside of a sentence."""
    sentence = "I said:\u2028“No.”"
    text = "\ufeff" + json.dumps({**PERSONA, "sentences": [sentence]}, ensure_ascii=False) + "\r\n"
    (persona,) = load_personas(put(text))
    assert persona.sentences == [sentence]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no persona"),
        (lines(PERSONA) + "\n\n" + lines({**PERSONA, "persona_id": "p2"}), "line 2: the line is empty"),
        (lines(PERSONA) + "\nnot json", "line 2: not JSON"),
        (lines(PERSONA, PERSONA), "appear twice: p1"),
        (lines({"persona_id": "p1"}), "line 1: at sentences: is missing"),
        (lines({**PERSONA, "sentences": []}), "line 1: at sentences"),
        (lines({**PERSONA, "sentences": ["ok", "  "]}), "line 1: at sentences.1"),
        (lines({**PERSONA, "mood": "good"}), "line 1: at mood"),
        (lines(["a", "list"]), "line 1: at the top"),
        (lines({**PERSONA, "persona_id": 5}), "line 1: at persona_id"),
    ],
)
def test_wrong_personas(put: Put, text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        load_personas(put(text))
    assert "the_file" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        (json.dumps({"metric": "other", "items": [ITEM]}), "for the metric 'other', but this study asks for 'm'"),
        (json.dumps({"metric": "m", "items": []}), "at items"),
        (json.dumps({"metric": "m", "items": [ITEM, {**ITEM, "bad": ""}]}), "at items.1.choose.replies.1"),
        (
            json.dumps({"metric": "m", "items": [{**ITEM, "bad": ITEM["good"]}]}),
            "at items.0.choose: two replies are the same",
        ),
        (
            json.dumps({"metric": "m", "items": [{**ITEM, "good": f" {ITEM['bad']} "}]}),
            "at items.0.choose: two replies are the same",
        ),
        (json.dumps({"metric": "m"}), "at items: is missing"),
        (
            json.dumps({"metric": "m", "items": [{"human": "h", "replies": ["a", "b"], "why": "w"}]}),
            "at items.0: this item has no right answer",
        ),
        (
            json.dumps({"metric": "m", "items": [{"human": "h", "replies": ["a"], "right": [2], "why": "w"}]}),
            "right names reply 2, but there are 1",
        ),
        (
            json.dumps({"metric": "m", "items": [{"human": "h", "reply": "a", "must": [], "why": "w"}]}),
            "there is no right answer",
        ),
    ],
)
def test_wrong_practice_items(put: Put, text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        load_practice(put(text), "m")
    assert "the_file" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not YAML"),
        (yaml.safe_dump({**INSTRUCTIONS, "pay": "{wage}"}), "unknown placeholder in “{wage}”; known: {turns}, {pay}"),
        (yaml.safe_dump({**INSTRUCTIONS, "pay": "{turns.x}"}), "unknown placeholder"),
        (yaml.safe_dump({**INSTRUCTIONS, "pay": "{"}), "unknown placeholder"),
        (yaml.safe_dump({**INSTRUCTIONS, "preview": {"sections": []}}), "at preview.sections"),
        (
            yaml.safe_dump({key: INSTRUCTIONS[key] for key in INSTRUCTIONS if key != "consent"}),
            "at consent: is missing",
        ),
        ("", "at the top"),
    ],
)
def test_wrong_instructions(put: Put, text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        load_instructions(put(text), VALUES)
    assert "the_file" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "load",
    [load_personas, lambda path: load_practice(path, "m"), lambda path: load_instructions(path, VALUES)],
)
def test_files_that_are_not_there_or_no_text(tmp_path: Path, load: Callable[[Path], object]) -> None:
    with pytest.raises(DataError, match="nowhere: cannot be read"):
        load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "latin").write_bytes("Gr\xfc\xdfe".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin, line 1: is not text in UTF-8 \(byte 3\)"):
        load(tmp_path / "latin")
