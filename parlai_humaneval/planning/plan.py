"""The plan of a study: the data to collect, their cost and power; the power curve; the other techniques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from parlai_humaneval.planning import designs
from parlai_humaneval.planning import inputs as asking
from parlai_humaneval.planning.layout import Collection, Layout, collection, judge_saving, layout
from parlai_humaneval.planning.power import Variance, binomial_power, dialogue_icc
from parlai_humaneval.statistics.core.clustering_effects import ABOUT_EQUAL
from parlai_humaneval.techniques.registry import recorded_as

SPREAD = 0.7
"""Log-odds by which dialogues of one model may well vary: what a plan that takes them for equal is held against."""


class Plan(BaseModel, extra="forbid", frozen=True):
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
        stop: of a study that stops once it reaches a decision, an :class:`~parlai_humaneval.planning.stopping.UntilDecided`.
        simulated: what :func:`~parlai_humaneval.planning.made_studies.simulated_power` found.
        pilot: what a :class:`~parlai_humaneval.planning.pilot.Pilot` says.
        at_upper_icc: what the study takes if workers (and dialogues) are as alike as the pilot's interval allows.
        headline, notes, sources: in words.
        inputs: every value that was used.
    """

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


def plan_study(inputs: asking.PlanInputs) -> Plan:
    """Plan the size of a study.

    Judgements of one worker are taken as alike as ``icc`` says, and analysed by the clustered test; with ``icc`` 0 they
    are independent, and the papers' test is planned for. With method liu2023 the numbers are that paper's: the gap is
    the distance from .5 (or from the baseline), the variance that of the null hypothesis, and sizes are rounded. Raises
    PlanError: the gap is more than is possible; the text says what to change.

    >>> from parlai_humaneval.planning.inputs import PlanInputs
    >>> plan = plan_study(PlanInputs(technique="pw_turn", gap=0.1))
    >>> plan.n_turns, plan.n_workers
    (987, 223)
    """
    question = inputs.filled()
    found = layout(question)
    design, likeness, n = found.design, found.likeness, size_of(question, found)
    collected = collection(question, n, found.sets)
    variance: Variance = "null" if question.method == "liu2023" else "both"
    exact: tuple[int | None, int | None] | None = None
    if not question.clustered:
        around = designs.independent_size(design, found.alpha, question.power, variance)
        exact = designs.exact_sizes(design, found.alpha, question.power, around=around)
    pairs: dict[str, Any] | None = None
    if question.habits.chooses_among_all and (question.models or 2) > 2 and question.tests != "pairs":
        told = plan_study(inputs.model_copy(update={"tests": "pairs"})).model_dump()
        keys = ("n_turns", "n_dialogues", "n_workers", "hours", "cost", "power", "alpha_per_test", "tests")
        pairs = {key: told[key] for key in keys}
    facts = {"q": question, "h": question.habits, "design": design, "likeness": likeness}
    plan = Plan(
        technique=question.technique,
        title=question.title,
        setting=question.setting or "",
        method=question.method,
        models=question.models or 2,
        gap=question.gap or 0.0,
        gap_means=asking.sentence("gap", **facts),
        **collected.numbers,
        power=power_of(question, found, n),
        judgement=question.habits.judgement,
        n_judgements=n * found.sets,
        n_independent=(
            design.mean_size(found.alpha, question.power)
            if question.clustered and question.method != "liu2023"
            else design.size(found.alpha, question.power, variance)
        ),
        n_per_sample=n,
        tests=found.tests,
        alpha_per_test=found.alpha,
        per_worker=likeness.per_worker,
        design_effect=likeness.at(n).effect,
        effective_workers=design.groups(n, likeness.per_worker) / likeness.workers_an_effective_one,
        test=design.test,
        analysis=asking.sentence("analysis", **facts),
        exact_first=exact and exact[0],
        exact_always=exact and exact[1],
        power_of_gap_between_models=(
            # Liu et al.'s .1 is p = .6 against .4; someone may have meant .55 against .45.
            binomial_power(n, 0.5, 0.5 + (question.gap or 0.0) / 2, found.alpha)
            if question.method == "liu2023" and isinstance(design, designs.ChoiceDesign) and design.exact_shares
            else None
        ),
        pairs=pairs,
        best_reuse=_best_reuse(question, found),
        judge=judge_saving(question, found, n, collected),
        sources=asking.paragraphs("sources", **facts),
        inputs=question.model_dump(mode="json"),
    )
    return plan.model_copy(
        update={
            "headline": asking.sentence("headline", **facts, plan=plan),
            "notes": asking.paragraphs("notes", **facts, **_more_facts(question, found, collected), plan=plan),
        }
    )


def _more_facts(question: asking.PlanInputs, found: Layout, collected: Collection) -> dict[str, Any]:
    n = size_of(question, found)
    at = found.likeness.at(n)
    icc = dialogue_icc(SPREAD, sides=at.sides, discordance=question.discordance or 1.0)
    spread_out = at.reused and not at.dialogue_icc and question.clustered
    return {
        "at": at,
        "spread": SPREAD,
        "power_if_spread": spread_out
        and designs.clustered_power(found.design, n, found.alpha, replace(at, dialogue_icc=icc)),
        # What an hour comes to: practice is worked, and not paid.
        "hourly": collected.hours and collected.cost / (1 + question.fee) / collected.hours,
        "about_equal": ABOUT_EQUAL,
        "min_workers": designs.MIN_WORKERS,
        "least_dialogues": asking.LEAST_DIALOGUES,
        "switch": "".join(_switch([question.model_dump()])),
    }


def _switch(questions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What must be known where a discordance is the one of several models, so that fewer turns than of two say nothing."""
    known = asking.plannable()
    switched = [
        known[one["technique"]]
        for one in questions
        if (one["models"] or 2) > 2 and one["discordance"] == known[one["technique"]].discordance_of_many
    ]
    numbers = [{"many_discordance": one.discordance_of_many, "two_discordance": one.discordance} for one in switched]
    return asking.paragraphs("switch", switched=bool(switched), **(numbers[0] if numbers else {}))


_REUSES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50)


def _best_reuse(question: asking.PlanInputs, found: Layout) -> dict[str, Any] | None:
    """The cheapest of :data:`_REUSES` and what was asked for, of equal cost the one with more dialogues; None where
    dialogues do not differ, or all would be too few. Judgements that share a dialogue say less, and dialogues cost
    something: the optimum of the sum of both is where a dialogue more costs as much as it saves of judgements."""
    if not found.likeness.dialogue_icc:
        return None
    plans = []
    for reuse in sorted({*_REUSES, question.reuse or 1}):
        other = question.model_copy(update={"reuse": reuse})
        planned = layout(other)
        n = size_of(other, planned)
        if n / planned.likeness.at(n).per_dialogue >= asking.LEAST_DIALOGUES:
            numbers = collection(other, n, planned.sets).numbers
            plans.append({"reuse": reuse, "n_judgements": n * planned.sets, **numbers})
    return min(plans, key=lambda plan: plan["cost"], default=None)


def size_of(question: asking.PlanInputs, found: Layout) -> int:
    """Judgements of each sample that must be kept."""
    clustered = question.clustered
    if question.method == "liu2023":
        size = round(found.design.size(found.alpha, question.power, "null"))
        return size if not clustered else -int(-size * found.likeness.effect // 1)
    if not clustered:
        return designs.independent_size(found.design, found.alpha, question.power)
    return designs.clustered_size(found.design, found.alpha, question.power, found.likeness)


def power_of(question: asking.PlanInputs, found: Layout, n: int) -> float:
    """The power of the planned test with ``n`` judgements of each sample."""
    if not question.clustered:
        return found.design.iid_power(n, found.alpha)
    return designs.clustered_power(found.design, n, found.alpha, found.likeness)


ENDINGS = (".png", ".svg", ".pdf")
_POINTS = 60


def power_curve(inputs: asking.PlanInputs, *, gap: float | None = None) -> list[tuple[int, float]]:
    """Judgements of all samples together, and the power that they buy, up to twice what the plan needs. ``gap``: of
    another truth, with the sizes of the plan."""
    question = inputs.filled()
    planned = plan_study(inputs)
    sets = planned.n_judgements // planned.n_per_sample
    found = layout(question if gap is None else question.model_copy(update={"gap": gap, "shares": None}))
    sizes = np.unique(np.linspace(max(2, planned.n_per_sample // 20), 2 * planned.n_per_sample, _POINTS).astype(int))
    return [(int(n) * sets, power_of(question, found, int(n))) for n in sizes]


def draw_curve(inputs: asking.PlanInputs, plan: Plan, path: Path) -> None:
    """Write the power curve of the plan's gap, and of a half and one and a half of it, as png, svg or pdf. Raises
    PlanError."""
    if path.suffix.lower() not in ENDINGS:
        raise asking.PlanError(f"a power curve is a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file", where=path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    styles = ((plan.gap * 1.5, ":", "#4c72b0"), (plan.gap, "-", "#c44e52"), (plan.gap / 2, "--", "#55a868"))
    for gap, dashes, colour in styles:
        try:
            points = power_curve(inputs, gap=gap) if gap != plan.gap else power_curve(inputs)
        except asking.PlanError:
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
    icc, models = plan.inputs["icc"], f", {plan.models} models" if plan.models > 1 else ""
    likeness = f"ICC {icc:g}, {plan.per_worker:.3g} a rater" if icc else "independent judgements"
    axes.set(xlabel=f"{plan.judgement}s kept", ylabel="power", ylim=(0, 1.02))
    axes.set_title(f"{plan.title}{models}: {likeness}")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise asking.PlanError(f"the power curve cannot be written to {path}: {error.strerror}") from error


_OF_ONE_TECHNIQUE = {"technique": None, "setting": None, "discordance": None, "shares": None}


def compare_techniques(inputs: asking.PlanInputs) -> tuple[list[Plan], dict[str, asking.PlanError]]:
    """A plan for each technique and setting, the fewest hours first, and why some have none.

    With several models, all plans are for a difference between each pair. What belongs to one technique alone (its setting,
    discordance, shares) is left out for the others, and each takes the papers' turns and times unless they are given.
    The scales of the gap are alike, but not the same: a plan's ``gap_means`` says what it is.

    >>> from parlai_humaneval.planning.inputs import PlanInputs
    >>> plans, impossible = compare_techniques(PlanInputs(technique="pw_turn", gap=0.2))
    >>> [plan.title for plan in plans[:2]], impossible
    (['SM-Turn', 'PM-SATA-Random'], {})
    """
    plans: list[Plan] = []
    impossible: dict[str, asking.PlanError] = {}
    for technique, habits in asking.plannable().items():
        # Self-chats stand under the technique whose setting they are.
        settings = tuple(setting for setting in habits.settings if setting not in habits.same_size) or (None,)
        for setting in settings if recorded_as(technique) == technique else ():
            try:
                own = technique == inputs.technique
                update: dict[str, object] = {"technique": technique, "setting": setting}
                if not own or (inputs.setting and setting != inputs.setting):
                    update = {**_OF_ONE_TECHNIQUE, **update}
                gap = inputs.filled().gap if inputs.gap is None else inputs.gap
                # Pairs under every technique: a test of all models at once says less, and needs fewer.
                tests = inputs.tests if inputs.method == "liu2023" else "pairs"
                alone = asking.ask(
                    **{**inputs.model_dump(), "gap": gap, "tests": tests, **update, "judge_agreement": None}
                )
                # Even if chance reaches this agreement, people's answers can still be planned.
                helps = inputs.judge_agreement is not None and inputs.judge_agreement > asking.chance_agreement(alone)
                plans.append(
                    plan_study(alone.model_copy(update={"judge_agreement": inputs.judge_agreement}) if helps else alone)
                )
            except asking.PlanError as error:
                impossible[f"{technique} {setting or ''}".strip()] = error
    return sorted(plans, key=lambda plan: (plan.hours, plan.cost, plan.title)), impossible


def comparison_notes(plans: Sequence[Plan]) -> list[str]:
    """Notes for comparing plans of several models with plans of two."""
    return list(_switch([plan.inputs for plan in plans]))


def comparison_words(plans: list[Plan]) -> str:
    """“For this gap, PW-Turn needs 40 hours, …”."""
    if not plans:
        return "No technique can detect this gap."
    parts = [f"{plan.title} needs {plan.hours:,.0f} hours (${plan.cost:,.0f})" for plan in plans]
    return f"For a gap of {100 * plans[0].gap:.3g} points, " + ", ".join(parts) + "."
