"""The packages that models on this machine need, which studies of hosted models and functions do without."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

from parlai_humaneval._util.installing import LOCAL, SETUP_LOCAL, PackageError


def needs_local_packages(name: str) -> PackageError | None:
    """The error for ``name`` where one of them is not installed; None where all are."""
    if all(find_spec(package) for package in LOCAL):
        return None
    return PackageError(f"{name} needs PyTorch and transformers, which are not both installed", f"run `{SETUP_LOCAL}`")


@cache
def is_transformers_5() -> bool:
    """Whether the library is of version 5 or newer; ParlAI's pins have 4.35."""
    return int(version("transformers").partition(".")[0]) >= 5
