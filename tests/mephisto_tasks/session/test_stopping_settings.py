"""When a study ends, in settings: what does not go together is told, with what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.stopping import StoppingSettings, refused_change
from mephisto_tasks.config.task import ConfigError, TaskConfig, read_config
from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.launch import preparation
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.config_reference import list_settings
from mephisto_tasks.session.study import until_decided
from parlai_humaneval.cli import main
from parlai_humaneval.stopping.rule import RuleChanged
from parlai_humaneval.stopping.study import SequentialStudy

PW_TURN: dict[str, Any] = {"technique": "pw_turn", "metric": "preference", "models": ["a", "b", "c"]}
PW_DIALOG: dict[str, Any] = {"technique": "pw_dialog", "metric": "preference", "dialogues": ["packaged"]}
MTURK = "place=mturk_sandbox requester_name=me public_url=https://my.host"
DECIDED: dict[str, Any] = {"stop": "decided", "margin": 0.1, "max_dialogues": 100}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"margin": None}, "stop=decided needs a margin; write margin=0.1"),
        ({"margin": 0}, "with a margin of 0, the study would never decide between two equal models"),
        (
            {"margin": 10},
            "10 is not a valid margin for counting two models as equal; give a share above 0 and below 1, such as 0.1",
        ),
        ({"margin": float("nan")}, "nan is not a valid margin"),
        (
            {"max_dialogues": None},
            "`parlai-humaneval plan --technique pw_turn --stop decided --models 3 --gap 0.1` recommends a number",
        ),
        (
            {
                "max_dialogues": None,
                "group_size": 3,
                "technique": "free_for_all",
                "metric": "appropriate",
                "margin": 0.4,
            },
            "pairs are undecided; choose as many as you can",
        ),
        (
            {"max_dialogues": 5},
            "3 models with a floor of 4 dialogues each need 6 at least, because each counts for all its models; "
            "raise max_dialogues to 6 or more",
        ),
        ({"alpha": 0.9}, "0.9 is not a rate of false claims"),
        (
            {"stop": "collected"},
            "margin and max_dialogues: only studies with stop=decided use them; add stop=decided",
        ),
        ({"stop": "decide"}, "Did you mean decided"),
        ({"groups": [["a", "b"], ["a", "c"]]}, "leave groups out"),
        ({"dialogues_per_worker": 2}, "leave dialogues_per_worker at 1"),
        ({"planned_for_looking": True}, "with stop=decided, the study ends by itself"),
        ({"raters_at_a_time": 0}, "raters_at_a_time: must be 1 or more"),
        ({"quality_control_model": "dull", "conversations_per_unit": 2}, "set quality_control_model= to use none"),
        ({"judge": "my_judge.yaml"}, "average answer on conversations that raters steer is unknown"),
        ({"time_out_minutes": 0}, "time_out_minutes: must be more than 0"),
    ],
)
def test_wrong_rules_are_refused(changes: dict[str, Any], said: str) -> None:
    """Each with a sentence that says what to do."""
    with pytest.raises(ConfigError) as refused:
        read_config(InteractiveConfig, {**PW_TURN, **DECIDED, **changes})
    assert said in str(refused.value)
    assert str(refused.value).count("not a rate of false claims") <= 1


def test_zero_is_told_without_what_ten_would_need() -> None:
    """Only a margin of 0 has that two equal models are never decided for its trouble."""
    with pytest.raises(ConfigError) as refused:
        read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "margin": 10})
    assert "never find two models equal" not in str(refused.value)


def test_a_plan_that_is_named_can_be_made() -> None:
    """Who follows the error without a cap is not told of another one: nothing is simulated, but all is checked."""
    with pytest.raises(ConfigError) as refused:
        read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "max_dialogues": None})
    (command,) = re.findall("`parlai-humaneval (plan [^`]+)`", str(refused.value))
    told = CliRunner().invoke(main, [*command.split(), "--max-dialogues", "1"])
    assert "--max-dialogues 1 is too low" in told.output, "the last that is checked"


def test_listed_settings_say_what_is_taken() -> None:
    """A range stands where there is one, and every example is taken as it stands."""
    listed = {setting.name: setting for setting in list_settings("pw_turn")}
    assert listed["margin"].allowed == "a number above 0 below 1, or null"
    assert listed["alpha"].allowed == "a number above 0 to 0.5"
    for name in StoppingSettings.model_fields:
        typed = dict(word.split("=") for word in listed[name].example.split())
        given = {key: yaml.safe_load(word) for key, word in typed.items()}
        if name.startswith("judge"):  # of finished dialogues alone
            config: TaskConfig = read_config(StaticConfig, {**PW_DIALOG, **given})
        else:
            config = read_config(InteractiveConfig, {**PW_TURN, **given})
        assert getattr(config, name) == yaml.safe_load(typed[name]) != yaml.safe_load(listed[name].default)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alpha": 0.1}, "error rates would no longer hold: alpha was 0.05 and is now 0.1"),
        ({"time_out_minutes": 5}, "hold: time_out_minutes was 60 and is now 5"),
        ({"transitive": False}, "hold: transitive was true and is now false"),
        ({"group_size": 3}, "hold: group_size was 2 and is now 3"),
        (
            {"margin": 0.2, "max_dialogues": 90},
            "hold: margin was 0.1 and is now 0.2, max_dialogues was 100 and is now 90",
        ),
        ({"max_dialogues": 90}, "the cap of a study can only be raised: max_dialogues was 100 and is now 90"),
    ],
)
def test_changes_are_named_as_they_are_typed(changes: dict[str, Any], said: str) -> None:
    """A launch has no beta, no seconds and no panels, and the cap is no matter of error rates."""
    before, now = (read_config(InteractiveConfig, {**PW_TURN, **DECIDED, **more}) for more in ({}, changes))
    rules = [config.rule(config.model_names(), config.model_groups()) for config in (before, now)]
    with pytest.raises(RuleChanged) as changed:
        rules[0].refuse_change(rules[1])
    error = refused_change(changed.value, rules[1])
    assert said in error.what
    assert "another study: task_name=…" in error.try_[0]


@pytest.mark.parametrize(("cap", "is_little"), [(30, True), (400, False)])
def test_a_cap_at_which_nothing_is_decided_is_told_at_the_start(cap: int, is_little: bool) -> None:
    """A launch of a handful of dialogues does not begin without a word."""
    config = read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "max_dialogues": cap})
    standing = SequentialStudy(config.rule(config.model_names(), config.model_groups())).standing()
    assert ("most likely leaves pairs open" in until_decided(standing, "conversations")) is is_little


def test_one_question_is_decided_at_a_time() -> None:
    """Several settings of a technique are several questions."""
    sata = {
        "technique": "sata",
        "metric": "appropriate",
        "setting": ["soba", "sata_random"],
        "variants": {"soba": {"min_choices": 1, "max_choices": 1}, "sata_random": {"min_choices": 0}},
    }
    with pytest.raises(ConfigError, match="but there are 2: soba, sata_random; name one setting"):
        read_config(InteractiveConfig, {**PW_TURN, **sata, **DECIDED})


def test_few_raters_are_let_in_at_a_time_where_answers_decide() -> None:
    """Who is under way when the answer is reached was not needed."""
    assert read_config(InteractiveConfig, {**PW_TURN, **DECIDED}).most_inside == 8
    assert read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "max_concurrent": 3}).most_inside == 3
    assert read_config(InteractiveConfig, PW_TURN).most_inside == 250


def test_a_rule_is_of_all_models() -> None:
    """Minutes become seconds; panels are told from pairs."""
    pairs = read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "time_out_minutes": 2, "alpha": 0.01})
    rule = pairs.rule(pairs.model_names(), pairs.model_groups())
    assert (rule.models, rule.timeout, rule.alpha, rule.beta, rule.shown) == (("a", "b", "c"), 120, 0.01, 0.01, "pairs")
    panel = read_config(InteractiveConfig, {**PW_TURN, **DECIDED, "group_size": 3})
    assert panel.rule(panel.model_names(), panel.model_groups()).shown == "panel"


@pytest.mark.parametrize(
    ("place", "changes", "most_open"),
    [
        (MTURK, {}, 8),
        (MTURK, {"raters_at_a_time": 3}, 3),
        ("place=local", {}, 0),
    ],
)
def test_a_crowds_site_offers_no_more_than_are_let_in(place: str, changes: dict[str, Any], most_open: int) -> None:
    """Who accepts a HIT is not to be told that the study is full; our own pages count who is inside."""
    config = compose_config("pw_turn", "local", place.split())
    settings = read_config(InteractiveConfig, {**PW_TURN, **DECIDED, **changes})
    assert preparation.most_open(crowd_of(config.mephisto.provider._provider_type), settings) == most_open
