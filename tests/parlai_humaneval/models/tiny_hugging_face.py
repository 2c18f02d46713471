"""Tiny random models of Hugging Face in a folder, with a tokenizer made from the packaged conversations."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from parlai.core.agents import Agent

from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<|turn|>", "<|done|>")
VOCABULARY = 600
POSITIONS = 160
CHAT_TEMPLATE = (
    "{% for message in messages %}<|turn|>{{ message['role'] }}\n{{ message['content'] }}<|done|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
SIZE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.4,  # the usual 0.02 makes all words as good as equally likely
}
LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": POSITIONS}
BOTH_SIDES = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": POSITIONS,
    "init_std": 0.4,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": 2,
}
CAUSAL = ("gpt2", "llama", "gpt_neox", "opt")
SEQ2SEQ = ("bart", "blenderbot")


@cache
def _byte_level() -> Any:
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    lines = [turn for dialogue in load_dialogues(PACKAGED_CORPUS)[:60] for turn in dialogue.texts]
    tokenizer.train_from_iterator(lines, vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False)
    return tokenizer._tokenizer


def tokenizer_of(**settings: Any) -> Any:
    """A byte-level tokenizer that learnt the packaged conversations; ``settings`` as of ``PreTrainedTokenizerFast``."""
    from transformers import PreTrainedTokenizerFast

    words = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    turns = {"additional_special_tokens": ["<|turn|>", "<|done|>"]}
    return PreTrainedTokenizerFast(tokenizer_object=_byte_level(), **{**words, **turns, **settings})


def config_of(kind: str, **settings: Any) -> Any:
    import transformers

    makers = {
        "gpt2": lambda: transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, **{**SIZE, **settings}
        ),
        "llama": lambda: transformers.LlamaConfig(intermediate_size=64, **{**SIZE, **LAYERS, **settings}),
        "gpt_neox": lambda: transformers.GPTNeoXConfig(intermediate_size=64, **{**SIZE, **LAYERS, **settings}),
        "opt": lambda: transformers.OPTConfig(
            ffn_dim=64, word_embed_proj_dim=32, init_std=0.4, **{**SIZE, **LAYERS, **settings}
        ),
        "rwkv": lambda: transformers.RwkvConfig(
            hidden_size=32, num_hidden_layers=2, intermediate_size=64, context_length=POSITIONS, **{**SIZE, **settings}
        ),
        "bart": lambda: transformers.BartConfig(**{**SIZE, **BOTH_SIDES, **settings}),
        "blenderbot": lambda: transformers.BlenderbotConfig(**{**SIZE, **BOTH_SIDES, **settings}),
    }
    return makers[kind]()


def save_model(
    folder: Path, kind: str, *, seed: int = 5, tokenizer: dict[str, Any] | None = None, **settings: Any
) -> Path:
    """A random model of an architecture, saved as the makers of real ones do."""
    import torch
    import transformers

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = config_of(kind, **settings)
        auto = transformers.AutoModelForSeq2SeqLM if kind in SEQ2SEQ else transformers.AutoModelForCausalLM
        model = auto.from_config(config)
    model.save_pretrained(folder)
    tokenizer_of(**(tokenizer or {})).save_pretrained(folder)
    return folder


_kept: list[Any] = []  # a folder lives as long as this object


@cache
def folder_of(kind: str) -> Path:
    """A model of this architecture, made once for all tests of a process; do not write into it."""
    _kept.append(tempfile.TemporaryDirectory(prefix=f"tiny_{kind}_"))
    return save_model(Path(_kept[-1].name), kind)


def spec_of(folder: Path, kind: str, name: str = "mine", **options: Any) -> ModelSpec:
    agent = "seq2seq_lm:Seq2SeqLmAgent" if kind in SEQ2SEQ else "causal_lm:CausalLmAgent"
    model = {
        "model": f"parlai_humaneval.agents.{agent}",
        "hf_model": str(folder),
        "no_cuda": True,
        "max_new_tokens": 12,
    }
    given = {key: value for key, value in {**model, **options}.items() if value is not None}
    return ModelSpec(name=name, options=given)


def agent_of(kind: str, **options: Any) -> Agent:
    """The agent for :func:`folder_of` this architecture."""
    return load_agent(spec_of(folder_of(kind), kind, **options))


def heard(agent: Agent, *lines: str, seed: int = 0) -> Any:
    """What a clone observes after ``lines``, by turns of the person and of the bot; the last is the person's."""
    clone = agent.clone()
    clone.set_seed(seed)
    observation = None
    for place, line in enumerate(lines):
        if (len(lines) - place) % 2:
            observation = clone.observe({"text": line, "episode_done": False})
        else:
            clone.self_observe({"text": line})
    return observation


def texts(agent: Agent, observations: Any) -> list[str]:
    """Replies to all observations in one batch."""
    return [message["text"] for message in agent.batch_act(observations)]
