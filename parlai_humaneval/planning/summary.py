"""A plan in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parlai_humaneval.planning.cost import Collection
from parlai_humaneval.planning.design_effect import Clustering, dialogue_icc
from parlai_humaneval.planning.designs import (
    MIN_WORKERS,
    Contest,
    Design,
    OneShare,
    TwoScores,
    TwoShares,
    clustered_power,
)
from parlai_humaneval.planning.inputs import LEAST_DIALOGUES, LIU_DISCORDANCE, MANY_DISCORDANCE, PlanInputs
from parlai_humaneval.planning.layout import Layout
from parlai_humaneval.statistics.core.clustering_effects import ABOUT_EQUAL

SPREAD = 0.7
"""Log-odds by which dialogues of one model may well vary: what a plan that takes them for equal is held against."""
LIU = "Liu et al. 2023, “Sample Size for Different Evaluations”"
CLUSTERED = (
    "design effect: Kish 1965; power: of the report's own verdict, in which the paper's p decides where it is larger"
)
FLIPPED = "sign-flip test of the workers' sums: Canay, Romano & Shaikh 2017"
NEAR_ENDS = "rates near 0 or 1: Korn & Graubard 1998"
CROSSED = "two-way t: Cameron, Gelbach & Miller 2011"
STRENGTHS = "strengths: Luce 1959; Plackett 1975"


DISCORDANCE_SWITCH = (
    f"SATA of more than two models takes a discordance of {MANY_DISCORDANCE}, that of four similar models (Liu et al. 2023, "
    f"Table 5); of two models it takes {LIU_DISCORDANCE[False]}. That alone can make more models seem to need fewer "
    "turns: to compare numbers of models, give the same --discordance for all."
)


def gap_words(question: PlanInputs, design: Design) -> str:
    """What the gap is on the scale of this technique."""
    points = f"{100 * (question.gap or 0):.3g} points"
    if isinstance(design, OneShare):
        return f"{points} between the share of good turns, {design.share:.3g}, and the baseline {design.baseline:.3g}"
    if isinstance(design, TwoShares):
        return f"{points} between the shares of good turns of two models, {design.share_a:.3g} and {design.share_b:.3g}"
    if isinstance(design, TwoScores):
        return (
            f"{points} between the chance that a dialogue of the one scores above one of the other, and below: "
            f"{design.distance:.2f} standard deviations of a dialogue's score, were scores normal"
        )
    if question.method == "liu2023" and isinstance(design, Contest) and design.df == 1 and design.picks_one:
        return f"{points} from one half: the models win {0.5 + design.gap / 2:.3g} and {0.5 - design.gap / 2:.3g}"
    if question.habits.without_ties:
        half = (question.gap or 0) / 2
        return (
            f"{points} between the win rates of two models, ties left out: {0.5 + half:.3g} and {0.5 - half:.3g} of "
            f"those {100 * (question.discordance or 1):.3g} % of the {question.habits.judgement}s that are no tie"
        )
    if isinstance(design, Contest) and design.df > 1:
        return f"{points} between the best and the worst of {question.models} models, the others in between"
    if (question.discordance or 1) < 1:
        return f"{points} between how often two models are chosen"
    half = (question.gap or 0) / 2
    return f"{points} between the win rates of two models: {0.5 + half:.3g} and {0.5 - half:.3g}"


def analysis_words(found: Layout, question: PlanInputs) -> str:
    """The test that the plan is for."""
    if not question.clustered:
        return f"{found.design.test}, all judgements independent"
    if found.likeness.reused:
        return "two-way t, clustered by worker and dialogue"
    of_all = "joint test of all models: " if found.design.df > 1 else ""
    if isinstance(found.design, Contest) and found.design.by_strength:
        what = "joint test of strengths" if found.design.df > 1 else "strengths"
        ranked = "one ranking" if found.design.ranked > 2 else what
        return f"{ranked} (Plackett–Luce), sign flips by worker"
    near = ", near 0 or 1 the binomial of the effective number" if isinstance(found.design, OneShare) else ""
    return f"{of_all}sign-flip test, clustered by worker{near}"


def plan_sources(question: PlanInputs, found: Layout) -> tuple[str, ...]:
    """Formula of the plan's own test, clustering and the test that is made, then times and habits."""
    formula = LIU if question.method == "liu2023" else _formula(found.design, question.clustered)
    test = CROSSED if found.likeness.reused else FLIPPED
    near = (NEAR_ENDS,) if isinstance(found.design, OneShare) else ()
    clustered = (CLUSTERED, test, *near) if question.clustered else ()
    return (formula, *clustered, *question.habits.sources)


def _formula(design: Design, clustered: bool) -> str:
    if isinstance(design, OneShare):
        return "size for one share: Fleiss, Levin & Paik 2003, section 2.5"
    if isinstance(design, TwoShares):
        return "size for two shares: Fleiss, Levin & Paik 2003, section 4.2"
    if isinstance(design, TwoScores):
        return "size for two means of normal scores" if clustered else "size for the rank-sum test: Noether 1987"
    if clustered and isinstance(design, Contest) and design.by_strength:
        return STRENGTHS
    if design.df > 1:
        if isinstance(design, Contest) and design.picks_one:
            return "size for picks of several models: Cohen 1988, chapter 7"
        return f"size for Cochran's Q: {LIU}"
    picks_one = isinstance(design, Contest) and design.picks_one
    return (
        "size for one share, one half: Fleiss, Levin & Paik 2003, section 2.5"
        if picks_one
        else "size for McNemar's test: Connor 1987"
    )


def plan_notes(
    question: PlanInputs, found: Layout, plan: dict[str, Any], collected: Collection
) -> tuple[str, tuple[str, ...]]:
    """The headline and what must be known beside it."""
    headline = (
        f"{plan['title']} needs {_amount(question, plan)} from {plan['n_workers']:,} workers: "
        f"{plan['hours']:,.1f} hours and ${plan['cost']:,.0f}, to find a gap of {100 * plan['gap']:.3g} points with "
        f"power {100 * plan['power']:.0f} %."
    )
    notes = [
        *_power_notes(question, plan),
        *_clustering_notes(question, found, plan),
        *_dialogue_notes(question, found, plan),
        *_test_notes(question, plan),
        *_technique_notes(question),
        *_sample_notes(question),
        *_pay_notes(question, collected),
    ]
    return headline, tuple(note for note in notes if note)


def _pay_notes(question: PlanInputs, collected: Collection) -> list[str]:
    """What is paid, and what an hour comes to: practice is worked, and not paid."""
    fee = (
        "; some sites take 40 % (--fee 0.4) of tasks posted with ten or more assignments."
        if question.fee == 0.2
        else "."
    )
    notes = [
        f"Paid are all that are collected, ${question.pay:.2f} each, and a fee of {100 * question.fee:.3g} %{fee}",
    ]
    if question.onboarding and question.pay and collected.hours:
        hourly = collected.cost / (1 + question.fee) / collected.hours
        notes.append(
            f"The {question.onboarding:.3g} minutes of practice of each worker are in the hours, and not in the pay: "
            f"workers earn ${hourly:.2f} an hour, before the fee. To pay for practice too, give a higher --pay."
        )
    return notes


def _sample_notes(question: PlanInputs) -> list[str]:
    notes = []
    if question.shares is not None:
        notes.append(f"The shares are of {question.models} models, and so is the plan.")
    if discordance_switched(question.technique, question.setting, question.models, question.discordance):
        notes.append(DISCORDANCE_SWITCH)
    return notes


def discordance_switched(technique: str, setting: str | None, models: int | None, discordance: float | None) -> bool:
    """Is the discordance the one of several models, so that fewer turns than of two models say nothing?"""
    return technique == "sata" and setting != "soba" and (models or 2) > 2 and discordance == MANY_DISCORDANCE


def _amount(question: PlanInputs, plan: dict[str, Any]) -> str:
    judgement, kept = plan["judgement"], f"{plan['n_judgements']:,}"
    if question.habits.of_turns:
        return f"{kept} rated turns ({plan['n_dialogues']:,} dialogues)"
    if judgement == "scored dialogue":
        return f"{kept} scored dialogues ({plan['n_dialogues']:,} held)"
    if judgement == "verdict":
        return f"{kept} verdicts ({plan['n_dialogues']:,} dialogues held)"
    return f"{kept} {judgement}s of {plan['n_dialogues']:,} dialogues"


def _power_notes(question: PlanInputs, plan: dict[str, Any]) -> list[str]:
    notes = [f"The gap is {plan['gap_means']}."]
    if plan["power_of_gap_between_models"] is not None:
        notes.append(
            f"Were the win rates of the two models {100 * plan['gap']:.3g} points apart, the power would be only "
            f"{100 * plan['power_of_gap_between_models']:.0f} %: this method reads the gap as distance from one half."
        )
    if plan["exact_first"] is not None:
        notes.append(
            f"By the exact binomial test, power {100 * question.power:.3g} % is first reached with "
            f"{plan['exact_first']:,} {plan['judgement']}s, and always from {plan['exact_always']:,} on."
        )
    return notes


def _clustering_notes(question: PlanInputs, found: Layout, plan: dict[str, Any]) -> list[str]:
    icc, likeness = question.icc or 0.0, found.likeness
    if not question.clustered:
        return ["All judgements are taken as independent (ICC 0), also those of one worker; real ones seldom are."]
    of_what = f"{plan['judgement']}s" + (" of a model" if found.design.samples == 2 else "")
    if found.per_worker == 1:
        notes = [f"Each worker gives one of the {of_what} of a test, so that these are independent."]
    else:
        notes = [
            f"Answers of one worker are alike (ICC {icc:.3g}; measure your own, see --pilot): {found.per_worker:.3g} "
            f"{of_what} from each worker{_inequality_words(likeness)} cost a design effect of "
            f"{1 + (likeness.crowding - 1) * icc:.3g}; {plan['n_independent']:,.0f} independent ones would do."
        ]
    effective = plan["effective_workers"]
    if effective <= MIN_WORKERS + 0.5:
        notes.append(
            f"At least {MIN_WORKERS} workers are planned for, effective ones by (Σn)²/Σn²: with fewer the interval is a "
            "rough guide."
        )
    return notes


def _inequality_words(likeness: Clustering) -> str:
    if not likeness.inequality:
        return ", all as many (--worker-inequality 0),"
    equal = 100 / likeness.workers_an_effective_one
    if equal >= 100 * ABOUT_EQUAL:
        return f", nearly as many from each (--worker-inequality {likeness.inequality:.3g}),"
    return f", some more than others (--worker-inequality {likeness.inequality:.3g}: 100 weigh like {equal:.0f} equal ones),"


def _dialogue_notes(question: PlanInputs, found: Layout, plan: dict[str, Any]) -> list[str]:
    likeness = found.likeness.at(plan["n_per_sample"])
    if not likeness.reused:
        return []
    dialogues = plan["n_per_sample"] / likeness.per_dialogue
    if dialogues < LEAST_DIALOGUES:
        few = f"Only {dialogues:.0f} dialogues of a model are judged again and again: the answer is about these dialogues."
        return [few, *_reuse_notes(question, found, plan)]
    return _reuse_notes(question, found, plan)


def _reuse_notes(question: PlanInputs, found: Layout, plan: dict[str, Any]) -> list[str]:
    likeness = found.likeness.at(plan["n_per_sample"])
    shared = (
        f"{likeness.per_dialogue:.3g} {plan['judgement']}s that are kept share a dialogue (--reuse {question.reuse})"
    )
    if not likeness.dialogue_icc:
        if not question.clustered or question.method == "liu2023":
            return []
        icc = dialogue_icc(SPREAD, sides=likeness.sides, discordance=question.discordance or 1.0)
        at = replace(likeness, dialogue_icc=icc)
        power = clustered_power(found.design, plan["n_per_sample"], found.alpha, at)
        return [
            f"Dialogues of a model are taken as equally good. {shared}: did their quality vary with a standard deviation of "
            f"{SPREAD} log-odds, the power would be {power:.2f} (--dialogue-sd {SPREAD} plans for that; a --pilot tells)."
        ]
    cost = likeness.sides * (likeness.per_dialogue - 1) * likeness.dialogue_icc
    notes = [
        f"Dialogues differ (ICC {likeness.dialogue_icc:.3g} of judgements that share one): {shared}, which adds {cost:.3g} "
        "to the design effect."
    ]
    best = plan["best_reuse"]
    if best is not None and best["reuse"] != question.reuse:
        notes.append(
            f"For the money it is best to judge a dialogue {times(best['reuse'])} (--reuse {best['reuse']}): "
            f"{best['n_judgements']:,} {plan['judgement']}s of {best['n_dialogues']:,} dialogues for ${best['cost']:,.0f}, "
            f"with {best['n_workers']:,} workers; here it is ${plan['cost']:,.0f}."
        )
    elif best is not None:
        notes.append("No other number of judgements a dialogue costs less.")
    return notes


def times(number: int) -> str:
    """“once”, “twice”, “3 times”."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _test_notes(question: PlanInputs, plan: dict[str, Any]) -> list[str]:
    notes = []
    if plan["tests"] > 1 and plan["alpha_per_test"] < question.alpha:
        notes.append(
            f"{plan['tests']} tests, each planned at {plan['alpha_per_test']:.2g} (Bonferroni); Holm's correction in "
            "the report is never weaker."
        )
    if question.habits.of_turns and not question.habits.at_once and plan["tests"] > 1 and question.clustered:
        notes.append(
            f"Each turn shows two of the {plan['models']} models, and one ranking of all tells each two apart: so does the "
            "report, in which a pair learns from the turns with other models."
        )
    if plan["pairs"] is not None:
        notes.append(
            f"That is for the test of all {plan['models']} models at once; the test of the best against the worst, at "
            f"level {plan['pairs']['alpha_per_test']:.2g}, takes {plan['pairs']['n_turns']:,} turns and "
            f"{plan['pairs']['hours']:,.1f} hours (--tests pairs)."
        )
    liu_picks = question.method == "liu2023" and question.setting == "soba" and (question.models or 2) > 2
    if liu_picks and question.shares is None:
        notes.append(
            "Liu et al.'s 430 turns come from a pilot that is not published; picks such as --shares 54,53,48,35 "
            "give them."
        )
    return notes


def _technique_notes(question: PlanInputs) -> list[str]:
    if question.setting == "human_bot":
        return [
            f"Each dialogue is held once and compared {question.reuse} times (--reuse): the result is about those "
            "dialogues, so do not have too few."
        ]
    return [question.habits.note] if question.habits.note else []
