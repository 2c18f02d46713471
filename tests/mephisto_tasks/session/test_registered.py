"""Studies that were registered: a launch keeps to the facts, the study to their hash, and the report says what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deciding_raters import rated
from live import TASK, Launch, config_of, eventually, launch_beside, records, whole_dialogue

from mephisto_tasks.cli.report import answers_of
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.launch.changes import changes
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.preparation import checked_settings, settings_of
from mephisto_tasks.session.build import Setup
from parlai_humaneval.cli import main
from parlai_humaneval.planning.preregistration import (
    Preregistration,
    PreregistrationError,
    parse_preregistration,
    write_preregistration,
)
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.section import Options

MODELS = ["alpha", "beta"]
DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.3, "max_dialogues": 12}
RULE: dict[str, Any] = {"alpha": 0.05, "raters_at_a_time": 8, "time_out_minutes": 60, "transitive": True, "judge": ""}
FIXED: dict[str, Any] = {"stop": "collected", "dialogues_per_group": 1}


def registered(folder: Path, name: str = "study.md", technique: str = "pw_turn", **settings: Any) -> Preregistration:
    """A file of these settings, besides models, seed and turns."""
    is_decided = settings.get("stop") == "decided"
    facts = Preregistration(
        technique=technique,
        question="",
        settings={"models": MODELS, "seed": 5, "turns": 2, **(RULE if is_decided else {}), **settings},
        aims={} if is_decided else {"gap": 0.1, "power": 0.8, "alpha": 0.05},
    )
    write_preregistration(folder / name, facts, expected="", version="test")
    return facts


def report_of(data_dir: Path, exclude: str | None = None) -> Document:
    tables, known = answers_of(data_dir, TASK, exclude=exclude)
    return build_report(tables, Options(draws=20), task=known)


async def test_a_launch_takes_what_was_registered_and_the_report_repeats_it(
    start: Launch, data_dir: Path, tmp_path: Path
) -> None:
    """Guards the whole way of a study that was registered: settings, records, report; and the file may be gone then."""
    facts = registered(tmp_path, **DECIDED)
    async with start(prereg=str(tmp_path / "study.md")) as run:
        assert run.study.monitor is not None
        assert (run.study.monitor.rule.margin, run.study.monitor.rule.max_dialogues) == (0.3, 12)
        await rated(run, "alpha")
        assert run.is_done()
        stored = {str(record.settings["prereg"]) for record in records(run)}
    assert [parse_preregistration(text, "") for text in stored] == [facts]
    (tmp_path / "study.md").unlink()
    document = report_of(data_dir)
    (one,) = document.facts.registered
    programs = "8 of its raters were simulated"  # as all are of this test
    assert (one.digest, one.deviations) == (facts.digest, [programs])
    words = f"The study was registered as {facts.digest[:12]}, but differs from the registration: {programs}."
    assert one.words == words
    assert words in document.sentence()
    assert document.to_json()["facts"]["registered"][0]["digest"] == facts.digest
    (left_out,) = report_of(data_dir, exclude="greeting").facts.registered
    assert left_out.deviations == ["the checks that leave raters out were none and are now greeting", programs]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"margin": 0.2}, "margin was 0.3 and is now 0.2"),
        ({"max_dialogues": 20, "seed": 6}, "max_dialogues was 12 and is now 20, seed was 5 and is now 6"),
        ({"stop": "collected"}, "only studies with stop=decided use them"),
        ({"models": ["beta", "alpha"]}, "models was alpha, beta and is now beta, alpha"),
        ({"turns": 3}, "turns was 2 and is now 3"),
    ],
)
async def test_a_launch_that_differs_is_refused(start: Launch, tmp_path: Path, more: dict[str, Any], said: str) -> None:
    """Guards what was registered, before anybody is asked anything; each setting that differs is named."""
    registered(tmp_path, **DECIDED)
    with pytest.raises(ConfigError, match=said):
        async with start(prereg=str(tmp_path / "study.md"), **more):
            pass


async def test_another_technique_or_setting_is_refused(data_dir: Path, tmp_path: Path) -> None:
    """Guards against the wrong file, and a misspelt setting in it, with the nearest right one."""
    data_dir.mkdir()
    registered(tmp_path, "arena.md", technique="arena")
    with pytest.raises(ConfigError, match="a study with arena, not with pw_turn"):
        config_of(data_dir, prereg=str(tmp_path / "arena.md"))
    registered(tmp_path, "misspelt.md", max_dialog=3)
    with pytest.raises(ConfigError, match="there is no setting 'max_dialog'"):
        config_of(data_dir, prereg=str(tmp_path / "misspelt.md"))
    with pytest.raises(PreregistrationError, match=r"missing\.md"):
        config_of(data_dir, prereg=str(tmp_path / "missing.md"))


async def test_a_registration_holds_for_later_launches_and_a_raised_cap_is_told(
    start: Launch, data_dir: Path, tmp_path: Path
) -> None:
    """Guards a study over several launches: none can leave what was registered, whether it names the file or not; only the
    cap may be raised, and the report says that it was."""
    facts = registered(tmp_path, **{**DECIDED, "max_dialogues": 4})
    file = str(tmp_path / "study.md")
    async with start(prereg=file) as run:
        for number in range(4):
            await whole_dialogue(run, f"w{number}")
    with pytest.raises(
        ConfigError, match=f"differs from the study registered as {facts.name}: turns was 2 and is now 3"
    ):
        async with start(**DECIDED, turns=3):
            pass
    registered(tmp_path, "other.md", **{**DECIDED, "max_dialogues": 40})
    with pytest.raises(ConfigError, match=f"began as {facts.name}, and has collected 4 answers"):
        async with start(prereg=str(tmp_path / "other.md")):
            pass
    raised = "but differs from the registration: max_dialogues was 4 and is now 5."
    async with start(**{**DECIDED, "max_dialogues": 5}, seed=None) as run:
        assert run.study.config.seed == 5, "nobody need name the registered seed again"
        (one,) = report_of(data_dir).facts.registered  # before anybody answers
        assert one.words.endswith(raised)
        await whole_dialogue(run, "w5")
    (one,) = report_of(data_dir).facts.registered
    assert one.words.endswith(raised)


async def test_a_study_that_began_cannot_be_registered(start: Launch, tmp_path: Path) -> None:
    """Guards the meaning of the word: nothing is registered after the first answers."""
    async with start(dialogues_per_group=2) as run:
        await whole_dialogue(run, "w1")
    registered(tmp_path, **{**FIXED, "dialogues_per_group": 2})
    with pytest.raises(ConfigError, match="began without a preregistration, and has collected 1 answer"):
        async with start(prereg=str(tmp_path / "study.md"), dialogues_per_group=2):
            pass


async def test_fixed_studies_are_registered_too(data_dir: Path, tmp_path: Path) -> None:
    """Guards plans without a rule: the same check, and the same words in the report."""
    facts = registered(tmp_path, **FIXED)
    async with launch_beside(data_dir, prereg=str(tmp_path / "study.md")) as run:
        await whole_dialogue(run, "w1")
        await eventually(run.is_done)
    (one,) = report_of(data_dir).facts.registered
    assert one.words == f"The study was registered as {facts.name} and followed the registration."


def test_what_a_program_sets_gives_way_to_what_was_registered(tmp_path: Path) -> None:
    """Guards a demo of a registered study: the seed that it draws, and how many dialogues it asks for, are nobody's wish."""
    registered(tmp_path, **FIXED)
    beneath = ["seed=9", "dialogues_per_group=7", "task_name=demo"]
    config = compose_config("pw_turn", "local", [f"prereg={tmp_path / 'study.md'}"], beneath=beneath)
    blueprint = config.mephisto.blueprint
    assert (blueprint.seed, blueprint.dialogues_per_group, config.mephisto.task.task_name) == (5, 1, "demo")


def test_a_judge_that_was_changed_is_refused(data_dir: Path, tmp_path: Path) -> None:
    """Guards the content of a judge: its path is the same, and its version is another one than was registered."""
    data_dir.mkdir()
    facts = registered(tmp_path, technique="pw_dialog", **{**DECIDED, "turns": 2})
    facts = facts.model_copy(update={"settings": {**facts.settings, "judge": "my.yaml"}, "judge": "mine@1"})
    facts.settings.pop("turns")
    write_preregistration(tmp_path / "judge.md", facts, expected="", version="test")
    config = compose_config("pw_dialog", "local", [f"prereg={tmp_path / 'judge.md'}"])
    setup = Setup(checked_settings("pw_dialog", config), "pw_dialog", data_dir, TASK, 0.0)
    with pytest.raises(ConfigError, match=r"judge mine@1 was registered, and my\.yaml is now mine@2"):
        setup.monitor(lambda: (MODELS, [tuple(MODELS)], ""), judge="mine@2")


def test_a_running_launch_need_not_be_told_again(data_dir: Path, tmp_path: Path) -> None:
    """Guards changes of a launch that runs: the registration holds, named or not; another one is refused by name."""
    registered(tmp_path, **FIXED)
    data_dir.mkdir()
    with_it, without = (
        settings_of(config_of(data_dir, **more)) for more in ({"prereg": str(tmp_path / "study.md")}, {})
    )
    without["blueprint.stop"] = with_it["blueprint.stop"]
    assert changes(with_it, without, [], TASK) == []
    with pytest.raises(ValueError, match="prereg"):
        changes(without, with_it, [], TASK)
    assert checked_settings("pw_turn", config_of(data_dir)).prereg == ""


def test_a_plan_of_spotted_bots_can_be_launched_as_it_is_printed(tmp_path: Path) -> None:
    """Guards settings that go with stop=decided there: each dialogue is judged once, and there are as many as the cap."""
    path = tmp_path / "study.md"
    question = ["plan", "--technique", "spot_the_bot", "--gap", "0.9", "--stop", "decided", "--max-dialogues", "40"]
    done = CliRunner().invoke(
        main, [*question, "--replicates", "100", "--prereg", str(path), "models=[eliza,retrieval]"]
    )
    assert f"launch spot_the_bot prereg={path}" in done.stdout, done.stderr
    found = checked_settings("spot_the_bot", compose_config("spot_the_bot", "local", [f"prereg={path}"]))
    assert parse_preregistration(found.prereg, "prereg").changes(found.model_dump(mode="json")) == []
