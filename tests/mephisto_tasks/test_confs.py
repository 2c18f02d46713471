"""Every conf of every task composes, fits together, and says what its paper says; nothing is launched."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.chat import build as building
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.study import ChatStudy
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import ConfigError, read_config
from mephisto_tasks.crowds.registry import conf_folders, crowds
from mephisto_tasks.launch.config import compose_config, conf_names
from parlai_humaneval.materials.instructions import FLAGS
from parlai_humaneval.models.zoo.entries import ZooError, load_zoo, zoo_dir
from parlai_humaneval.techniques.registry import techniques

CONFS = [(task, conf) for task in techniques("live") for conf in conf_names(task)]
CROWD = ["mephisto.provider.requester_name=me", "mephisto.architect.public_url=https://my.host"]
SETS_UP_NO_MODELS = ("mturk", "mturk_sandbox")
PAPERS = [(task, conf) for task, conf in CONFS if conf not in ("local", *SETS_UP_NO_MODELS)]
EMBEDDED = {"eliza", "retrieval", "dull", "degraded"}


def given(task: str, conf: str) -> list[str]:
    """What a conf that names no models must be given."""
    if conf not in SETS_UP_NO_MODELS:
        return []
    local = compose_config(task, "local").mephisto.blueprint
    models = ",".join(local.models)
    per_unit = f"mephisto.blueprint.conversations_per_unit={local.conversations_per_unit}"
    return [*CROWD, f"mephisto.blueprint.models=[{models}]", per_unit]


@cache
def composed_of(task: str, conf: str) -> DictConfig:
    return compose_config(task, conf, given(task, conf))


def settings_of(task: str, conf: str) -> InteractiveConfig:
    """The checked settings of a conf as it stands."""
    return config_of(composed_of(task, conf))


def config_of(composed: DictConfig) -> InteractiveConfig:
    blueprint = OmegaConf.to_container(composed.mephisto.blueprint, resolve=True)
    assert isinstance(blueprint, dict)
    return read_config(
        InteractiveConfig, {str(key): None if value == "???" else value for key, value in blueprint.items()}
    )


def built(tmp_path: Path, task: str, conf: str, *overrides: str) -> ChatStudy:
    composed = compose_config(task, conf, overrides) if overrides else composed_of(task, conf)
    name, reward = str(composed.mephisto.task.task_name), float(composed.mephisto.task.task_reward)
    return build_study(config_of(composed), task, tmp_path, name, reward)


def told(study: ChatStudy, part: str = "instructions") -> str:
    sections = getattr(study.instructions, part).sections
    return "\n".join(line for section in sections for line in (section.heading, *section.lines))


@pytest.mark.parametrize(("task", "conf"), CONFS)
def test_every_conf_fits_together(task: str, conf: str, tmp_path: Path) -> None:
    """Models are in the zoo, the practice fits what is asked, and the instructions are filled."""
    study = built(tmp_path, task, conf)
    assert study.config.technique == task
    assert set(study.specs) == set(study.config.model_names())
    assert (study.practice is None) == (study.config.onboarding_qualification is None)
    assert study.practice is None or study.practice.metric == study.config.metric
    assert not re.search(r"[{}]", told(study, "preview") + told(study))
    assert ("$" in study.instructions.pay) == bool(composed_of(task, conf).mephisto.task.task_reward)
    assert not re.search(r"[{}]", study.instructions.title + study.instructions.tagline)
    words = composed_of(task, conf).mephisto.task
    assert words.task_title == words.task_description == "", "a crowd's site says what the page says, its numbers too"


@pytest.mark.parametrize(
    ("conf", "overrides", "dollars"),
    [
        ("local", ["task_reward=2"], 2),
        ("local", ["place=link"], 2.5),
        ("smith2022_size_preference", ["task_reward=2"], 2),
        ("smith2022_size_preference", ["place=link"], 3),
    ],
)
def test_pay_is_what_is_asked_for_or_of_the_paper(conf: str, overrides: list[str], dollars: float) -> None:
    """It is a number where Mephisto stores the settings, unresolved."""
    composed = compose_config("pw_turn", conf, overrides)
    assert OmegaConf.to_container(composed, resolve=False)["mephisto"]["task"]["task_reward"] == dollars  # type: ignore[index,call-overload]


@pytest.mark.parametrize(("task", "conf"), [(task, conf) for task, conf in CONFS if "mturk" not in conf])
def test_who_tries_a_study_out_is_promised_no_pay(task: str, conf: str) -> None:
    """Guards colleagues from a promise that nobody means to keep: also the papers' pay is for paid crowds."""
    assert compose_config(task, conf).mephisto.task.task_reward == 0


@pytest.mark.usefixtures("composed_anew")
def test_a_study_whose_settings_are_changed_changes_no_other() -> None:
    """Guards the one store that settings are composed from: it gives out copies."""
    first = compose_config("sata", "local")
    before = OmegaConf.to_container(first)
    first.mephisto.blueprint.turns += 1
    first.mephisto.blueprint.models.append("another")
    assert OmegaConf.to_container(compose_config("sata", "local")) == before


def test_models_that_are_still_to_be_trained_are_told_of_before_any_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their study can be looked at without them: what it would cost, say."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    study = built(tmp_path, "sata", "liu2023_mm")
    with pytest.raises(ZooError, match=r"not been trained on this machine yet .*`parlai-humaneval models train "):
        study.resources()


@pytest.mark.parametrize(("task", "conf"), PAPERS)
def test_every_paper_conf_runs_with_embedded_models_as_its_comment_says(task: str, conf: str, tmp_path: Path) -> None:
    text = (task_dir(task) / "hydra_configs" / "conf" / f"{conf}.yaml").read_text(encoding="utf-8")
    comment = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert conf == "appropriate" or "embedded=true" in comment
    study = built(tmp_path, task, conf, "models=embedded")
    assert set(study.specs) <= EMBEDDED
    assert not study.config.has_persona("eliza")


@pytest.mark.parametrize(("task", "conf"), PAPERS)
def test_every_conf_goes_to_the_crowd_with_one_word(task: str, conf: str) -> None:
    here, there = composed_of(task, conf), compose_config(task, conf, ["place=mturk_sandbox", *CROWD])
    assert (here.mephisto.provider._provider_type, there.mephisto.provider._provider_type) == ("mock", "mturk_sandbox")
    assert here.mephisto.blueprint == there.mephisto.blueprint
    assert here.mephisto.task in (there.mephisto.task, {**there.mephisto.task, "task_reward": 0})


@pytest.mark.parametrize(("task", "conf"), dict(PAPERS).items())
def test_a_conf_at_the_crowd_says_what_it_needs(task: str, conf: str) -> None:
    with pytest.raises(ConfigError, match=r"Add requester_name=… public_url=…"):
        compose_config(task, conf, ["place=mturk"])


def test_a_conf_file_of_ones_own_takes_a_paper_to_the_crowd(tmp_path: Path) -> None:
    own = tmp_path / "my_study.yaml"
    own.write_text(
        "#@package _global_\ndefaults: [liu2023_mm, override place: mturk, _self_]\n"
        "mephisto: {provider: {requester_name: me}, architect: {public_url: 'https://my.host'}, task: {task_name: mine}}\n"
    )
    composed = compose_config("sata", str(own))
    assert (composed.mephisto.provider.requester_name, composed.mephisto.task.task_name) == ("me", "mine")
    assert config_of(composed).settings() == ["soba", "sata_random", "sata_user"]


def test_a_place_that_there_is_not() -> None:
    places = {path.stem for folder in conf_folders() for path in (folder / "place").glob("*.yaml")}
    assert places == {crowd.place for crowd in crowds()}
    with pytest.raises(ConfigError, match=f"no place 'mars'; choose one of: {', '.join(sorted(places))}"):
        compose_config("sata", "local", ["place=mars"])


FACTS: dict[tuple[str, str], dict[str, Any]] = {
    # Smith et al. 2022, §3.1.1, §3.1.4, App. B.3
    ("pw_turn", "smith2022_length_preference"): {"models": ["blender_3B", "blender_3B-M0"], "turns": 6},
    ("pw_turn", "smith2022_size_humanness"): {"models": ["blender_3B", "blender_90M"], "metric": "humanness"},
    ("pw_turn", "smith2022_finetuning_interestingness"): {"models": ["blender_3B", "reddit_3B"], "persona": True},
    ("single_model", "smith2022"): {
        "models": ["blender_3B", "blender_3B-M0", "blender_90M", "reddit_3B"],
        "turns": 6,
        "rater_ends": False,
        "first_message": "Hi!",
        "turn_criteria": ["engaging", "human-like", "interesting"],
        "final_scale": "likert",
        "final_criteria": ["preference", "humanness", "interestingness"],
    },
    # Liu et al. 2023, “Methods” and “Data Cleaning”
    ("sata", "liu2023_pm"): {"setting": "all", "group_size": 2, "turns": 10, "rater_ends": True, "persona": False},
    ("sata", "liu2023_mm"): {"setting": "all", "group_size": 4, "turns": 10, "rater_ends": True},
    ("sata", "liu2023_pm_soba"): {"min_choices": 1, "max_choices": 1},
    ("sata", "liu2023_mm_sata_random"): {"min_choices": 0, "max_choices": None, "fallback": "random"},
    ("sata", "liu2023_mm_sata_user"): {"min_choices": 0, "max_choices": None, "fallback": "write"},
    ("single_model", "liu2023_sm"): {
        "turn_criteria": ["appropriate"],
        "final_criteria": [],
        "turns": 10,
        "rater_ends": True,
    },
    # Ma et al. 2023, §2.1, §3.1
    ("free_for_all", "ma2023_en"): {"group_size": 5, "max_choices": 1, "history": "shared", "offer_topics": True},
    ("free_for_all", "ma2023_zh"): {"group_size": 5, "max_choices": 1, "history": "shared", "dialogues_per_group": 80},
    # Ji et al. 2022, §3.1, §3.2, §4
    ("direct_assessment", "ji2022_free"): {
        "conversations_per_unit": 6,
        "turns": 10,
        "topic": "free",
        "ask_opinion": True,
        "topic_changes": True,
        "final_scale": "slider",
        "onboarding_qualification": None,
    },
    ("direct_assessment", "ji2022_icebreaker"): {"topic": "icebreaker", "ask_opinion": False},
}


@pytest.mark.parametrize(("task", "conf"), FACTS)
def test_confs_say_what_their_papers_say(task: str, conf: str) -> None:
    config = settings_of(task, conf)
    assert {name: getattr(config, name) for name in FACTS[task, conf]} == FACTS[task, conf]


def test_liu_pairs_the_baseline_with_the_other_three() -> None:
    groups = settings_of("sata", "liu2023_pm").model_groups()
    assert [first for first, _ in groups] == ["liu2023_gpt2xl_bst"] * 3
    assert len({second for _, second in groups}) == 3


def test_ji_has_ten_models_of_which_five_have_a_persona() -> None:
    config = settings_of("direct_assessment", "ji2022_free")
    assert (len(config.models), len(config.scales()), config.quality_control_model) == (10, 7, "degraded")
    assert [config.has_persona(name) for name in config.models] == [False, True] * 5


@pytest.mark.parametrize(
    ("task", "conf", "reward"),
    [
        ("direct_assessment", "ji2022_free", 0.99),
        ("direct_assessment", "ji2022_icebreaker", 0.99),
        ("sata", "liu2023_mm", 1),
        ("single_model", "liu2023_sm", 1),
    ],
)
def test_pay_as_in_the_papers(task: str, conf: str, reward: float) -> None:
    assert compose_config(task, conf, ["place=link"]).mephisto.task.task_reward == reward


def test_studies_have_names_of_their_own() -> None:
    """Launches of one name go on with each other: two papers' studies must not."""
    names: dict[str, set[tuple[str, ...]]] = {}
    for task, conf in PAPERS:
        name = str(composed_of(task, conf).mephisto.task.task_name)
        names.setdefault(name, set()).add(tuple(settings_of(task, conf).model_names()))
    assert [name for name, models in names.items() if len(models) > 1] == []


@pytest.mark.parametrize("task", list(techniques("live")))
def test_with_and_without_a_character_is_one_word(task: str, tmp_path: Path) -> None:
    played = built(tmp_path, task, "local", "mephisto.blueprint.persona=true")
    free = built(tmp_path, task, "local", "mephisto.blueprint.persona=false")
    for part in ("preview", "instructions"):
        assert "character" in told(played, part)
        assert "character" not in told(free, part)


@pytest.mark.parametrize(
    ("task", "overrides", "said", "unsaid"),
    [
        ("sata", ["setting=soba"], "even if none is good", "drawn at random"),
        ("sata", ["setting=sata_user"], "you write a better reply", "still continues with one of the replies"),
        ("sata", ["setting=all"], "different kinds of chats", "even if none is good"),
        ("sata", ["onboarding_qualification=null"], "reply", "practice"),
        ("sata", ["reason_required=true"], "Write in your own words why", "written by a person"),
        ("free_for_all", ["setting=many"], "You may pick several", "Pick exactly one"),
        ("free_for_all", ["history=independent"], "two partners", "one history"),
        ("direct_assessment", ["topic=icebreaker", "ask_opinion=false"], "a topic to talk about", "type it in. Any"),
        ("pw_turn", ["first_message=''"], "You begin.", "is there already"),
        ("pw_turn", ["pay=$1", "payment.partial=pro_rata"], "for the part you completed", "you will not be paid"),
        ("pw_turn", ["pay=$1", "payment.partial=full"], "paid for the whole chat", "for the part you completed"),
    ],
)
def test_instructions_follow_the_settings(
    task: str, overrides: list[str], said: str, unsaid: str, tmp_path: Path
) -> None:
    if "history=independent" in overrides:
        overrides = [*overrides, "group_size=2"]
    words = told(built(tmp_path, task, "local", *(f"mephisto.blueprint.{setting}" for setting in overrides)))
    assert said in words
    assert unsaid not in words


def test_soba_alone_has_a_practice_of_its_own(tmp_path: Path) -> None:
    """Who was taught to select one must not find “none” right, and has not learned it for the other settings."""
    soba, all_three = (
        built(tmp_path, "sata", "local", f"mephisto.blueprint.setting={name}") for name in ("soba", "all")
    )
    assert soba.practice is not None
    assert all_three.practice is not None
    assert soba.practice.items != all_three.practice.items
    assert soba.config.onboarding_qualification != all_three.config.onboarding_qualification


def test_flags_of_a_study_are_those_that_instructions_know() -> None:
    on = {
        flag
        for task, conf in CONFS
        for flag, is_on in building._flags(settings_of(task, conf), False, False).items()
        if is_on
    }
    assert on <= set(FLAGS)
    assert {"persona", "none_allowed", "several_choices", "several_conversations", "opinion", "topic_icebreaker"} <= on


def test_every_model_of_a_papers_zoo_file_is_used() -> None:
    """The other way round: a model that a paper rated and no conf names was forgotten."""
    used = {name for task, conf in PAPERS for name in settings_of(task, conf).model_names()}
    for conf in conf_names("spot_the_bot"):
        if conf.startswith("deriu2020"):
            used |= set(compose_config("spot_the_bot", conf).mephisto.blueprint.models)
    others = sorted(path for path in zoo_dir().glob("*.yaml") if not re.search(r"\d{4}$", path.stem))
    in_all, in_others = (set(load_zoo(files)) for files in (sorted(zoo_dir().glob("*.yaml")), others))
    assert len(in_all - in_others) >= 19
    assert in_all - in_others <= used
