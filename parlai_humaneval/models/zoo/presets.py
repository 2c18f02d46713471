"""ParlAI's presets of options (``-o gen/blenderbot``), which its wheel leaves out: they come with this package."""

from __future__ import annotations

from pathlib import Path

from parlai_humaneval.models.zoo.entries import PACKAGE

FOLDER = PACKAGE / "opt_presets"
SUFFIX = ".opt"


def preset_names() -> list[str]:
    """The presets of this package, such as ``gen/blenderbot``."""
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob(f"*{SUFFIX}"))


def preset_file(name: str) -> Path | None:
    """The preset's file; None where this package has none of that name.

    In ``--init-opt=gen/seeker_dialogue``, one word, ParlAI turns the name's underscores into hyphens.
    """
    ours = {known.replace("_", "-"): known for known in preset_names()}.get(name.replace("_", "-"))
    return None if ours is None else FOLDER / f"{ours}{SUFFIX}"
