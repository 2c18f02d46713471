"""The zoo files of the papers: every system is named, and what `models check` says of it is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo
from parlai_humaneval.models.zoo.files import missing, to_download

PAPERS = {
    "liu2023": {"gpt2xl_bst", "gpt2m_bst", "gpt2xl_tcs", "gpt2xl_wow"},
    "ji2022": {
        f"{model}{persona}"
        for model in ("biencoder", "polyencoder", "kvmemnn", "seq2seq", "lstm")
        for persona in ("", "_persona")
    },
    "ma2023": {
        *("seq2seq", "dialogpt", "blenderbot_3B", "blenderbot_90M", "plato_xl"),  # English
        *("cdial_gpt", "eva2", "plato_2", "xdai", "glm_dialog"),  # Chinese
    },
    "deriu2020": {
        *(f"dailydialog_{model}" for model in ("gpt", "br", "s2", "dr")),
        *(f"empathetic_{model}" for model in ("gpt", "br", "s2", "dr", "bl")),
        *(f"personachat_{model}" for model in ("lc", "hf", "kv", "bl", "br", "dr")),
    },
}


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


def test_liu_differ_in_size_and_data_only() -> None:
    """Guards their comparisons: of size (XL and medium on one data set) and of data (XL on three)."""
    zoo = load_zoo()
    base = zoo["liu2023_gpt2xl_bst"]
    for name, differ in (("gpt2m_bst", {"model_file", "gpt2_size"}), ("gpt2xl_tcs", {"model_file"})):
        other = zoo[f"liu2023_{name}"].options
        assert {key for key in base.options if other[key] != base.options[key]} == differ
    tasks = {name: zoo[f"liu2023_{name}"].training for name in PAPERS["liu2023"]}
    assert {name: block.options["task"] for name, block in tasks.items() if block} == {
        "gpt2xl_bst": "blended_skill_talk",
        "gpt2m_bst": "blended_skill_talk",
        "gpt2xl_tcs": "fromfile:parlaiformat",
        "gpt2xl_wow": "wizard_of_wikipedia:basic_wizard_dialog",
    }
    # Batches of 32 in all, however many fit on a GPU at once (Wolf et al. 2019, §4).
    assert {block.options["batchsize"] * block.options["update_freq"] for block in tasks.values() if block} == {32}


def test_what_is_missing_names_the_command_and_this_machines_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Guards the way from `models check` to a model: the command as it is typed, files where they are to be."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    found = missing(load_zoo()["ji2022_seq2seq"])
    assert f"({tmp_path}/models/ji2022/seq2seq/model)" in found[0]
    assert found[-1] == "To train it: `parlai-humaneval models train ji2022_seq2seq`."
    topical = " ".join(missing(load_zoo()["liu2023_gpt2xl_tcs"]))
    assert f"{tmp_path}/models/data/topical_chat_train.txt" in topical
    assert "home:" not in topical


def test_a_model_that_parlais_zoo_does_not_have_is_told() -> None:
    """Guards names of models that ParlAI has taken out: it would fail in the middle of loading."""
    (sentence,) = missing(ModelSpec(name="old", options={"model_file": "zoo:convai2/kvmemnn/model"}))
    assert sentence == "model_file zoo:convai2/kvmemnn/model is not in ParlAI's zoo."


def test_a_hugging_face_model_on_this_machine_is_no_download(tmp_path: Path) -> None:
    """Guards machines without the internet: a local folder counts, an unknown name does not."""
    local = ModelSpec(name="mine", options={"model": "hugging_face/gpt2", "model_name": str(tmp_path)})
    assert to_download(local) == []
    (sentence,) = to_download(ModelSpec(name="mine", options={"model": "hugging_face/gpt2", "model_name": "no/such"}))
    assert sentence.startswith("no/such is not on this machine yet")
