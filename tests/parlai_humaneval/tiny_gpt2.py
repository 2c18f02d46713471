"""A tiny GPT-2 with random weights and an own tokenizer, and dialogues in which the right reply can be told."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.agent.isolation import silent_parlai

TOPICS = ("dogs", "cats", "music", "bread", "tea", "rain", "books", "trains", "chess", "birds")
QUESTIONS = (
    "What do you think of {}?",
    "Do you like {}?",
    "Tell me about {}.",
    "I have been thinking about {} all day.",
    "My sister talks of {} and nothing else.",
)
REPLIES = (
    "I love {}, they are the best.",
    "Nothing is as good as {} to me.",
    "I know a lot about {} now.",
    "Well, {} are not for me.",
    "My father was fond of {} too.",
)


AGENT = "parlai_humaneval.agents.transfer_transfo:TransferTransfoAgent"


def make_gpt2(folder: Path, *, spread: float = 0.02, special: Sequence[str] = ()) -> Path:
    """A folder as of the hub: a byte-level tokenizer of the packaged conversations, and random weights, 2 × 64.

    ``spread``: standard deviation of the weights. ``special``: tokens of its vocabulary that are no text, as GPT-2's
    ``<|endoftext|>``.
    """
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2DoubleHeadsModel

    folder.mkdir(parents=True)
    tokenizer = ByteLevelBPETokenizer()
    texts = [turn for dialogue in load_dialogues(PACKAGED_CORPUS) for turn in dialogue.texts]
    tokenizer.train_from_iterator(
        [*texts, *TOPICS * 20], vocab_size=800, show_progress=False, special_tokens=list(special)
    )
    tokenizer.save_model(str(folder))
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_positions=128,
        n_embd=64,
        n_layer=2,
        n_head=2,
        initializer_range=spread,
        activation_function="relu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        summary_first_dropout=0.0,
    )
    GPT2DoubleHeadsModel(config).save_pretrained(folder)
    return folder


def write_dialogues(folder: Path) -> Path:
    """Training and held-out dialogues in ParlAI's format; no pair of question and reply about a topic is in both."""
    cells = [(topic, ask, answer) for topic in TOPICS for ask in QUESTIONS for answer in REPLIES]
    random.Random(1).shuffle(cells)
    held_out = len(cells) // 4
    for fold, chosen in (("train", cells[held_out:]), ("valid", cells[:held_out]), ("test", cells[:held_out])):
        lines = [_exchange(*cell) for cell in chosen]
        (folder / f"dialogues_{fold}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "dialogues"


def _exchange(topic: str, ask: str, answer: str) -> str:
    return f"text:{ask.format(topic)}\tlabels:{answer.format(topic)}\tepisode_done:True"


def agent_options(gpt2: Path, **more: Any) -> dict[str, Any]:
    """Options of an agent that fit the tiny model."""
    fitting = {"text_truncate": 64, "label_truncate": 24, "no_cuda": True}
    return {"model": AGENT, "hf_model": str(gpt2), **fitting, **more}


def options(gpt2: Path, dialogues: Path, model_file: Path | None, **more: Any) -> dict[str, Any]:
    """Options of ``parlai train_model`` and ``parlai eval_model``; without a file, the model is untrained."""
    return {
        **agent_options(gpt2),
        **({"model_file": str(model_file)} if model_file else {}),
        "task": "fromfile:parlaiformat",
        "fromfile_datapath": str(dialogues),
        "fromfile_datatype_extension": True,
        "skip_generation": True,
        "loglevel": "error",
        **more,
    }


def train(gpt2: Path, dialogues: Path, model_file: Path, **more: Any) -> None:
    """``parlai train_model``."""
    from parlai.scripts.train_model import TrainModel

    settings = {
        "batchsize": 16,
        "optimizer": "adamw",
        "learningrate": 3e-3,
        "gradient_clip": 1.0,
        "max_train_steps": 150,
        "validation_metric": "ppl",
        "validation_max_exs": 16,
        "short_final_eval": True,
        "seed": 1,
        **more,
    }
    with silent_parlai():
        TrainModel.main(**options(gpt2, dialogues, model_file, **settings))


def evaluate(gpt2: Path, dialogues: Path, model_file: Path | None, **more: Any) -> dict[str, float]:
    """``parlai eval_model`` on the held-out dialogues."""
    from parlai.core.metrics import dict_report
    from parlai.scripts.eval_model import EvalModel

    asked = {"datatype": "valid", "batchsize": 16, **more}
    with silent_parlai():
        report: dict[str, float] = dict_report(EvalModel.main(**options(gpt2, dialogues, model_file, **asked)))
    return report
