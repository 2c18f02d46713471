"""The tests of a study: their designs, their number, and their levels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from parlai_humaneval.planning import designs
from parlai_humaneval.planning import inputs as asking
from parlai_humaneval.planning.power import Clustering
from parlai_humaneval.techniques.registry import with_trait


@dataclass(frozen=True)
class Layout:
    """``sets``: how often the observations of the design's sample must be collected, for all tests together;
    ``likeness``: of the observations of a sample."""

    design: designs.Design
    tests: int
    alpha: float
    sets: int
    likeness: Clustering


def layout(inputs: asking.PlanInputs, *, ranking: bool = True) -> Layout:
    """The layout of a completed question. ``ranking``: turns that show two of several models tell of all, as in reports;
    otherwise each pair is planned by itself. Raises PlanError."""
    try:
        design, tests, alpha, sets, per_worker = _tests(inputs, ranking)
    except asking.PlanError:
        raise
    except ValueError as error:
        raise asking.PlanError(error, where=inputs.title) from error
    # For reused dialogues, do not count judgements that checks drop.
    kept = (inputs.reuse or 1) * (1 - (inputs.exclusion or 0.0))
    likeness = Clustering(
        per_worker=float(per_worker),
        icc=inputs.icc or 0.0,
        inequality=inputs.worker_inequality,
        per_dialogue=1.0 if inputs.habits.held else max(1.0, kept),
        dialogue_icc=inputs.dialogue_icc or 0.0,
        sides=inputs.habits.dialogue_sides,
    )
    return Layout(design, tests, alpha, sets, likeness)


def _tests(inputs: asking.PlanInputs, ranking: bool) -> tuple[designs.Design, int, float, int, float]:
    """Design, tests, level of each, sets, and observations that a worker gives to a sample."""
    habits, models, held = inputs.habits, inputs.models or 2, inputs.dialogues_per_worker or 1.0
    pairs, turns = models * (models - 1) // 2, (inputs.turns or 1) * held
    liu = inputs.method == "liu2023"
    each = inputs.alpha if liu else inputs.alpha / max(1, pairs)  # Liu et al. do not correct their six pair tests
    if habits.measures == "share":
        if liu or models == 1:
            return _one_proportion(inputs), models, inputs.alpha, models, turns
        baseline, gap = inputs.baseline, inputs.gap or 0.0
        better, worse = baseline + gap / 2, baseline - gap / 2
        if not 0 < worse < better < 1:
            raise asking.PlanError(
                f"two models {gap:g} apart around the baseline {baseline:g} would be at {worse:.3g} and {better:.3g}, "
                "beyond 0 to 1",
                try_=_SMALLER,
            )
        return designs.TwoProportions(better, worse), pairs, each, models, turns
    if habits.measures == "score":
        per_model = max(1.0, held / (models + inputs.degraded))
        return designs.TwoScores(inputs.gap or 0.0, models, per_model), pairs, each, models, per_model
    if habits.at_once:
        if models == 2 or inputs.tests == "overall":
            return _by_report(inputs, all_at_once(inputs, models)), 1, inputs.alpha, 1, turns
        return _by_report(inputs, _pair(inputs.gap or 0.0, inputs.discordance or 1.0)), pairs, each, 1, turns
    per_worker = turns if habits.of_turns else held if habits.held else max(1.0, held / pairs)
    ranked = models if ranking and habits.of_turns and inputs.clustered and not liu else 2
    return _by_report(inputs, all_at_once(inputs, 2), ranked), pairs, each, pairs, per_worker


def all_at_once(inputs: asking.PlanInputs, models: int) -> designs.ChoiceDesign:
    """How often each model is chosen: the first and the last differ by the gap, the others are in the middle."""
    gap, discordance = inputs.gap or 0.0, inputs.discordance or 1.0
    if inputs.shares is not None:
        return designs.ChoiceDesign(
            asking.normalised(inputs.shares, inputs.entry.picks_one(inputs.setting or "")), discordance
        )
    if models > 2:
        centre = discordance / 2 if abs(discordance - 2 / models) < 1e-9 else 0.5
        return designs.ChoiceDesign((centre + gap / 2, *[centre] * (models - 2), centre - gap / 2), discordance)
    if inputs.habits.without_ties:
        return _pair(gap * discordance, discordance)
    if inputs.method == "liu2023" and discordance == 1.0:
        if gap >= 0.5:
            raise asking.PlanError(f"gap {gap:g}: Liu et al. define it as the distance from .5, so it must be below .5")
        return _pair(2 * gap, 1.0)
    return _pair(gap, discordance)


def _by_report(inputs: asking.PlanInputs, design: designs.ChoiceDesign, ranked: int = 2) -> designs.ChoiceDesign:
    """The design, told by what the report of the technique goes by."""
    any_number = inputs.habits.of_turns and not inputs.entry.picks_one(inputs.setting or "")
    by_segment = inputs.habits.judgements_per_dialogue is not None
    by_strength = inputs.technique in with_trait("points") or ranked > 2
    return replace(design, binomial=not (any_number or by_segment), by_strength=by_strength, ranked=ranked)


def _pair(gap: float, discordance: float) -> designs.ChoiceDesign:
    return designs.ChoiceDesign(((1 + gap) / 2, (1 - gap) / 2), discordance)


_SMALLER = "set a smaller --gap or another --baseline"


def _one_proportion(inputs: asking.PlanInputs) -> designs.OneProportion:
    """Better or worse than the baseline: whichever needs more turns, of those that are possible."""
    baseline, gap = inputs.baseline, inputs.gap or 0.0
    possible = [designs.OneProportion(baseline, share) for share in (baseline + gap, baseline - gap) if 0 < share < 1]
    if not possible:
        raise asking.PlanError(
            f"a model {gap:g} better or worse than the baseline {baseline:g} would be beyond 0 to 1", try_=_SMALLER
        )
    return max(possible, key=lambda design: design.size(inputs.alpha, inputs.power))


@dataclass(frozen=True)
class Collection:
    """The data of a study: ``turns`` and ``judgements_kept`` remain after checks, everything else must be collected."""

    turns: int
    dialogues: int
    judgements: int
    workers: int
    hours: float
    cost: float

    @property
    def effort(self) -> dict[str, Any]:
        """Workers, hours and dollars, rounded."""
        return {"n_workers": self.workers, "hours": round(self.hours, 2), "cost": round(self.cost, 2)}

    @property
    def numbers(self) -> dict[str, Any]:
        """All numbers, as plans name them."""
        amounts = {"n_turns": self.turns, "n_dialogues": self.dialogues, "n_workers": self.workers}
        return {**amounts, "n_judgements_collected": self.judgements, **self.effort}


def collection(question: asking.PlanInputs, n: int, sets: int) -> Collection:
    """The data to collect for ``n`` kept judgements in each of ``sets`` samples; inputs must be filled."""
    turns = question.turns or 1
    if not question.habits.held:
        return _judged(question, sets * with_losses(question, n), sets)
    if question.habits.of_turns:
        dialogues = sets * with_losses(question, n / turns)
        return _held(question, dialogues, turns=n * sets, judgements=dialogues * turns)
    each = with_losses(question, n)
    dialogues = (sets + question.degraded_model) * each
    return _held(question, dialogues, turns=n * sets * turns, judgements=sets * each)


def collection_of(question: asking.PlanInputs, collected: int, sets: int) -> Collection:
    """The effort of collecting so many dialogues (of finished ones: judgements), for ``sets`` samples together."""
    if not question.habits.held:
        return _judged(question, collected, sets)
    turns = question.turns or 1
    kept = collected * (1 - (question.exclusion or 0.0))
    judgements = collected * turns if question.habits.of_turns else collected
    return _held(question, collected, turns=round(kept * turns), judgements=judgements)


def _held(question: asking.PlanInputs, dialogues: int, *, turns: int, judgements: int) -> Collection:
    workers = math.ceil(dialogues / (question.dialogues_per_worker or 1))
    return Collection(
        turns=turns,
        dialogues=dialogues,
        judgements=judgements,
        workers=workers,
        hours=(dialogues * (question.minutes or 0.0) + workers * question.onboarding) / 60,
        cost=dialogues * (question.pay or 0.0) * (1 + question.fee),
    )


def _judged(question: asking.PlanInputs, judgements: int, sets: int) -> Collection:
    """Dialogues of models alone take nobody's time; of people with models, each is held once. Each is judged ``reuse``
    times, and the platform's fee is on what people are paid."""
    raters = math.ceil(judgements / (question.dialogues_per_worker or 1))
    each, reuse = math.ceil(judgements / sets), question.reuse or asking.REUSE
    dialogues = sets * math.ceil(each / reuse)
    if question.habits.dialogue_sides == 2:
        # N dialogues of each model make N² different pairs (Smith et al. 2022, App. C.7).
        dialogues = (question.models or 2) * max(math.ceil(math.sqrt(each)), math.ceil(each / reuse))
    # Checks drop dialogues too: those that people hold badly are replaced.
    held = with_losses(question, dialogues) if question.setting == "human_bot" and question.are_held else 0
    minutes = judgements * (question.minutes or 0.0) + held * asking.ONE_DIALOGUE_MINUTES
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


def with_losses(question: asking.PlanInputs, kept: float) -> int:
    """The number to collect so that ``kept`` remain after checks."""
    return math.ceil(math.ceil(kept - 1e-9) / (1 - (question.exclusion or 0.0)) - 1e-9)


JUDGED = 10  # Times as many dialogues are judged as people would judge without a judge; an assumption


def judge_saving(question: asking.PlanInputs, found: Layout, n: int, collected: Collection) -> dict[str, Any] | None:
    """The judgements that people must still give for the same power if a judge answers all; None without a judge. Of n
    answers a sample the variance is D/n, D being the design effect, and the judge takes r² of the single answer off it,
    r being the correlation of its answers with a person's: (D − r²)/n' + r²/N for n' of people and N of the judge. What
    workers have in common a judge does not explain. ``n``: of a sample without the judge."""
    if question.judge_agreement is None:
        return None
    effect, chance = found.likeness.at(n).effect, asking.chance_agreement(question)
    # Agreement of one answer by the judge and one by a person: chance-corrected, or for scores rank agreement.
    above = question.judge_agreement - chance
    correlation = math.sin(math.pi * above) if question.habits.measures == "score" else above / (1 - chance)
    explained = correlation**2
    share = (effect - explained) / (effect - explained / JUDGED)
    fewest = math.ceil(designs.MIN_WORKERS * found.likeness.per_worker * found.likeness.workers_an_effective_one)
    needed = min(n, max(math.ceil(n * share), fewest))
    left = collection(question, needed, found.sets)
    saved = {"saved_dialogues": collected.dialogues - left.dialogues, "saved_judgements": (n - needed) * found.sets}
    facts = {"q": question, "h": question.habits, "correlation": correlation, "chance": chance}
    return {
        "agreement": question.judge_agreement,
        "agreement_by_chance": chance,
        "correlation": correlation,
        "judged_dialogues": JUDGED * collected.dialogues,
        "n_judgements": needed * found.sets,
        "n_dialogues": left.dialogues,
        **left.effort,
        **saved,
        "gain": n / needed,
        "headline": asking.sentence(
            "judge_headline",
            **facts,
            **saved,
            all_judgements=n * found.sets,
            collected=collected,
            judged=JUDGED,
            worth=round(100 * n / needed),
        ),
        "notes": list(
            asking.paragraphs(
                "judge_notes",
                **facts,
                most_saved=1 - (effect - explained) / effect,
                at_least=needed == fewest,
                min_workers=designs.MIN_WORKERS,
            )
        ),
    }
