"""Models of real shapes with random weights: what they say is nonsense, how long they take is not.

Every reply has :data:`TOKENS` words by construction, on any machine: no training has to go well, and no token that ends a
reply, or is no word, can be the likeliest one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import POLL_S, environment, free_port, running
from parlai_humaneval.models.zoo.entries import ModelSpec

LATENCY_S = 0.1
"""How long the server of the endpoint thinks about each reply, however many it is asked for at once."""
TOKENS = 24
"""Of every reply."""
LONGEST = 64
"""Words of the longest replies of :func:`mixed_lengths`."""
MODELS = Path(tempfile.gettempdir()) / "parlai-humaneval-bench"
"""Where models are kept once they are made."""
MODEL = "m"
"""Every pool here holds one model, under this name."""


@dataclass(frozen=True)
class Shape:
    """The size of a ParlAI transformer/generator, and how it searches for a reply."""

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
    "quick": Shape(1, 1, 32, 64, 2, 400, 256, "xlm"),
    "small": Shape(2, 2, 128, 512, 4, 4_000, 256, "xlm"),
    "tiny": Shape(4, 4, 256, 1024, 4, 8_000, 256, "xlm"),
    # Roller et al. 2021, Table 2, and the settings saved with ParlAI's models; they speak with ten beams.
    "blenderbot_90M": Shape(8, 8, 512, 2048, 16, 54_944, 512, "xlm", beams=10),
    "blenderbot_400M": Shape(2, 12, 1280, 5120, 32, 8_008, 128, "prelayernorm", beams=10),
}


def generator(
    folder: Path,
    shape: str = "tiny",
    device: str | None = None,
    *,
    name: str = MODEL,
    seed: int = 0,
    half: bool = False,
) -> ModelSpec:
    """A transformer/generator of this shape, made once; ``half``: in float16."""
    file = folder / f"generator_{shape}_{seed}" / "model"
    if not file.exists():
        _make_generator(file, SHAPES[shape], seed)
    beams = SHAPES[shape].beams
    search: dict[str, Any] = {"inference": "greedy"} if beams == 1 else {"inference": "beam", "beam_size": beams}
    steps = TOKENS + 1  # ParlAI leaves out the last one's word
    lengths = {"beam_min_length": steps, "label_truncate": steps, "skip_generation": False}
    numbers = {"fp16": True, "fp16_impl": "mem_efficient"} if half else {}
    return ModelSpec(name=name, options={"model_file": str(file), **search, **lengths, **numbers}, device=device)


def _make_generator(file: Path, shape: Shape, seed: int) -> None:
    import torch
    from parlai.core.agents import create_agent
    from parlai.core.params import ParlaiParser

    from parlai_humaneval.models.agent.isolation import silent_parlai

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
        "label_truncate": TOKENS,
        "datatype": "valid",
        "no_cuda": True,
    }
    with silent_parlai(), torch.random.fork_rng():
        torch.manual_seed(seed)
        agent = create_agent(ParlaiParser(True, True).parse_kwargs(**options))
        with torch.no_grad():  # these get a score of 0, and of thousands of words some always have more
            agent.model.embeddings.weight[: len(special)] = 0.0
        agent.save(str(file))


CAUSAL_AGENTS = "benchmarks.causal_agents"


CAUSAL_SHAPES: dict[str, dict[str, Any]] = {
    "quick": {"layers": 1, "width": 32, "heads": 2, "words": 400},
    "tiny": {"layers": 4, "width": 256, "heads": 4, "words": 8_002},
    "gpt2": {"layers": 12, "width": 768, "heads": 12, "words": 50_257},
}
"""Sizes of a GPT-2; the last is its own, of 124 million weights."""


def causal_lm(folder: Path, shape: str = "tiny", device: str | None = None, *, half: bool = False) -> ModelSpec:
    """A GPT-2 of this shape that speaks greedily; ``half``: in float16."""
    options = {"model": f"{CAUSAL_AGENTS}:FixedLengthAgent", "hf_model": str(_causal_home(folder, shape))}
    options |= {"dtype": "float16"} if half else {}
    lengths = {"min_new_tokens": TOKENS, "max_new_tokens": TOKENS}
    return ModelSpec(name=MODEL, options={**options, **lengths}, device=device)


def mixed_lengths(folder: Path, shape: str = "tiny", *, joining: bool) -> ModelSpec:
    """The same model, drawing its words: most replies are short, some are long. ``joining``: whether replies join others."""
    agent = "MixedLengthsAgent" if joining else "WholeBatchesAgent"
    options = {"model": f"{CAUSAL_AGENTS}:{agent}", "hf_model": str(_causal_home(folder, shape))}
    search = {"do_sample": True, "min_new_tokens": LONGEST, "max_new_tokens": LONGEST}
    return ModelSpec(name=MODEL, options={**options, **search})


def _causal_home(folder: Path, shape: str) -> Path:
    """Where the model is, made once."""
    home = folder / f"causal_lm_{shape}"
    if not (home / "config.json").exists():
        make_causal_lm(home, **CAUSAL_SHAPES[shape])
    return home


def make_causal_lm(home: Path, *, layers: int, width: int, heads: int, words: int, files: str = "safetensors") -> None:
    """A GPT-2 with random weights and a vocabulary of its own; ``files``: safetensors, bin, or shards of safetensors."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(["<eos>", "<unk>", *(f"w{n}" for n in range(words - 2))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>", pad_token="<eos>")
    config = GPT2Config(
        vocab_size=words, n_embd=width, n_layer=layers, n_head=heads, n_positions=512, bos_token_id=0, eos_token_id=0
    )
    fast.save_pretrained(home)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = GPT2LMHeadModel(config)
    most = 4 * sum(each.numel() for each in model.parameters()) // 10 if files == "shards" else "10GB"
    if files == "bin":  # as older models come; transformers 5 writes none
        model.config.save_pretrained(home)
        torch.save(model.state_dict(), home / "pytorch_model.bin")
    else:
        model.save_pretrained(home, max_shard_size=most)


def in_words(make: Callable[..., ModelSpec], shape: str) -> str:
    """What :func:`generator`, or else a GPT-2, is at this shape."""
    if make is generator:
        size = SHAPES[shape]
        return f"a ParlAI generator of {size.encoder_layers} + {size.decoder_layers} layers and width {size.width}"
    return "a GPT-2 of {layers} layers and width {width} (transformers)".format(**CAUSAL_SHAPES[shape])


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
            time.sleep(POLL_S)
        yield ModelSpec(name=MODEL, options=options)
