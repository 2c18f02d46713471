"""The size of a study that stops once it reaches a decision, next to that of a fixed plan, by simulation.

How long such a study is depends on what is true, so that there is no one size of it: made-up studies, of models that are
equal and of models that differ more and more, run through the code that decides live ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel
from scipy.special import logit

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.planning.inputs import (
    STUDIES,
    PlanError,
    PlanInputs,
    ask,
    paragraphs,
    percent,
    plannable,
    sentence,
)
from parlai_humaneval.planning.layout import collection, collection_of, layout, with_losses
from parlai_humaneval.planning.plan import Plan, plan_study, size_of
from parlai_humaneval.statistics.core.sequential import SOURCE as BETTING
from parlai_humaneval.statistics.core.shares import wilson_interval
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.rule import IN_FLIGHT, MOST_RISK, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, Simulated, fixed_plan, win_rates
from parlai_humaneval.stopping.units import FULL, Scored, Scores

RATING_SD, RATER_SD = 0.15, 0.14
"""Standard deviations of ratings, as parts of their scale: of a rater's, and between raters (Ji et al. 2022, run 1: the mean
of seven sliders)."""
STEPS = (0.0, 0.5, 1.0, 2.0)  # How far each model is above the next in the truths that are simulated, in gaps
ENDED = 0.95  # Share of studies of equal models that end before the cap, where none is given
_HIGH = 4.0  # A cap so many times a fixed plan ends no study
_LEAST_HIGH = 50
SMALLEST_MARGIN = 0.01  # With less a study takes more than ten thousand dialogues, and its simulation minutes
_MOST_MODELS = 10  # with more, the simulation takes too long
_MOST_DIALOGUES = 12  # of a worker, if most give one
_NO_CAP = 10**9
_LITTLE, _SOME = 0.5, 0.1
"""Where so many studies end at the cap, that is what is to be said of such a study; that they do is said."""
_BEYOND_CHANCE = 2.0
"""Standard errors of the simulation by which false claims may be above their limit before it is said."""


class Needed(BaseModel, extra="forbid", frozen=True):
    """Data to collect, including losses to checks, and effort. ``n``: dialogues; of finished ones, judgements."""

    n: int
    n_workers: int
    hours: float
    cost: float


class Truth(BaseModel, extra="forbid", frozen=True):
    """The size of studies if each model is above the next by ``gap``. ``name``: the gap in words. ``expected``,
    ``percentile_90``: on average, and the most that nine of ten studies take; those in flight at the end count.
    ``error``: standard error of the average ``n``, as so few studies are simulated. ``at_cap``: share of studies that
    end at the cap, with pairs open. ``false_claims``: share that call one model better that is not, or two equal that
    are the margin apart. ``of_fixed``, ``of_pooled``: expected dialogues, in those of the fixed plans."""

    name: str
    gap: float
    expected: Needed
    error: float
    percentile_90: Needed
    at_cap: float
    false_claims: float
    of_fixed: float
    of_pooled: float | None


class UntilDecided(BaseModel, extra="forbid", frozen=True):
    """A study that stops once it reaches a decision about every pair, or at its cap. ``models``: how many there are.
    ``unit``: what ``n`` counts: dialogues, or comparisons of finished ones. ``margin``, ``alpha``, ``beta``, ``floor``,
    ``max_dialogues``: of the rule; the cap counts dialogues that checks will drop, too. ``is_cap_chosen``: with this
    cap nearly all studies of equal models end before; otherwise it was given. ``in_flight``, ``turns``, ``icc``,
    ``ties``, ``dialogues_per_worker``, ``heavy_tail``: of the simulated workers; ``rating_sd``, ``rater_sd``: of their
    ratings, None where models are chosen. ``at_once``: models that are compared at once. ``fixed``: the plan of a fixed
    study with the same errors, each pair by itself; ``fixed_power`` is its power. ``fixed_pooled``: the same of one
    Bradley–Terry analysis of all dialogues; None of two models. ``truths``: what such a study takes, by what is true.
    ``studies``, ``seed``: of the simulation of each truth. ``headline``, ``notes``, ``sources``: in words."""

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
    rating_sd: float | None = None
    rater_sd: float | None = None
    at_once: int = 2
    fixed_power: float
    fixed: Needed
    fixed_pooled: Needed | None
    truths: tuple[Truth, ...]
    studies: int
    seed: int
    headline: str = ""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def plan_until_decided(
    inputs: PlanInputs,
    *,
    margin: float | None = None,
    max_dialogues: int | None = None,
    studies: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> UntilDecided:
    """Plan a study that stops once it reaches a decision, under several assumed truths.

    Args:
        inputs: the question of a fixed plan; its workers, times and pay are those of the simulated studies.
        margin: win rates less than this apart count as equal; None: the gap.
        max_dialogues: the cap; None: with it 95 % of studies of equal models end before.
        studies: how many to simulate of each truth; None: fewer where each takes longer (:data:`STUDIES`).
        on_progress: gets the number of studies that have ended, and of all.

    Raises:
        PlanError: the technique has no answers that can be simulated, or margin or cap are impossible.

    >>> from parlai_humaneval.planning.inputs import ask
    >>> asked = ask(technique='pw_turn', gap=0.3, icc=0)
    >>> found = plan_until_decided(asked, max_dialogues=100, studies=100)
    >>> [truth.name for truth in found.truths]
    ['equal', '15 points', '30 points', '60 points']
    >>> all(truth.expected.n <= truth.percentile_90.n <= 100 for truth in found.truths)
    True
    """
    if inputs.habits.judgements_per_dialogue is not None:
        inputs = inputs.model_copy(update={"reuse": inputs.reuse or 1})  # raters of one dialogue are not independent
    question = _of_the_rule(inputs)
    rule, scores, dialogues = _rule(question, margin), _scores(question), question.dialogues_per_worker or 1.0
    # Workers as the fixed plan has them. Unequal ones: the logarithms of how many they give are normal.
    crowd = Crowd(
        turns=(question.turns or 1) if question.habits.of_turns else 1,
        icc=question.icc or 0.0,
        dialogues=dialogues,
        heavy_tail=math.sqrt(math.log1p(question.worker_inequality**2)),
        most=max(_MOST_DIALOGUES, math.ceil(4 * dialogues)),
        ties=1 - _decisive(question),
    )
    each, variance = 1.0, crowd.share_variance()  # dialogues for a comparison of two models
    if scores is not None:
        at_once, variance = max(2, scores.at_once), scores.share_variance()
        each = (at_once if scores.within else 1) / math.comb(at_once, 2)
    alone = each * fixed_plan(rule, variance=variance)
    truths = [step for step in STEPS if step * _share_gap(question) < _widest(question, scores)]
    studies = studies or STUDIES[min(len(rule.models), max(STUDIES))]
    cap = 0 if max_dialogues is None else max_dialogues
    if max_dialogues is not None and cap < (fewest := with_losses(question, rule.fewest)):
        lost = f", of which checks drop {100 * question.exclusion:.3g} %" if question.exclusion else ""
        facts = {"cap": cap, "models": len(rule.models), "floor": rule.floor, "lost": lost, "fewest": fewest}
        raise PlanError.of("stop_floor", **facts)
    # All truths side by side: as many steps as the longest study takes, and not the sum.
    most = max(rule.fewest, _LEAST_HIGH, math.ceil(_HIGH * alone))
    rule = rule.model_copy(update={"max_dialogues": _kept(question, cap) if cap else most})
    known = [_rates(question, step) if scores is None else _levels(question, scores, step) for step in truths]
    each_truth = known if scores is None else [scores.mean_share(levels) for levels in known]
    begun, ended = Studies(rule, len(known) * studies), 0
    begun.evidence.only_decide()
    each_known = np.repeat(known, studies, axis=0)
    crowded = (
        Crowded(begun, each_known, crowd, seed=question.seed)
        if scores is None
        else Scored(begun, each_known, scores, seed=question.seed)
    )

    def note_ended(more: int) -> None:
        nonlocal cap, ended
        ended += more
        if not cap and (cap := _chosen_cap(question, crowded.done.dialogues[:studies])):
            crowded.cap = _kept(question, cap)
        if on_progress:
            on_progress(ended, studies * len(truths))

    done = crowded.run(note_ended)
    if scores is None:
        # A fixed study with the errors of the rule, of each pair by itself. Of all models together a pair learns from the
        # others as K/2 times as much of its own would tell it.
        alike = inputs.model_copy(update={"power": 1 - rule.beta, "tests": "pairs"}).filled()
        planned = layout(alike, ranking=False)
        collected = collection(alike, size_of(alike, planned), planned.sets)
        fixed = Needed(n=collected.dialogues if alike.habits.held else collected.judgements, **collected.effort)
    else:  # of the same differences, as the rule compares them
        fixed = _needed(question, with_losses(question, alone))
    models = len(rule.models)
    pooled = None if models == 2 or scores else _needed(question, math.ceil(fixed.n / (models / 2)))
    simulated = [
        _truth(question, rule, step, rates, (cap, fixed, pooled), done.among(slice(at * studies, (at + 1) * studies)))
        for at, (step, rates) in enumerate(zip(truths, each_truth, strict=True))
    ]
    found = UntilDecided(
        unit="dialogue" if question.habits.held else question.habits.judgement,
        models=models,
        **{name: getattr(rule, name) for name in ("margin", "alpha", "beta", "floor")},
        max_dialogues=cap,
        is_cap_chosen=max_dialogues is None,
        in_flight=IN_FLIGHT,
        **{name: getattr(crowd, name) for name in ("turns", "icc", "ties")},
        dialogues_per_worker=crowd.dialogues,
        heavy_tail=0.0 if scores else crowd.heavy_tail,
        **({"rating_sd": scores.within, "rater_sd": scores.between} if scores and scores.within else {}),
        at_once=scores.at_once if scores else 2,
        fixed_power=1 - rule.beta,
        fixed=fixed,
        fixed_pooled=pooled,
        truths=tuple(simulated),
        studies=studies,
        seed=question.seed,
    )
    return found.model_copy(update=_said(question, found, plan_study(inputs)))


def _of_the_rule(inputs: PlanInputs) -> PlanInputs:
    """The question, filled up. Nobody rates a bad model on purpose, which the rule refuses, nor a model twice."""
    question = inputs.model_copy(update={"degraded": False}).filled()
    if question.habits.measures == "choice":
        return question
    most = max(1.0, min(float(question.models or 2), float(round(question.dialogues_per_worker or 1.0))))
    return question.model_copy(update={"dialogues_per_worker": most})


def _scores(question: PlanInputs) -> Scores | None:
    """How models are scored if each is rated alone, or if a chat holds more than two of them; otherwise None."""
    models, habits = question.models or 2, question.habits
    if habits.measures != "choice":
        within = RATING_SD if question.rating_sd is None else question.rating_sd
        between = RATER_SD if question.rater_sd is None else question.rater_sd
        return Scores(round(question.dialogues_per_worker or 1.0), within, between)
    if not habits.at_once or models == 2:
        return None
    any_number = not question.entry.picks_one(question.setting or "")
    return Scores(models, turns=question.turns or 1, icc=question.icc or 0.0, any_number=any_number)


def _widest(question: PlanInputs, scores: Scores | None) -> float:
    """Below this gap from one model to the next, of win rates, there are such models."""
    if scores is None or scores.within:
        return _decisive(question)
    models = question.models or 2
    return min(1.0, 2 / models / (models - 1) if not scores.any_number else 1 / (models - 1))


def _levels(question: PlanInputs, scores: Scores, step: float) -> Floats:
    """Mean scores of models, each of which wins ``step`` gaps more against the next than it loses."""
    models, gap = question.models or 2, step * _share_gap(question)
    places = (models - 1) / 2 - np.arange(models)
    if not scores.within:
        return np.asarray((0.5 if scores.any_number else 1 / models) + gap * places)
    low, high = 0.0, 6 * FULL
    for _ in range(40):
        middle = (low + high) / 2
        is_near = 2 * scores.mean_share(np.array([middle, 0.0]))[0, 1] - 1 < gap
        low, high = (middle, high) if is_near else (low, middle)
    return np.asarray(0.5 + high * places)


def is_usual(technique: str, models: int) -> bool:
    """Whether planned studies stop once they reach a decision by default, as they do if raters choose one of two."""
    habits = plannable()[technique]
    return habits.measures == "choice" and not (habits.at_once and models > 2)


def can_plan_until_decided(technique: str, models: int, gap: float) -> bool:
    """Whether a study of so many models, whose margin is the gap, can be simulated."""
    try:
        _rule(ask(technique=technique, models=models, gap=gap).filled(), None)
    except PlanError:
        return False
    return True


def _problems(question: PlanInputs, margin: float | None) -> Iterator[tuple[str, object]]:
    """Why such a study may be impossible to simulate, and whether it is, the first first."""
    habits, models = question.habits, question.models or 2
    yield "liu_stop", question.method == "liu2023"
    yield "stop_alone", habits.measures != "choice" and models < 2
    yield "stop_many", models > _MOST_MODELS
    yield "stop_reuse", not habits.held and question.dialogue_icc and (question.reuse or 1) > 1
    decisive = _decisive(question)
    widest = decisive if models < 2 else _widest(question, _scores(question))
    yield "stop_apart", widest < decisive and _share_gap(question) >= widest
    yield "stop_all", _share_gap(question) >= decisive
    yield "stop_icc", (question.icc or 0.0) >= decisive
    yield "stop_alpha", question.alpha > MOST_RISK
    if margin is not None:
        yield "stop_margin_none", margin <= 0
        yield "stop_margin_small", margin < SMALLEST_MARGIN
        yield "stop_margin_wide", not margin < 1  # also refuses nan


def _decisive(question: PlanInputs) -> float:
    return question.discordance or 1.0


def _share_gap(question: PlanInputs) -> float:
    """The gap where ties count half for each model, as they do in the rule."""
    gap = question.gap or 0.0
    return gap * _decisive(question) if question.habits.without_ties else gap


def _rule(question: PlanInputs, margin: float | None) -> StoppingRule:
    for name, is_wrong in _problems(question, margin):
        if is_wrong:
            decisive, widest = (
                _decisive(question),
                _widest(question, _scores(question)) if name == "stop_apart" else 0.0,
            )
            facts = {"ties": 1 - decisive, "decisive": decisive, "widest": widest, "margin": margin}
            raise PlanError.of(name, q=question, most=_MOST_MODELS, smallest=SMALLEST_MARGIN, **facts)
    margin = _share_gap(question) if margin is None else margin
    if margin < SMALLEST_MARGIN:
        raise PlanError.of("stop_gap_small", q=question, smallest=SMALLEST_MARGIN)
    return StoppingRule(
        models=tuple(f"model {number + 1}" for number in range(question.models or 2)),
        margin=margin,
        alpha=question.alpha,
        max_dialogues=_NO_CAP,
        shown="panel" if (scores := _scores(question)) and scores.at_once > 2 else "pairs",
        rated="apart" if scores and scores.within else "together",
    )


def _rates(question: PlanInputs, step: float) -> Floats:
    """Models × models: win rates, ties counting half, where each model is ``step`` gaps above the next."""
    decisive = _decisive(question)
    won = 0.5 + step * _share_gap(question) / decisive / 2
    return 0.5 + decisive * (win_rates(-logit(won) * np.arange(question.models or 2)) - 0.5)


def _chosen_cap(question: PlanInputs, dialogues: Ints) -> int:
    """A round number before which nearly all studies of equal models end; 0 as long as too few have. ``dialogues``: of
    each, 0 of those that still go on."""
    ended = np.count_nonzero(dialogues)
    if ended < ENDED * (len(dialogues) - 1) + 1:
        return 0
    number = with_losses(question, int(dialogues.max()))
    step = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / step) * step


def _kept(question: PlanInputs, dialogues: int) -> int:
    return math.floor(dialogues * (1 - (question.exclusion or 0.0)) + 1e-9)


def _needed(question: PlanInputs, n: int) -> Needed:
    models = question.models or 2
    return Needed(n=n, **collection_of(question, n, models * (models - 1) // 2).effort)


def _truth(
    question: PlanInputs,
    rule: StoppingRule,
    step: float,
    rates: Floats,
    beside: tuple[int, Needed, Needed | None],
    done: Simulated,
) -> Truth:
    """``rates``: models × models; ``beside``: the cap, and the fixed plans."""
    cap, fixed, pooled = beside
    # At the cap all of it is collected, also where losses leave no whole number of it.
    kept = np.where(done.decided, done.dialogues, cap * (1 - (question.exclusion or 0.0)))
    mean, high = (
        min(cap, with_losses(question, float(amount)))
        for amount in (kept.mean(), np.quantile(kept, 0.9, method="higher"))
    )
    expected = _needed(question, mean)
    gap = step * (question.gap or 0.0)
    return Truth(
        name=f"{100 * gap:.3g} points" if gap else "equal",
        gap=gap,
        expected=expected,
        error=float(kept.std(ddof=1) / math.sqrt(len(kept)) * mean / max(1.0, float(kept.mean()))),
        percentile_90=_needed(question, high),
        at_cap=float((~done.decided).mean()),
        false_claims=float(done.false_claims(rates, rule.margin).mean()),
        of_fixed=expected.n / fixed.n,
        of_pooled=None if pooled is None else expected.n / pooled.n,
    )


def _said(question: PlanInputs, until: UntilDecided, plan: Plan) -> dict[str, Any]:
    """Headline, notes and sources; ``plan``: of the fixed study that was asked for."""
    truths, several = until.truths, until.models > 2
    at_gap = next(truth for truth in truths if truth.gap == question.gap)
    limit, most = until.alpha, until.alpha + until.beta
    allowed = most + _BEYOND_CHANCE * math.sqrt(most * (1 - most) / until.studies)
    wrong = [f"{truth.name}: {percent(truth.false_claims)}" for truth in truths if truth.false_claims > allowed]
    asked = plan.n_dialogues if question.habits.held else plan.n_judgements_collected
    facts = {"q": question, "h": question.habits, "until": until, "equal": truths[0]}
    pooled = until.fixed_pooled
    return {
        "headline": sentence(
            "until_headline",
            **facts,
            at_gap=at_gap,
            apart=f"each model is {at_gap.name} ahead of the next"
            if several
            else f"the models are {at_gap.name} apart",
            alike="all equal" if several else "equal",
            little=_LITTLE,
        ),
        "notes": paragraphs(
            "until_notes",
            **facts,
            error=100 * math.sqrt(limit * (1 - limit) / until.studies),
            wrong=", ".join(wrong),
            some_capped=any(truth.at_cap >= _SOME for truth in truths),
            several=several,
            pairs=until.models * (until.models - 1) // 2,
            asked=asked,
            dear=_listed([truth for truth in truths if truth.expected.n > asked]),
            pooled_fewer=_listed([truth for truth in truths if pooled and truth.expected.n > pooled.n]),
            margin_gap=(question.gap or 0.0) * (1 - until.ties if question.habits.without_ties else 1),
            is_panel=until.at_once > 2,
            is_rated=until.rating_sd is not None,
            full=FULL,
        ),
        "sources": (f"ending when decided: {BETTING}; Holm 1979",),
    }


def most_likely(share: float, studies: int) -> float:
    """The upper end of the 95 % interval of a ``share`` of so many simulated studies."""
    low_high = wilson_interval(share * studies, studies)
    return low_high[1] if low_high else 1.0


def _listed(truths: Sequence[Truth]) -> str:
    """“equal, 5 points or 10 points apart”; empty of none."""
    names = [truth.name for truth in truths]
    together = " or ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
    return f"{together} apart" if truths and truths[-1].gap else together
