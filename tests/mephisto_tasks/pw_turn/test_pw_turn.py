"""The preset: its confs compose, its files fit together, and what is wrong in a command is told without a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from forked import run
from omegaconf import OmegaConf
from scripted_models import zoo_file

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.cli.launch import launch as launch_command
from mephisto_tasks.cli.report import report as report_command
from mephisto_tasks.config.task import ConfigError, read_config
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config, conf_names
from parlai_humaneval.allocation.groups import Cell


def settings(*overrides: str, conf: str = "local") -> InteractiveConfig:
    blueprint = OmegaConf.to_container(compose_config("pw_turn", conf, overrides).mephisto.blueprint, resolve=True)
    assert isinstance(blueprint, dict)
    return read_config(
        InteractiveConfig, {str(key): None if value == "???" else value for key, value in blueprint.items()}
    )


def test_the_local_conf_is_the_papers_setting_on_embedded_models() -> None:
    config = settings()
    assert (config.technique, config.metric, config.models) == ("pw_turn", "preference", ["eliza", "retrieval"])
    assert (config.turns, config.first_message, config.persona) == (6, "Hi!", True)
    assert (config.onboarding_tries, config.onboarding_qualification) == (2, "parlai-humaneval-pw-turn-preference")
    architect = compose_config("pw_turn", "local").mephisto.architect
    assert (architect.hostname, architect.port) == ("127.0.0.1", 3000)


@pytest.mark.parametrize("metric", ["preference", "humanness", "interestingness"])
def test_each_metric_has_question_practice_and_words(metric: str, tmp_path: Path) -> None:
    config = settings(f"mephisto.blueprint.metric={metric}")
    study = build_study(config, "pw_turn", tmp_path, f"task-{metric}", 2.5)
    assert study.practice is not None
    assert (study.practice.metric, len(study.practice.items)) == (metric, 4)
    cell = Cell(models=("eliza", "retrieval"), metric=metric)
    personas = {tuple(study.planner.plan(str(number), [cell]).plans[0].context.persona) for number in range(50)}
    assert len(personas) == 50
    words = study.instructions.model_dump_json()
    assert config.question.replace('"', '\\"') in words
    assert "$2.50" in study.instructions.pay


def test_each_metric_is_a_task_and_a_qualification_of_its_own() -> None:
    task = compose_config("pw_turn", "local", ["mephisto.blueprint.metric=humanness"]).mephisto.task
    assert task.task_name == "pw-turn-humanness"
    assert settings("mephisto.blueprint.metric=humanness").onboarding_qualification.endswith("humanness")  # type: ignore[union-attr]


def test_confs_by_name() -> None:
    """Those of the task, those that every task has, and no file that is only a part of others."""
    names = conf_names("pw_turn")
    assert {"local", "mturk", "mturk_sandbox", "smith2022_length_humanness"} <= set(names)
    assert not {"base", "live", "length", "study"} & set(names)


@pytest.mark.parametrize("conf", ["mturk", "mturk_sandbox"])
def test_the_crowd_confs_ask_for_what_they_need(conf: str) -> None:
    """A requester, models, and an https address: real workers sent to 127.0.0.1 would find nothing."""
    with pytest.raises(ConfigError, match="needs more settings") as lacking:
        compose_config("pw_turn", conf)
    for name in ("requester_name=…", "public_url=…", "models=…"):
        assert f" {name}" in str(lacking.value)
    given = ["mephisto.provider.requester_name=me", "mephisto.blueprint.models=[a,b]"]
    with pytest.raises(ConfigError, match=r"set public_url=https://…"):
        compose_config("pw_turn", conf, [*given, "mephisto.architect.public_url=http://my.host"])
    assert settings(*given, "mephisto.architect.public_url=https://my.host", conf=conf).models == ["a", "b"]


def test_a_conf_file_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "my_study.yaml"
    own.write_text("defaults: [local, _self_]\nmephisto: {blueprint: {turns: 3}, task: {task_name: mine}}\n")
    config = compose_config("pw_turn", str(own))
    assert (config.mephisto.blueprint.turns, config.mephisto.task.task_name) == (3, "mine")
    with pytest.raises(ConfigError, match=r"other\.yaml"):
        compose_config("pw_turn", str(tmp_path / "other.yaml"))


@pytest.mark.parametrize(
    ("task", "conf", "override", "said"),
    [
        (
            "pw_trun",
            "local",
            "",
            "no task 'pw_trun'. Did you mean pw_turn? Choose one of:\n  pw_turn            PW-Turn (Smith et al. 2022",
        ),
        (
            "pw_turn",
            "locale",
            "",
            "no conf 'locale'. Did you mean local? Choose one of: local, mturk, ",
        ),
        ("pw_turn", "local", "mephisto.blueprint.turn=3", "turn"),
        ("pw_turn", "local", "no=such.thing", "no"),
        ("pw_turn", "local", "mephisto.blueprint.models=[a", "models=[a cannot be read"),
    ],
)
def test_what_cannot_be_composed_is_told(task: str, conf: str, override: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose_config(task, conf, [override] if override else [])
    assert said in str(caught.value)


def run_launch(tmp_path: Path, *arguments: str) -> Result:
    """At any port: another launch of this machine may be at the usual one, which would be said first."""
    free = [] if any("port=" in word or word.startswith("--") for word in arguments) else ["mephisto.architect.port=0"]
    return CliRunner().invoke(launch_command, [*arguments, *free, "--data-dir", str(tmp_path / "data")])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pw_trun"], "choose one of:\n         pw_turn "),
        (["pw_turn", "prt=3"], "Did you mean port=…?"),
        (["pw_turn", "fast"], "'fast' is not a setting"),
        (["pw_turn", "models=[eliza,", "retrieval]", "turns=2"], "quote it: 'models=[eliza, retrieval]'"),
        (["pw_turn", "models=[eliza,"], "models"),
        (
            ["turns", "--list-settings"],
            "name the technique first: parlai-humaneval launch pw_turn --list-settings turns",
        ),
        (["pw_turn", "--turns", "4"], "write a setting without dashes: turns=…"),
        (["pwturn", "--list-settings"], "Did you mean pw_turn?"),
        (["pw_turn", "conf=local", "conf=mturk"], "more than once"),
        (["pw_turn", "mephisto.blueprint.metric=fun"], "preference, humanness, interestingness"),
        (["pw_turn", "mephisto.blueprint.models=[eliza,elisa]"], "Did you mean eliza"),
        (["pw_turn", "mephisto.blueprint.persona_file=nowhere.jsonl"], "there is no file nowhere.jsonl"),
        (["pw_turn", "mephisto.blueprint.onboarding_file=nowhere.json"], "there is no file nowhere.json"),
        (["pw_turn", "mephisto.blueprint.instructions_file=nowhere.yaml"], "there is no file nowhere.yaml"),
        (["pw_turn", "mephisto.blueprint.zoo_files=[nowhere.yaml]"], "nowhere.yaml"),
        (["pw_turn", "mephisto.architect.port=high"], "port: must be a whole number"),
    ],
)
def test_wrong_commands_say_what_to_do_without_a_traceback(tmp_path: Path, arguments: list[str], said: str) -> None:
    result = run_launch(tmp_path, *arguments)
    assert result.exit_code in (1, 2)
    assert said in result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_page_that_is_not_built_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mephisto_tasks.adapter.blueprint import WebAppMissing

    def missing() -> Path:
        raise WebAppMissing("the rater's page is not built", try_="run `make install` in a clone of the repository")

    monkeypatch.setattr(launching, "webapp_dist", missing)
    result = run_launch(tmp_path, "pw_turn")
    assert (result.exit_code, "make install" in result.output) == (1, True)


def test_list_confs_and_help() -> None:
    listed = CliRunner().invoke(launch_command, ["pw_turn", "--list-confs"])
    assert listed.stdout.split() == conf_names("pw_turn")
    described = CliRunner().invoke(launch_command, ["--help"])
    assert "parlai-humaneval launch pw_turn place=link panel=prolific" in described.output


def test_report_without_a_task_lists_them_or_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(report_command, ["--data-dir", str(tmp_path)])
    assert result.exit_code != 0
    assert "Mephisto database" in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_the_package_runs_as_a_program_that_launches() -> None:
    command = [sys.executable, "-m", "mephisto_tasks", "pw_turn", "--list-confs"]
    done = run(command, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == conf_names("pw_turn")


def test_models_of_ones_own_from_a_zoo_file(tmp_path: Path) -> None:
    config = settings(
        "mephisto.blueprint.models=[mine,yours]",
        f"mephisto.blueprint.zoo_files=[{zoo_file(tmp_path, ['mine', 'yours'])}]",
    )
    study = build_study(config, "pw_turn", tmp_path, "task", 1.0)
    assert sorted(study.specs) == ["mine", "yours"]
