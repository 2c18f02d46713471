"""Short names of settings: on the command line, in files, in the list of settings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from omegaconf import DictConfig

from mephisto_tasks.adapter.blueprint import blueprint_of, mephisto_settings
from mephisto_tasks.cli.launch import launch
from mephisto_tasks.config.files import read_short_conf
from mephisto_tasks.config.names import ROOT, SECTIONS, in_full, meanings, short_name
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.launch.config import (
    EMBEDDED,
    OTHERS,
    WORDS,
    ConfigError,
    blueprint_names,
    check_first,
    compose_config,
    conf_names,
)
from mephisto_tasks.launch.config_reference import ELSE, list_settings, one_setting
from parlai_humaneval.techniques.registry import techniques


@pytest.fixture(scope="module")
def composed() -> DictConfig:
    """Settings in both forms at once."""
    return compose_config(
        "pw_turn",
        "local",
        ["turns=3", "models=[a,b]", "metric=humanness", "place=link", "task_reward=1.5", "port=3005", "blueprint.seed=4",
         "replies.appearance=plain", "mephisto.blueprint.min_reason_words=5", "mephisto.blueprint.turns=3",
         "workers.locales=[US]", "panel=sona", "values.site=my", "values.experiment_id=1", "values.credit_token=73E912",
         "completion_code=73E91204", "public_url=https://my.host"],
    )  # fmt: skip


def test_short_names_are_the_long_ones(composed: DictConfig) -> None:
    blueprint, rest = composed.mephisto.blueprint, composed.mephisto
    assert (blueprint.turns, list(blueprint.models), blueprint.metric) == (3, ["a", "b"], "humanness")
    assert (blueprint.replies.appearance, blueprint.min_reason_words, blueprint.seed) == ("plain", 5, 4)
    assert list(blueprint.workers.locales) == ["US"]
    assert (rest.task.task_reward, rest.architect.port, rest.provider.panel) == (1.5, 3005, "sona")
    assert (rest.provider.completion_code, rest.provider["values"].credit_token) == ("73E91204", "73E912")


@pytest.mark.parametrize("task", list(techniques()))
def test_no_two_settings_have_one_short_name(task: str) -> None:
    """Guards what short names rest on; words such as place=… have no other names."""
    known = {*blueprint_names(blueprint_of(task).CONFIG), *mephisto_settings()}
    for full in known:
        if (short := short_name(full)) not in WORDS:
            assert meanings(short, known) == [full]


def test_a_name_with_several_meanings_lists_them() -> None:
    known = ["mephisto.blueprint.pace", "mephisto.task.pace"]
    with pytest.raises(
        ConfigError, match=r"'pace' is the name of 2 settings; choose one of: blueprint\.pace, task\.pace"
    ):
        in_full(["pace=3"], known, WORDS)
    assert in_full(["task.pace=3", "++blueprint.pace=4"], known, WORDS) == [f"{known[1]}=3", f"++{known[0]}=4"]


@pytest.mark.parametrize(
    ("task", "typed", "said"),
    [
        (
            "pw_turn",
            ["turns=3", "mephisto.blueprint.turns=4"],
            "the same setting with two values; leave one of them out",
        ),
        ("pw_turn", ["turnss=3"], "there is no setting 'turnss'. Did you mean turns=…?"),
        ("pw_turn", ["onboarding_fil=a.json"], "Did you mean onboarding_file=…?"),
        ("pw_turn", ["onboarding_fil=false"], "there is no setting 'onboarding_fil'; `parlai"),
        ("pw_turn", ["turnss=many"], "there is no setting 'turnss'; `parlai"),
        ("pw_turn", ["onboarding=false"], "for a study without practice, write onboarding_qualification=null"),
        ("pw_turn", ["apearance=plain"], "Did you mean replies.appearance=…?"),
        ("pw_turn", ["plce=link"], "Did you mean place=…?"),
        ("pw_dialog", ["turns=3"], "techniques in which people talk to models have it, such as pw_turn"),
        ("pw_turn", ["show=pair"], "techniques in which people judge finished dialogues have it, such as pw_dialog"),
        ("pw_turn", ["bonus_budget=3"], "add place=mturk or place=mturk_sandbox or place=prolific, or leave it out"),
        ("pw_turn", ["panel=sona"], "add place=link, or leave it out"),
        ("pw_turn", ["models=a,b"], "write 'models=[a,b]'"),
        ("pw_turn", ["task_reward=lots"], "task_reward=lots: a number is expected"),
        ("pw_turn", ["embedded=perhaps"], "embedded must be true or false, not 'perhaps'; write embedded=true"),
        ("pw_turn", ["task_reward=-1"], "task_reward: must be 0.0 or more, not -1.0"),
        ("pw_turn", ["task_name="], "task_name: must not be empty"),
        ("pw_turn", ["embedded=true", "models=[a,b]"], "leave one of them out"),
    ],
)
def test_what_cannot_be_is_told_in_short_names(task: str, typed: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        compose_config(task, "local", typed)
    assert said in str(wrong.value)
    assert "hydra" not in str(wrong.value)


def test_embedded_models_are_those_that_speak_in_the_samples() -> None:
    assert list(compose_config("pw_dialog", "local", ["embedded=true"]).mephisto.blueprint.models) == [*EMBEDDED[:2]]
    assert list(compose_config("self_chat", "local", ["embedded=true"]).mephisto.blueprint.models) == [*EMBEDDED[:3]]
    paper = compose_config("self_chat", "smith2022_size_preference", ["embedded=true"]).mephisto.blueprint
    assert list(paper.models) == [*EMBEDDED[:2]], "a pair stays a pair, with the paper's number of judgements"


def test_embedded_models_are_a_word_and_a_model_of_that_name_is_none() -> None:
    for word in ("embedded=true", "models=embedded", "mephisto.blueprint.models=embedded"):
        assert list(compose_config("sata", "liu2023_mm", [word]).mephisto.blueprint.models) == [*EMBEDDED]
    named = compose_config("sata", "liu2023_mm", ["models=[embedded,a,b,c]", "embedded=false"]).mephisto.blueprint
    assert "embedded" in named.models


FILE = """
conf: smith2022_size_humanness
models: [my_bot, eliza]
turns: 4
place: link
replies: {appearance: plain, max_chars: null}
first_message: "Hi, it's me: “you”?"
task_reward: 1
"""


def test_a_file_may_hold_short_names_and_what_is_typed_rules(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(FILE, encoding="utf-8")
    found = compose_config("pw_turn", str(path), ["turns=5"]).mephisto
    assert (found.blueprint.turns, found.blueprint.metric, list(found.blueprint.models)) == (
        5,
        "humanness",
        ["my_bot", "eliza"],
    )
    assert (found.blueprint.replies.appearance, found.blueprint.replies.max_chars) == ("plain", None)
    assert (found.blueprint.first_message, found.task.task_reward) == ("Hi, it's me: “you”?", 1)
    assert found.provider._provider_type == "link"


def test_what_is_checked_first_knows_every_setting(tmp_path: Path) -> None:
    """Guards settings from being refused before Mephisto is loaded, which a launch takes: those that are listed for
    Mephisto, those that a rule forbids only without the rest of the conf, and those of a file that Hydra reads."""
    of_crowds = {f"{ROOT}provider.{name}" for crowd in crowds() for name in crowd.Settings.model_fields}
    assert {*of_crowds, *(ROOT + name for name in OTHERS)} == set(mephisto_settings())
    for task in techniques():
        for conf in conf_names(task):
            check_first(task, conf, [])
    blocks = ["workers.max_units_across=2", "replies={appearance: plain}", "min_choices=3"]
    check_first("sata", "local", [*blocks, "+variants.mine={}", "setting=mine", "question='What?'", "metric=mine"])
    check_first("pw_turn", "local", ["models=embedded", "mephisto.task.task_tags=a", "first_message='${seed}: hi'"])
    (tmp_path / "hydra.yaml").write_text("#@package _global_\ndefaults: [local, _self_]\n", encoding="utf-8")
    assert check_first("sata", str(tmp_path / "hydra.yaml"), ["setting=mine", "language=de"]) is None


def test_what_was_typed_is_checked_without_mephisto() -> None:
    """Guards that a misspelt setting is told at once: Mephisto takes a second to load."""
    checked = "check_settings(task, ('port=0',)) for task in ('pw_turn', 'third_party', 'pw_dialog')"
    code = f"import sys\nfrom mephisto_tasks.cli.launch import check_settings\n[{checked}]\nprint('mephisto' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("False\n", 0), ran.stderr


def test_files_next_to_the_study_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a study that launches from one folder only, or takes a file of the same name of another study; files that
    are in the current folder alone are found as before, and names are never taken for folders."""
    study, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    for folder in (study, elsewhere):
        folder.mkdir()
        (folder / "mine.yaml").write_text("models: {}", encoding="utf-8")
    for file in ("lab.txt", "words.txt", "consent.yaml"):
        (study / file).touch()
    (study / "prolific").mkdir()
    (elsewhere / "persona.jsonl").touch()
    text = (
        "zoo_files: [mine.yaml, nowhere.yaml]\nconsent_file: consent.yaml\npersona_file: persona.jsonl\npanel: prolific\n"
        "workers: {block_list: lab.txt}\nreplies.filter_words_file: words.txt\nplace: local\n"
    )
    (study / "study.yaml").write_text(text.replace("panel: prolific\n", ""), encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    blueprint = compose_config("pw_turn", "../study/study.yaml").mephisto.blueprint
    assert list(blueprint.zoo_files) == ["../study/mine.yaml", "nowhere.yaml"]
    assert (blueprint.consent_file, blueprint.persona_file) == ("../study/consent.yaml", "persona.jsonl")
    assert blueprint.workers.block_list == "../study/lab.txt"
    assert blueprint.replies.filter_words_file == "../study/words.txt"
    (study / "panel.yaml").write_text(text, encoding="utf-8")
    short = read_short_conf("../study/panel.yaml")
    assert short is not None
    assert "panel=prolific" in short.overrides


def test_dialogues_next_to_the_study_keep_what_is_said_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chats.jsonl").touch()
    text = "dialogues: [packaged, chats.jsonl, {file: chats.jsonl, entities: eliza}, {task: chats.jsonl}]\n"
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "packaged").touch()
    found = compose_config("pw_dialog", str(tmp_path / "study.yaml")).mephisto.blueprint.dialogues
    there = str(tmp_path / "chats.jsonl")
    assert list(found) == ["packaged", there, {"file": there, "entities": "eliza"}, {"task": "chats.jsonl"}]


@pytest.mark.parametrize(
    ("content", "where", "said"),
    [
        (b"place: local\ntrns: 4\n", ", line 2: ", "there is no setting 'trns'. Did you mean turns=…?"),
        (b"turns: 4\nmetric: humanness\nturns: 6\n", ", line 3: ", "“turns” appears twice, first in line 1; keep one"),
        (b"place: mars\n", ", line 1: ", "there is no place 'mars'"),
        (b"task_title: caf\xe9\n", ", line 1: ", "is not text in UTF-8 (byte 16); save it as UTF-8"),
        (
            b"models: [eliza\nturns: 4\n",
            ", line 2: ",
            "not YAML (expected a comma, or the ] that ends the list from line 1): turns: 4",
        ),
    ],
)
def test_a_fault_in_a_file_is_said_with_its_place(tmp_path: Path, content: bytes, where: str, said: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(f"{path}{where}{said}")):
        compose_config("pw_turn", str(path))


@pytest.mark.parametrize(
    ("content", "typed", "said"),
    [
        ("place: local\nturns: many\n", [], "{path}, line 2: turns: must be a whole number, not 'many'; see "),
        ("replies:\n  streaming: 5\n", [], "{path}, line 2: replies.streaming: must be true or false, not 5; see "),
        ("turns: null\n", [], "{path}, line 1: turns cannot be null; write a value, or leave it out"),
        ("turns: many\n", ["turns=few"], "turns: must be a whole number, not 'few'; see "),
    ],
)
def test_a_wrong_value_in_a_file_is_said_with_its_place(
    tmp_path: Path, content: str, typed: list[str], said: str
) -> None:
    """What is typed rules over the file, which is then not to blame."""
    path = tmp_path / "study.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as wrong:
        check_first("pw_turn", str(path), typed)
    assert str(wrong.value).startswith(said.format(path=path))


def test_a_fault_in_a_file_beside_a_conf_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("#@package _global_\ndefaults: [local, more, _self_]\n", encoding="utf-8")
    (tmp_path / "more.yaml").write_text("#@package _global_\nmephisto: {task: {task_title: [}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'more.yaml'}, line 2: not YAML")):
        compose_config("pw_turn", str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("task", ["pw_turn", "third_party"])
def test_every_setting_is_listed_with_all_that_is_known(task: str) -> None:
    """What is listed can be typed by both of its names, says why one would set it, and has an example."""
    listed = list_settings(task)
    known = {setting.full_name for setting in listed}
    for setting in listed:
        assert all((setting.description, setting.allowed, setting.example, setting.topic)), setting
        assert len(setting.description) > len(setting.in_a_sentence), f"{setting.name} does not say why"
        assert "mephisto." not in setting.description
        assert one_setting(task, listed, setting.full_name) == [setting]
        assert one_setting(task, listed, setting.name)[0] == setting
        assert setting.example.strip("'").startswith((setting.name, "values."))
    assert known >= {f"{ROOT}{section}.{name}" for section, name in (("task", "task_reward"), ("architect", "port"))}
    assert {setting.topic for setting in listed if setting.full_name.split(".")[1:2] == [SECTIONS[2]]} == {"The server"}
    assert ELSE in {setting.topic for setting in listed}


def test_settings_are_shown_by_topic_alone_and_for_programs() -> None:
    def shown(*arguments: str) -> str:
        done = CliRunner().invoke(launch, ["pw_turn", "--list-settings", *arguments])
        assert done.exit_code == 0, done.stderr
        return str(done.stdout)

    assert "\nThe chat\nturns " in shown()
    alone = shown("turns", "conf=smith2022_size_humanness")
    assert alone.startswith("turns\n  Messages of each side in a dialogue")
    assert "default   6" in alone
    assert "allowed   a whole number from 1 to 100" in alone
    assert "example   parlai-humaneval launch pw_turn turns=7" in alone
    assert "stored as mephisto.blueprint.turns" in alone
    (one,) = json.loads(shown("mephisto.blueprint.turns", "--json"))
    assert one.keys() == {"name", "full_name", "topic", "default", "description", "allowed", "example"}
    assert {each["name"] for each in json.loads(shown("--json"))} >= {
        "turns",
        "place",
        "embedded",
        "replies.appearance",
    }
    wrong = CliRunner().invoke(launch, ["pw_turn", "--list-settings", "turnss"])
    assert (wrong.exit_code, "Did you mean turns=…?" in wrong.output) == (1, True)
