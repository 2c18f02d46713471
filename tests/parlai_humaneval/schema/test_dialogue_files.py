"""Finished dialogues in the usual formats, and what a file in none of them is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.files import FIRST, PACKAGED_CORPUS, SECOND, load_dialogues

OURS = json.dumps({"dialogue_id": "d1", "turns": ["Hi!", "Hello.", "Bye."]})


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        path = tmp_path / "talk.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return put


Put = Callable[[str], Path]


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in dialogue.lines]


def test_our_own_format(put: Put) -> None:
    """Guards ids, alternating speakers, and the packaged corpus."""
    (dialogue,) = load_dialogues(put(OURS + "\n\n"))
    assert dialogue.dialogue_id == "d1"
    assert said(dialogue) == [(FIRST, "Hi!"), (SECOND, "Hello."), (FIRST, "Bye.")]
    assert len(load_dialogues(PACKAGED_CORPUS)) > 150


def test_fbdialog_as_convai2_has_it(put: Put) -> None:
    """Guards personas (nobody's words), silence, several labels, candidates, and where a dialogue begins."""
    text = (
        "1 your persona: i ski.\n2 partner's persona: i bake.\n"
        "3 __SILENCE__\thi there\t\tno|yes\n4 how are you ?\tfine|great\t\tno|yes\n"
        "1 hello\tgood day\n2 nice hat\n"
    )
    first, second = load_dialogues(put(text))
    assert said(first) == [(SECOND, "hi there"), (FIRST, "how are you ?"), (SECOND, "fine")]
    assert first.context == ("your persona: i ski.", "partner's persona: i bake.")
    assert said(second) == [(FIRST, "hello"), (SECOND, "good day"), (FIRST, "nice hat")]
    assert (second.line_number, second.dialogue_id, second.context) == (5, "talk-2", ())


def test_fbdialog_lines_before_a_question_are_its_context(put: Put) -> None:
    """Guards tasks such as bAbI, whose statements are said by nobody."""
    (dialogue,) = load_dialogues(put("1 Sam went to the kitchen.\n2 Where is Sam?\tkitchen\n"))
    assert said(dialogue) == [(FIRST, "Where is Sam?"), (SECOND, "kitchen")]
    assert dialogue.context == ("Sam went to the kitchen.",)


def test_parlais_text_format_as_blended_skill_talk_has_it(put: Put) -> None:
    """Guards personas and topic in the first message, escaped signs, the end of an episode, and one left open."""
    text = (
        "text:your persona: I ski.\\nyour persona: I bake.\\nSnow\\nHi|you\tlabels:Hello.\tcontext_dataset:convai2\n"
        "text:And\\tnow?\tlabels:Bye.\tepisode_done:True\n"
        "text:Two\\nlines\tlabels:One.\n"
    )
    first, second = load_dialogues(put(text))
    assert said(first) == [(FIRST, "Hi|you"), (SECOND, "Hello."), (FIRST, "And\tnow?"), (SECOND, "Bye.")]
    assert first.context == ("your persona: I ski.", "your persona: I bake.", "Snow")
    assert said(second) == [(FIRST, "Two\nlines"), (SECOND, "One.")]


def test_parlais_conversations_keep_their_speakers(put: Put) -> None:
    """Guards what `parlai self_chat` writes: context acts, pairs, blank last acts."""
    pairs = [
        [{"id": "context", "text": "your persona: I ski."}, {"id": "context", "text": ""}],
        [{"id": "model_a", "text": "Hi!"}, {"id": "model_b", "text": "Hello."}],
        [{"id": "model_a", "text": "Bye."}, {"id": "model_b", "text": ""}],
    ]
    lines = [json.dumps({"dialog": pairs[1:], "context": pairs[0]}), json.dumps({"dialog": pairs})]
    for dialogue in load_dialogues(put("\n".join(lines))):
        assert said(dialogue) == [("model_a", "Hi!"), ("model_b", "Hello."), ("model_a", "Bye.")]
        assert dialogue.context == ("your persona: I ski.",)


def test_a_speaker_called_human_is_a_person(put: Put) -> None:
    """Guards ParlAI's conversations against a question that chats in messages are not asked."""
    acts = [[{"id": "Human", "text": "Hi!"}, {"id": "model_b", "text": "Hello."}]]
    (dialogue,) = load_dialogues(put(json.dumps({"dialog": acts})))
    assert dialogue.entities == {"Human": HUMAN}


def test_who_speaks_as_the_file_says(put: Put) -> None:
    """Guards our self-chats: entities, lines put into a model's mouth, ids, and how they were made."""
    acts = [
        [{"id": "a", "text": "Hi!", "seeded": True}, {"id": "b", "text": "Hello.", "seeded": True}],
        [{"id": "a", "text": "Well?"}, {"id": "b", "text": "…", "empty": True}],
    ]
    line = {
        "dialog": acts,
        "dialogue_id": "x:0:1",
        "entities": {"a": "dull", "b": "eliza"},
        "seed": 4,
        "start_id": "hi",
    }
    (dialogue,) = load_dialogues(put(json.dumps(line)))
    assert dialogue.dialogue_id == "x:0:1"
    assert dialogue.entities == {"a": "dull", "b": "eliza"}
    assert dialogue.settings == {"seed": 4, "start_id": "hi", "seeded_lines": 2}
    assert (dialogue.kind, dialogue.exchanges) == ("bot_bot", 2)


def test_who_speaks_as_the_caller_says(put: Put) -> None:
    """One name for both, or for some; it goes before what the file says."""
    path = put(json.dumps({"dialogue_id": "d", "turns": ["Hi!", "Hello."], "entities": {SECOND: "eliza"}}))
    assert load_dialogues(path)[0].entities == {SECOND: "eliza"}
    assert load_dialogues(path, {FIRST: HUMAN})[0].entities == {FIRST: HUMAN, SECOND: "eliza"}
    assert load_dialogues(path, {SECOND: "dull"})[0].entities == {SECOND: "dull"}
    assert load_dialogues(path, HUMAN)[0].kind == "human_human"
    assert load_dialogues(put("1 hi\thello\n"), HUMAN)[0].kind == "human_human"


def test_our_own_format_may_name_its_speakers(put: Put) -> None:
    """Two who take turns, or the speaker of each turn; two lines of one speaker in a row are one."""
    pair = {"dialogue_id": "d1", "turns": ["Hi!", "Hello.", "Bye."], "speakers": ["ann", "bob"], "context": ["A park."]}
    each = {"dialogue_id": "d2", "turns": ["Hi!", "Hello?", "Bye."], "speakers": ["ann", "ann", "bob"]}
    first, second = load_dialogues(put(f"{json.dumps(pair)}\n{json.dumps(each)}"))
    assert said(first) == [("ann", "Hi!"), ("bob", "Hello."), ("ann", "Bye.")]
    assert first.context == ("A park.",)
    assert said(second) == [("ann", "Hi!\nHello?"), ("bob", "Bye.")]


def test_a_reply_without_text_keeps_its_turn(put: Put) -> None:
    """Else everything after it would be another exchange; at the end it is left out, and the last line has no answer."""
    texts = ["Hi!", "", "Still there?", "Yes.", "Good.", None]
    acts = [{"id": f"m_{1 + n % 2}", "text": text} for n, text in enumerate(texts)]
    (dialogue,) = load_dialogues(put(json.dumps({"dialog": [acts]})))
    assert [line.text for line in dialogue.lines] == ["Hi!", "…", "Still there?", "Yes.", "Good."]
    assert dialogue.exchanges == 2


@pytest.mark.parametrize(
    ("opt", "self_chat", "speakers", "expected"),
    [
        ({"model_file": "/zoo/blender/blender_90M/model"}, True, ["A_1", "A_2"], ["blender_90M", "blender_90M"]),
        ({"model_file": "/my/mine.model", "partner_model_file": "/my/other"}, True, ["A_1", "B_2"], ["mine", "other"]),
        ({"model": "repeat_query"}, False, ["localHuman", "R"], [HUMAN, "repeat_query"]),
        ({"model": "parlai_humaneval/bot_speaker", "models": "a, b"}, False, ["safeLocalHuman", "B"], [HUMAN, "a+b"]),
        ({}, True, ["A_1", "A_2"], []),
    ],
)
def test_parlais_metadata_tells_who_speaks(
    tmp_path: Path, opt: dict[str, str], self_chat: bool, speakers: list[str], expected: list[str]
) -> None:
    """Written by ParlAI itself, as `parlai self_chat` and `parlai interactive` do."""
    from parlai.utils.conversations import Conversations

    acts = [[{"id": name, "text": f"Hello {name}."} for name in speakers]]
    Conversations.save_conversations([acts], str(tmp_path / "talk.jsonl"), {"seed": 7, **opt}, self_chat=self_chat)
    (dialogue,) = load_dialogues(tmp_path / "talk.jsonl")
    assert [dialogue.entities[name] for name in dialogue.speakers if name in dialogue.entities] == expected
    assert dialogue.settings == {"seed": 7, **opt}


def test_metadata_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(OURS)
    for text in ("{", "[1]", '{"opt": 3}', '{"speakers": 1}'):
        (tmp_path / "talk.metadata").write_text(text)
        with pytest.raises(DataError, match=r"talk.metadata.*(not JSON|cannot be read) .*move it elsewhere"):
            load_dialogues(tmp_path / "talk.jsonl")


@pytest.mark.parametrize(
    ("entities", "expected"),
    [
        (
            {"bob": "eliza"},
            f"line 1: entities names bob, who says nothing in this file; name one of the speakers, {FIRST}, {SECOND}",
        ),
        ({FIRST: " "}, "an entity is empty"),
        ("", "an entity is empty"),
    ],
)
def test_an_entity_of_nobody_is_told(put: Put, entities: dict[str, str] | str, expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        load_dialogues(put(OURS), entities)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OURS + '\n{"dialogue_id": "d2", "turns": ["a", "b"], "speakers": ["x", "x"]}', "line 2: only x says anything"),
        (
            '{"dialog": [[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]]}',
            "line 1: only a says.*expected two speakers",
        ),
        ('{"dialog": [[{"id": "a", "text": "x"}, {"id": "b", "text": ""}]]}', "a dialogue with 1 line.*one of each"),
        (
            '{"dialog": [[{"id": "a", "text": "x"}, {"text": "y"}]]}',
            "at dialog.0.1.id: is missing; expected .*who speaks",
        ),
        ('{"dialog": [[{"id": "a", "text": "x"}, {"id": " ", "text": "y"}]]}', "at dialog.0.1.id"),
        (
            '{"dialog": [[{"id": "a", "text": "x"}, {"id": "b", "text": "y"}], [{"id": "c", "text": "z"}]]}',
            "line 1: 3 speakers .a, b, c.*expected two",
        ),
        (
            '{"dialog": [[{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]], "entities": {"c": "eliza"}}',
            "line 1: entities names c, who says nothing; name one of the speakers, a and b",
        ),
        (
            '{"dialogue_id": "d", "turns": ["a", "b", "c"], "speakers": ["x"]}',
            "line 1: at the top: the number of `speakers` is 1; name two",
        ),
        ("1 hello\n2 is there anybody", "line 1: only speaker_1 says anything"),
    ],
)
def test_a_missing_speaker_is_told_with_its_line(put: Put, text: str, expected: str) -> None:
    """A rater would read one side of a conversation."""
    path = put(text)
    with pytest.raises(DataError, match=expected) as error:
        load_dialogues(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty; expected one JSON object per line"),
        ("\n \n", "is empty"),
        ("Hello there\n", "line 1: the format is not known; expected one JSON object per line"),
        ("[\n" + OURS + ",\n]", "talk.txt: not JSON .*a list of dialogues"),
        (OURS + "\n{", "line 2: not JSON .*one whole dialogue per line"),
        (OURS + '\n{"dialogue_id": "d2", "turns": ["Hi!"]}', 'line 2: at turns: .*expected {"dialogue_id"'),
        (OURS + '\n{"dialogue_id": "d2", "turns": ["Hi!", 3]}', "line 2: at turns.1"),
        (OURS + '\n{"dialogue_id": "d2", "turns": ["Hi!", " "]}', "line 2: a dialogue with 1 line"),
        (OURS + "\n" + OURS, "line 2: the id d1 appears twice"),
        ('{"dialog": [[{"id": "a"}]]}', "line 1: a dialogue with no lines begins here; expected at least 2"),
        ('{"dialog": [{"id": "a", "text": "Hi!"}]}', "a dialogue with 1 line begins here"),
        ('{"dialog": [["a", "Hi!"]]}', 'line 1: at dialog.0.*expected {"dialog"'),
        ("1 hi\thello\nno number\tx", "line 2: does not begin with a number"),
        ("1 hi\thello\n1 hi", "line 2: a dialogue with 1 line"),
        ("1 your persona: \n2 hi\thello", "line 1: the persona line is empty"),
        ("text:your persona:\\nhi\tlabels:hello", "line 1: the persona line is empty"),
        ("text:hi\tlabels:hello\nlabels:hello", "line 2: has no text"),
        ("text:hi\tlabels:hello\treward:much", "line 1: could not convert.*expected text:"),
    ],
)
def test_a_wrong_file_is_told_line_and_form(put: Put, text: str, expected: str) -> None:
    """Guards the one message a user sees for a file of their own."""
    path = put(text)
    with pytest.raises(DataError, match=expected) as error:
        load_dialogues(path)
    assert str(path) in str(error.value)


def test_a_file_in_another_encoding_is_told_what_to_do(tmp_path: Path) -> None:
    """Guards files saved by old Windows programs."""
    path = tmp_path / "old.txt"
    path.write_bytes("1 caf\xe9\tyes\n".encode("latin-1"))
    with pytest.raises(DataError, match="save it as UTF-8"):
        load_dialogues(path)
