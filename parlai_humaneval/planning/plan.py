"""The plan of a study: how much must be collected, what that costs and buys; its power curve; the other techniques."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from parlai_humaneval.planning.cost import SOURCE as JUDGE_SOURCE
from parlai_humaneval.planning.cost import Collection, collection, judge_saving
from parlai_humaneval.planning.designs import (
    Contest,
    Design,
    clustered_power,
    clustered_size,
    exact_sizes,
    independent_size,
)
from parlai_humaneval.planning.inputs import LEAST_DIALOGUES, PlanError, PlanInputs, ask, chance_agreement, plannable
from parlai_humaneval.planning.layout import Layout, layout
from parlai_humaneval.planning.power import binomial_power
from parlai_humaneval.planning.summary import (
    DISCORDANCE_SWITCH,
    analysis_words,
    discordance_switched,
    gap_words,
    plan_notes,
    plan_sources,
)
from parlai_humaneval.techniques.registry import PlanningDefaults, recorded_as


class Plan(BaseModel):
    """The answer.

    Attributes:
        technique, title, setting, method, models, gap: what was asked.
        gap_means: the gap in words, on the scale of this technique.
        n_turns: turns that are rated and kept. Of techniques that judge whole dialogues: the turns of those dialogues.
        n_dialogues: dialogues to collect, those that checks will drop included.
        n_workers: raters, and those who only hold dialogues.
        hours: of all workers together, practice included.
        cost: dollars, fee included.
        power: chance that the test finds the gap, with what is collected.
        judgement, n_judgements: what enters the tests, and how much of it is kept.
        n_judgements_collected: what is collected of it.
        n_independent: judgements of a sample, were all independent of each other.
        n_per_sample: judgements of a sample (a pair, or a model) that are planned.
        tests, alpha_per_test: how many tests are made, each at which level.
        per_worker, design_effect: judgements of a worker in a sample, and what likeness of workers and dialogues costs.
        effective_workers: of one test, (Σn)²/Σn².
        test, analysis: the papers' test, and the one that the plan is for.
        exact_first, exact_always: the first size with which the exact binomial test has the power, and the size from
            which on it always has it; None where it is not the test.
        power_of_gap_between_models: with method liu2023, the power if two models' win rates differ by the gap.
        pairs: of more than two models at once, the plan for all pairs.
        best_reuse: of dialogues that are judged again and again and differ, how often costs least, and what that takes.
        judge: where a judge answers all dialogues, what people must still judge, what that saves, and on what it rests.
        stop: what a study takes that ends when it is decided, as a
            :class:`~parlai_humaneval.planning.stopping_summary.UntilDecided`.
        simulated: what :func:`~parlai_humaneval.planning.simulation.simulated_power` found.
        pilot: what a :class:`~parlai_humaneval.planning.pilot.Pilot` says.
        at_upper_icc: what the study takes if workers (and dialogues) are as alike as the pilot's interval allows.
        headline, notes, sources: in words.
        inputs: every value that was used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    technique: str
    title: str
    setting: str
    method: str
    models: int
    gap: float
    gap_means: str
    n_turns: int
    n_dialogues: int
    n_workers: int
    hours: float
    cost: float
    power: float
    judgement: str
    n_judgements: int
    n_judgements_collected: int
    n_independent: float
    n_per_sample: int
    tests: int
    alpha_per_test: float
    per_worker: float
    design_effect: float
    effective_workers: float
    test: str
    analysis: str
    exact_first: int | None = None
    exact_always: int | None = None
    power_of_gap_between_models: float | None = None
    pairs: dict[str, Any] | None = None
    best_reuse: dict[str, Any] | None = None
    judge: dict[str, Any] | None = None
    stop: dict[str, Any] | None = None
    simulated: dict[str, Any] | None = None
    pilot: dict[str, Any] | None = None
    at_upper_icc: dict[str, Any] | None = None
    headline: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    inputs: dict[str, Any] = Field(default_factory=dict)


def plan_study(inputs: PlanInputs) -> Plan:
    """How large the study must be.

    Judgements of one worker are taken as alike as ``icc`` says, and analysed by the clustered test; with ``icc`` 0 they
    are independent, and the papers' test is planned for. With method liu2023 the numbers are that paper's: the gap is
    the distance from .5 (or from the baseline), the variance that of the null hypothesis, and sizes are rounded.

    Raises:
        PlanError: the gap is more than is possible; the text says what to change.
    """
    question = inputs.filled()
    found = layout(question)
    n = size_of(question, found)
    collected = collection(question, n, found.sets)
    first, always = _exact(found, question)
    plan = Plan(
        technique=question.technique,
        title=question.title,
        setting=question.setting or "",
        method=question.method,
        models=question.models or 2,
        gap=question.gap or 0.0,
        gap_means=gap_words(question, found.design),
        **_numbers(collected),
        power=power_of(question, found, n),
        judgement=question.habits.judgement,
        n_judgements=n * found.sets,
        n_independent=_independent(question, found),
        n_per_sample=n,
        tests=found.tests,
        alpha_per_test=found.alpha,
        per_worker=found.per_worker,
        design_effect=found.likeness.at(n).effect,
        effective_workers=found.design.groups(n, found.per_worker) / found.likeness.workers_an_effective_one,
        test=found.design.test,
        analysis=analysis_words(found, question),
        exact_first=first,
        exact_always=always,
        power_of_gap_between_models=_between_models(question, found.design, n, found.alpha),
        pairs=_pairs(inputs, question),
        best_reuse=_best_reuse(question, found),
        judge=judge_saving(question, found, n, collected),
        sources=(*plan_sources(question, found), *([JUDGE_SOURCE] if question.judge_agreement else [])),
        inputs=question.model_dump(mode="json"),
    )
    headline, notes = plan_notes(question, found, plan.model_dump(), collected)
    return plan.model_copy(update={"headline": headline, "notes": notes})


_REUSES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50)


def _best_reuse(question: PlanInputs, found: Layout) -> dict[str, Any] | None:
    """The cheapest of :data:`_REUSES` and what was asked for, of equal cost the one with more dialogues; None where
    dialogues do not differ, or all would be too few.

    Judgements that share a dialogue say less, and dialogues cost something: the optimum of the sum of both is where a
    dialogue more costs as much as it saves of judgements.
    """
    if not found.likeness.dialogue_icc:
        return None
    plans = []
    for reuse in sorted({*_REUSES, question.reuse or 1}):
        other = question.model_copy(update={"reuse": reuse})
        planned = layout(other)
        n = size_of(other, planned)
        if n / planned.likeness.at(n).per_dialogue >= LEAST_DIALOGUES:
            numbers = _numbers(collection(other, n, planned.sets))
            plans.append({"reuse": reuse, "n_judgements": n * planned.sets, **numbers})
    return min(plans, key=lambda plan: plan["cost"], default=None)


def size_of(question: PlanInputs, found: Layout) -> int:
    """Judgements of each sample that must be kept."""
    clustered = question.clustered
    if question.method == "liu2023":
        size = round(found.design.size(found.alpha, question.power, "null"))
        return size if not clustered else -int(-size * found.likeness.effect // 1)
    if not clustered:
        return independent_size(found.design, found.alpha, question.power)
    return clustered_size(found.design, found.alpha, question.power, found.likeness)


def power_of(question: PlanInputs, found: Layout, n: int) -> float:
    """Of the test that is planned for, with ``n`` judgements of each sample."""
    if not question.clustered:
        return found.design.iid_power(n, found.alpha)
    return clustered_power(found.design, n, found.alpha, found.likeness)


def _variance(question: PlanInputs) -> Any:
    return "null" if question.method == "liu2023" else "both"


def _numbers(collected: Collection) -> dict[str, Any]:
    return {
        "n_turns": collected.turns,
        "n_dialogues": collected.dialogues,
        "n_workers": collected.workers,
        "n_judgements_collected": collected.judgements,
        "hours": round(collected.hours, 2),
        "cost": round(collected.cost, 2),
    }


def _independent(question: PlanInputs, found: Layout) -> float:
    if question.clustered and question.method != "liu2023":
        return found.design.mean_size(found.alpha, question.power)
    return found.design.size(found.alpha, question.power, _variance(question))


def _exact(found: Layout, question: PlanInputs) -> tuple[int | None, int | None]:
    if question.clustered:
        return None, None
    around = independent_size(found.design, found.alpha, question.power, _variance(question))
    return exact_sizes(found.design, found.alpha, question.power, around=around) or (None, None)


def _between_models(question: PlanInputs, design: Design, n: int, alpha: float) -> float | None:
    """Liu et al.'s .1 is p = .6 against .4; someone may have meant .55 against .45."""
    if question.method != "liu2023" or not (isinstance(design, Contest) and design.df == 1 and design.picks_one):
        return None
    return binomial_power(n, 0.5, 0.5 + (question.gap or 0.0) / 2, alpha)


def _pairs(inputs: PlanInputs, question: PlanInputs) -> dict[str, Any] | None:
    if not question.habits.chooses_among_all or (question.models or 2) < 3 or question.tests == "pairs":
        return None
    plan = plan_study(inputs.model_copy(update={"tests": "pairs"}))
    keys = ("n_turns", "n_dialogues", "n_workers", "hours", "cost", "power", "alpha_per_test", "tests")
    return {key: getattr(plan, key) for key in keys}


ENDINGS = (".png", ".svg", ".pdf")
_POINTS = 60


def power_curve(inputs: PlanInputs, *, gap: float | None = None) -> list[tuple[int, float]]:
    """Judgements of all samples together, and the power that they buy, up to twice what the plan needs.

    ``gap``: of another truth, with the sizes of the plan.
    """
    question = inputs.filled()
    planned = plan_study(inputs)
    sets = planned.n_judgements // planned.n_per_sample
    found = layout(question if gap is None else question.model_copy(update={"gap": gap, "shares": None}))
    sizes = np.unique(np.linspace(max(2, planned.n_per_sample // 20), 2 * planned.n_per_sample, _POINTS).astype(int))
    return [(int(n) * sets, power_of(question, found, int(n))) for n in sizes]


def draw_curve(inputs: PlanInputs, plan: Plan, path: Path) -> None:
    """Write the power curve of the plan's gap, and of a half and one and a half of it, as png, svg or pdf.

    Raises:
        PlanError: the file's ending is another one, or the file cannot be written.
    """
    if path.suffix.lower() not in ENDINGS:
        raise PlanError(f"a power curve is a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file", where=path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    styles = ((plan.gap * 1.5, ":", "#4c72b0"), (plan.gap, "-", "#c44e52"), (plan.gap / 2, "--", "#55a868"))
    for gap, dashes, colour in styles:
        try:
            points = power_curve(inputs, gap=gap) if gap != plan.gap else power_curve(inputs)
        except PlanError:
            continue  # one and a half of the gap may be more than is possible
        x, y = zip(*points, strict=True)
        axes.plot(x, y, dashes, color=colour, label=f"gap {100 * gap:.3g} points", linewidth=2)
    axes.axhline(plan.inputs["power"], color="grey", linewidth=0.8)
    axes.axvline(plan.n_judgements, color="grey", linewidth=0.8)
    axes.annotate(
        f"plan: {plan.n_judgements:,}",
        (plan.n_judgements, 0.02),
        xytext=(4, 0),
        textcoords="offset points",
        color="#444444",
    )
    axes.set(xlabel=f"{plan.judgement}s kept", ylabel="power", ylim=(0, 1.02), title=_title(plan))
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise PlanError(f"the power curve cannot be written to {path}: {error.strerror}") from error


def _title(plan: Plan) -> str:
    icc = plan.inputs["icc"]
    likeness = "independent judgements" if not icc else f"ICC {icc:g}, {plan.per_worker:.3g} a worker"
    return f"{plan.title}, {plan.models} models: {likeness}" if plan.models > 1 else f"{plan.title}: {likeness}"


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


def _settings(technique: str, habits: PlanningDefaults) -> tuple[str | None, ...]:
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
