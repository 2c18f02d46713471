"""Ids and names that are typed or pasted into settings, lists, files and links lose what nobody sees at their ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.task import read_config
from mephisto_tasks.crowds.invitations.store import read_people
from mephisto_tasks.crowds.panels.panel import panel_door
from mephisto_tasks.crowds.panels.payer import read_submissions
from mephisto_tasks.workers.roster import read_worker_list
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve

END = "\u200b\u00a0"
"""A zero-width space and a blank, as web pages have them."""


def test_a_list_of_workers_names_those_who_are_meant(tmp_path: Path) -> None:
    """Guards a list in which an id that was pasted from a page is another one, or is refused for what nobody sees."""
    texts = {"list.txt": f"\ufeffw1{END}\n{END}w2\n", "list.csv": f"worker\nw1{END}\nw2 \n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_worker_list(tmp_path / name, list).names == {"w1", "w2"}


def test_a_panel_and_its_export_name_the_same_people(tmp_path: Path) -> None:
    """Guards a participant who comes twice, and a place that is not found."""
    door = panel_door("prolific", {"complete": "C1"}, {})
    pid = "5f1a2b3c4d5e6f7a8b9c0d1e"
    names = [f"{pid}{end}" for end in ("", " ", END)]
    arrivals = [door.arrival({"PROLIFIC_PID": name, "STUDY_ID": pid, "SESSION_ID": pid}) for name in names]
    assert len(set(arrivals)) == 1
    export = tmp_path / "export.csv"
    export.write_text(f"Submission id,Status\n{pid}{END},RETURNED{END}\n", encoding="utf-8")
    assert read_submissions(export) == {pid: "RETURNED"}


def test_invitations_name_one_person_once(tmp_path: Path) -> None:
    """Joiners stay within a name, where they belong to it."""
    path = tmp_path / "people.csv"
    path.write_text(f"name\n\u200eAda{END}\n", encoding="utf-8")
    assert [person.name for person in read_people(path)] == ["Ada"]


def test_models_are_found_and_called_by_their_names(tmp_path: Path) -> None:
    """In settings, on the command line and in zoo files; what names no model still is an error."""
    (spec,) = resolve([f"eliza{END}"], load_zoo())
    assert spec.name == "eliza"
    own = tmp_path / "zoo.yaml"
    own.write_text(f'models:\n  "mine{END}":\n    options: {{model: repeat_label}}\n', encoding="utf-8")
    assert "mine" in load_zoo([own])
    with pytest.raises(ZooError, match="no model is called"):
        resolve(["e liza"], load_zoo())
    settings = {"technique": "sata", "metric": "appropriate", "setting": ["soba"], "group_size": 2}
    config = read_config(
        InteractiveConfig, {**settings, "models": [f"a{END}", " b"], "groups": [[f"a{END}", "b"], ["c", "b "]]}
    )
    assert (config.models, config.groups) == (["a", "b"], [["a", "b"], ["c", "b"]])


def test_a_file_of_dialogues_names_its_speakers(tmp_path: Path) -> None:
    """Guards a self-chat that is one of two bots, and a person who is a model called “human ”."""
    path = tmp_path / "talk.jsonl"
    entities = {"A": f"eliza{END}", "B": "human "}
    turns = ["Hi!", "Hello."]
    path.write_text(json.dumps({"dialogue_id": "d1 ", "turns": turns, "speakers": ["A", "B"]}), encoding="utf-8")
    (dialogue,) = load_dialogues(path, entities)
    assert (dialogue.dialogue_id, dialogue.models, dialogue.kind) == ("d1", ["eliza"], "human_bot")
