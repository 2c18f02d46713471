"""What cannot be judged, as its user meets it: one clear sentence from `launch`, no traceback, nothing begun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from judging_hands import LONG, SHORT, TERSE, WORDY, chats, duets, says, talked, written

from mephisto_tasks.cli.launch import launch

LINE = {"id": "person", "text": "Hi!"}


def said_to(tmp_path: Path, task: str, *settings: str) -> str:
    """What a launch says that cannot begin."""
    data_dir = tmp_path / "data"
    before = sorted(data_dir.rglob("*")) if data_dir.exists() else []
    overrides = [one if one.startswith("conf=") else f"mephisto.blueprint.{one}" for one in settings]
    done = CliRunner().invoke(launch, [task, *overrides, "port=0", "--data-dir", str(data_dir)])
    assert done.exit_code in (1, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in done.output
    text = " ".join(done.output.split())
    assert len(text[text.index("error: ") :]) < 450, text
    kept = [path for path in sorted(data_dir.rglob("*")) if path.suffix == ".db"] if data_dir.exists() else []
    assert [path for path in kept if path not in before] == []
    return text


def both(tmp_path: Path, dialogues: int = 2) -> str:
    files = [chats(tmp_path, name, says(text), dialogues=dialogues) for name, text in ((WORDY, LONG), (TERSE, SHORT))]
    return f"dialogues=[{','.join(files)}]"


def of(tmp_path: Path, *acts: list[dict[str, str]], entities: dict[str, str] | None = None) -> str:
    one = {"dialog": list(acts), "dialogue_id": "d1", "entities": entities or {"person": "human", "bot": WORDY}}
    return written(tmp_path / "chats.jsonl", [one])


@pytest.mark.parametrize(
    ("acts", "said"),
    [
        ([[LINE, {"id": "person", "text": "Is anybody there?"}]], "speaker"),
        ([[LINE, {"text": "Hello!"}]], "id"),
        ([[LINE, {"id": "bot", "text": "Hello!"}, {"id": "nobody", "text": "Boo!"}]], "nobody"),
        ([[LINE]], "line"),
    ],
    ids=["one-speaks", "without-a-name", "a-third", "one-line"],
)
def test_a_speaker_is_missing(tmp_path: Path, acts: list[list[dict[str, str]]], said: str) -> None:
    """The file and its line are named."""
    path = of(tmp_path, *acts)
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{path}]")
    assert "chats.jsonl" in text
    assert "line 1" in text
    assert said in text


def test_an_entity_for_nobody(tmp_path: Path) -> None:
    path = of(tmp_path, [LINE, {"id": "bot", "text": "Hello!"}], entities={"person": "human", "robot": WORDY})
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{path}]")
    assert "chats.jsonl" in text
    assert "robot" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "is empty"), ("what is this?\n", "format is not known"), ('{"dialog": 3}\n', "line 1"), ("{\n", "line 1")],
)
def test_no_file_of_dialogues(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "chats.jsonl").write_text(content)
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{tmp_path / 'chats.jsonl'}]")
    assert "chats.jsonl" in text
    assert said in text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "nowhere.jsonl" in said_to(tmp_path, "pw_dialog", "dialogues=[nowhere.jsonl]")
    (tmp_path / "chats.jsonl").write_text("")
    assert "Did you mean chats.jsonl?" in said_to(tmp_path, "pw_dialog", f"dialogues=[{tmp_path / 'nochats.jsonl'}]")


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    assert "chats" in said_to(tmp_path, "pw_dialog", f"dialogues=[{tmp_path / 'chats'}]")


def test_the_same_file_twice(tmp_path: Path) -> None:
    path = chats(tmp_path, WORDY, says(LONG))
    assert f"{WORDY}-1" in said_to(tmp_path, "pw_dialog", f"dialogues=[{path},{path}]")


def test_a_segment_longer_than_a_dialogue(tmp_path: Path) -> None:
    """Which dialogue, how long it is, and how long it should be."""
    bots = duets(tmp_path, WORDY, TERSE, dialogues=2, exchanges=3)
    text = said_to(tmp_path, "spot_the_bot", f"dialogues=[{bots}]", "generate=''", f"models=[{WORDY},{TERSE}]")
    assert "has 3 complete exchange(s), but the longest segment needs 5 after 1 of the seed" in text
    assert "0 of the 2 dialogues are long enough" in text
    assert f"{WORDY}--{TERSE}-" in text


def test_too_few_dialogues_between_people(tmp_path: Path) -> None:
    bots = duets(tmp_path, WORDY, TERSE, dialogues=8)
    people = duets(tmp_path, "human", "human", dialogues=1)
    settings = [f"dialogues=[{bots}]", "generate=''", f"models=[{WORDY},{TERSE}]", f"human_dialogues=[{people}]"]
    text = said_to(tmp_path, "spot_the_bot", *settings, "human_share=0.5")
    assert "1" in text
    assert "8" in text


def test_more_pairs_than_are_possible(tmp_path: Path) -> None:
    """Two dialogues of each model make four pairs (each at most once)."""
    text = said_to(tmp_path, "pw_dialog", both(tmp_path), "judgements_per_group=5")
    assert "4" in text
    assert "5" in text
    assert WORDY in text


def test_one_dialogue_only(tmp_path: Path) -> None:
    path = chats(tmp_path, WORDY, says(LONG), dialogues=1)
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{path}]")
    assert f"a comparison needs dialogues of two or more models, but these are of {WORDY}" in text


def test_speakers_that_nobody_knows(tmp_path: Path) -> None:
    """Turns without names are of nobody: the sentence says how to name them."""
    path = written(tmp_path / "plain.jsonl", [{"dialogue_id": "p1", "turns": ["Hi!", "Hello!"]}])
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{path}]", f"models=[{WORDY},{TERSE}]")
    assert "plain.jsonl" in text or "entities" in text


def test_the_hint_for_unnamed_speakers_names_those_of_the_file(tmp_path: Path) -> None:
    """So that it works as it is typed."""
    (tmp_path / "t.txt").write_text("User: Hi!\nAssistant: Hello.")
    text = said_to(tmp_path, "pw_dialog", f"dialogues=[{tmp_path / 't.txt'}]")
    assert "t.txt, entities: {assistant: my_bot}}" in text
    path = chats(tmp_path, WORDY, says(LONG))
    assert "add dialogues of another model" in said_to(tmp_path, "pw_dialog", f"dialogues=[{path}]")


def test_a_model_without_dialogues(tmp_path: Path) -> None:
    text = said_to(tmp_path, "pw_dialog", both(tmp_path), f"models=[{WORDY},nobody]")
    assert "nobody" in text


@pytest.mark.parametrize("task", ["self_chat", "spot_the_bot"])
def test_an_unknown_model_has_nothing_to_say(tmp_path: Path, task: str) -> None:
    text = said_to(tmp_path, task, "models=[eliza,retreival]")
    assert "retreival" in text
    assert "retrieval" in text.replace("retreival", "")


@pytest.mark.parametrize(
    ("task", "settings", "said"),
    [
        ("pw_dialog", ["dialogues=[]"], "there is nothing to judge"),
        ("third_party", ["dialogues=[]"], "there is nothing to judge"),
        ("pw_dialog", ["dialoges=[x]"], "Did you mean dialogues"),
        ("pw_dialog", ["dialogues=[x]", "metric=wit"], "there is no metric of two dialogues 'wit'"),
        ("self_chat", ["exchanges=0"], "exchanges"),
        ("self_chat", ["start=bye"], "start"),
        ("self_chat", ["start=first_exchange", "start_file=nowhere.txt"], "nowhere.txt"),
        ("spot_the_bot", ["segment_lengths=[6]"], "the longest segment has 7 exchanges (with 1 of the seed)"),
        ("spot_the_bot", ["human_dialogues=[pakaged]"], "pakaged"),
        ("third_party", ["dialogues=[x]"], "show=replay needs dialogues that were rated"),
        ("third_party", ["dialogues=[{task: nothing}]"], "there is no Mephisto database in"),
        (
            "pw_dialog",
            ["dialogues=[{task: nothing}]"],
            "collect dialogues with task_name=nothing first, or judge others",
        ),
        ("third_party", ["dialogues=[{tsak: nothing}]"], "show=replay needs dialogues that were rated"),
        ("pw_dialog", ["dialogues=[{fiel: a.jsonl}]"], "fiel"),
        ("pw_dialog", ["dialogues=[3]"], "3"),
        (
            "pw_dialog",
            ["conf=smith2022_preference"],
            "no conf 'smith2022_preference'. Did you mean smith2022_",
        ),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, task: str, settings: list[str], said: str) -> None:
    assert said in said_to(tmp_path, task, *settings)


def test_attention_checks_of_another_metric(tmp_path: Path) -> None:
    gold = tmp_path / "golds.json"
    item = {"conversations": [["Hi!", "Hello!"], ["Hi!", "ERROR"]], "better": 1, "why": "w"}
    gold.write_text(json.dumps({"metric": "humanness", "items": [item]}))
    text = said_to(tmp_path, "pw_dialog", both(tmp_path), "judgements_per_group=2", f"gold_file={gold}")
    assert "is for the metric 'humanness', but this study asks for 'preference'" in text


def test_practice_that_asks_something_else(tmp_path: Path) -> None:
    practice = tmp_path / "practice.json"
    item = {"lines": ["Hi!", "Hello!"], "labels": ["human", "human"], "why": "w"}
    practice.write_text(json.dumps({"metric": "preference", "items": [item]}))
    text = said_to(tmp_path, "pw_dialog", both(tmp_path), "judgements_per_group=2", f"onboarding_file={practice}")
    assert "item 1 does not ask the question of show=pair" in text
    assert "onboarding_file" in text


def test_a_live_task_without_a_complete_dialogue(tmp_path: Path) -> None:
    talked(tmp_path / "data", "single_model", "talks", models=["alpha"], raters=1, dialogues=1)
    text = said_to(tmp_path, "third_party", "dialogues=[{task: other}]")
    assert "other" in text
    assert "talks" in text


def test_two_models_that_spoke_as_one(tmp_path: Path) -> None:
    """SATA's dialogues are of both models together: they cannot be compared by them."""
    talked(tmp_path / "data", "sata", "talks", models=["alpha", "beta"], dialogues=1)
    text = said_to(tmp_path, "pw_dialog", "dialogues=[{task: talks}]")
    assert "a comparison needs dialogues of two or more models, but these are of alpha+beta" in text
