"""Registers PW-Dialog on self-chats as a preset of engine 2."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.judging.blueprint import StaticBlueprint


@register_mephisto_abstraction()
class SelfChatBlueprint(StaticBlueprint):
    """Two self-chats side by side."""

    BLUEPRINT_TYPE = "self_chat"
