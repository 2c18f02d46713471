"""From judgements to dialogues, workers, hours and money."""

from __future__ import annotations

import math
from dataclasses import dataclass

from parlai_humaneval.planning.inputs import ONE_DIALOGUE_MINUTES, REUSE, PlanInputs


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
    """The degraded model of a direct assessment is talked with as often as each other."""
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
