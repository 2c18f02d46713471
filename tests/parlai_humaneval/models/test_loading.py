"""From a spec to an agent: options, paths, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from parlai_humaneval.models.files import missing, to_download
from parlai_humaneval.models.home import models_home
from parlai_humaneval.models.loading import load_agent, options_of, parlai_opt
from parlai_humaneval.models.zoo import ModelSpec, ZooError, load_zoo


def spec(**options: object) -> ModelSpec:
    return ModelSpec(name="mine", options=dict(options))


def test_models_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards where trained models are looked for: own variable, then XDG, then the user's share folder."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path / "own"))
    assert models_home() == tmp_path / "own" / "models"
    assert options_of(spec(model_file="home:x/model"))["model_file"] == str(tmp_path / "own/models/x/model")
    monkeypatch.delenv("PARLAI_HUMANEVAL_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert models_home() == tmp_path / "xdg" / "parlai-humaneval" / "models"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert models_home() == Path.home() / ".local/share/parlai-humaneval/models"


def test_an_untrained_tiny_generator_says_which_command_trains_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Guards the first thing a newcomer meets who picks tiny_generator."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    with pytest.raises(ZooError, match=r"not been trained on this machine yet .*`parlai-humaneval models train-tiny`"):
        load_agent(load_zoo()["tiny_generator"])


def test_a_parlai_zoo_model_is_reported_as_a_download_and_not_fetched() -> None:
    """Guards `models check`: it must not start a download of gigabytes."""
    blender = load_zoo()["blender_3B"]
    assert missing(blender) == []
    (sentence,) = to_download(blender)
    assert "ParlAI downloads it to" in sentence
    assert to_download(load_zoo()["eliza"]) == []


def test_missing_files_and_agents_are_sentences() -> None:
    """Guards that all that is missing is told at once."""
    found = missing(spec(model="no.such.module:Agent", model_file="/no/such/model"))
    assert "no.such.module:Agent cannot be imported" in found[0]
    assert "model_file /no/such/model does not exist" in found[1]
    assert missing(spec(model="transformer/generator")) == []


def test_options_are_checked_by_the_agents_own_command_line(tiny_specs: list[ModelSpec]) -> None:
    """Guards a misspelt or ill-typed generation setting, which would otherwise be ignored in silence."""
    tiny = tiny_specs[0]
    misspelt = tiny.model_copy(update={"options": {**tiny.options, "beam_sise": 3}})
    with pytest.raises(ZooError, match="no option called beam_sise"):
        parlai_opt(misspelt)
    wrong = tiny.model_copy(update={"options": {**tiny.options, "beam_size": "many"}})
    with pytest.raises(ZooError, match="invalid int value: 'many'"):
        parlai_opt(wrong)


def test_a_model_is_loaded_to_speak_not_to_learn(tiny_specs: list[ModelSpec]) -> None:
    """Guards memory (no optimiser), interactive mode, and settings that override the trained ones."""
    agent = load_agent(tiny_specs[0])
    assert not hasattr(agent, "optimizer")
    assert agent.opt["interactive_mode"] is True
    assert agent.opt["skip_generation"] is False


def test_whatever_a_constructor_raises_names_the_model(tmp_path: Path) -> None:
    """Guards a corrupt model file: one clear error instead of a traceback out of torch."""
    broken = tmp_path / "model"
    broken.write_bytes(b"not a model")
    with pytest.raises(ZooError, match="mine cannot be loaded"):
        load_agent(spec(model="transformer/generator", model_file=str(broken), no_cuda=True))
