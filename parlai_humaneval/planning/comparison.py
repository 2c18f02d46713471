"""The same gap under every technique: hours and money side by side."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.planning.inputs import PlanError, PlanInputs, ask, chance_agreement, plannable
from parlai_humaneval.planning.plan import Plan, plan_study
from parlai_humaneval.planning.summary import DISCORDANCE_SWITCH, discordance_switched
from parlai_humaneval.techniques.registry import Habits, recorded_as

_OF_ONE_TECHNIQUE = {"technique": None, "setting": None, "discordance": None, "shares": None}


def compare_techniques(inputs: PlanInputs) -> tuple[list[Plan], dict[str, PlanError]]:
    """A plan for each technique and setting, the fewest hours first, and why some have none.

    Of several models, all plans are for telling each pair apart. What belongs to one technique alone (its setting,
    discordance, shares) is left out for the others, and each takes the papers' turns and times unless they are given.
    The scales of the gap are alike, but not the same: a plan's ``gap_means`` says what it is.
    """
    plans: list[Plan] = []
    impossible: dict[str, PlanError] = {}
    for technique, habits in plannable().items():
        for setting in _settings(technique, habits):
            try:
                plans.append(plan_study(_with(inputs, technique, setting)))
            except PlanError as error:
                impossible[f"{technique} {setting or ''}".strip()] = error
    return sorted(plans, key=lambda plan: (plan.hours, plan.cost, plan.title)), impossible


def _settings(technique: str, habits: Habits) -> tuple[str | None, ...]:
    # Self-chats stand under pw_dialog, whose setting they are; select-all settings differ in what goes on, not in size.
    if recorded_as(technique) != technique:
        return ()
    return tuple(setting for setting in habits.settings if setting != "sata_user") or (None,)


def _with(inputs: PlanInputs, technique: str, setting: str | None) -> PlanInputs:
    own = technique == inputs.technique
    update: dict[str, object] = {"technique": technique, "setting": setting}
    if not own or (inputs.setting and setting != inputs.setting):
        update = {**_OF_ONE_TECHNIQUE, **update}
    gap = inputs.filled().gap if inputs.gap is None else inputs.gap
    # Pairs under every technique: a test of all models at once says less, and needs fewer.
    tests = inputs.tests if inputs.method == "liu2023" else "pairs"
    alone = ask(**{**inputs.model_dump(), "gap": gap, "tests": tests, **update, "judge_agreement": None})
    # An agreement that chance reaches under this technique is no reason to have no plan of people's answers.
    helps = inputs.judge_agreement is not None and inputs.judge_agreement > chance_agreement(alone)
    return alone.model_copy(update={"judge_agreement": inputs.judge_agreement}) if helps else alone


def comparison_notes(plans: Sequence[Plan]) -> list[str]:
    """What one must know to compare the plans of several models with those of two."""
    switched = any(
        discordance_switched(plan.technique, plan.setting, plan.models, plan.inputs["discordance"]) for plan in plans
    )
    return [DISCORDANCE_SWITCH] if switched else []


def comparison_words(plans: list[Plan]) -> str:
    """“For this gap, PW-Turn needs 40 hours, …”."""
    if not plans:
        return "No technique can be planned for this gap."
    parts = [f"{plan.title} needs {plan.hours:,.0f} hours (${plan.cost:,.0f})" for plan in plans]
    return f"For a gap of {100 * plans[0].gap:.3g} points, " + ", ".join(parts) + "."
