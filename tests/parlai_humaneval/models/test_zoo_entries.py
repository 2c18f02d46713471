"""Every entry of every packaged zoo file, held against its own agent and its own training."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import nltk
import pytest
from parlai.scripts.train_model import TrainModel

from parlai_humaneval.models.backends.human import NEEDS_LAUNCH
from parlai_humaneval.models.check import Checked, check
from parlai_humaneval.models.pool.loading import parlai_opt
from parlai_humaneval.models.zoo import files as memory
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.models.zoo.files import PATH_OPTIONS

ZOO = load_zoo()
STATES = {"packaged": "ready", "download": "to download", "training": "to train", "endpoint": "to serve"}
"""What a new machine with enough memory, stop words and keys says of an entry."""
WEIGHTS = re.compile(r"(\d+(?:\.\d+)?) (million|billion)")


@pytest.fixture
def new_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing trained or downloaded yet, memory for all models, keys set, and no network."""

    def forbidden(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a check went to the network")

    words = tmp_path / "nltk/corpora/stopwords/english"
    words.parent.mkdir(parents=True)
    words.write_text("the\n", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk"), *nltk.data.path])
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    monkeypatch.setenv("PARLAI_DATAPATH", str(tmp_path / "parlai"))
    monkeypatch.setenv("OPENAI_API_KEY", "not a key")
    monkeypatch.setattr("parlai_humaneval.models.zoo.files._on_this_machine", lambda _: False)
    monkeypatch.setattr(memory, "_free_bytes", lambda _: ("in this machine", 1e12))
    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket.socket, "connect_ex", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    yield
    assert not list(tmp_path.glob("models/**/*")), "a check wrote a model"


def test_check_tells_what_is_left_to_do_and_never_goes_to_the_network(new_machine: None) -> None:
    """Guards `models check` for all: options are those of the agent, and nothing is downloaded or asked."""
    found: dict[str, Checked] = {name: check(spec) for name, spec in ZOO.items()}
    human = found.pop("human")  # the only one that talks available only in a launch
    assert (human.state, human.ok) == ("in a launch", True)
    assert human.asks == [NEEDS_LAUNCH]
    assert {name: (one.state, one.missing if one.state == "cannot" else []) for name, one in found.items()} == {
        name: (STATES[spec.origin], []) for name, spec in ZOO.items() if name != "human"
    }


def test_an_entry_says_what_it_is_and_how_large() -> None:
    """Guards tables and reports, which print it; and a model that is loaded here says how much memory it takes."""
    for spec in ZOO.values():
        assert spec.description.endswith("."), spec.name
        assert spec.source, spec.name
        assert spec.license, spec.name
        if spec.origin in ("download", "training"):
            assert WEIGHTS.search(spec.size), spec.name
            assert spec.memory_gb, spec.name
        assert (spec.training is not None) == (spec.origin == "training" and spec.name != "tiny_generator"), spec.name


def test_memory_follows_from_the_number_of_weights() -> None:
    """Guards the rule of zoo_configs/README.md (a fifth over 4 bytes a weight, or 2), against a figure of another model."""
    for spec in ZOO.values():
        if spec.memory_gb is None or spec.name.startswith(("tiny_generator", "blenderbot2")) or spec.memory_gb < 0.35:
            continue  # so small that other things weigh more; or three models
        number, unit = WEIGHTS.search(spec.size).groups()  # type: ignore[union-attr]  # the test above
        bytes_a_weight = spec.memory_gb / 1.2 / (float(number) * (1e-3 if unit == "million" else 1))
        assert any(0.9 < bytes_a_weight / expected < 1.1 for expected in (2, 4)), (spec.name, bytes_a_weight)


@pytest.mark.parametrize("name", ZOO)
def test_settings_reach_the_agent(name: str, new_machine: None) -> None:
    """Guards generation settings of models that are not on this machine: the agent reads them, with their values."""
    spec = ZOO[name]
    options = {key: value for key, value in spec.options.items() if key not in PATH_OPTIONS}
    assert "model" in options, "without its agent's name, the options of a model that is not here cannot be checked"
    opt = parlai_opt(spec.model_copy(update={"options": options}))
    assert {key: opt[key] for key in options if key != "init_opt"} == {
        key: value for key, value in options.items() if key != "init_opt"
    }


def trained() -> list[ModelSpec]:
    return [spec for spec in ZOO.values() if spec.training is not None]


@pytest.mark.parametrize("spec", trained(), ids=lambda spec: spec.name)
def test_training_options_are_accepted_by_parlai(spec: ModelSpec, tmp_path: Path) -> None:
    """Guards every option of a training that costs a day of GPU, and that it makes the entry's model."""
    assert spec.training is not None
    options = {key: value for key, value in spec.training.options.items() if key != "init_model"}  # parsing fetches it
    opt = TrainModel.setup_args().parse_kwargs(
        model=spec.options["model"], model_file=str(tmp_path / "model"), **options
    )
    assert {key: opt[key] for key in options} == options
    assert opt.get("gpt2_size") == spec.options.get("gpt2_size")
    assert opt["validation_every_n_epochs"] > 0 or opt["num_epochs"] > 0, "it would never end"
    assert str(spec.options["model_file"]).startswith("home:")


def test_no_two_models_are_trained_into_one_file() -> None:
    """Guards against a copied line: only twins with and without a persona share their weights."""
    files: dict[str, set[str]] = {}
    for spec in trained():
        files.setdefault(spec.options["model_file"], set()).add(spec.name.removesuffix("_persona"))
    assert all(len(names) == 1 for names in files.values()), files
