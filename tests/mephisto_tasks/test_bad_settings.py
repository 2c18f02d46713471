"""Wrong settings of any technique on the command line: one sentence that says what to do, no traceback, nothing begun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mephisto_tasks.cli.launch import launch
from mephisto_tasks.launch.config import ConfigError, check_first, compose_config
from parlai_humaneval._util.errors import HumanevalError


@pytest.mark.parametrize(
    ("task", "settings", "said"),
    [
        (
            "sata",
            ["models=[eliza,retrieval,degraded]", "groups=[[eliza,retrieval,degraded]]"],
            "compares 2 models at a time",
        ),
        ("sata", ["setting=sata_usr"], "sata has no setting 'sata_usr'"),
        (
            "sata",
            ["group_size=3"],
            "named, but you named 2 in: launch try: name them: 'models=[a,b]'",
        ),
        (
            "single_model",
            ["turn_criteria=[engaging,funny]"],
            "unknown criterion 'funny' in: launch try: choose one of: engaging",
        ),
        ("single_model", ["final_criteria=[fun]"], "unknown criterion 'fun' in: launch try: choose one of: preference"),
        ("free_for_all", ["groups=[[eliza,retrieval]]"], "compares 3 models at a time, but got ['eliza', 'retrieval']"),
        ("free_for_all", ["setting=one_of_many"], "free_for_all has no setting 'one_of_many'"),
        ("arena", ["history=shared"], "a verdict needs history=independent"),
        ("arena", ["models=[eliza,retrieval,degraded]", "group_size=3"], "a verdict is between two partners"),
        (
            "direct_assessment",
            ["conversations_per_unit=6"],
            "an assignment of 6 conversations needs 5 different groups",
        ),
        ("direct_assessment", ["quality_control_model=eliza"], "cannot be rated as well"),
        ("direct_assessment", ["quality_control_model=worse"], "worse"),
        ("direct_assessment", ["topic=sports"], "topic"),
        ("direct_assessment", ["persona=true", "persona_file={empty_line}"], "line 2: the line is empty"),
        ("sata", ["onboarding_file={no_answer}"], "has no right answer: it needs right, must or must_not"),
        ("sata", ["blocking_checks=[same_position]"], "blocking_checks need a block_qualification"),
        ("pw_turn", ["workers.locales=[USA]"], "workers.locales: 'USA' is not an ISO 3166 code"),
        ("pw_turn", ["max_dialogues=400", "stop=decided"], "in: launch try: write margin=0.1 to call two models equal"),
        ("pw_turn", ["workers.locale=[US]"], "Did you mean workers.locales=…?"),
        (
            "spot_the_bot",
            ["segment_lengths=[a]"],
            "see `parlai-humaneval launch spot_the_bot --list-settings segment_lengths`",
        ),
        ("pw_turn", ["workers.exclude_tasks=[pilot]"], "there is no study 'pilot' in this data directory"),
        ("pw_turn", ["workers.block_list={no_answer}"], "line 1: '{"),
    ],
)
def test_wrong_settings(tmp_path: Path, task: str, settings: list[str], said: str) -> None:
    files = {"empty_line": tmp_path / "personas.jsonl", "no_answer": tmp_path / "practice.json"}
    files["empty_line"].write_text('{"persona_id": "p", "sentences": ["I cook."]}\n\n')
    item = {"human": "Hi!", "replies": ["Hello!", "Bus."], "why": "It greets."}
    files["no_answer"].write_text(json.dumps({"metric": "appropriate", "items": [item]}))
    overrides = [f"mephisto.blueprint.{setting.format(**files)}" for setting in settings]
    data_dir = tmp_path / "data"
    done = CliRunner().invoke(launch, [task, *overrides, "port=0", "--data-dir", str(data_dir)])
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not (data_dir / "database.db").exists()


NO_REWARD = "task_reward cannot be null; write a value, or leave it out"
HYDRAS = "defaults: [local, _self_]\nmephisto: {task: {task_reward: null}}\n"


@pytest.mark.parametrize(
    ("content", "settings"),
    [("task_reward: null\n", ()), ("conf: local\n", ("task_reward=null",)), (HYDRAS, ())],
)
def test_a_setting_that_needs_a_value_is_not_answered_in_hydras_words(
    tmp_path: Path, content: str, settings: tuple[str, ...]
) -> None:
    """Guards against “field … is not Optional”, which says nothing to anyone who does not know the library."""
    file = tmp_path / "study.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError) as wrong:
        compose_config("pw_turn", str(file), list(settings))
    assert str(wrong.value) == NO_REWARD


@pytest.mark.parametrize("name", ["metric", "language", "task_name", "task_reward", "turns", "replies.streaming"])
def test_null_is_refused_in_the_same_words_for_every_kind_of_value(name: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        check_first("pw_turn", "local", [f"{name}=null"])
    assert str(wrong.value) == NO_REWARD.replace("task_reward", name)


@pytest.mark.parametrize("setting", ["mephisto.task.task_name=🦉 owl", "mephisto.blueprint.models=[eliza"])
def test_a_setting_that_cannot_be_read_is_shown_with_what_to_do(setting: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as wrong:
        compose_config("pw_turn", "local", ["mephisto.blueprint.turns=4", setting])
    assert str(wrong.value).startswith(setting.rpartition("mephisto.")[2].partition(".")[2])
    assert "hydra" not in str(wrong.value)
    assert compose_config("pw_turn", "local", ['mephisto.task.task_name="🦉 owl"']).mephisto.task.task_name == "🦉 owl"


def test_a_data_directory_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.touch()
    done = CliRunner().invoke(launch, ["pw_turn", "port=0"], env={"PARLAI_HUMANEVAL_DATA_DIR": str(file)})
    assert done.exit_code == 1
    assert f"{file} cannot be made (a file of that name is in the way)" in " ".join(done.output.split())
    assert "--data-dir" in done.output


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["mephisto.provider.completion_cod=C1"], "Did you mean completion_code=…?"),
        (
            ["mephisto.architect.trusted_proxies=foo"],
            "a list is expected, in brackets: 'trusted_proxies=[foo]'",
        ),
        (
            ["mephisto.architect.trusted_proxies=[foo]"],
            "'foo' is neither an address nor a network; write them as [127.0.0.1",
        ),
        (["mephisto.architect.disconnect_after_s=soon"], "disconnect_after_s=soon: a number is expected"),
        (["mephisto.architect.prot=3005"], "Did you mean port=…?"),
        (
            ["mephisto.provider.panel=prolific"],
            "conf 'local' with place=link needs more settings; add public_url=…",
        ),
    ],
)
def test_wrong_settings_of_a_place(settings: list[str], said: str) -> None:
    """Nobody is told to add a setting that nothing would read, nor that the conf lacks what the place asks for."""
    with pytest.raises(HumanevalError) as wrong:
        compose_config("pw_turn", "local", ["place=link", *settings])
    assert said in str(wrong.value)
    assert "+mephisto" not in str(wrong.value)
