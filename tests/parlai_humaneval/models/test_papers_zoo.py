"""The zoo files of the papers: every system is named, and what `models check` says of it is true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from parlai.scripts.train_model import TrainModel

from parlai_humaneval.models.commands import models
from parlai_humaneval.models.files import missing, to_download
from parlai_humaneval.models.loading import parlai_opt
from parlai_humaneval.models.zoo import ModelSpec, load_zoo

PAPERS = {
    "liu2023": {"gpt2xl_bst", "gpt2m_bst", "gpt2xl_tcs", "gpt2xl_wow"},
    "ji2022": {
        f"{model}{persona}"
        for model in ("biencoder", "polyencoder", "kvmemnn", "seq2seq", "lstm")
        for persona in ("", "_persona")
    },
    "ma2023": {"seq2seq", "dialogpt", "blenderbot_3B", "blenderbot_90M", "plato_xl"},
    "deriu2020": {
        *(f"dailydialog_{model}" for model in ("gpt", "br", "s2", "dr")),
        *(f"empathetic_{model}" for model in ("gpt", "br", "s2", "dr", "bl")),
        *(f"personachat_{model}" for model in ("lc", "hf", "kv", "bl", "br", "dr")),
    },
}
FOREIGN = ("ji2022_kvmemnn", "ji2022_lstm", "ma2023_plato_xl")
"""Systems whose agent is not here."""


def test_every_system_of_the_papers_has_its_entry() -> None:
    """Guards the names that the papers' confs use."""
    names = set(load_zoo())
    for paper, systems in PAPERS.items():
        assert {name.removeprefix(f"{paper}_") for name in names if name.startswith(f"{paper}_")} == systems


def test_a_persona_twin_is_the_same_model() -> None:
    """Guards Ji et al.'s comparison: with and without a persona, nothing else differs."""
    zoo = load_zoo()
    for name in PAPERS["ji2022"]:
        if name.endswith("_persona"):
            twin = zoo[f"ji2022_{name}"]
            assert twin.options == zoo[twin.name.removesuffix("_persona")].options


def test_check_says_something_true_of_every_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards `models check` for all: no traceback, and a model is ready only when all of it can be had."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    zoo = load_zoo()
    result = CliRunner(mix_stderr=False).invoke(models, ["check", *zoo, "--json"])
    assert isinstance(result.exception, SystemExit), result.exception
    checked = {entry["name"]: entry for entry in json.loads(result.stdout)}
    assert set(checked) == set(zoo)
    for name, entry in checked.items():
        trained_here = str(zoo[name].options.get("model_file", "")).startswith("home:")
        foreign = name.startswith(FOREIGN)
        assert entry["ok"] is not (trained_here or foreign), entry
        if not entry["ok"]:
            assert entry["missing"][-1].startswith("Needed: ")
            assert ("cannot be imported" in entry["missing"][0]) is foreign
        if str(zoo[name].options.get("model_file", "")).startswith("zoo:") or "dialogpt" in name:
            assert entry["downloads"]


def test_commands_are_printed_with_this_machines_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards a command that can be pasted as it stands."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    needed = missing(load_zoo()["ji2022_seq2seq"])[-1]
    assert f"-mf {tmp_path}/models/ji2022/seq2seq/model`" in needed
    assert "home:" not in needed


def commands(spec: ModelSpec) -> list[str]:
    return [command for need in spec.needs for command in re.findall(r"`parlai train_model ([^`]*)`", need)]


@pytest.mark.parametrize("name", [name for name, spec in load_zoo().items() if commands(spec)])
def test_training_commands_are_accepted_by_parlai(name: str, tmp_path: Path) -> None:
    """Guards every option of a command that costs a day of GPU, and that the model it makes is the entry's."""
    spec = load_zoo()[name]
    (command,) = commands(spec)
    words = shlex.split(command)
    assert words[words.index("-mf") + 1] == spec.options["model_file"]
    words[words.index("-mf") + 1] = str(tmp_path / "model")
    if "--init-model" in words:  # parsing would download it
        at = words.index("--init-model")
        del words[at : at + 2]
    opt = TrainModel.setup_args().parse_args(words)
    assert opt["model"] == spec.options["model"]
    assert opt.get("gpt2_size") == spec.options.get("gpt2_size")


@pytest.mark.parametrize("name", [n for n in load_zoo() if n.startswith(tuple(PAPERS)) and not n.startswith(FOREIGN)])
def test_settings_are_options_of_the_agent(name: str) -> None:
    """Guards generation settings of models that are not on this machine, which `models check` cannot parse yet."""
    spec = load_zoo()[name]
    model = spec.options.get("model", "transformer/generator")
    options = {key: value for key, value in spec.options.items() if key not in ("model_file", "fixed_candidates_path")}
    opt = parlai_opt(spec.model_copy(update={"options": {**options, "model": model}}))
    assert {key: opt[key] for key in options} == options


def test_a_model_that_parlais_zoo_does_not_have_is_told() -> None:
    """Guards names of models that ParlAI has taken out: it would fail in the middle of loading."""
    (sentence,) = missing(ModelSpec(name="old", options={"model_file": "zoo:convai2/kvmemnn/model"}))
    assert sentence == "model_file zoo:convai2/kvmemnn/model is not in ParlAI's zoo."


def test_a_hugging_face_model_on_this_machine_is_no_download(tmp_path: Path) -> None:
    """Guards machines without the internet: a local folder counts, an unknown name does not."""
    local = ModelSpec(name="mine", options={"model": "hugging_face/gpt2", "model_name": str(tmp_path)})
    assert to_download(local) == []
    (sentence,) = to_download(ModelSpec(name="mine", options={"model": "hugging_face/gpt2", "model_name": "no/such"}))
    assert sentence.startswith("no/such is not here yet")
