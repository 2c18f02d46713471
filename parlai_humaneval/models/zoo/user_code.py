"""Where code of the user's is found: beside the zoo file that names it, or in the folder of the command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER_OPTION = "zoo_folder"
"""Where an agent's options name the folder of its zoo file. It is no option of the zoo file itself."""
Lacks = Callable[[Mapping[str, Any], Path], list[str]]
"""What a class of agents may offer as ``lacks``: from a model's options and the folder of its zoo file to what this machine
lacks for it, as sentences. It loads nothing and asks nobody."""


def make_importable(folder: Path | None) -> None:
    """From now on, modules in ``folder`` and in the current one can be imported.

    They come after all that is installed, so that no file there takes a library's place.
    """
    for place in (folder, Path.cwd()):
        if place is not None and str(place) not in sys.path:
            sys.path.append(str(place))


def mistaken(model: str, folder: Path | None) -> list[str]:
    """Python imports one module of a name: says so where that is not the one beside the zoo file."""
    module = model.partition(":")[0].split(".")[0]
    beside = None if folder is None else folder / f"{module}.py"
    taken = getattr(sys.modules.get(module), "__file__", None)
    if beside is None or taken is None or not beside.is_file() or Path(taken).resolve() == beside.resolve():
        return []
    return [f"The agent {model} is taken from {taken}, not from {beside}: give that file another name."]


def folder_of(options: Mapping[str, Any]) -> Path:
    """The folder of the zoo file that an agent comes from; the current one, where it comes from the command line."""
    return Path(options.get(FOLDER_OPTION) or Path.cwd())
