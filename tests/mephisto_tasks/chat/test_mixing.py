"""Dialogues that were cut off go on under the settings that they began with: what is refused, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from held_units import Held, Units
from live import composed
from omegaconf import OmegaConf
from scripted_models import zoo_file
from stored_study import StoredStudy

from mephisto_tasks.adapter.blueprint import build_study
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.study import ChatStudy
from mephisto_tasks.config.task import ConfigError, read_config
from parlai_humaneval.schema.events import Started

TASK = "task"


def built(folder: Path, **settings: Any) -> ChatStudy:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    zoo = str(zoo_file(folder, ["alpha", "beta", "gamma"]))
    changed = {"models": ["alpha", "beta"], "zoo_files": [zoo], "turns": 2, "dialogues_per_group": 2, **settings}
    found = OmegaConf.to_container(
        composed("pw_turn", changed).mephisto.blueprint, resolve=True, throw_on_missing=False
    )
    assert isinstance(found, dict)
    blueprint = {str(name): (None if value == "???" else value) for name, value in found.items()}
    return build_study(read_config(InteractiveConfig, blueprint), "pw_turn", folder / "data", TASK, 0.0)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    folder = tmp_path_factory.mktemp("held")
    study = built(folder)
    with study.resources():
        return Units(study, folder / "agents").whole()


def cut_off(folder: Path, held: Held, *, simulated: bool = False, length: int = 4) -> StoredStudy:
    stored = StoredStudy(folder / "data")
    events = held.events[:length]
    assert isinstance(events[0], Started)
    stored.add(TASK, "w", [events[0].model_copy(update={"simulated": simulated}), *events[1:]], held.plan)
    return stored


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"turns": 3}, "turns: 2 then, 3 now"),
        ({"metric": "humanness"}, "metric: 'preference' then, 'humanness' now"),
        ({"question": "Whom?"}, "question: .* 'Whom.' now"),
        ({"persona": False}, "persona: True then, False now"),
        ({"replies": {"appearance": "plain"}}, "replies.appearance: 'as_said' then, 'plain' now"),
        ({"models": ["alpha", "gamma"]}, r"the group alpha vs beta \(preference\): 'asked for' then"),
    ],
)
def test_other_settings_are_refused_in_words(tmp_path: Path, held: Held, changed: dict[str, Any], said: str) -> None:
    cut_off(tmp_path, held)
    with pytest.raises(ConfigError, match=f"(?s)1 unit of this task was interrupted.*{said}.*cut_off=anew"):
        built(tmp_path, **changed)
    assert built(tmp_path, **changed, cut_off="anew").left == {}


def test_a_part_of_a_setting_that_was_not_there_then_changes_nothing(tmp_path: Path, held: Held) -> None:
    """Guards who goes on with a newer version: its settings have parts that the records do not know."""
    events = held.events
    assert isinstance(events[0], Started)
    replies = {name: value for name, value in events[0].settings["replies"].items() if name != "ask_again"}
    begun = events[0].model_copy(update={"settings": {**events[0].settings, "replies": replies}})
    StoredStudy(tmp_path / "data").add(TASK, "w", [begun, *events[1:4]], held.plan)
    assert len(built(tmp_path).left) == 1


@pytest.fixture
def chat_models(tmp_path: Path) -> dict[str, Any]:
    """Settings of a study between two models on servers."""
    zoo = tmp_path / "chat.yaml"
    zoo.write_text("models: {gpt: {extends: local_vllm}, other: {extends: gpt}}\n", encoding="utf-8")
    return {"models": ["gpt", "other"], "zoo_files": [str(zoo)]}


def test_replies_of_chat_llms_are_drawn_where_nothing_is_set(tmp_path: Path, chat_models: dict[str, Any]) -> None:
    """Guards what a new study shows and records, by what its models are; a look that was set is that one."""
    assert built(tmp_path).config.replies.appearance == "as_said"
    drawn = built(tmp_path, **chat_models)
    assert (drawn.config.replies.appearance, drawn.draws_markdown) == ("markdown", True)
    said = built(tmp_path, **chat_models, replies={"appearance": "as_said"})
    assert (said.config.replies.appearance, said.draws_markdown) == ("as_said", False)


@pytest.mark.parametrize("recorded", [{"appearance": "as_said"}, {}])
def test_a_study_that_has_begun_keeps_its_look(
    tmp_path: Path, held: Held, chat_models: dict[str, Any], recorded: dict[str, Any]
) -> None:
    """Guards studies from before there was markdown: nobody is refused, and no two raters see different looks."""
    begun = held.events[0]
    assert isinstance(begun, Started)
    replies = {name: value for name, value in begun.settings["replies"].items() if name != "appearance"} | recorded
    models = [
        model.model_copy(update={"name": name, "options": built(tmp_path, **chat_models).specs[name].options})
        for model, name in zip(begun.models, chat_models["models"], strict=True)
    ]
    before = begun.model_copy(update={"settings": {**begun.settings, "replies": replies}, "models": models})
    StoredStudy(tmp_path / "data").add(TASK, "w", [before], held.plan)
    assert built(tmp_path, **chat_models, cut_off="anew").config.replies.appearance == "as_said"


def test_options_of_a_model_are_refused_in_words(tmp_path: Path, held: Held) -> None:
    events = held.events
    assert isinstance(events[0], Started)
    models = [model.model_copy(update={"options": {**model.options, "beam_size": 3}}) for model in events[0].models]
    stored = StoredStudy(tmp_path / "data")
    stored.add(TASK, "w", [events[0].model_copy(update={"models": models}), *events[1:4]], held.plan)
    with pytest.raises(ConfigError, match="option beam_size of the model alpha: 3 then, None now"):
        built(tmp_path)


def test_a_file_of_a_model_by_another_path_changes_nothing(tmp_path: Path, held: Held) -> None:
    """Guards interrupted dialogues against a zoo file that was written again, with paths from its folder."""
    events = held.events
    assert isinstance(events[0], Started)
    models = [
        model.model_copy(update={"options": {**model.options, "script": f"{tmp_path}/below/../{model.name}"}})
        for model in events[0].models
    ]
    stored = StoredStudy(tmp_path / "data")
    stored.add(TASK, "w", [events[0].model_copy(update={"models": models}), *events[1:4]], held.plan)
    assert len(built(tmp_path).left) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"dialogues_per_group": 9, "seed": 77, "answer_timeout_s": 60, "max_concurrent": 3, "model_timeout_s": 3},
        {"consent_file": "consent-2.yaml", "pay": "$9"},
        {"models": ["alpha", "beta", "gamma"]},
    ],
)
def test_what_shapes_no_dialogue_may_change(tmp_path: Path, held: Held, changed: dict[str, Any]) -> None:
    cut_off(tmp_path, held)
    (left,) = built(tmp_path, **changed).left.values()
    assert len(left.events) == 4


def test_nothing_is_refused_where_nothing_could_go_on(tmp_path: Path, held: Held) -> None:
    """All that is wanted was collected by others; or its rater is a program; or the unit came to its end."""
    stored = cut_off(tmp_path / "full", held)
    for worker in ("x", "y"):
        stored.add(TASK, worker, held.events, held.plan)
    built(tmp_path / "full", dialogues_per_group=2, models=["alpha", "beta", "gamma"], turns=3)
    cut_off(tmp_path / "simulated", held, simulated=True)
    assert built(tmp_path / "simulated", turns=3).left == {}
    assert len(built(tmp_path / "simulated").left) == 1, "with the same settings a program goes on, too"
    cut_off(tmp_path / "whole", held, length=len(held.messages))
    built(tmp_path / "whole", turns=3)
