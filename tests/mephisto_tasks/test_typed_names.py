"""Ids and names that are typed or pasted into settings, lists, files and links lose what nobody sees at their ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.files import technique_of_file
from mephisto_tasks.config.task import read_config
from mephisto_tasks.crowds.invitations.store import read_people
from mephisto_tasks.crowds.panels.panel import panel_door
from mephisto_tasks.crowds.panels.payer import read_submissions
from mephisto_tasks.workers.roster import read_worker_list
from parlai_humaneval.cli import main
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, resolve
from parlai_humaneval.techniques.registry import typed_technique

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


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("PW-Turn", ("pw_turn", "")),
        ("pw turn", ("pw_turn", "")),
        ("MM-SOBA", ("sata", "soba")),
        ("pm_sata_random", ("sata", "")),
        ("PW-Dialog (human–bot)", ("pw_dialog", "")),
        ("PW-Dialog (self-chat)", ("self_chat", "")),
        ("pw_turns", ("pw_turns", "")),
    ],
)
def test_titles_of_techniques_can_be_typed(word: str, meant: tuple[str, str], tmp_path: Path) -> None:
    """Guards titles that `plan` prints and no command takes: those of settings keep the setting."""
    assert typed_technique(word) == meant
    setting = ("setting=soba",) if meant[1] else ()
    assert technique_of_file(word, ("turns=3",)) == (meant[0], (*setting, "turns=3"))
    study = tmp_path / "study.yaml"
    study.write_text(f"technique: {word}\n", encoding="utf-8")
    assert technique_of_file(str(study), ()) == (meant[0], (f"conf={study}", *setting))


@pytest.mark.parametrize(
    ("title", "says"), [("PM-SOBA", "PM-SOBA needs"), ("sm turn", "SM-Turn needs"), ("PW-Tern", "Did you mean pw_turn")]
)
def test_a_plan_takes_the_titles_that_it_prints(title: str, says: str) -> None:
    """Guards the option of `plan`, which has a list of its own; a misspelt title gets the list with the titles."""
    result = CliRunner().invoke(main, ["plan", "--technique", title, "--gap", "0.1"])
    assert says in result.output
    assert result.exit_code == 0 or "pw_turn            PW-Turn (Smith" in result.output


def test_a_file_talks_to_a_model_of_the_zoo(tmp_path: Path) -> None:
    """Guards `self-chat`, whose list of models takes what `try` takes; a model that is not there is sought by --zoo."""
    bot = tmp_path / "bots.py"
    bot.write_text("def reply(history):\n    return history[-1].text\n", encoding="utf-8")
    typed = ["self-chat", "--num-dialogues", "1", "--exchanges", "1", "--out", str(tmp_path), "--models"]
    made = CliRunner().invoke(main, [*typed, f"{bot},eliza", "--pairs"])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "bots--eliza.jsonl").is_file()
    refused = CliRunner().invoke(main, [*typed, "bots,eliza"])
    assert "add --zoo FILE for models of your own file" in refused.output
