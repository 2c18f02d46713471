"""The settings of a launch besides those of its technique: Mephisto's, and words that name a file of ours.

Documentation of what Mephisto and our parts of it read: names, defaults where no conf has another, and what they do.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.task_run import TaskRunArgs
from mephisto.operations.registry import (
    get_architect_from_type,
    get_crowd_provider_from_type,
    get_valid_architect_types,
    get_valid_provider_types,
)

import mephisto_tasks.crowds.mturk.provider  # noqa: F401  (both register providers)
from mephisto_tasks.adapter.architect import ARCHITECT_TYPE
from mephisto_tasks.adapter.task_launcher import MOCK_PROVIDER

SHARED_CONFS = Path(__file__).resolve().parents[1] / "config" / "hydra_configs" / "conf"
"""What the tasks share: confs that each of them has, and where a task can be launched (``place/*.yaml``)."""


class Words(BaseModel):
    """Settings of one word, which names a file in a folder of :data:`SHARED_CONFS`; they go with every conf."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    place: str = "local"
    """Where raters come from: local is this machine, to try things out. With link from a panel or by invitation; mturk
    spends real money, mturk_sandbox does not (Amazon closed both: they reach other sites that speak MTurk's protocol)."""
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
    """Pay for a unit of work, in dollars. Work out what it is an hour: payment.minimum warns where that is too
    little."""
    assignment_duration_in_seconds: int = Field(default=3600, ge=30)
    """How long a worker may keep a unit (MTurk). A unit that somebody forgot comes back after it; too short a time cuts
    people off."""
    task_lifetime_in_seconds: int = Field(default=2678400, ge=30)
    """How long units are offered (MTurk). What nobody has taken by then is taken off the site."""
    max_num_concurrent_units: int = Field(default=0, ge=0)
    """Units open at once, at most (HITs on MTurk); 0: all. Fewer keep models quick, and let you stop sooner."""


class Architect(BaseModel):
    """Those below ``mephisto.architect``."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    hostname: str = Field(default="127.0.0.1", examples=["0.0.0.0"])
    """Address to listen on; 0.0.0.0 lets other machines in. Use it to have people in the same room or network rate."""
    port: int = Field(default=3000, ge=0, le=65535)
    """Port to listen on; 0 takes any free one. Change it where another program has it, or where two studies run side by
    side."""
    public_url: str = Field(default="", examples=["https://study.example.org"])
    """The https address that crowd workers use. Browsers and sites refuse pages that are not encrypted."""
    trusted_proxies: list[str] = Field(default_factory=list, examples=["[127.0.0.1]"])
    """Addresses of the reverse proxies before this machine: what they say of a rater's address is believed. Otherwise
    all raters seem to come from one address."""
    public_names: list[str] = Field(default_factory=list, examples=["[study.example.org]"])
    """Names under which raters may ask for the pages, besides this machine's own and that of public_url. Pages that are
    asked for by other names are refused: they may be part of an attack."""
    disconnect_after_s: float = Field(default=300, gt=0)
    """Seconds without a sign of life after which a rater has left. Long enough for a weak connection to come back,
    short enough for the place not to be lost."""
    frame_sites: list[str] = Field(default_factory=list, examples=["[https://example.org]"])
    """Sites besides MTurk's that may show the page in a frame: [https://…]. Any other could lay its own buttons over
    the page."""


class Provider(BaseModel):
    """Those below ``mephisto.provider``."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    requester_name: str = Field(default="", examples=["my_lab"])
    """The account that launches (MTurk). It is the one that pays; `parlai-humaneval requester add` registers it."""
    bonus_budget: float = Field(default=0, ge=0)
    """Dollars set aside for bonuses, shown in the total of a launch (MTurk). It is asked about before anything is
    spent, so that bonuses surprise nobody."""
    auto_approval_delay_in_seconds: int = Field(default=604800, ge=0)
    """When MTurk approves what nobody has judged. It leaves you time to look at answers, and people are paid even where
    you forget."""
    panel: str = Field(default="", examples=["prolific"])
    """With place=link: prolific, sona, cloudconnect, toloka, a YAML file, or none. Each calls its people and its codes
    otherwise; none is for invitations of your own."""
    completion_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for who has done the task (place=link). The panel pays by it."""
    screen_out_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for who may not take part (place=link). The panel then sends somebody else in their place."""
    no_consent_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for who does not want to take part (place=link). The panel then does not count it against
    them."""
    time_out_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for who was away for too long (place=link). The panel then gives their place to somebody
    else."""
    values: dict[str, str] = Field(default_factory=dict, examples=["values.experiment_id=12"])
    """What else the panel asks for, each as values.NAME=… (SONA). Some need numbers of the study to grant a credit."""


Section = Literal["task", "architect", "provider"]
DOCUMENTED: dict[Section, type[BaseModel]] = {"task": Task, "architect": Architect, "provider": Provider}
WORDS = tuple(Words.model_fields)
_CHOSEN_BY = {"architect": "server", "provider": "place"}
_WORD_OF = {ARCHITECT_TYPE: "here", MOCK_PROVIDER: "local"}
"""Mephisto's names of what the words stand for, where they are others."""


def choices(word: str) -> list[str]:
    """What a setting of :class:`Words` can be."""
    return sorted(path.stem for path in (SHARED_CONFS / word).glob("*.yaml"))


@cache
def names_beside_blueprint() -> frozenset[str]:
    """Full names of all settings that there are besides those of a technique, those that only one place has, too."""
    of_tasks = {f"mephisto.task.{entry.name}" for entry in dataclasses.fields(TaskRunArgs)}
    return frozenset(of_tasks | set(_kinds()) | {"mephisto.log_level"})


def where_it_goes(full: str) -> list[str]:
    """The words with which there is this setting, such as ``place=link``; none where it does not depend on them."""
    section = full.split(".")[1]
    if section not in _CHOSEN_BY:
        return []
    word = _CHOSEN_BY[section]
    kinds = [_WORD_OF.get(kind, kind) for kind in _kinds().get(full, [])]
    return [f"{word}={kind}" for kind in sorted(kinds) if kind in choices(word)]


@cache
def _kinds() -> dict[str, list[str]]:
    """Full name of a setting of a server or a crowd → which of them have it, as Mephisto calls them."""
    classes: list[tuple[str, str, Any]] = [
        *(("architect", kind, get_architect_from_type(kind)) for kind in get_valid_architect_types()),
        *(("provider", kind, get_crowd_provider_from_type(kind)) for kind in get_valid_provider_types()),
    ]
    having: dict[str, list[str]] = {}
    for section, kind, its_class in classes:
        for entry in dataclasses.fields(its_class.ArgsClass):
            having.setdefault(f"mephisto.{section}.{entry.name}", []).append(kind)
    return having
