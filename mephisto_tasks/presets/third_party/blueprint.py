"""Registers third-party ratings as a preset of engine 2."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.judging.blueprint import StaticBlueprint


@register_mephisto_abstraction()
class ThirdPartyBlueprint(StaticBlueprint):
    """Dialogues of others, rated once more."""

    BLUEPRINT_TYPE = "third_party"
