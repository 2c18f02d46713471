"""ParlAI's presets of options (``-o gen/blenderbot``), which its wheel leaves out: they come with this package."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.models.zoo.entries import PACKAGE

FOLDER = PACKAGE / "opt_presets"
SUFFIX = ".opt"
FLAGS = ("-o", "--init-opt", "--init_opt")


def preset_names() -> list[str]:
    """The presets of this package, such as ``gen/blenderbot``."""
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob(f"*{SUFFIX}"))


def preset_files(names: str) -> str:
    """A value of ParlAI's ``--init-opt`` (names or files, joined by commas) with our presets named by their files.

    A name that ParlAI finds itself (a file, a preset of the user's in ``~/.parlai/opt_presets``, one of ParlAI's) stays
    as it is, and so does one that nobody has: ParlAI says that.
    """
    return ",".join(_preset_file(name) for name in names.split(","))


def with_preset_files(args: Sequence[str]) -> list[str]:
    """Words of a ParlAI command line, in which ``-o`` and ``--init-opt`` find our presets too."""
    found: list[str] = []
    for before, word in zip(["", *args], args, strict=False):
        flag, equals, value = word.partition("=")
        if before in FLAGS:
            found.append(preset_files(word))
        elif equals and flag in FLAGS:
            found += [flag, preset_files(value)]  # in one word ParlAI would turn the path's underscores into hyphens
        else:
            found.append(word)
    return found


def _preset_file(name: str) -> str:
    return name if name not in preset_names() or _parlai_has(name) else str(FOLDER / f"{name}{SUFFIX}")


def _parlai_has(name: str) -> bool:
    from parlai.core.opt import Opt

    try:
        Opt.load_init(name)
    except FileNotFoundError:
        return False
    return True
