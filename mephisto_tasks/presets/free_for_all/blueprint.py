"""Registers free-for-all as a preset of engine 1."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.live.blueprint import InteractiveBlueprint


@register_mephisto_abstraction()
class FreeForAllBlueprint(InteractiveBlueprint):
    """All models at once, one point a turn."""

    BLUEPRINT_TYPE = "free_for_all"
