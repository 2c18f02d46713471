"""How many human dialogues a judge saves: people answer a part, the judge all (prediction-powered answers)."""

from __future__ import annotations

import math
from typing import Any

from parlai_humaneval.planning.cost import Collection, collection
from parlai_humaneval.planning.designs import MIN_WORKERS
from parlai_humaneval.planning.inputs import PlanInputs, chance_agreement
from parlai_humaneval.planning.layout import Layout

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
