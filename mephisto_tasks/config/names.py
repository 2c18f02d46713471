"""Names of settings: typed and shown in short (``turns``), stored in full (``mephisto.blueprint.turns``)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from parlai_humaneval._util.errors import HumanevalError, Misspelt, misspelt


class ConfigError(HumanevalError, ValueError):
    """Settings that cannot be run; the message names the setting and what was expected."""


class NothingToDo(HumanevalError):
    """Everything that the settings ask for is there already."""


def refuse(is_wrong: object, what: str, try_: str = "") -> None:
    """Raise ConfigError where settings do not go together."""
    if is_wrong:
        raise ConfigError(what, try_=try_)


PLAIN_CONF = "local"  # of every technique, unless another is chosen
ROOT = "mephisto."
BLUEPRINT = "mephisto.blueprint."
SECTIONS = ("blueprint", "task", "architect", "provider")
"""Mephisto's sections of a launch's settings. No two sections have a setting of the same name."""
NAME_MODELS = "name them: 'models=[a,b]'"
"""What errors of settings advise; a command with an option for it puts this in its place."""
OPEN = ("mephisto.blueprint.variants", "mephisto.provider.values")  # settings below which any name may stand
_FULL = re.compile(rf"\bmephisto\.(?:{'|'.join(SECTIONS)})\.(?=\w)")
_SIGNS = "+~"  # Hydra allows these before a name


def short_name(full: str) -> str:
    """A name in short; in any other text, all the names that are in it."""
    return _FULL.sub("", full)


def texts_of(value: object) -> list[str]:
    """A list of a setting; none where it is something else."""
    return list(map(str, value)) if isinstance(value, list) else []


def name_of(override: str) -> str:
    return override.partition("=")[0].lstrip(_SIGNS)


def meanings(name: str, known: Collection[str]) -> list[str]:
    """The full names that a name can mean, usually one."""
    there = [f"{ROOT}{section}.{name}" for section in SECTIONS] + [ROOT + name, name]
    return [full for full in there if full in known or full.startswith(tuple(f"{part}." for part in OPEN))]


def in_full(overrides: Sequence[str], known: Collection[str], words: Collection[str]) -> list[str]:
    """Overrides with full names; ``words``: settings that have only one. Raises ConfigError: a name fits several
    settings, or a setting has two values."""
    full = [override if name_of(override) in words else _in_full(override, known) for override in overrides]
    first: dict[str, str] = {}
    for override, meant in zip(overrides, full, strict=True):
        before = first.setdefault(name_of(meant), override)
        values = [text.partition("=")[2].replace(" ", "") for text in (before, override)]
        if name_of(before) != name_of(override) and values[0] != values[1]:
            what = f"{before} and {override} are the same setting with two values"
            raise ConfigError(what, try_="leave one of them out")
    return full


def _in_full(override: str, known: Collection[str]) -> str:
    name, value = name_of(override), override.partition("=")[1:]
    if name.startswith(ROOT):
        return override
    meant = meanings(name, known)
    if len(meant) > 1:
        ways = ", ".join(full.removeprefix(ROOT) for full in meant)
        raise ConfigError(f"{name!r} is the name of {len(meant)} settings", try_=f"choose one of: {ways}")
    signs = override[: len(override) - len(override.lstrip(_SIGNS))]
    return signs + (meant[0] if meant else name) + "".join(value)


def no_setting(name: str, known: Collection[str]) -> ConfigError:
    """The error for a name that is not a setting, with the nearest name, of the same section where the name has one."""
    section = ".".join(name.split(".")[:2]) if name.startswith(ROOT) else ""
    of_section = [full for full in known if full.startswith(section)] or list(known)
    by_short = {short_name(full): full for full in of_section}
    by_last = {short.rpartition(".")[2]: short for short in by_short}
    bare = short_name(name)
    near = misspelt(bare, by_short)
    last = misspelt(bare.rpartition(".")[2], by_last, cutoff=0.5)
    nearest = near.nearest if near else tuple(by_last[name] for name in last.nearest) if last else ()
    return ConfigError(
        f"there is no setting {bare!r}",
        misspelt=Misspelt(bare, nearest, is_setting=True),
        try_="`parlai-humaneval launch TASK --list-settings` shows all",
    )
