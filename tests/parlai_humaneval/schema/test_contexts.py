"""Where a conversation starts from: data sets in ParlAI's formats, our own, openers and topics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.materials.contexts import (
    SpeakerContext,
    load_bst_contexts,
    load_contexts,
    load_convai2_contexts,
    load_jsonl_contexts,
    load_openers,
    load_topics,
    packaged_contexts,
)

EPISODE = {
    "personas": [["I ski.", "I bake."], ["I swim.", "I've a dog"]],
    "context_dataset": "convai2",
    "additional_context": "",
    "free_turker_utterance": "Do you like snow?",
    "guided_turker_utterance": "I like water.",
    "dialog": [[0, "Really?"], [1, "Yes."]],
}
OWN = {"context_id": "c1", "human_persona": ["I ski."], "bot_persona": ["I swim."]}


@pytest.fixture
def put(tmp_path: Path) -> Callable[[Any], Path]:
    def put(content: Any) -> Path:
        path = tmp_path / "valid.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return put


Put = Callable[[Any], Path]


def test_blended_skill_talk(put: Put) -> None:
    """Guards who plays whom (person 1 is the human, as in ParlAI's world), the seeds' order, and the topic."""
    wizard = {**EPISODE, "context_dataset": "wizard_of_wikipedia", "additional_context": "Skiing"}
    feeling = {**EPISODE, "context_dataset": "empathetic_dialogues", "additional_context": "I was sad."}
    plain, about, sad = load_bst_contexts(put([EPISODE, wizard, feeling]))
    assert plain == SpeakerContext(
        context_id="valid-1",
        human_persona=["I ski.", "I bake."],
        bot_persona=["I swim.", "I've a dog"],
        opening=[("human", "Do you like snow?"), ("bot", "I like water.")],
    )
    assert about.topic == "Skiing"
    assert sad.topic is None, "ParlAI shows a situation to nobody"


def test_a_list_of_persona_pairs_gives_no_opening(put: Put) -> None:
    """Guards the short form."""
    (context,) = load_bst_contexts(put([[["I ski."], ["I swim.", "I bake."]]]))
    assert (context.human_persona, context.bot_persona) == (["I ski."], ["I swim.", "I bake."])
    assert context.opening == []


def test_safe_personas_are_matched_as_parlai_does(put: Put, tmp_path: Path) -> None:
    """Guards ParlAI's allow-list: capitals, full stops and short forms make no difference; others are left out."""
    path = put([EPISODE, {**EPISODE, "personas": [["I ski.", "I bake."], ["I swim.", "I hate you."]]}])
    safe = tmp_path / "safe_personas.txt"
    safe.write_text("i ski|i bake.\ni swim|i have a dog.\n", encoding="utf-8")
    assert [context.context_id for context in load_bst_contexts(path, safe)] == ["valid-1"]
    safe.write_text("i ski\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"holds no episode that .*safe_personas\.txt allows"):
        load_bst_contexts(path, safe)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty; expected ParlAI's blended_skill_talk/train.json"),
        ([], "holds no episode"),
        ("[1,\n2", "line 2: not JSON"),
        ("i ski|i bake\n", "not JSON.*goes with an episode file, as safe_personas"),
        ({"personas": []}, "not a list"),
        ([EPISODE, {**EPISODE, "personas": [["I ski."]]}], "episode 2: at personas: .*needs 2 or more"),
        ([{**EPISODE, "personas": [["I ski.", " "], ["I swim."]]}], "episode 1: at personas.0.1"),
        ([{**EPISODE, "guided_turker_utterance": ""}], "episode 1: at guided_turker_utterance"),
        ([{key: EPISODE[key] for key in ("personas", "context_dataset")}], "at free_turker_utterance: is missing"),
        (["text"], "episode 1: at the top"),
    ],
)
def test_a_wrong_episode_file_is_told(put: Put, content: Any, said: str) -> None:
    """Guards the message for a wrong or damaged file of BlendedSkillTalk."""
    with pytest.raises(DataError, match=said):
        load_bst_contexts(put(content))


def test_convai2(put: Put) -> None:
    """Guards who plays whom: “your persona” is the bot's, as in ParlAI's teacher, whichever stands first."""
    text = (
        "1 partner's persona: i bake.\n2 your persona: i ski.\n3 your persona: i run.\n4 hi\thello\t\tno|hello\n"
        "1 your persona: i swim.\n2 hi\thello\n"
    )
    first, second = load_convai2_contexts(put(text))
    assert (first.human_persona, first.bot_persona, first.opening) == (["i bake."], ["i ski.", "i run."], [])
    assert (second.human_persona, second.bot_persona) == ([], ["i swim."])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "1 your persona: i ski.\n2 hi\thello\n1 hi\thello\n",
            "line 3: .*no “your persona:” lines.*train_both_original",
        ),
        ("1 your persona:\n2 hi\thello\n", "line 1: the persona line is empty"),
        ("", "is empty"),
    ],
)
def test_a_wrong_convai2_file_is_told(put: Put, content: str, said: str) -> None:
    """Guards against the variant without personas, and an empty persona line."""
    with pytest.raises(DataError, match=said):
        load_convai2_contexts(put(content))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no context"),
        ([OWN, OWN], "context ids appear twice: c1"),
        ([OWN, {"context_id": "c2"}], "line 2: at the top: a context needs at least one of"),
        ([{**OWN, "bot_persona": ["I swim.", ""]}], "line 1: at bot_persona.1"),
        ([{**OWN, "opening": [["robot", "Hi!"]]}], "line 1: at opening.0.0"),
        ([{**OWN, "mood": "good"}], "line 1: at mood"),
    ],
)
def test_a_wrong_file_of_our_own_is_told(put: Put, lines: list[Any], said: str) -> None:
    """Guards the message for contexts written by hand."""
    with pytest.raises(DataError, match=said):
        load_jsonl_contexts(put("\n".join(json.dumps(line) for line in lines)))


def test_one_word_chooses_the_format(put: Put) -> None:
    """Guards the dispatcher: each kind, the packaged default, and what cannot be."""
    assert load_contexts("jsonl") == load_jsonl_contexts(packaged_contexts())
    assert load_contexts("bst", put([EPISODE]))[0].opening
    assert load_contexts("convai2", put("1 your persona: i ski.\n2 hi\thello\n"))[0].bot_persona
    assert load_contexts("jsonl", put({**OWN, "opening": [["bot", "Hi!"]]}))[0].opening == [("bot", "Hi!")]
    with pytest.raises(DataError, match="bst is not packaged; name its file"):
        load_contexts("bst")
    with pytest.raises(DataError, match="no such kind “personachat”; choose one of bst, convai2, jsonl"):
        load_contexts("personachat", put([]))  # type: ignore[arg-type]  # a name from a configuration is not checked by mypy


@pytest.mark.parametrize("load", [load_openers, load_topics])
def test_openers_and_topics_are_lines(put: Put, load: Callable[[Path], list[str]]) -> None:
    """Guards order, blanks at the ends, Windows line ends, and the errors of a file written by hand."""
    assert load(put("\ufeffHi there!\r\n  How are you? \n")) == ["Hi there!", "How are you?"]
    for text, said in [
        ("", "holds no"),
        ("Hi!\n\nBye!\n", "line 2: the line is empty"),
        ("Hi!\nBye!\nHi!\n", "line 3: the .* of line 1 appears here again"),
    ]:
        with pytest.raises(DataError, match=said):
            load(put(text))
