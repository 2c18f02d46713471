"""Registers PW-Turn as a preset of engine 1."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction  # noqa: E402  (needs compat first)

from mephisto_tasks.interactive.blueprint import InteractiveBlueprint  # noqa: E402


@register_mephisto_abstraction()
class PWTurnBlueprint(InteractiveBlueprint):
    """Pairwise per turn."""

    BLUEPRINT_TYPE = "pw_turn"
