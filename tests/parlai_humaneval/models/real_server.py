"""A real OpenAI-compatible server that others wrote: ``transformers serve``, with a tiny random chat model."""

from __future__ import annotations

import os
import select
import signal
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from killable_server import free_port
from warm_python import WarmPython

from parlai_humaneval.models.agent.names import is_transformers_5

PROGRAM = Path(sysconfig.get_path("scripts"), "transformers")
NEEDED = ("fastapi", "uvicorn")
START_S = 180
WORDS = "hello hi i you we like love dogs cats music the sea to and a do what how are is good day red blue play"
TEMPLATE = (
    "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] + '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


def program() -> Path:
    """The server's program. ParlAI's pins have a transformers from before it, where tests with it are skipped."""
    if not is_transformers_5() or not all(map(find_spec, NEEDED)):
        pytest.skip(f"`transformers serve` needs transformers 5, {' and '.join(NEEDED)}")
    return PROGRAM


def save_chat_model(folder: Path) -> Path:
    """A Llama of random weights with a chat template of three roles, in ``folder``."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<unk>", "<end>", "<system>", "<user>", "<assistant>"]
    pieces = Tokenizer(models.BPE(unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    pieces.train_from_iterator([WORDS] * 4, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces, unk_token="<unk>", eos_token="<end>", pad_token="<end>", chat_template=TEMPLATE
    )
    tokenizer.add_special_tokens({"additional_special_tokens": special[2:]})
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    end = tokenizer.eos_token_id
    config = LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=2048, eos_token_id=end, pad_token_id=end, **sizes
    )
    model = LlamaForCausalLM(config)
    model.generation_config.do_sample = True
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def serving(model: Path, log: Path, warm: WarmPython) -> Iterator[str]:
    """The server's ``base_url``, for as long as the block lasts; ``log`` gets its output."""
    command: list[Any] = [program(), "serve", "--device", "cpu", "--host", "127.0.0.1", "--port", port := free_port()]
    alone = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(log.parent / "hub"), "OMP_NUM_THREADS": "1"}
    number = warm.start(*map(str, [*command, model]), streams=(os.devnull, log, log), env={**os.environ, **alone})
    try:
        wait_until_healthy(number, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGTERM)
        if not select.select([descriptor := os.pidfd_open(number)], [], [], 10)[0]:
            os.kill(number, signal.SIGKILL)
        os.close(descriptor)
        warm.wait(number)


def wait_until_healthy(number: int, url: str, log: Path) -> None:
    until = time.monotonic() + START_S
    ended = os.pidfd_open(number)
    try:
        while time.monotonic() < until and not select.select([ended], [], [], 0)[0]:
            try:
                with urllib.request.urlopen(url, timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
    finally:
        os.close(ended)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
