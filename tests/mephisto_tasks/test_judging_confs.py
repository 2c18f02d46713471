"""Every conf on finished dialogues composes, goes to the crowd, has a practice that fits, and says what its paper says."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.steps import load_golds, unfit
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import ConfigError, read_config
from mephisto_tasks.launch.config import compose_config, conf_names
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.materials.instructions import load_practice
from parlai_humaneval.models.zoo.entries import load_zoo
from parlai_humaneval.techniques.questions import DIMENSIONS
from parlai_humaneval.techniques.registry import techniques

CROWD = ["mephisto.provider.requester_name=me", "mephisto.architect.public_url=https://my.host"]
ON_CROWD = ("mturk", "mturk_sandbox")
CONFS = [(task, conf) for task in techniques("judging") for conf in conf_names(task) if conf not in ON_CROWD]
PAPERS = [(task, conf) for task, conf in CONFS if conf != "local"]
NAMES_NO_DIALOGUES = [("third_party", "ma2023_gold")]
"""Whoever launches these says what is to be judged."""
DIALOGUES = "mephisto.blueprint.dialogues=[{task: my-chats}]"


@cache
def composed_of(task: str, conf: str) -> DictConfig:
    return compose_config(task, conf, [DIALOGUES] if (task, conf) in NAMES_NO_DIALOGUES else [])


def config_of(composed: DictConfig) -> StaticConfig:
    blueprint = OmegaConf.to_container(composed.mephisto.blueprint, resolve=True)
    assert isinstance(blueprint, dict)
    return read_config(StaticConfig, {str(key): None if value == "???" else value for key, value in blueprint.items()})


def settings_of(task: str, conf: str) -> StaticConfig:
    """The checked settings of a conf."""
    return config_of(composed_of(task, conf))


@pytest.mark.parametrize(("task", "conf"), NAMES_NO_DIALOGUES)
def test_a_conf_without_dialogues_asks_for_them(task: str, conf: str) -> None:
    with pytest.raises(ConfigError, match=r"there is nothing to judge; name the dialogues, such as 'dialogues=\["):
        config_of(compose_config(task, conf))


@pytest.mark.parametrize("task", ["pw_dialog", "third_party"])
def test_samples_are_judged_on_this_machine_and_paid_for_nowhere(task: str) -> None:
    assert settings_of(task, "local").dialogues == [PACKAGED]
    with pytest.raises(ConfigError, match=r"needs more settings; .*Add dialogues=…"):
        compose_config(task, "local", ["place=mturk_sandbox", *CROWD])


@pytest.mark.parametrize(("task", "conf"), CONFS)
def test_practice_and_attention_checks_fit_what_is_asked(task: str, conf: str) -> None:
    config = settings_of(task, conf)
    folder = task_dir(config.technique) / "task_config"
    assert config.onboarding_qualification
    if config.metric != "own":
        assert unfit(load_practice(folder / f"onboarding_{config.metric}.json", config.metric), config) is None
    if config.golds_per_unit:
        golds = load_golds(folder / f"golds_{config.metric}.json", config)
        assert unfit(golds, config) is None
        assert len(golds.items) > config.golds_per_unit


@pytest.mark.parametrize(("task", "conf"), PAPERS)
def test_every_paper_conf_goes_to_the_crowd_as_it_is(task: str, conf: str) -> None:
    here = composed_of(task, conf)
    own = [DIALOGUES] if (task, conf) in NAMES_NO_DIALOGUES else []
    models = [] if here.mephisto.blueprint.models else ["mephisto.blueprint.models=[a,b]"]
    there = compose_config(task, conf, ["place=mturk_sandbox", *CROWD, *own, *models])
    assert (here.mephisto.provider._provider_type, there.mephisto.provider._provider_type) == ("mock", "mturk_sandbox")
    assert here.mephisto.task in (there.mephisto.task, {**there.mephisto.task, "task_reward": 0})
    assert config_of(there).model_copy(update={"models": config_of(here).models}) == config_of(here)


PAIRS = {
    "length": ["blender_3B", "blender_3B-M0"],
    "size": ["blender_3B", "blender_90M"],
    "finetuning": ["blender_3B", "reddit_3B"],
}


@pytest.mark.parametrize("task", ["pw_dialog", "self_chat"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("metric", ["preference", "humanness", "interestingness"])
def test_smith_compares_three_pairs_in_three_metrics_on_both_kinds_of_dialogues(
    task: str, pair: str, metric: str
) -> None:
    """Smith et al. 2022, §3.1.3, §3.2, App. B.3, C.1 and C.7."""
    config = settings_of(task, f"smith2022_{pair}_{metric}")
    assert (config.models, config.metric, config.technique) == (PAIRS[pair], metric, "pw_dialog")
    assert set(PAIRS[pair]) <= set(load_zoo())
    assert config.reason_required
    assert (config.judgements_per_group, config.judgements_per_item) == (324, 1)
    assert (config.items_per_unit, config.items_per_worker_and_group) == (1, 1)
    if task == "self_chat":
        assert (config.setting, config.generate, config.start, config.exchanges) == ("self_chat", "self_chat", "hi", 6)
        assert config.num_dialogues**2 >= 324
    else:
        assert (config.setting, config.generate) == ("human_bot", "")
        collected = compose_config("single_model", "smith2022").mephisto
        assert config.dialogues == [{"task": collected.task.task_name}]
        assert set(PAIRS[pair]) <= set(collected.blueprint.models)


DERIU = {
    "dailydialog": ("gpt br s2 dr", [2, 3, 5]),
    "empathetic": ("gpt br s2 dr bl", [1, 2, 3]),
    "personachat": ("lc hf kv bl br dr", [2, 3, 5]),
}


@pytest.mark.parametrize("domain", DERIU)
def test_deriu_has_three_domains(domain: str) -> None:
    """Deriu et al. 2020, §4: the pools, 45 conversations a pair, batches of 20, three of them a worker, two annotators."""
    bots, lengths = DERIU[domain]
    config = settings_of("spot_the_bot", f"deriu2020_{domain}")
    assert [name.rpartition("_")[2] for name in config.models] == bots.split()
    assert config.segment_lengths == lengths
    assert config.exchanges > max(lengths)
    assert (config.generate, config.start, config.num_dialogues) == ("pairs", "first_exchange", 45)
    assert (config.items_per_unit, config.units_per_worker, config.judgements_per_item) == (20, 3, 2)
    assert config.features == ["fluent", "specific", "sensible"]
    assert config.human_share > 0
    assert config.start_file != config.human_dialogues[0] != "packaged"


FACTS: dict[tuple[str, str], dict[str, Any]] = {
    # Liu et al. 2023, “Data Cleaning”
    ("third_party", "liu2023_agreement"): {"show": "replay", "metric": "own", "sample": 60},
    # Ma et al. 2023, §3.2, §3.3 and App. A
    ("third_party", "ma2023_ranking"): {"show": "turn", "metric": "rank", "ties": False},
    ("third_party", "ma2023_gold"): {"show": "whole", "judgements_per_item": 3, "scales": list(DIMENSIONS)},
}


@pytest.mark.parametrize(("task", "conf"), FACTS)
def test_third_parties_are_asked_what_their_papers_say(task: str, conf: str) -> None:
    config = settings_of(task, conf)
    assert {name: getattr(config, name) for name in FACTS[task, conf]} == FACTS[task, conf]


@pytest.mark.parametrize(
    ("conf", "live", "collects", "of"),
    [
        ("liu2023_agreement", "sata", "liu2023_pm", {"setting": ["sata_random", "sata_user"]}),
        ("ma2023_ranking", "free_for_all", "ma2023_en", {}),
    ],
)
def test_third_parties_judge_what_the_live_conf_of_their_paper_collects(
    conf: str, live: str, collects: str, of: dict[str, list[str]]
) -> None:
    """Of Liu et al. the select-all settings alone, which share a task with SOBA."""
    collected = compose_config(live, collects).mephisto
    assert settings_of("third_party", conf).dialogues == [{"task": collected.task.task_name, **of}]
    assert set(of.get("setting", [])) <= set(collected.blueprint.variants or {})


def test_studies_have_names_of_their_own() -> None:
    """Launches of one name go on with each other: different studies must not."""
    names = [str(composed_of(task, conf).mephisto.task.task_name) for task, conf in CONFS]
    assert len(set(names)) == len(names)


def test_who_passed_the_practice_of_a_metric_passed_it_for_both_kinds_of_dialogues() -> None:
    for metric in ("preference", "humanness", "interestingness"):
        people, bots = (settings_of(task, f"smith2022_size_{metric}") for task in ("pw_dialog", "self_chat"))
        assert people.onboarding_qualification == bots.onboarding_qualification
        assert metric in str(people.onboarding_qualification)
