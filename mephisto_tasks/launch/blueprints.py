"""Techniques as Mephisto's blueprints, made from their entries and registered under their names; and their studies."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.adapter.blueprint import StudyBlueprint
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import TaskConfig
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
