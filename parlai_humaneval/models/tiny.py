"""Train a tiny ParlAI transformer on the packaged conversations: a real TorchAgent without a download.

It is for demonstrations, tests and benchmarks. It has the parts of a large generator (tokens, attention,
search) and the wit of a parrot.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parlai_humaneval.agents.corpus import PACKAGED_CORPUS, Conversation, load_corpus
from parlai_humaneval.models.home import models_home

FOLDS = ("train", "valid", "test")


@dataclass(frozen=True)
class TinySize:
    """How large and how long. The defaults take under two minutes on two cores.

    ``max_steps`` counts batches, ``max_seconds`` the time of training alone; the first limit that is met ends it.
    """

    layers: int = 2
    width: int = 128
    heads: int = 4
    batch: int = 16
    max_steps: int = 1500
    max_seconds: float = 95.0
    learning_rate: float = 2e-3
    seed: int = 1


def default_folder() -> Path:
    """Where the zoo's ``tiny_generator`` looks for its model."""
    return models_home() / "tiny_generator"


def train_tiny(
    folder: Path, *, size: TinySize = TinySize(), corpus: Path = PACKAGED_CORPUS, quiet: bool = True
) -> Path:
    """Train a tiny generator and return its model file, ``folder/model``.

    Raises:
        CorpusError: when the corpus cannot be used.
    """
    from parlai.scripts.train_model import TrainModel  # it takes seconds to import

    from parlai_humaneval.models.quiet import silent_parlai

    conversations = load_corpus(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, silent_parlai() if quiet else contextlib.nullcontext():
        data = Path(work) / "data"
        for fold in FOLDS:
            # All is training data: there is nothing to select, and the smaller corpus would be the worse parrot.
            chosen = conversations if fold == "train" else conversations[:8]
            Path(f"{data}_{fold}.txt").write_text("\n".join(_episodes(chosen)) + "\n", encoding="utf-8")
        options = _training_options(data, Path(work) / "model", size)
        TrainModel.main(**options, loglevel="error" if quiet else "info")
        _keep(Path(work), folder)
    return folder / "model"


def _keep(work: Path, folder: Path) -> None:
    """Copy what inference needs; the optimiser's state, two thirds of the file, is left behind."""
    import torch

    for name in ("model.opt", "model.dict", "model.dict.opt"):
        shutil.copyfile(work / name, folder / name)
    states = torch.load(work / "model", map_location="cpu", weights_only=False)
    torch.save({"model": states["model"]}, folder / "model")


def _training_options(data: Path, model: Path, size: TinySize) -> dict[str, object]:
    return {
        "model": "transformer/generator",
        "model_file": str(model),
        "task": "fromfile:parlaiformat",
        "fromfile_datapath": str(data),
        "fromfile_datatype_extension": True,
        "n_layers": size.layers,
        "embedding_size": size.width,
        "ffn_size": size.width * 4,
        "n_heads": size.heads,
        "n_positions": 256,
        "activation": "gelu",
        "variant": "xlm",
        "dropout": 0.1,
        "dict_tokenizer": "split",  # needs no download, and leaves “don't” in one piece, as `re` does not
        "dict_lower": True,
        "person_tokens": True,
        "text_truncate": 48,
        "label_truncate": 40,
        "batchsize": size.batch,
        "optimizer": "adam",
        "learningrate": size.learning_rate,
        "lr_scheduler": "fixed",  # ParlAI's default, reduceonplateau, crashes on newer torch
        "gradient_clip": 1.0,
        "max_train_steps": size.max_steps,
        "max_train_time": size.max_seconds,
        "skip_generation": True,  # in training only; the zoo entry turns it off
        "validation_metric": "ppl",
        "short_final_eval": True,
        "validation_max_exs": 32,
        "no_cuda": True,
        "seed": size.seed,
        "save_after_valid": False,
        "log_every_n_secs": 10,
    }


def _episodes(conversations: Iterable[Conversation]) -> Iterator[str]:
    """Each dialogue from either side, in ParlAI's format; a line is one exchange."""
    for conversation in conversations:
        for first in (0, 1):
            pairs = list(_pairs(conversation.turns[first:]))
            for number, (heard, said) in enumerate(pairs, start=1):
                yield f"text:{_flat(heard)}\tlabels:{_flat(said)}" + (
                    "\tepisode_done:True" if number == len(pairs) else ""
                )


def _pairs(turns: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(turns[::2], turns[1::2], strict=False)


def _flat(text: str) -> str:
    """A tab or a line's end would end the field; a bar would begin another label."""
    return " ".join(text.replace("|", ",").split())
