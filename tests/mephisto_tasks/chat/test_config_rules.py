"""Settings of the live techniques that do not go together are told apart, each with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.task import ConfigError, read_config

SATA: dict[str, Any] = {
    "technique": "sata",
    "metric": "appropriate",
    "models": ["a", "b"],
    "setting": "sata_random",
    "variants": {
        "soba": {"min_choices": 1, "max_choices": 1},
        "sata_random": {"min_choices": 0, "max_choices": None},
        "sata_user": {"min_choices": 0, "max_choices": None, "fallback": "write"},
    },
}
SINGLE: dict[str, Any] = {
    "technique": "single_model",
    "metric": "quality",
    "models": ["a", "b"],
    "group_size": 1,
    "turn_question": "tick",
    "turn_criteria": ["engaging"],
    "final_scale": "likert",
    "final_criteria": ["preference"],
}
ARENA: dict[str, Any] = {
    "technique": "arena",
    "metric": "better",
    "models": ["a", "b"],
    "history": "independent",
    "turn_question": "none",
    "verdict": True,
}
ASSESSMENT: dict[str, Any] = {
    "technique": "direct_assessment",
    "metric": "quality",
    "models": ["a", "b"],
    "group_size": 1,
    "turn_question": "none",
    "final_criteria": ["fun"],
}
MANY = ["a", "b", "c", "d"]


def changed(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A variant is changed by its name with a dot; a setting otherwise."""
    found = {**base, "variants": {name: dict(own) for name, own in base.get("variants", {}).items()}}
    for key, value in changes.items():
        name, dot, of_variant = key.partition(".")
        if dot:
            found["variants"].setdefault(name, {})[of_variant] = value
        else:
            found[key] = value
    return found


def refusal(base: dict[str, Any], changes: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(InteractiveConfig, changed(base, changes))
    return str(caught.value)


@pytest.mark.parametrize("base", [SATA, SINGLE, ARENA, ASSESSMENT], ids=lambda base: str(base["technique"]))
def test_the_bases_of_these_tests_are_right(base: dict[str, Any]) -> None:
    """Else the refusals below might have another cause."""
    assert read_config(InteractiveConfig, base).technique == base["technique"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"models": MANY, "groups": [MANY]}, "sata compares 2 models at a time, but got ['a', 'b', 'c', 'd']"),
        ({"groups": [["a", "b"]], "group_size": 3}, "compares 3 models at a time, but got ['a', 'b']"),
        ({"group_size": 3}, "at least 3 models must be named, but you named 2"),
        ({"group_size": 1}, "sata needs at least two replies to choose from"),
        (
            {"setting": "sata"},
            "sata has no setting 'sata'; choose from: soba, sata_random, sata_user; or a list of several",
        ),
        ({"setting": ["soba", "soba"]}, "each only once"),
        ({"setting": []}, "at least one"),
        ({"setting": ["all", "soba"]}, "setting: “all” already means every setting"),
        ({"soba.turns": 3}, "variants.soba: cannot change turns; change only fallback"),
        ({"setting": "all", "soba.max_choices": 3}, "max_choices is 3, but only 2 replies are shown"),
        ({"setting": "all", "soba.min_choices": 2}, "max_choices is smaller than min_choices"),
        ({"rater_ends": True, "turns": 10, "max_turns": 9}, "max_turns is smaller than turns"),
        ({"final_criteria": ["fun"]}, "final_criteria are about one partner, not"),
        ({"ask_opinion": True}, "ask_opinion needs topic=free"),
        ({"bot_persona": ["a", "z"]}, "bot_persona names z, but"),
        ({"blocking_checks": ["greetings"]}, "no check 'greetings'"),
        ({"blocking_checks": ["greeting"]}, "blocking_checks need a block_qualification"),
        (
            {"conversations_per_unit": 2},
            "an assignment of 2 conversations needs 2 different groups of models, but this study has only 1",
        ),
    ],
)
def test_sata(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(SATA, changes)


@pytest.mark.parametrize(
    ("base", "changes", "said"),
    [
        (SINGLE, {"group_size": 2, "final_criteria": []}, "ticks are about one reply, not 2"),
        (SINGLE, {"turn_criteria": []}, "turn_question=tick needs turn_criteria"),
        (SINGLE, {"turn_criteria": ["engagin"]}, "unknown criterion 'engagin'; choose one of: engaging, human-like"),
        (SINGLE, {"final_criteria": ["fun"]}, "unknown criterion 'fun'; choose one of: preference, humanness"),
        (SINGLE, {"final_criteria": ["preference", "preference"]}, "these criteria are listed twice: preference"),
        (SINGLE, {"final_criteria": [{"name": "wit"}]}, "write your own as {name: …, text: …"),
        (SINGLE, {"models": [], "groups": []}, "at least one model must be named"),
        (ARENA, {"models": ["a", "b", "c"], "group_size": 3}, "a verdict is between two partners side by side"),
        (ARENA, {"history": "shared"}, "a verdict needs history=independent and turn_question=none"),
        (ARENA, {"turn_question": "choose"}, "a verdict needs history=independent and turn_question=none"),
        (ARENA, {"verdict": False}, "nothing would be rated"),
        (ASSESSMENT, {"final_criteria": []}, "nothing would be rated"),
        (ASSESSMENT, {"quality_control_model": "bad"}, "conversations_per_unit=2 or more"),
        (
            ASSESSMENT,
            {"quality_control_model": "b", "conversations_per_unit": 3},
            "'b' is the quality-control model and cannot be rated as well",
        ),
        (ASSESSMENT, {"conversations_per_unit": 6, "quality_control_model": "bad"}, "needs 5 different groups"),
        (ASSESSMENT, {"groups": [["a", "a"]], "group_size": 2}, "a model cannot be compared with itself"),
    ],
)
def test_the_other_techniques(base: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    assert said in refusal(base, changes)


def test_one_setting_becomes_the_configuration_itself() -> None:
    """What its variant changes stands in the settings; nothing of the others does."""
    config = read_config(InteractiveConfig, {**SATA, "setting": "sata_user"})
    assert (config.min_choices, config.max_choices, config.fallback) == (0, None, "write")
    assert (config.variants, config.settings()) == ({}, ["sata_user"])
    assert config.of("sata_user") is config


@pytest.mark.parametrize("setting", ["all", ["soba", "sata_random", "sata_user"]])
def test_several_settings_have_each_their_own(setting: str | list[str]) -> None:
    """Question included: that of SOBA is another one."""
    config = read_config(InteractiveConfig, {**SATA, "setting": setting})
    assert config.settings() == ["soba", "sata_random", "sata_user"]
    each = {name: config.of(name) for name in config.settings()}
    assert [one.fallback for one in each.values()] == ["random", "random", "write"]
    assert [one.max_choices for one in each.values()] == [1, None, None]
    assert "the best one" in each["soba"].question
    assert each["sata_user"].question == each["sata_random"].question != each["soba"].question
    assert all(one.settings() == [name] for name, one in each.items())


def test_a_question_of_ones_own_holds_for_every_setting() -> None:
    config = read_config(InteractiveConfig, {**SATA, "setting": "all", "question": "Which fit?"})
    assert {config.of(name).question for name in config.settings()} == {"Which fit?"}


def test_criteria_of_ones_own_beside_the_papers() -> None:
    wit = {"name": "wit", "text": "My partner was witty."}
    config = read_config(InteractiveConfig, {**ASSESSMENT, "final_criteria": ["fun", wit]})
    assert [criterion.name for criterion in config.scales()] == ["fun", "wit"]


def test_models_and_groups() -> None:
    """Three at a time of four: four groups; the quality-control model is loaded, but in none of them."""
    config = read_config(InteractiveConfig, {**SATA, "models": MANY, "group_size": 3})
    assert len(config.model_groups()) == 4
    control = read_config(
        InteractiveConfig, {**ASSESSMENT, "quality_control_model": "bad", "conversations_per_unit": 3}
    )
    assert control.model_names() == ["a", "b", "bad"]
    assert control.model_groups() == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("bot_persona", "playing"), [(True, ["a", "b"]), (False, []), (["b"], ["b"])], ids=["all", "none", "one"]
)
def test_who_has_a_persona(bot_persona: bool | list[str], playing: list[str]) -> None:
    config: InteractiveConfig = read_config(InteractiveConfig, {**SATA, "bot_persona": bot_persona})
    assert [name for name in config.models if config.has_persona(name)] == playing
