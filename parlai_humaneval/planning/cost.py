"""From judgements to dialogues, workers, hours and money; what a judge of dialogues saves of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from parlai_humaneval.planning.designs import MIN_WORKERS
from parlai_humaneval.planning.inputs import ONE_DIALOGUE_MINUTES, REUSE, PlanInputs, chance_agreement
from parlai_humaneval.planning.layout import Layout


@dataclass(frozen=True)
class Collection:
    """All of a study: ``turns`` and ``judgements_kept`` remain after checks, everything else is to be collected."""

    turns: int
    dialogues: int
    judgements: int
    workers: int
    hours: float
    cost: float


def collection(question: PlanInputs, n: int, sets: int) -> Collection:
    """What must be collected for ``n`` kept judgements in each of ``sets`` samples; the question is filled up."""
    if question.habits.of_turns:
        turns = question.turns or 1
        dialogues = sets * with_losses(question, n / turns)
        return _held(question, dialogues, turns=n * sets, judgements=dialogues * turns)
    if question.habits.held:
        return _of_held_dialogues(question, n, sets)
    return _judged(question, sets * with_losses(question, n), sets)


def collection_of(question: PlanInputs, collected: int, sets: int) -> Collection:
    """What it takes to collect so many dialogues (of finished ones: judgements), for ``sets`` samples together."""
    if not question.habits.held:
        return _judged(question, collected, sets)
    turns = question.turns or 1
    kept = collected * (1 - (question.exclusion or 0.0))
    judgements = collected * turns if question.habits.of_turns else collected
    return _held(question, collected, turns=round(kept * turns), judgements=judgements)


def _of_held_dialogues(question: PlanInputs, n: int, sets: int) -> Collection:
    dialogues = (sets + question.habits.degraded_model) * with_losses(question, n)
    return _held(
        question, dialogues, turns=n * sets * (question.turns or 1), judgements=sets * with_losses(question, n)
    )


def _held(question: PlanInputs, dialogues: int, *, turns: int, judgements: int) -> Collection:
    workers = math.ceil(dialogues / (question.dialogues_per_worker or 1))
    return Collection(
        turns=turns,
        dialogues=dialogues,
        judgements=judgements,
        workers=workers,
        hours=(dialogues * (question.minutes or 0.0) + workers * question.onboarding) / 60,
        cost=dialogues * (question.pay or 0.0) * (1 + question.fee),
    )


def _judged(question: PlanInputs, judgements: int, sets: int) -> Collection:
    """Dialogues of models alone take nobody's time; of people with models, each is held once. Each is judged ``reuse``
    times, and the platform's fee is on what people are paid."""
    raters = math.ceil(judgements / (question.dialogues_per_worker or 1))
    dialogues = _needed_dialogues(question, math.ceil(judgements / sets), sets)
    # Checks drop dialogues too: those that people hold badly are replaced.
    held = with_losses(question, dialogues) if question.setting == "human_bot" else 0
    minutes = judgements * (question.minutes or 0.0) + held * ONE_DIALOGUE_MINUTES
    paid = judgements * (question.pay or 0.0) + held * (question.dialogue_pay or 0.0)
    generated = 0.0 if held else dialogues * (question.dialogue_pay or 0.0)
    return Collection(
        turns=dialogues * (question.turns or 1),
        dialogues=held or dialogues,
        judgements=judgements,
        workers=raters + held,
        hours=(minutes + (raters + held) * question.onboarding) / 60,
        cost=paid * (1 + question.fee) + generated,
    )


def _needed_dialogues(question: PlanInputs, each: int, sets: int) -> int:
    reuse = question.reuse or REUSE
    if question.habits.dialogue_sides == 1:
        return sets * math.ceil(each / reuse)
    # N dialogues of each model make N² different pairs (Smith et al. 2022, App. C.7).
    of_model = max(math.ceil(math.sqrt(each)), math.ceil(each / reuse))
    return (question.models or 2) * of_model


def with_losses(question: PlanInputs, kept: float) -> int:
    """How many to collect, so that ``kept`` remain after checks."""
    return math.ceil(math.ceil(kept - 1e-9) / (1 - (question.exclusion or 0.0)) - 1e-9)


JUDGED = 10
"""Times as many dialogues are judged as people would judge without a judge; an assumption."""
SOURCE = (
    "what a judge saves: Angelopoulos, Duchi & Zrnic 2023, PPI++, λ of least variance; answers alike as the ICC says"
)


def judge_saving(question: PlanInputs, found: Layout, n: int, collected: Collection) -> dict[str, Any] | None:
    """What people must still judge where a judge answers all, for the same power; None where no judge is planned for.

    Of n answers a sample the variance is D/n, D being the design effect, and the judge takes r² of the single answer off
    it, r being the correlation of its answers with a person's: (D − r²)/n' + r²/N for n' of people and N of the judge.
    What workers have in common a judge does not explain. ``n``: of a sample without the judge.
    """
    if question.judge_agreement is None:
        return None
    effect = found.likeness.at(n).effect
    correlation = judge_correlation(question)
    explained = correlation**2
    share = (effect - explained) / (effect - explained / JUDGED)
    fewest = math.ceil(MIN_WORKERS * found.per_worker * found.likeness.workers_an_effective_one)
    needed = min(n, max(math.ceil(n * share), fewest))
    left = collection(question, needed, found.sets)
    saved = collected.dialogues - left.dialogues
    return {
        "agreement": question.judge_agreement,
        "agreement_by_chance": chance_agreement(question),
        "correlation": correlation,
        "judged_dialogues": JUDGED * collected.dialogues,
        "n_judgements": needed * found.sets,
        "n_dialogues": left.dialogues,
        "n_workers": left.workers,
        "hours": round(left.hours, 2),
        "cost": round(left.cost, 2),
        "saved_dialogues": saved,
        "saved_judgements": (n - needed) * found.sets,
        "gain": n / needed,
        "headline": _headline(question, n, needed, found.sets, saved, collected),
        "notes": _notes(question, correlation, effect, needed == fewest),
    }


def judge_correlation(question: PlanInputs) -> float:
    """Of a judge's single answer with a person's: chance-corrected agreement, or for scores that of their order."""
    agreement, chance = question.judge_agreement or 0.0, chance_agreement(question)
    if question.habits.measures == "score":
        return math.sin(math.pi * (agreement - chance))
    return (agreement - chance) / (1 - chance)


def _headline(question: PlanInputs, n: int, needed: int, sets: int, saved: int, collected: Collection) -> str:
    noun = question.habits.judgement
    worth = round(100 * n / needed)
    judgements = f"{(n - needed) * sets:,} of {n * sets:,} human {noun}s"
    dialogues = f", {saved:,} of {collected.dialogues:,} dialogues," if question.habits.held else ""
    return (
        f"A judge that agrees with a person in {100 * (question.judge_agreement or 0):.3g} % of answers saves {judgements}"
        f"{dialogues} where it answers {JUDGED} times as many: 100 human ones are worth {worth}."
    )


def _notes(question: PlanInputs, correlation: float, effect: float, at_least: bool) -> list[str]:
    chance = chance_agreement(question)
    if question.habits.measures == "score":
        rests = (
            "agreement is how often judge and person put two dialogues in the same order (chance: 50 %), and scores are "
            f"normal, so that they correlate with {correlation:.2f}"
        )
    else:
        of = "answers" if question.habits.measures == "share" else "answers that are no tie"
        rests = (
            f"agreement is counted over single {of}, of which chance alone makes {100 * chance:.3g} % equal, and what "
            f"lies above chance, κ = {correlation:.2f}, is taken for the correlation of judge and person"
        )
    least = (effect - correlation**2) / effect
    notes = [
        f"What a judge saves rests on this: {rests}. With ever more dialogues judged, at most {100 * (1 - least):.0f} % of "
        "human answers are saved: what raters differ in, no judge explains.",
        "People must judge a part that is drawn by chance, and the judge that part too; dialogues that only the judge "
        "answers must be there, and are not in the hours and dollars. The result says what its answers were worth "
        "(prediction_powered).",
    ]
    if at_least:
        notes.append(f"People are not fewer than {MIN_WORKERS} effective workers, however good the judge is.")
    return notes
