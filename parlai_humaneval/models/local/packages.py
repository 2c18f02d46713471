"""The packages that models on this machine need, which studies of hosted models and functions do without."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

NEEDED = ("torch", "transformers", "accelerate")


def needs_local_packages(name: str) -> str | None:
    """What to tell whoever asks for ``name`` where packages of :data:`NEEDED` are not installed; None where all are."""
    if all(find_spec(package) for package in NEEDED):
        return None
    return f"{name} needs PyTorch and transformers, which are not installed: run `parlai-humaneval setup --local`"


@cache
def is_transformers_5() -> bool:
    """Whether the library is of version 5 or newer; ParlAI's pins have 4.35."""
    return int(version("transformers").partition(".")[0]) >= 5
