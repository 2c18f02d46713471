"""Registers Spot The Bot as a preset of engine 2."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.judging.blueprint import StaticBlueprint


@register_mephisto_abstraction()
class SpotTheBotBlueprint(StaticBlueprint):
    """Beginnings of dialogues, and who is a bot."""

    BLUEPRINT_TYPE = "spot_the_bot"
