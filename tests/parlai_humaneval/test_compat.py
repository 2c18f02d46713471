"""ParlAI 1.7.2 on today's torch and transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from parlai.core.agents import create_agent
from parlai.core.params import ParlaiParser
from parlai.scripts.train_model import TrainModel
from tiny_gpt2 import make_gpt2
from transformers import GPT2LMHeadModel

from parlai_humaneval.models.agent.isolation import silent_parlai

DIALOGUES = """\
text:Hi!\tlabels:Hello there, how are you?
text:I am well.\tlabels:That is good to hear.\tepisode_done:True
text:Do you have a dog?\tlabels:No, but I have a cat.\tepisode_done:True
"""


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The prefix of three folds in ParlAI's format."""
    folder = tmp_path_factory.mktemp("dialogues")
    for fold in ("train", "valid", "test"):
        (folder / f"d_{fold}.txt").write_text(DIALOGUES, encoding="utf-8")
    return str(folder / "d")


def train(model_file: Path, dialogues: str, **options: Any) -> Any:
    """What ParlAI's own loop over a tiny generator with ParlAI's default scheduler leaves in the checkpoint."""
    sizes = {"n_layers": 1, "n_heads": 1, "embedding_size": 8, "ffn_size": 8}
    TrainModel.main(
        model="transformer/generator", task="fromfile:parlaiformat", fromfile_datapath=dialogues,
        fromfile_datatype_extension=True, model_file=str(model_file), no_cuda=True, skip_generation=True,
        validation_every_n_epochs=1, validation_metric="ppl", validation_metric_mode="min", save_after_valid=True,
        loglevel="error", **sizes, **options,
    )  # fmt: skip
    return torch.load(f"{model_file}.checkpoint", weights_only=False)


def test_parlais_default_scheduler_runs_decays_and_resumes(tmp_path: Path, dialogues: str) -> None:
    """Guards training with default options: newer torch has no `verbose`, and ParlAI's scheduler passed it."""
    settings = {"learningrate": 100.0, "lr_scheduler_patience": 0, "validation_patience": 99}
    begun = train(tmp_path / "model", dialogues, num_epochs=2, **settings)
    assert begun["lr_scheduler_type"] == "reduceonplateau"
    finished = train(tmp_path / "model", dialogues, num_epochs=6, **settings)
    assert 0 < begun["number_training_updates"] < finished["number_training_updates"]
    assert 0 < begun["lr_scheduler"]["last_epoch"] < finished["lr_scheduler"]["last_epoch"]
    assert finished["optimizer"]["param_groups"][0]["lr"] < 100, "no plateau was seen"


def test_parlais_own_gpt2_says_what_the_library_generates(tmp_path: Path) -> None:
    """Guards ``hugging_face/gpt2`` and DialoGPT: ParlAI's search keeps tuples, where transformers 5 keeps caches."""
    folder = make_gpt2(tmp_path / "gpt2", spread=0.4, special=["<|endoftext|>"])
    options = {"model_name": str(folder), "add_special_tokens": False, "no_cuda": True, "label_truncate": 13}
    search = {"inference": "greedy", "beam_size": 1, "skip_generation": False, "datatype": "valid"}
    with silent_parlai():
        agent = create_agent(ParlaiParser(True, True).parse_kwargs(model="hugging_face/gpt2", **options, **search))
        agent.observe({"text": "Hi, do you like tea?", "episode_done": True})
        said = agent.act()["text"]
        read = agent.dict.txt2vec("Hi, do you like tea?")
    library = GPT2LMHeadModel.from_pretrained(folder)
    written = library.generate(torch.tensor([read]), do_sample=False, max_new_tokens=12, pad_token_id=0, eos_token_id=0)
    assert said
    assert said == agent.dict.vec2txt(written[0, len(read) :].tolist())
