"""Train a tiny ParlAI transformer on the packaged conversations: a real TorchAgent without a download.

It is for demonstrations, tests and benchmarks. It has the parts of a large generator (tokens, attention,
search) and the wit of a parrot.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.zoo.files import models_home


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
        DataError: when the corpus cannot be used.
    """
    # Imported here: ParlAI takes seconds.
    from parlai_humaneval.models.agent.isolation import silent_parlai
    from parlai_humaneval.models.baselines.training import keep_for_inference, parser, run_loop, write_folds

    dialogues = load_dialogues(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, silent_parlai() if quiet else contextlib.nullcontext():
        # All is training data: there is nothing to select, and the smaller corpus would be the worse parrot.
        data = write_folds(Path(work) / "data", {"train": dialogues, "valid": dialogues[:8], "test": dialogues[:8]})
        run_loop(parser().parse_kwargs(**data, **_training_options(Path(work) / "model", size)))
        keep_for_inference(Path(work) / "model", folder / "model")
    return folder / "model"


def _training_options(model: Path, size: TinySize) -> dict[str, object]:
    return {
        "model": "transformer/generator",
        "model_file": str(model),
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
