"""Models of real shapes with random weights: what they say is nonsense, how long they take is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import environment, free_port, running
from parlai_humaneval.models.zoo.entries import ModelSpec

LATENCY_S = 0.1
"""How long the server of the endpoint thinks about each reply, however many it is asked for at once."""
MODEL = "m"
"""Every pool here holds one model, under this name."""


@dataclass(frozen=True)
class Shape:
    """The size of a ParlAI transformer/generator, and how it searches for a reply of about 20 tokens."""

    encoder_layers: int
    decoder_layers: int
    width: int
    hidden: int
    heads: int
    words: int
    positions: int
    variant: str
    beams: int = 1


SHAPES = {
    "tiny": Shape(4, 4, 256, 1024, 4, 8_000, 256, "xlm"),
    # Roller et al. 2021, Table 2, and the settings saved with ParlAI's models; they speak with ten beams.
    "blenderbot_90M": Shape(8, 8, 512, 2048, 16, 54_944, 512, "xlm", beams=10),
    "blenderbot_400M": Shape(2, 12, 1280, 5120, 32, 8_008, 128, "prelayernorm", beams=10),
}


def generator(folder: Path, shape: str = "tiny", device: str | None = None) -> ModelSpec:
    """A transformer/generator of this shape, made once."""
    file = folder / f"generator_{shape}" / "model"
    if not file.exists():
        _make_generator(file, SHAPES[shape])
    beams = SHAPES[shape].beams
    search: dict[str, Any] = {"inference": "topk", "topk": 1} if beams == 1 else {"inference": "beam"}
    lengths = {"beam_size": beams, "beam_min_length": 20, "label_truncate": 24, "skip_generation": False}
    return ModelSpec(name=MODEL, options={"model_file": str(file), **search, **lengths}, device=device)


def _make_generator(file: Path, shape: Shape) -> None:
    from parlai.core.agents import create_agent
    from parlai.core.params import ParlaiParser

    from parlai_humaneval.models.quiet import silent_parlai

    file.parent.mkdir(parents=True, exist_ok=True)
    words = file.with_suffix(".dict")
    special = ["__null__", "__start__", "__end__", "__unk__"]
    words.write_text("\n".join(f"{word}\t1" for word in [*special, *(f"w{n}" for n in range(shape.words - 4))]) + "\n")
    options = {
        "model": "transformer/generator",
        "dict_file": str(words),
        "dict_tokenizer": "split",
        "n_encoder_layers": shape.encoder_layers,
        "n_decoder_layers": shape.decoder_layers,
        "embedding_size": shape.width,
        "ffn_size": shape.hidden,
        "n_heads": shape.heads,
        "n_positions": shape.positions,
        "variant": shape.variant,
        "activation": "gelu",
        "text_truncate": 96,
        "label_truncate": 24,
        "datatype": "valid",
        "no_cuda": True,
    }
    with silent_parlai():
        agent = create_agent(ParlaiParser(True, True).parse_kwargs(**options))
        agent.save(str(file))


def causal_lm(folder: Path, device: str | None = None) -> ModelSpec:
    """A GPT-2 of 4 layers and width 256 with a vocabulary of its own; it speaks greedily, 20 to 24 tokens."""
    home = folder / "causal_lm"
    if not (home / "config.json").exists():
        _make_causal_lm(home)
    options = {
        "model": "parlai_humaneval.agents.causal_lm:CausalLmAgent",
        "hf_model": str(home),
        "min_new_tokens": 20,
        "max_new_tokens": 24,
    }
    return ModelSpec(name=MODEL, options=options, device=device)


def _make_causal_lm(home: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["<eos>", "<unk>", *(f"w{n}" for n in range(8_000))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>", pad_token="<eos>")
    config = GPT2Config(
        vocab_size=len(words), n_embd=256, n_layer=4, n_head=4, n_positions=512, bos_token_id=0, eos_token_id=0
    )
    fast.save_pretrained(home)
    GPT2LMHeadModel(config).save_pretrained(home)


@contextmanager
def endpoint(folder: Path, seconds: float = LATENCY_S) -> Iterator[ModelSpec]:
    """An OpenAI-compatible server in a process of its own that takes ``seconds`` for any reply."""
    import sys

    port = free_port()
    command = [sys.executable, "-m", "benchmarks.serving_server", str(port), str(seconds)]
    options = {
        "model": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
        "base_url": f"http://127.0.0.1:{port}/v1",
        "served_model": "slow",
        "concurrency": 32,
    }
    with running(command, environment(folder / "home")) as program:
        while "READY" not in program.printed():
            program.check("the server of the endpoint")
        yield ModelSpec(name=MODEL, options=options)
