"""From a spec to an agent: options, paths, and what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from parlai.core.loader import AGENT_REGISTRY
from parlai.core.opt import Opt
from warm_python import WarmPython

from parlai_humaneval.models.agent.names import AGENT_MODULES
from parlai_humaneval.models.pool.loading import load_agent, options_of, parlai_opt
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo
from parlai_humaneval.models.zoo.files import missing, models_home, to_download


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
    assert "the first load downloads it to" in sentence
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


FOR_ITS_CHECK: dict[str, dict[str, object]] = {
    "callable": {"function": "math:fsum"},
    "command": {"command": "sh"},
    "http_endpoint": {"url": "http://127.0.0.1:9/"},
}
"""What some agents want to be given, before they find nothing missing."""


@pytest.mark.parametrize("name", ["eliza", "chat_completions"])
def test_a_short_name_of_this_package_needs_no_import_before(name: str, tmp_path: Path, warm: WarmPython) -> None:
    """Guards the names that the help of `parlai-humaneval parlai` lists, in a fresh process that imported no agent."""
    (tmp_path / "zoo.yaml").write_text(f"models: {{mine: {{options: {{model: parlai_humaneval/{name}}}}}}}")
    (tmp_path / "names.py").write_text(
        "import pathlib\n"
        "from parlai_humaneval.models.zoo.entries import load_zoo\n"
        "from parlai_humaneval.models.pool.loading import parlai_opt\n"
        f"print(parlai_opt(load_zoo([pathlib.Path({str(tmp_path / 'zoo.yaml')!r})])['mine'])['model'])"
    )
    done = warm.run(str(tmp_path / "names.py"))
    assert done.stdout.splitlines()[-1:] == [f"parlai_humaneval/{name}"], done.stderr[-2000:]


@pytest.mark.parametrize("name", AGENT_MODULES)
def test_a_short_name_is_that_of_its_module(name: str) -> None:
    """Guards the list of names: an agent that is called otherwise would not be found by its name."""
    found = missing(spec(model=f"parlai_humaneval/{name}", **FOR_ITS_CHECK.get(name, {})))
    assert not any("cannot be imported" in sentence for sentence in found)
    assert f"parlai_humaneval/{name}" in AGENT_REGISTRY


def test_a_misspelt_short_name_gets_a_suggestion() -> None:
    """Guards against ParlAI's own words for it, which name a module that nobody wrote."""
    (found,) = missing(spec(model="parlai_humaneval/elisa"))
    assert "no agent is called parlai_humaneval/elisa. Did you mean parlai_humaneval/eliza?" in found
    assert found.endswith("eliza?")
    with pytest.raises(ZooError, match=r"Did you mean parlai_humaneval/eliza"):
        parlai_opt(spec(model="parlai_humaneval/elisa"))


def test_the_short_name_that_a_training_saved_is_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a model trained by `parlai train_model -m parlai_humaneval/…` and named by its file alone."""
    Opt({"model": "parlai_humaneval/eliza"}).save(str(tmp_path / "model.opt"))
    (tmp_path / "model").touch()
    monkeypatch.delitem(sys.modules, "parlai_humaneval.models.baselines.eliza", raising=False)
    monkeypatch.delitem(AGENT_REGISTRY, "parlai_humaneval/eliza", raising=False)
    parlai_opt(spec(model_file=str(tmp_path / "model")))
    assert "parlai_humaneval/eliza" in AGENT_REGISTRY


def test_an_agent_without_a_device_is_on_the_processor_anyway() -> None:
    """Guards `device: cpu` for every model of a zoo file; a GPU that is asked for in vain is told."""
    eliza = load_zoo()["eliza"]
    assert "no_cuda" not in parlai_opt(eliza.model_copy(update={"device": "cpu"}))
    with pytest.raises(ZooError, match=r"^eliza cannot be put on a device: its agent has no option for one$"):
        parlai_opt(eliza.model_copy(update={"device": "cuda:0"}))
    with pytest.raises(ZooError, match="has no option called no_cuda"):
        parlai_opt(eliza.model_copy(update={"options": {**eliza.options, "no_cuda": True}, "device": "cpu"}))
