"""Folders of weights, named as people name them: which agent is theirs, and that it answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tiny_hugging_face import CAUSAL, SEQ2SEQ, folder_of

from parlai_humaneval.models.check import load_and_ask
from parlai_humaneval.models.selection import model_given
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError


@pytest.mark.parametrize("kind", [CAUSAL[0], SEQ2SEQ[0]])
def test_a_folder_of_hugging_face_is_known_by_its_configuration(kind: str) -> None:
    """A causal model and an encoder–decoder, each by its own agent."""
    given = model_given(str(folder_of(kind)), [])
    agent = "seq2seq_lm" if kind in SEQ2SEQ else "causal_lm"
    assert agent in str(given.options["model"])
    assert load_and_ask(ModelSpec(name=given.name, options=dict(given.options)))["reply"]


def test_a_folder_of_parlai_answers_though_its_training_never_did(tiny_specs: list[ModelSpec], tmp_path: Path) -> None:
    """A model that was trained without generating has that in its options; here it is asked to speak."""
    trained = Path(tiny_specs[0].options["model_file"])
    folder = shutil.copytree(trained.parent, tmp_path / "copy")
    saved = folder / f"{trained.name}.opt"
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "skip_generation": True}))
    given = model_given(str(folder / trained.name), [])
    assert given.options["skip_generation"] is False
    assert load_and_ask(ModelSpec(name=given.name, options=dict(given.options)))["reply"]


def test_a_folder_of_parlai_is_known_by_its_options(tmp_path: Path) -> None:
    """The folder and the file in it mean the same model; a file without options means none."""
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "model").write_bytes(b"")
    with pytest.raises(ZooError, match=r"neither config\.json"):
        model_given(str(folder), [])
    with pytest.raises(ZooError, match="is not a model"):
        model_given(str(folder / "model"), [])
    (folder / "model.opt").write_text("{}")
    for named in (folder, folder / "model"):
        assert model_given(str(named), []).options == {"model_file": str(folder / "model")}
    assert model_given(str(folder), []).name == "my_model"
    (folder / "model.opt").write_text("{")
    with pytest.raises(ZooError, match="has no ParlAI options"):
        model_given(str(folder), [])
