"""Settings that cannot be run are told by name, with what was expected, before anything is launched."""

from __future__ import annotations

from typing import Any

import pytest

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.task import ConfigError, read_config

GOOD: dict[str, Any] = {"technique": "pw_turn", "metric": "preference", "models": ["a", "b"]}


def test_defaults_are_those_of_the_paper() -> None:
    """Smith et al. 2022, §3.1: six turns, “Hi!” first, a persona, a written reason."""
    config = read_config(InteractiveConfig, GOOD)
    assert (config.turns, config.first_message, config.persona, config.reason_required) == (6, "Hi!", True, True)
    assert config.question == "Which next response from your partner would you prefer in a long conversation?"
    assert config.model_groups() == [("a", "b")]


def test_every_pair_of_the_models_or_the_groups_as_named() -> None:
    assert read_config(InteractiveConfig, {**GOOD, "models": ["a", "b", "c"]}).model_groups() == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    groups = read_config(InteractiveConfig, {**GOOD, "groups": [["c", "a"], ["b", "c"]]})
    assert groups.model_groups() == [("c", "a"), ("b", "c")]
    assert groups.model_names() == ["c", "a", "b"]


def test_a_question_of_ones_own_replaces_the_published_one() -> None:
    assert read_config(InteractiveConfig, {**GOOD, "question": "Which is funnier?"}).question == "Which is funnier?"


def test_what_mephisto_adds_is_left_alone() -> None:
    assert read_config(
        InteractiveConfig, {**GOOD, "_blueprint_type": "pw_turn", "block_qualification": None}
    ).models == ["a", "b"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"technique": "pw_trun"}, "no technique 'pw_trun'. Did you mean pw_turn? Choose one of:\n  pw_turn "),
        ({"metric": "fun"}, "no metric 'fun'; choose one of: preference, humanness, interestingness"),
        ({"models": []}, "named, but you named 0; name them: 'models=[a,b]'"),
        ({"models": ["a"]}, "at least 2 models must be named"),
        ({"models": "a,b"}, "models: must be a list, such as [a,b], not 'a,b'"),
        ({"models": ["a", "a"]}, "cannot be compared with itself: ['a', 'a']"),
        ({"groups": [["a", "b", "c"]]}, "compares 2 models at a time, but got ['a', 'b', 'c']"),
        ({"groups": [["a", "b"], ["b", "a"]]}, "are in two groups"),
        ({"turns": 0}, "turns: must be 1 or more, not 0; see `parlai-humaneval launch "),
        ({"turns": "six"}, "turns: must be a whole number, not 'six'"),
        ({"dialogues_per_group": 0}, "dialogues_per_group"),
        ({"min_choices": 0}, "exactly one reply"),
        ({"max_choices": 2}, "exactly one reply"),
        ({"group_size": 1}, "at least two replies"),
        ({"group_size": 9}, "group_size"),
        ({"answer_timeout_s": 1}, "answer_timeout_s"),
        ({"model_timeout_s": 0}, "model_timeout_s"),
        ({"model_retries": -1}, "model_retries"),
        ({"onboarding_tries": 0}, "onboarding_tries"),
        ({"min_reason_words": 1000}, "min_reason_words"),
        ({"seed": "lucky"}, "seed"),
        ({"persona": "perhaps"}, "persona"),
    ],
)
def test_wrong_settings(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(InteractiveConfig, {**GOOD, **wrong})
    assert said in str(caught.value)


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(InteractiveConfig, {**GOOD, "turns": 0, "seed": "x"})
    assert len(str(caught.value).splitlines()) == 2


def test_every_setting_says_what_it_is_for_hydra() -> None:
    """A field without a place in the blueprint's arguments could not be overridden on the command line."""
    from mephisto_tasks.adapter.blueprint import blueprint_of

    assert set(InteractiveConfig.model_fields) <= set(blueprint_of("pw_turn").ArgsClass.__dataclass_fields__)  # type: ignore[attr-defined]
