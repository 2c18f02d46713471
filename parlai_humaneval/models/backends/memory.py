"""Where a model is loaded, and whether it fits there: said before it is loaded, rather than by the system's killer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError

GB = 1e9
_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
"""How torch and the C library say it; torch has a class of its own for the GPU's only."""


def check_memory(spec: ModelSpec) -> None:
    """Compare ``memory_gb`` with what is free where the model is to be loaded.

    Raises:
        ZooError: when it does not fit, or when its device is not there.
    """
    if spec.memory_gb is None and spec.device is None:
        return
    where, free = _free_bytes(spec)
    if spec.memory_gb is not None and spec.memory_gb * GB > free:
        raise ZooError(
            f"{spec.name} cannot be loaded: it takes about {spec.memory_gb:g} GB of memory, and {free / GB:.1f} GB are free "
            f"{where}",
            try_=(
                *_CURE,
                f"if the figure is wrong, set `memory_gb` in a zoo file of your own that extends {spec.name}",
            ),
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` is somebody's way to say so."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _WORDS)


def out_of_memory(spec: ModelSpec) -> ZooError:
    """What a person reads when memory ran out in the middle of loading."""
    where, free = _free_bytes(spec)
    takes = f" (it takes about {spec.memory_gb:g} GB)" if spec.memory_gb else ""
    return ZooError(
        f"{spec.name} cannot be loaded: memory ran out{takes}, with {free / GB:.1f} GB free {where} now", try_=_CURE
    )


@contextmanager
def default_gpu_kept(spec: ModelSpec) -> Iterator[None]:
    """A model that is loaded on a GPU of its own leaves the default one, for those without a device, as it was.

    ParlAI makes the ``gpu`` of each agent that it loads the default of the whole thread.
    """
    if spec.device is None or spec.device == "cpu":
        yield
        return
    import torch

    before = torch.cuda.current_device()
    try:
        yield
    finally:
        torch.cuda.set_device(before)


_CURE = (
    "close other programs, take a smaller model, give it another device (`device: cuda:1` in the zoo file), or have "
    "another machine serve it (zoo_configs/endpoints.yaml)",
)


def free_bytes(device: str) -> float:
    """Bytes that are free for a model on ``cpu``, ``cuda`` (the default GPU) or ``cuda:N``."""
    if device == "cpu":
        return float(psutil.virtual_memory().available)
    import torch

    return float(torch.cuda.mem_get_info(torch.device(device).index)[0])


def _free_bytes(spec: ModelSpec) -> tuple[str, float]:
    """Where the model would be loaded, in words, and the bytes that are free there."""
    import torch

    device = spec.device or ("cuda:0" if torch.cuda.is_available() and not spec.options.get("no_cuda") else "cpu")
    if device == "cpu":
        return "in this machine", free_bytes(device)
    number, there = int(device.partition(":")[2]), torch.cuda.device_count()
    if number >= there:
        have = f"{there} GPU(s)" if there else "no GPU that PyTorch can use"
        raise ZooError(f"{spec.name} cannot be loaded: its device is {device}, and this machine has {have}")
    return f"on {device}", free_bytes(device)
