"""Techniques as Mephisto's blueprints: made from their entries, and registered under their names."""

from __future__ import annotations

from functools import cache

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.engine.blueprint import StudyBlueprint
from mephisto_tasks.engine.task_folder import task_dir
from parlai_humaneval.techniques import Engine, technique


@cache
def blueprint_of(task: str) -> type[StudyBlueprint]:
    """The blueprint of a technique, which is registered with Mephisto by this.

    Raises:
        ConfigError: there is no such task, or its folder is missing.
    """
    task_dir(task)
    entry = technique(task)
    name = entry.name.title().replace("_", "") + "Blueprint"
    members = {"BLUEPRINT_TYPE": entry.name, "__doc__": entry.line, "__module__": __name__}
    blueprint: type[StudyBlueprint] = type(name, (_of_engine(entry.engine),), members)
    register_mephisto_abstraction()(blueprint)
    return blueprint


def _of_engine(engine: Engine) -> type[StudyBlueprint]:
    """Only the engine that is wanted is loaded."""
    if engine == "live":
        from mephisto_tasks.live.blueprint import InteractiveBlueprint

        return InteractiveBlueprint
    from mephisto_tasks.judging.blueprint import StaticBlueprint

    return StaticBlueprint
