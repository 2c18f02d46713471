"""Replies a second on a GPU, next to ParlAI's way.

Models have the shapes of BlenderBot and GPT-2 and compute in float16, with 32 conversations at once.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.figures import Figure
from benchmarks.processes import NothingToMeasure
from benchmarks.serving import PEERS, compare
from benchmarks.serving_models import MODELS, TOKENS, causal_lm, generator
from parlai_humaneval.models.zoo.entries import ModelSpec

CONVERSATIONS = 32
SECONDS = 6.0
ROUNDS = 2
SHAPES: dict[str, Callable[[str, bool], ModelSpec]] = {
    "BlenderBot 90M": lambda device, half: generator(MODELS, "blenderbot_90M", device, half=half),
    "BlenderBot 400M": lambda device, half: generator(MODELS, "blenderbot_400M", device, half=half),
    "GPT-2": lambda device, half: causal_lm(MODELS, "gpt2", device, half=half),
}


def run(quick: bool) -> list[Figure]:
    """Each shape; with ``quick`` for a moment.

    Raises:
        NothingToMeasure: on a machine without a GPU.
    """
    import torch

    if not torch.cuda.is_available():
        raise NothingToMeasure("gpu", "this machine has no GPU that PyTorch can use")
    return measure("cuda:0", torch.cuda.get_device_name(0), CONVERSATIONS, *((0.5, 1) if quick else (SECONDS, ROUNDS)))


def measure(device: str, words: str, number: int, seconds: float, rounds: int) -> list[Figure]:
    """A figure for each shape on a device, of which ``words`` tell the name; float16 on GPUs only."""
    return [
        Figure(
            name=f"replies a second, {shape} shape, {number} conversations, {words}",
            unit="1/s",
            ours=row.rates["pool"],
            peer=row.rates["parlai"],
            better="more",
            peer_source="same run",
            note=f"random weights, float16, {TOKENS} tokens a reply; BlenderBot's shapes with ten beams, GPT-2's greedily. "
            f"Peer: {PEERS['parlai']}, the same model in float16; the ways take turns, the better round of each counts",
            repeats=rounds,
        )
        for shape, make in SHAPES.items()
        for row in compare(make(device, device != "cpu"), (number,), seconds, rounds)
    ]
