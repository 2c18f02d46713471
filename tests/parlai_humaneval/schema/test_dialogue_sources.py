"""Dialogues of files, folders and live tasks, in one list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_dialogues import live_record, live_turn

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue
from parlai_humaneval.dialogues.sources import dialogues_of, load_sources
from parlai_humaneval.schema.records import ContextRecord, DialogueRecord, OpeningLine


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in dialogue.lines]


def write(path: Path, *ids: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(json.dumps({"dialogue_id": name, "turns": ["Hi!", "Hello."]}) for name in ids))
    return path


def no_task(name: str) -> list[DialogueRecord]:
    raise AssertionError(f"no task is asked for, but {name} was read")


def no_samples() -> list[Dialogue]:
    raise AssertionError("no samples are asked for")


def test_what_was_said_in_a_shared_history() -> None:
    """Two models behind one partner: chosen replies, one that the rater wrote, and no turn without an answer."""
    turns = [
        live_turn(1, "ab", "b"),
        live_turn(2, "ab", "My own words."),
        live_turn(3, "ab", "a", answered_at=None),
    ]
    (dialogue,) = dialogues_of(live_record("d", turns))
    assert said(dialogue) == [
        ("human", "person says 1"),
        ("bot", "b says 1"),
        ("human", "person says 2"),
        ("bot", "My own words."),
    ]
    assert (dialogue.dialogue_id, dialogue.source, dialogue.settings) == ("d", "chats", {"turns": 6})
    assert dialogue.entities == {"human": HUMAN, "bot": "a+b"}
    assert dialogue.kind == "human_bot"


def test_the_context_is_what_the_person_was_told() -> None:
    """Opening lines were said; a last one of the person's is their first message, which stands in the first turn."""
    context = ContextRecord(
        persona=["I ski."],
        bot_personas={"a": ["I am secret."]},
        topic="Snow",
        opening=[
            OpeningLine(speaker="human", text="Cold!"),
            OpeningLine(speaker="bot", text="Very."),
            OpeningLine(speaker="human", text="person says 1"),
        ],
    )
    (dialogue,) = dialogues_of(live_record("d", [live_turn(1, "a", "a", human_fixed=True)], "a", context=context))
    assert dialogue.context == ("partner's persona: I ski.", "Snow")
    assert said(dialogue) == [("human", "Cold!"), ("bot", "Very."), ("human", "person says 1"), ("bot", "a says 1")]
    assert dialogue.entities["bot"] == "a"


def test_histories_of_their_own_are_dialogues_of_their_own() -> None:
    """Side by side as the rater saw them (b stood left); a reply that failed keeps its turn. One rating for both."""
    turns = [live_turn(1, "ba", "each"), live_turn(2, "ba", "each")]
    turns[1].candidates[1] = turns[1].candidates[1].model_copy(update={"failed": True, "text": "", "position": 0})
    left, right = dialogues_of(live_record("d", turns, technique="arena", verdict="a", verdict_model="b"))
    assert [left.dialogue_id, right.dialogue_id] == ["d:b", "d:a"]
    assert [left.entities["bot"], right.entities["bot"]] == ["b", "a"]
    assert said(left)[1] == ("bot", "b says 1")
    assert said(right)[3] == ("bot", "…")
    assert left.rating is right.rating
    assert left.rating is not None
    assert (left.rating.verdict, left.rating.verdict_model) == ("a", "b")


def test_the_own_rating_goes_with_the_dialogue() -> None:
    """Whatever a third party is asked once more, with the answers to compare."""
    record = live_record("d", [live_turn(1, "ab", "b", selected=["1-b"])], final_ratings={"fun": 4.0})
    (dialogue,) = dialogues_of(record)
    rating = dialogue.rating
    assert rating is not None
    shared = ("technique", "setting", "metric", "question", "worker", "task_name", "final_ratings", "turns")
    assert [getattr(rating, name) for name in shared] == [getattr(record, name) for name in shared]


def test_a_dialogue_without_an_answered_turn_is_none() -> None:
    assert dialogues_of(live_record("d", [live_turn(1, "a", "a", answered_at=None)])) == []


def test_all_kinds_of_sources(tmp_path: Path) -> None:
    """In the order of the entries; of a folder all JSONL files by name."""
    write(tmp_path / "many" / "2.jsonl", "c")
    write(tmp_path / "many" / "1.jsonl", "a", "b")
    (tmp_path / "many" / "1.metadata").write_text("{}")
    named = write(tmp_path / "named.jsonl", "d")
    asked: list[str] = []

    def read_task(name: str) -> list[DialogueRecord]:
        asked.append(name)
        return [live_record("e", [live_turn(1, "ab", "a")])]

    found = load_sources(
        [str(tmp_path / "many"), {"file": named, "entities": {"speaker_2": "eliza"}}, {"task": "chats"}],
        read_task,
        no_samples,
    )
    assert [dialogue.dialogue_id for dialogue in found] == ["a", "b", "c", "d", "e"]
    assert found[3].entities == {"speaker_2": "eliza"}
    assert asked == ["chats"]


def test_one_name_for_both_speakers(tmp_path: Path) -> None:
    (dialogue,) = load_sources([{"file": write(tmp_path / "a.jsonl", "a"), "entities": "human"}], no_task, no_samples)
    assert dialogue.kind == "human_human"


def test_an_id_in_two_places_names_both(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one.jsonl", "x", "same"), write(tmp_path / "other.jsonl", "same")
    with pytest.raises(DataError, match=r"id same: in .*one.jsonl, line 2, and in .*other.jsonl, line 1; name each"):
        load_sources([one, other], no_task, no_samples)
    with pytest.raises(DataError, match=r"id e: in chats, and in chats"):
        load_sources([{"task": "chats"}] * 2, lambda _: [live_record("e", [live_turn(1, "a", "a")])], no_samples)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (7, "7 is not understood; expected a file"),
        ({"file": "a", "entity": "b"}, "is not understood"),
        ({"task": "t", "file": "a"}, "is not understood"),
        ({"file": "a.jsonl", "entities": ["b"]}, "entities of a.jsonl cannot be"),
        ({"file": "a.jsonl", "entities": {"b": 3}}, "entities of a.jsonl cannot be"),
        ("/no/such.jsonl", "such.jsonl: cannot be read"),
        ({"task": "empty"}, "task 'empty' has no dialogue with an answered turn"),
    ],
)
def test_an_entry_that_will_not_do_is_told(entry: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load_sources([entry], lambda _: [], no_samples)


def test_a_folder_without_dialogues_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=str(tmp_path)):
        load_sources([tmp_path], no_task, no_samples)
