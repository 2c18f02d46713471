"""A study that ends when it is decided, in words and as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.planning.inputs import PlanInputs
from parlai_humaneval.planning.plan import Plan
from parlai_humaneval.statistics.core.sequential import SOURCE as BETTING

STUDIES = {2: 400, 3: 200, 4: 200, 5: 100}
"""Models → studies of each truth that are simulated, if nothing is said: fewer where each takes longer."""


class Needed(BaseModel):
    """What is collected, losses to checks included, and what that takes. ``n``: dialogues; of finished ones, judgements."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int
    n_workers: int
    hours: float
    cost: float


class Truth(BaseModel):
    """What studies take if each model is above the next by ``gap``.

    Attributes:
        name: the gap in words.
        expected, percentile_90: on average, and the most that nine of ten studies take; those in flight at the end count.
        at_cap: share of studies that end at the cap, with pairs open.
        false_claims: share that call one model better that is not, or two equal that are the margin apart.
        of_fixed, of_pooled: expected dialogues, in those of the fixed plans.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    gap: float
    expected: Needed
    percentile_90: Needed
    at_cap: float
    false_claims: float
    of_fixed: float
    of_pooled: float | None


class UntilDecided(BaseModel):
    """A study that ends when every two models are decided, or at its cap.

    Attributes:
        models: how many there are.
        unit: what ``n`` counts: dialogues, or comparisons of finished ones.
        margin, alpha, beta, floor, max_dialogues: of the rule; the cap counts dialogues that checks will drop, too.
        is_cap_chosen: with this cap nearly all studies of equal models end before; otherwise it was given.
        in_flight, turns, icc, ties, dialogues_per_worker, heavy_tail: of the simulated workers.
        fixed: the plan of a fixed study with the same errors, each pair by itself; ``fixed_power`` is its power.
        fixed_pooled: the same of one Bradley–Terry analysis of all dialogues; None of two models.
        truths: what such a study takes, by what is true.
        studies, seed: of the simulation of each truth.
        headline, notes, sources: in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str
    models: int
    margin: float
    alpha: float
    beta: float
    floor: int
    max_dialogues: int
    is_cap_chosen: bool
    in_flight: int
    turns: int
    icc: float
    ties: float
    dialogues_per_worker: float
    heavy_tail: float
    fixed_power: float
    fixed: Needed
    fixed_pooled: Needed | None
    truths: tuple[Truth, ...]
    studies: int
    seed: int
    headline: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


_LITTLE = 0.5
"""Where so many studies end at the cap, that is what is to be said of such a study."""
_SOME = 0.1
"""Where so many end there, it is said that they do."""
_BEYOND_CHANCE = 2.0
"""Standard errors of the simulation by which false claims may be above their limit before it is said."""


def until_decided_words(question: PlanInputs, found: UntilDecided, plan: Plan) -> dict[str, Any]:
    """Headline, notes and sources; ``plan``: of the fixed study that was asked for."""
    return {
        "headline": _headline(question, found),
        "notes": (
            *_error_notes(found),
            *_cap_notes(found),
            *_fixed_notes(question, found, plan),
            *_worker_notes(question, found),
            *_scale_notes(question, found),
            *_model_notes(found),
        ),
        "sources": (f"ending when decided: {BETTING}; Holm 1979",),
    }


def _headline(question: PlanInputs, found: UntilDecided) -> str:
    at_gap = next(truth for truth in found.truths if truth.gap == question.gap)
    equal = found.truths[0]
    apart, alike = (
        ("the models are {} apart", "equal") if found.models == 2 else ("each is {} above the next", "all equal")
    )
    mean, high = at_gap.expected.n, at_gap.percentile_90.n
    if at_gap.at_cap >= _LITTLE:
        return (
            f"With a cap of {found.max_dialogues:,} {found.unit}s {question.title} most likely ends before every two models "
            f"are decided (margin {_points(found.margin)}): {_percent(at_gap.at_cap)} of studies end there with pairs open "
            f"where {apart.format(at_gap.name)}, and {_percent(equal.at_cap)} where they are {alike}. A fixed plan with the "
            f"same errors takes {found.fixed.n:,}; give a higher cap, or leave it out."
        )
    return (
        f"Ending when every two models are decided (margin {_points(found.margin)}), {question.title} takes {mean:,} "
        f"{found.unit}s on average where {apart.format(at_gap.name)}, in 90 % of studies at most {high:,}, and "
        f"{equal.expected.n:,} and {equal.percentile_90.n:,} where they are {alike}; a fixed plan with the same errors "
        f"takes {found.fixed.n:,}."
    )


def _error_notes(found: UntilDecided) -> list[str]:
    limit = found.alpha
    error = 100 * math.sqrt(limit * (1 - limit) / found.studies)
    notes = [
        f"However often one looks, at most {_percent(limit)} of studies call a model better that is not, and at most "
        f"{_percent(found.beta)} call two equal that are {_points(found.margin)} apart or more. A share of "
        f"{_percent(limit)} in {found.studies:,} simulated studies has a standard error of {error:.2g} points."
    ]
    most = found.alpha + found.beta
    allowed = most + _BEYOND_CHANCE * math.sqrt(most * (1 - most) / found.studies)
    wrong = [f"{truth.name}: {_percent(truth.false_claims)}" for truth in found.truths if truth.false_claims > allowed]
    return [*notes, *([f"Beware: more claims are false than should be ({', '.join(wrong)})."] if wrong else [])]


def _cap_notes(found: UntilDecided) -> list[str]:
    if not found.is_cap_chosen:
        ends = any(truth.at_cap >= _SOME for truth in found.truths)
        left = (
            " Many studies end there (see the table), and leave pairs open; what they decided stands." if ends else ""
        )
        return [
            f"The cap is {found.max_dialogues:,} {found.unit}s (--max-dialogues), as you say: have that much in hand.{left}"
        ]
    ended = _percent(1 - found.truths[0].at_cap)
    return [
        f"The cap is {found.max_dialogues:,} {found.unit}s, before which {ended} of studies of equal models end: have that "
        "much in hand, or give --max-dialogues. A study that ends there leaves pairs open; what it decided stands."
    ]


def _fixed_notes(question: PlanInputs, found: UntilDecided, plan: Plan) -> list[str]:
    """Against what to hold it, and where it does not pay."""
    asked = plan.n_dialogues if question.habits.held else plan.n_judgements_collected
    each = "" if found.models == 2 else f" in any one of {found.models * (found.models - 1) // 2} pairs"
    notes = [
        f"The fixed plan beside it finds {_points(question.gap or 0.0)}{each} with power {_percent(found.fixed_power)}, so "
        f"that it, too, errs in {_percent(found.beta)} of studies; with power {_percent(question.power)} it is the "
        f"{asked:,} {found.unit}s above{_of_ranking(question, found)}.",
        "It is for workers as they are planned here, with what checks drop. `watch` and the report of a study count against "
        "a fixed plan for answers as unlike each other as those that came in, without such losses: that may be another "
        "number.",
    ]
    dear = [truth for truth in found.truths if truth.expected.n > asked]
    if dear:
        notes.append(
            f"Those {asked:,} are fewer than it takes on average where models are {_listed(dear)}: end when decided if "
            "“equal” is an answer that is worth as much, or if larger gaps are likely."
        )
    if found.fixed_pooled is not None:
        fewer = [truth for truth in found.truths if truth.expected.n > found.fixed_pooled.n]
        notes.append(
            "The pooled plan is for one Bradley–Terry analysis of all dialogues, in which a pair learns from those with "
            f"other models, too{f'; it is the smaller one where models are {_listed(fewer)}' if fewer else ''}."
        )
    return notes


def _of_ranking(question: PlanInputs, found: UntilDecided) -> str:
    """Where the plan above is of all models together, as the report of such turns is, that it is."""
    return ", by one ranking of all models" if found.models > 2 and question.habits.of_turns else ""


def _worker_notes(question: PlanInputs, found: UntilDecided) -> list[str]:
    units = f"{found.unit}s" if found.dialogues_per_worker > 1 else found.unit
    turns = f" of {found.turns} turns" if found.turns > 1 else ""
    unequal = ", some more than others" if found.heavy_tail else ""
    lost = f", and so do the {_percent(question.exclusion)} that checks drop" if question.exclusion else ""
    notes = [
        f"Simulated workers give {found.dialogues_per_worker:.3g} {units}{turns} each{unequal}, with an ICC of "
        f"{found.icc:.3g}, {found.in_flight} at a time; what is in flight when the answer is there counts{lost}."
    ]
    if not question.habits.held:
        notes.append(
            "Dialogues are taken as equally good, and as held while the study runs: if all are held before it begins, only "
            f"{found.unit}s are saved."
        )
    return notes


def _scale_notes(question: PlanInputs, found: UntilDecided) -> list[str]:
    notes = []
    asked, ties = question.gap or 0.0, f"Ties ({_percent(found.ties)}, by chance)"
    gap = asked * (1 - found.ties) if question.habits.without_ties else asked
    if found.ties and question.habits.without_ties:
        notes.append(
            f"{ties} count half for each model in the margin, and not at all in the gap: {_points(asked)} of the gap are "
            f"{_points(gap)} of the margin."
        )
    elif found.ties:
        notes.append(f"{ties} count half for each model.")
    if gap < found.margin - 1e-9:
        notes.append("The gap is smaller than the margin: to call such models equal is no false claim.")
    return notes


def _model_notes(found: UntilDecided) -> list[str]:
    if found.models == 2:
        return []
    return [
        "Pairs are closed through others: A > B and B > C decide A > C. That takes for granted that who is better than "
        "another does at least as well against any third (strong stochastic transitivity), as simulated models do."
    ]


def until_decided_rows(found: UntilDecided) -> list[tuple[str, ...]]:
    """A column for each truth, and for each fixed plan."""
    fixed = [found.fixed, *([found.fixed_pooled] if found.fixed_pooled else [])]
    heads = ["fixed plan", *(["pooled"] if found.fixed_pooled else [])]
    none = [""] * len(fixed)
    rows: list[tuple[str, ...]] = [
        (
            "the two models are apart by" if found.models == 2 else "each model is above the next by",
            *(truth.name if truth.gap else "0 (equal)" for truth in found.truths),
            *heads,
        )
    ]
    amounts: Sequence[tuple[str, Callable[[Needed], str]]] = (
        (f"{found.unit}s", lambda needed: f"{needed.n:,}"),
        ("hours", lambda needed: f"{needed.hours:,.1f}"),
        ("cost", lambda needed: f"${needed.cost:,.0f}"),
    )
    for name, said in amounts:
        rows.append((f"{name}, on average", *(said(truth.expected) for truth in found.truths), *map(said, fixed)))
        rows.append(("  in 90 % of studies up to", *(said(truth.percentile_90) for truth in found.truths), *none))
    shares: Sequence[tuple[str, Callable[[Truth], str]]] = (
        ("of the fixed plan", lambda truth: f"{truth.of_fixed:.2f}"),
        *([("of the pooled one", lambda truth: f"{truth.of_pooled:.2f}")] if found.fixed_pooled else []),
        ("ended at the cap", lambda truth: _percent(truth.at_cap)),
        ("false claims", lambda truth: _percent(truth.false_claims)),
    )
    rows += [(name, *(said(truth) for truth in found.truths), *none) for name, said in shares]
    return rows


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.1f}".removesuffix(".0") + " %"


def _listed(truths: Sequence[Truth]) -> str:
    """“equal, 5 points or 10 points apart”."""
    names = [truth.name for truth in truths]
    together = " or ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    return f"{together} apart" if truths[-1].gap else together
