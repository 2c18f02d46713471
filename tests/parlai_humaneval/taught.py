"""A small world in which there is something to learn: what is asked, and a persona, decide what is answered."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from parlai_humaneval.models.baselines.training import Trained, plan_training, train
from parlai_humaneval.models.zoo.entries import ModelSpec, Training

TOPICS = {
    "music": ("guitar piano drums violin flute", "songs concerts bands melodies"),
    "food": ("pizza bread soup cheese apples", "cooking dinner kitchens recipes"),
    "sport": ("football tennis running skiing rowing", "games medals teams training"),
    "sea": ("boats sailing waves fishing islands", "water beaches harbours storms"),
    "books": ("novels poems stories comics plays", "reading libraries pages authors"),
}
PETS = ("dog", "cat", "horse", "parrot", "snake", "goat")
COMMON: Mapping[str, Any] = {
    "task": "fromfile:parlaiformat",
    "batchsize": 20,
    "optimizer": "adam",
    "dict_tokenizer": "split",
    "dict_lower": True,
    "text_truncate": 64,
    "label_truncate": 16,
    "validation_every_n_epochs": 5,
    "log_every_n_secs": 1,
}
KV_MEMNN: Mapping[str, Any] = {
    "embeddingsize": 48,
    "learningrate": 0.01,
    "num_epochs": 10,
    "validation_metric": "accuracy",
    "validation_metric_mode": "max",
}
LSTM: Mapping[str, Any] = {
    "hiddensize": 48,
    "embeddingsize": 32,
    "numlayers": 1,
    "dropout": 0.0,
    "learningrate": 0.01,
    "num_epochs": 30,
    "validation_metric": "ppl",
    "skip_generation": True,
}
AGENTS = {
    "kv_memnn": "parlai_humaneval.agents.kv_memnn:KvMemnnAgent",
    "lstm": "parlai_humaneval.agents.lstm:LstmAgent",
}


def spec_of(agent: str, folder: Path, training: Mapping[str, Any], **options: Any) -> ModelSpec:
    """A zoo entry that is trained into ``folder/model``."""
    return ModelSpec(
        name=folder.name,
        options={"model": AGENTS.get(agent, agent), "model_file": str(folder / "model"), **options},
        device="cpu",
        training=Training(options={**COMMON, **training}),
    )


def taught(agent: str, folder: Path, training: Mapping[str, Any], **settings: Any) -> tuple[ModelSpec, Trained]:
    """Train on this world, from the same weights and in the same order each time."""
    random.seed(1)
    torch.manual_seed(1)
    spec = spec_of(agent, folder, training)
    return spec, train(plan_training(spec, data=write_world(folder), settings=settings))


def write_world(folder: Path) -> str:
    """The world's dialogues in ``folder``, and their prefix. Those for validation are all unseen."""
    folder.mkdir(parents=True, exist_ok=True)
    made = dialogues()
    for fold, part in {"train": made[40:], "valid": made[:40]}.items():
        lines = [json.dumps({"dialogue_id": f"{fold}-{number}", **dialogue}) for number, dialogue in enumerate(part)]
        (folder / f"world_{fold}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "world")


def dialogues() -> Sequence[Mapping[str, Any]]:
    """All different, in a fixed order."""
    asked = [
        {"turns": [f"do you like {one} and {other} ?", f"yes , i like {reply} and {more} ."]}
        for heard, said in TOPICS.values()
        for one, other, reply, more in _chosen(heard.split(), said.split())
    ]
    pets = [
        {
            "turns": [f"{hello} , which pet ?", f"a {pet} ."],
            "context": [f"your persona: i own a {pet}"],
        }
        for pet in PETS
        for hello in ("hi", "hello", "so", "well", "oh", "please", "now", "yes", "good day", "hey there")
    ]
    both = [*asked, *pets]
    random.Random(1).shuffle(both)
    return both


def _chosen(heard: list[str], said: list[str]) -> Sequence[tuple[str, str, str, str]]:
    draw = random.Random(heard[0])
    pairs = [(one, other) for one in heard for other in heard if one != other]
    return [(one, other, *draw.sample(said, 2)) for one, other in pairs]  # type: ignore[misc]
