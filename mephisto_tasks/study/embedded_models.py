"""``models=embedded``: any conf with models that need no download, to try it out on this machine."""

from __future__ import annotations

from omegaconf import DictConfig

OVERRIDE = "models=embedded"
EMBEDDED = ("eliza", "retrieval", "dull", "degraded")
"""The better ones first."""


def use_embedded(config: DictConfig) -> None:
    """Put embedded models in the place of a conf's own, as many as stand together there.

    Groups become all that these models make; models lose their personas; fewer speak in a dialogue, and a unit holds
    fewer conversations, where there are not enough of them.
    """
    blueprint = config.mephisto.blueprint
    if "group_size" not in blueprint:  # finished dialogues: the models only talk to each other
        blueprint.models, blueprint.groups = list(EMBEDDED[:3]), []
        return
    control = str(blueprint.quality_control_model)
    free = [name for name in EMBEDDED if name != control]
    size = min(int(blueprint.group_size), len(free))
    models = free[: size if size > 1 else 3]
    blueprint.models, blueprint.groups, blueprint.bot_persona = models, [], False
    blueprint.group_size = size
    most = len(models) + bool(control) if size == 1 else 1
    blueprint.conversations_per_unit = min(int(blueprint.conversations_per_unit), most)
