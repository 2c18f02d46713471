"""What is registered with Mephisto: techniques as its blueprints, and the settings of its tasks, servers and crowds."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.data_model.task_run import TaskRunArgs
from mephisto.operations.registry import (
    get_architect_from_type,
    get_crowd_provider_from_type,
    get_valid_architect_types,
    get_valid_provider_types,
    register_mephisto_abstraction,
)

from mephisto_tasks.adapter.blueprint import StudyBlueprint
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import TaskConfig
from mephisto_tasks.crowds.registry import register_providers
from mephisto_tasks.payments.quote import DOLLARS
from mephisto_tasks.session.study import Study
from parlai_humaneval.techniques.registry import Engine, technique


@cache
def blueprint_of(task: str) -> type[StudyBlueprint]:
    """The blueprint of a technique, which is registered with Mephisto by this.

    Raises:
        ConfigError: there is no such task, or its folder is missing.
    """
    task_dir(task)
    entry = technique(task)
    name = entry.name.title().replace("_", "") + "Blueprint"
    members = {
        "BLUEPRINT_TYPE": entry.name,
        "CONFIG": _settings_of(entry.engine),
        "__doc__": entry.line,
        "__module__": __name__,
    }
    blueprint: type[StudyBlueprint] = type(name, (StudyBlueprint,), members)
    register_mephisto_abstraction()(blueprint)
    return blueprint


def _settings_of(engine: Engine) -> type[TaskConfig]:
    if engine == "live":
        from mephisto_tasks.chat.config import InteractiveConfig

        return InteractiveConfig
    from mephisto_tasks.annotation.config import StaticConfig

    return StaticConfig


def build_study(
    config: TaskConfig, task: str, data_dir: Path, task_name: str, reward: float, currency: str = DOLLARS
) -> Study:
    """The study that the settings describe, with what earlier launches of the same name did.

    Raises:
        ConfigError, DataError, ZooError, NotEnough: each names the setting or file and what was expected.
        NothingToDo: earlier launches already collected all.
    """
    from mephisto_tasks.annotation.config import StaticConfig
    from mephisto_tasks.chat.config import InteractiveConfig

    # Imported here: they load all that speaks, which a report does not need.
    if isinstance(config, InteractiveConfig):
        from mephisto_tasks.chat.build import build_study as build_live

        return build_live(config, task, data_dir, task_name, reward, currency)
    from mephisto_tasks.annotation.build import build_study as build_judging

    assert isinstance(config, StaticConfig)
    return build_judging(config, task, data_dir, task_name, reward, currency)


@cache
def mephisto_settings() -> dict[str, list[str]]:
    """Full name of each setting besides those of a technique → the servers or crowds that have it; empty: any launch."""
    register_providers()
    classes: list[tuple[str, str, Any]] = [
        *(("architect", kind, get_architect_from_type(kind)) for kind in get_valid_architect_types()),
        *(("provider", kind, get_crowd_provider_from_type(kind)) for kind in get_valid_provider_types()),
    ]
    having: dict[str, list[str]] = {f"mephisto.task.{entry.name}": [] for entry in dataclasses.fields(TaskRunArgs)}
    having["mephisto.log_level"] = []
    for section, kind, its_class in classes:
        for entry in dataclasses.fields(its_class.ArgsClass):
            having.setdefault(f"mephisto.{section}.{entry.name}", []).append(kind)
    return having
