"""Registers direct assessment as a preset of engine 1."""

from mephisto_tasks import compat

compat.prepare()

from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.live.blueprint import InteractiveBlueprint


@register_mephisto_abstraction()
class DirectAssessmentBlueprint(InteractiveBlueprint):
    """Statements on 0–100 scales after each chat."""

    BLUEPRINT_TYPE = "direct_assessment"
