"""Every conf of the tasks on finished dialogues composes, is checked, and says what its paper says; nothing is generated."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.annotation import build as building
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import Gathered
from mephisto_tasks.cli.launch import launch
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import read_config
from mephisto_tasks.launch.config import all_settings, compose_config, conf_names
from mephisto_tasks.launch.config_reference import list_settings
from mephisto_tasks.session.build import Setup
from parlai_humaneval.materials.instructions import FLAGS
from parlai_humaneval.models.zoo.entries import load_zoo, resolve, zoo_dir
from parlai_humaneval.techniques.registry import techniques

CONFS = [(task, conf) for task in techniques("judging") for conf in conf_names(task)]
CROWD = ("mephisto.provider.requester_name=me", "mephisto.architect.public_url=https://my.host")
PLACES = ("mturk", "mturk_sandbox")
PAPERS = [(task, conf) for task, conf in CONFS if conf not in ("local", *PLACES)]
MODELS = "mephisto.blueprint.models=[eliza,retrieval]"
DIALOGUES = "mephisto.blueprint.dialogues=[{task: x}]"


def given(task: str, conf: str) -> tuple[str, ...]:
    """What a conf that leaves something open must be given."""
    crowd = CROWD if conf in PLACES else ()
    if conf in PLACES and task in ("self_chat", "spot_the_bot"):
        return (*crowd, MODELS)
    names_none = conf in ("local", *PLACES) or (task, conf) == ("third_party", "ma2023_gold")
    return (*crowd, DIALOGUES) if names_none and task in ("pw_dialog", "third_party") else crowd


@cache
def composed_of(task: str, conf: str, *overrides: str) -> DictConfig:
    return compose_config(task, conf, [*given(task, conf), *overrides])


def settings_of(task: str, conf: str, *overrides: str) -> StaticConfig:
    blueprint: Any = OmegaConf.to_container(composed_of(task, conf, *overrides).mephisto.blueprint, resolve=True)
    return read_config(StaticConfig, {key: None if value == "???" else value for key, value in blueprint.items()})


@pytest.mark.parametrize(("task", "conf"), CONFS)
def test_every_conf_fits_together(task: str, conf: str, tmp_path: Path) -> None:
    """Its settings are right, its models are in the zoo, and its words are filled."""
    config = settings_of(task, conf)
    assert config.technique == ("pw_dialog" if task == "self_chat" else task)
    zoo = load_zoo(sorted(zoo_dir().glob("*.yaml")))
    assert [spec.name for spec in resolve(config.model_names(), zoo)] == config.model_names()
    setup, flags = Setup(config, task, tmp_path, "study", 2.0), building._flags(config, 6)
    setup.task_config = building._task_config(config, task)
    (words,) = setup.words(lambda: building._values(config, 6), lambda: building._unit_of(config, 6), flags).values()
    told = "\n".join(line for part in (words.preview, words.instructions) for s in part.sections for line in s.lines)
    assert not re.search(r"[{}]", told + words.title + words.tagline)
    assert "$" in words.pay
    assert {name for name, is_on in flags.items() if is_on} <= set(FLAGS)


@pytest.mark.parametrize(("task", "conf"), CONFS)
def test_every_conf_has_a_practice_of_its_own_or_none(task: str, conf: str) -> None:
    """Where practice and checks are switched on, their files are there and fit what is asked."""
    config = settings_of(task, conf)
    own = building._task_config(config, task)
    if config.golds_per_unit:
        golds = building._golds(config, own)
        assert golds is not None
        assert len(golds.items) >= config.golds_per_unit
    if config.show != "replay":
        practice = building._practice(config, own, Gathered([], []))
        assert practice is not None
        assert practice.metric == config.metric


@pytest.mark.parametrize(("task", "conf"), PAPERS)
def test_every_paper_goes_to_the_crowd_with_one_word(task: str, conf: str) -> None:
    """No conf needs models that it gets from its dialogues."""
    here, there = composed_of(task, conf), composed_of(task, conf, "place=mturk_sandbox", *CROWD)
    assert there.mephisto.provider._provider_type == "mturk_sandbox"
    assert here.mephisto.blueprint == there.mephisto.blueprint


@pytest.mark.parametrize(("task", "conf"), [one for one in PAPERS if one[0] in ("self_chat", "spot_the_bot")])
def test_every_paper_that_has_models_talk_runs_with_embedded_ones(task: str, conf: str) -> None:
    names = settings_of(task, conf, "models=embedded").model_names()
    assert set(names) <= {"eliza", "retrieval", "dull", "degraded"}
    assert len(names) >= 2


LENGTHS = {"deriu2020_dailydialog": [2, 3, 5], "deriu2020_empathetic": [1, 2, 3], "deriu2020_personachat": [2, 3, 5]}
"""Deriu et al. 2020, §4: 2, 3 and 5 exchanges; of Empathetic Dialogues, which are short, 1, 2 and 3."""
POOLS = {"deriu2020_dailydialog": 4, "deriu2020_empathetic": 5, "deriu2020_personachat": 6}


@pytest.mark.parametrize("conf", LENGTHS)
def test_deriu(conf: str) -> None:
    """§4: 45 dialogues of every two bots, batches of 20, at most three a worker, each segment by two workers."""
    config = settings_of("spot_the_bot", conf)
    facts = {
        "segment_lengths": LENGTHS[conf],
        "num_dialogues": 45,
        "items_per_unit": 20,
        "units_per_worker": 3,
        "judgements_per_item": 2,
        "generate": "pairs",
        "start": "first_exchange",
        "features": ["fluent", "specific", "sensible"],
    }
    assert {name: getattr(config, name) for name in facts} == facts
    assert len(config.models) == POOLS[conf]
    assert 0 < config.human_share < 1


@pytest.mark.parametrize("task", ["pw_dialog", "self_chat"])
@pytest.mark.parametrize("metric", ["preference", "humanness", "interestingness"])
@pytest.mark.parametrize(
    ("study", "models"),
    [
        ("length", ["blender_3B", "blender_3B-M0"]),
        ("size", ["blender_3B", "blender_90M"]),
        ("finetuning", ["blender_3B", "reddit_3B"]),
    ],
)
def test_smith(task: str, metric: str, study: str, models: list[str]) -> None:
    """§3.1.3, App. B.3, C.1: a worker judges one pair for each two models and metric; 324 ratings a study."""
    config = settings_of(task, f"smith2022_{study}_{metric}")
    facts: dict[str, Any] = {
        "models": models,
        "metric": metric,
        "setting": "self_chat" if task == "self_chat" else "human_bot",
        "show": "pair",
        "items_per_worker_and_group": 1,
        "judgements_per_group": 324,
        "judgements_per_item": 1,
        "reason_required": True,
        "onboarding_tries": 2,
    }
    assert {name: getattr(config, name) for name in facts} == facts


def test_third_party_papers() -> None:
    """Liu et al. 2023: a sample of 60. Ma et al. 2023: every reply ranked; three annotators on seven scales."""
    assert settings_of("third_party", "liu2023_agreement").sample == 60
    ranking = settings_of("third_party", "ma2023_ranking")
    assert (ranking.show, ranking.ties, ranking.metric) == ("turn", False, "rank")
    gold = settings_of("third_party", "ma2023_gold")
    assert (gold.judgements_per_item, len(gold.scales), gold.scales[-1]) == (3, 7, "overall")


def test_studies_have_names_of_their_own() -> None:
    names = [str(composed_of(task, conf).mephisto.task.task_name) for task, conf in PAPERS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("task", list(techniques("judging")))
def test_settings_and_confs_are_listed(task: str) -> None:
    listed = CliRunner().invoke(launch, [task, "--list-settings"])
    assert listed.exit_code == 0, listed.output
    for name in all_settings(StaticConfig):
        assert f"\n{name} " in listed.output
    assert [setting.name for setting in list_settings(task) if not setting.description] == [], (
        "each one says what it is"
    )
    confs = CliRunner().invoke(launch, [task, "--list-confs"])
    assert confs.stdout.split() == conf_names(task)
    assert {"local", "mturk", "mturk_sandbox"} <= set(confs.stdout.split())


@pytest.mark.parametrize("task", list(techniques("judging")))
def test_comments_name_commands_that_exist(task: str) -> None:
    """A conf= that a comment tells to run is there."""
    for path in (task_dir(task) / "hydra_configs" / "conf").rglob("*.yaml"):
        for other, conf in re.findall(r"launch (\w+) conf=(\w+)", path.read_text(encoding="utf-8")):
            assert conf in conf_names(other), path
