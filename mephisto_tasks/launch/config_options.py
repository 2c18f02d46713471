"""The settings of a launch besides those of its technique: Mephisto's, and words that name a file of ours.

Documentation of what Mephisto and our parts of it read: names, defaults where no conf has another, and what they do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.adapter.architect import ARCHITECT_TYPE, ArchitectSettings
from mephisto_tasks.adapter.registry import mephisto_settings
from mephisto_tasks.crowds.registry import conf_folders, crowds

SHARED_CONFS = Path(__file__).resolve().parents[1] / "config" / "hydra_configs" / "conf"
"""What the tasks share: confs that each of them has, where it can be served from, and who may take part."""


class Words(BaseModel):
    """Settings of one word, which names a file in a folder of :data:`SHARED_CONFS`; they go with every conf."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    place: str = "local"
    """Where raters come from."""
    server: str = "here"
    """Where pages are served: by the launch, or elsewhere by Mephisto's router. Elsewhere suits a machine that nobody
    can reach from outside."""
    workers: str = "any"
    """Who may take part, as a paper has it; workers.locales and the like say more. A paper's results can be repeated
    only with people like its own."""


class Task(BaseModel):
    """Those below ``mephisto.task``."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    task_name: str = Field(default="", min_length=1)
    """Name of the study; launches of one name go on with each other. Answers are found by it later on."""
    task_reward: float = Field(default=0, ge=0)
    """Pay for a unit of work, in the currency of the crowd's account: US dollars, unless currency=… names another. Work out
    what it is an hour: payment.minimum warns where that is too little."""
    assignment_duration_in_seconds: int = Field(default=3600, ge=30)
    """How long a worker may keep a unit, where the crowd's site lists units. A unit that somebody forgot comes back after
    it; too short a time cuts people off."""
    task_lifetime_in_seconds: int = Field(default=2678400, ge=30)
    """How long units are offered, where the crowd's site lists them. What nobody has taken by then is taken off the site."""
    max_num_concurrent_units: int = Field(default=0, ge=0)
    """Units open at once, at most; 0: all. Fewer keep models quick, and let you stop sooner."""


Section = Literal["task", "architect", "provider"]
WORDS = tuple(Words.model_fields)
_CHOSEN_BY = {"architect": "server", "provider": "place"}


def documented() -> list[tuple[Section, type[BaseModel]]]:
    """Section → the settings that are documented there; those below ``mephisto.provider`` are of each crowd."""
    of_crowds = dict.fromkeys(crowd.Settings for crowd in crowds())
    return [("task", Task), ("architect", ArchitectSettings), *(("provider", settings) for settings in of_crowds)]


def choices(word: str) -> list[str]:
    """What a setting of :class:`Words` can be."""
    folders = [SHARED_CONFS, *conf_folders()]
    return sorted({path.stem for folder in folders for path in (folder / word).glob("*.yaml")})


def where_it_goes(full: str) -> list[str]:
    """The words with which there is this setting, such as ``place=NAME``; none where it does not depend on them."""
    section = full.split(".")[1]
    if section not in _CHOSEN_BY:
        return []
    word = _CHOSEN_BY[section]
    known = {ARCHITECT_TYPE: "here", **{crowd.provider_type: crowd.place for crowd in crowds()}}
    kinds = [known.get(kind, kind) for kind in mephisto_settings().get(full, [])]
    return [f"{word}={kind}" for kind in sorted(kinds) if kind in choices(word)]
