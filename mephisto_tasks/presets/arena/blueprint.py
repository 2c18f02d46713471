"""Registers arena as a preset of engine 1."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.live.blueprint import InteractiveBlueprint


@register_mephisto_abstraction()
class ArenaBlueprint(InteractiveBlueprint):
    """Two partners side by side."""

    BLUEPRINT_TYPE = "arena"
