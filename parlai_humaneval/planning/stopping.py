"""What a study takes that ends when every two of its models are decided, beside a fixed plan: by simulation.

How long such a study is depends on what is true, so that there is no one size of it: made-up studies, of models that are
equal and of models that differ more and more, run through the code that decides live ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import logit

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.planning.cost import collection, collection_of, with_losses
from parlai_humaneval.planning.inputs import PlanError, PlanInputs, ask, plannable
from parlai_humaneval.planning.layout import layout
from parlai_humaneval.planning.plan import plan_study, size_of
from parlai_humaneval.planning.stopping_summary import STUDIES, Needed, Truth, UntilDecided, until_decided_words
from parlai_humaneval.stopping.fixed_plans import fixed_plan
from parlai_humaneval.stopping.rule import MOST_RISK, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, simulate, win_rates

STEPS = (0.0, 0.5, 1.0, 2.0)
"""How far each model is above the next in the truths that are simulated, in gaps."""
ENDED = 0.95
"""Share of studies of equal models that end before the cap, where none is given."""
_HIGH = 4.0
"""A cap so many times a fixed plan ends no study."""
_LEAST_HIGH = 50
_FOR_A_CAP = 100
"""Studies from which a cap is chosen."""
SMALLEST_MARGIN = 0.01
"""With less a study takes more than ten thousand dialogues, and its simulation minutes."""
_MOST_MODELS = 10
"""Of more the simulation takes longer than anybody waits."""
_MOST_DIALOGUES = 12
"""Of a worker, where most give one."""
_NO_CAP = 10**9


def plan_until_decided(
    inputs: PlanInputs,
    *,
    margin: float | None = None,
    max_dialogues: int | None = None,
    studies: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> UntilDecided:
    """What a study takes that ends when it is decided, by what is true of its models.

    Args:
        inputs: the question of a fixed plan; its workers, times and pay are those of the simulated studies.
        margin: win rates less than this apart count as equal; None: the gap.
        max_dialogues: the cap; None: with it 95 % of studies of equal models end before.
        studies: how many to simulate of each truth; None: as :func:`usual_studies` says.
        on_progress: is told how many studies have ended, and how many there are.

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
    question = inputs.filled()
    _check(question, margin)
    rule, crowd = _rule(question, margin), _crowd(question)
    truths = [step for step in STEPS if step * _share_gap(question) < _decisive(question)]
    studies = studies or usual_studies(len(rule.models))
    for_cap = min(studies, _FOR_A_CAP) if max_dialogues is None else 0
    told = _adding_up(for_cap + studies * len(truths), on_progress)
    cap = _chosen_cap(question, rule, crowd, for_cap, told) if max_dialogues is None else max_dialogues
    rule = _capped(question, rule, cap)
    fixed, pooled = _fixed_plans(inputs, rule)
    found = UntilDecided(
        unit="dialogue" if question.habits.held else question.habits.judgement,
        models=len(rule.models),
        margin=rule.margin,
        alpha=rule.alpha,
        beta=rule.beta,
        floor=rule.floor,
        max_dialogues=cap,
        is_cap_chosen=max_dialogues is None,
        in_flight=crowd.in_flight,
        turns=crowd.turns,
        icc=crowd.icc,
        ties=crowd.ties,
        dialogues_per_worker=crowd.dialogues,
        heavy_tail=crowd.heavy_tail,
        fixed_power=1 - rule.beta,
        fixed=fixed,
        fixed_pooled=pooled,
        truths=tuple(_truth(question, rule, crowd, step, (cap, fixed, pooled), studies, told) for step in truths),
        studies=studies,
        seed=question.seed,
    )
    return found.model_copy(update=until_decided_words(question, found, plan_study(inputs)))


def usual_studies(models: int) -> int:
    """Studies of each truth that are simulated, if nothing is said: fewer where each takes longer."""
    return STUDIES[min(models, max(STUDIES))]


def decidable() -> list[str]:
    """Techniques whose answers have a win rate of two models, and whose studies can be simulated.

    Where each finished dialogue is judged by several by design, their answers share what is good or bad in it, and workers
    are no longer independent, as the rule takes them to be.
    """
    return [
        name
        for name, habits in plannable().items()
        if habits.measures == "choice" and habits.judgements_per_dialogue is None
    ]


def can_plan_until_decided(technique: str, models: int, gap: float) -> bool:
    """Whether a study of so many models, whose margin is the gap, can be simulated."""
    try:
        question = ask(technique=technique, models=models, gap=gap).filled()
        _check(question, None)
        _rule(question, None)
    except PlanError:
        return False
    return True


def _check(question: PlanInputs, margin: float | None) -> None:
    name, habits = question.technique, question.habits
    if question.method == "liu2023":
        raise PlanError("--stop decided has nothing of the sizes of Liu et al. 2023", try_="leave --method out")
    if name not in decidable():
        why = (
            "its raters judge the same dialogues, and the rule takes raters for independent"
            if habits.measures == "choice"
            else "it rates models one at a time, so that none wins against another"
        )
        known = ", ".join(decidable())
        raise PlanError(
            f"{name} cannot end when decided: {why}", try_=f"leave --stop out, or give --technique ({known})"
        )
    if habits.at_once and (question.models or 2) > 2:
        raise PlanError(
            f"{name} shows {question.models} models at once, and what such a turn tells of each two is not simulated",
            try_="give --models 2, or --technique pw_turn, or leave --stop out",
        )
    if (question.models or 2) > _MOST_MODELS:
        raise PlanError(
            f"--models {question.models}: studies that end when decided are simulated of at most {_MOST_MODELS}",
            try_=f"give --models {_MOST_MODELS}, or leave --stop out",
        )
    if not habits.held and question.dialogue_icc and (question.reuse or 1) > 1:
        raise PlanError(
            f"dialogues differ (--dialogue-icc {question.dialogue_icc:.3g}) and each is judged "
            f"{question.reuse} times, but the rule takes raters for independent",
            try_="give --reuse 1, so that nobody judges another's dialogues",
        )
    if _share_gap(question) >= _decisive(question):
        raise PlanError(f"--gap {question.gap:g}: one model would win all that is no tie", try_="give a smaller --gap")
    if (question.icc or 0.0) >= _decisive(question):
        raise PlanError(
            f"--icc {question.icc:g}: answers of which {1 - _decisive(question):.2g} are ties by chance "
            "cannot be so much alike",
            try_=f"give an --icc below {_decisive(question):.2g}",
        )
    if question.alpha > MOST_RISK:
        raise PlanError(f"--alpha {question.alpha:g} is no rate of false claims to stop with", try_="give --alpha 0.05")
    if margin is not None and not SMALLEST_MARGIN <= margin < 1:
        raise PlanError(f"--margin {margin:g}: {_why_no_margin(margin)}", try_="give, say, --margin 0.1 for ten points")


def _why_no_margin(margin: float) -> str:
    if margin <= 0:
        return "with it two equal models would never be decided"
    if margin < SMALLEST_MARGIN:
        return f"below {SMALLEST_MARGIN:g} such a study takes more than ten thousand dialogues, and is not simulated"
    return "win rates lie between 0 and 1, and so does the margin within which two models count as equal"


def _decisive(question: PlanInputs) -> float:
    return question.discordance or 1.0


def _share_gap(question: PlanInputs) -> float:
    """The gap where ties count half for each model, as they do in the rule."""
    gap = question.gap or 0.0
    return gap * _decisive(question) if question.habits.without_ties else gap


def _rule(question: PlanInputs, margin: float | None) -> StoppingRule:
    margin = _share_gap(question) if margin is None else margin
    if margin < SMALLEST_MARGIN:
        raise PlanError(
            f"--gap {question.gap:g} is too small to be the margin, within which two models count as equal",
            try_=f"give a --margin of {SMALLEST_MARGIN:g} or more",
        )
    return StoppingRule(
        models=tuple(f"model {number + 1}" for number in range(question.models or 2)),
        margin=margin,
        alpha=question.alpha,
        max_dialogues=_NO_CAP,
    )


def _crowd(question: PlanInputs) -> Crowd:
    """Workers as the fixed plan has them. Unequal ones: the logarithms of how many they give are normal."""
    dialogues = question.dialogues_per_worker or 1.0
    return Crowd(
        turns=(question.turns or 1) if question.habits.of_turns else 1,
        icc=question.icc or 0.0,
        dialogues=dialogues,
        heavy_tail=math.sqrt(math.log1p(question.worker_inequality**2)),
        most=max(_MOST_DIALOGUES, math.ceil(4 * dialogues)),
        ties=1 - _decisive(question),
    )


def _rates(question: PlanInputs, step: float) -> Floats:
    """Models × models: win rates, ties counting half, where each model is ``step`` gaps above the next."""
    decisive = _decisive(question)
    won = 0.5 + step * _share_gap(question) / decisive / 2
    return 0.5 + decisive * (win_rates(-logit(won) * np.arange(question.models or 2)) - 0.5)


def _chosen_cap(
    question: PlanInputs, rule: StoppingRule, crowd: Crowd, studies: int, told: Callable[[int], None]
) -> int:
    """A round number before which nearly all studies of equal models end."""
    plan = fixed_plan(rule, variance=crowd.share_variance(), design_effect=crowd.design_effect())
    most = max(rule.fewest, _LEAST_HIGH, math.ceil(_HIGH * plan))
    done = simulate(
        rule.model_copy(update={"max_dialogues": most}),
        _rates(question, 0.0),
        crowd,
        studies=studies,
        seed=question.seed,
        on_ended=told,
    )
    return _rounded_up(with_losses(question, float(np.quantile(done.dialogues, ENDED, method="higher"))))


def _rounded_up(number: int) -> int:
    step = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / step) * step


def _capped(question: PlanInputs, rule: StoppingRule, cap: int) -> StoppingRule:
    fewest = with_losses(question, rule.fewest)
    if cap < fewest:
        lost = f", of which checks drop {100 * question.exclusion:.3g} %" if question.exclusion else ""
        raise PlanError(
            f"--max-dialogues {cap} is below the floor: {len(rule.models)} models with {rule.floor} dialogues "
            f"each{lost} need {fewest}",
            try_=f"give --max-dialogues {fewest} or more, or leave it out",
        )
    kept = math.floor(cap * (1 - (question.exclusion or 0.0)) + 1e-9)
    return rule.model_copy(update={"max_dialogues": kept})


def _fixed_plans(inputs: PlanInputs, rule: StoppingRule) -> tuple[Needed, Needed | None]:
    """With the errors of the rule: of each pair by itself; and of all models together, where a pair learns from the others
    as K/2 times as much of its own would tell it."""
    question = inputs.model_copy(update={"power": 1 - rule.beta, "tests": "pairs"}).filled()
    found = layout(question, ranking=False)
    collected = collection(question, size_of(question, found), found.sets)
    fixed = Needed(
        n=collected.dialogues if question.habits.held else collected.judgements,
        n_workers=collected.workers,
        hours=round(collected.hours, 2),
        cost=round(collected.cost, 2),
    )
    models = len(rule.models)
    return fixed, None if models == 2 else _needed(inputs.filled(), math.ceil(fixed.n / (models / 2)))


def _needed(question: PlanInputs, n: int) -> Needed:
    models = question.models or 2
    collected = collection_of(question, n, models * (models - 1) // 2)
    return Needed(n=n, n_workers=collected.workers, hours=round(collected.hours, 2), cost=round(collected.cost, 2))


def _truth(
    question: PlanInputs,
    rule: StoppingRule,
    crowd: Crowd,
    step: float,
    beside: tuple[int, Needed, Needed | None],
    studies: int,
    told: Callable[[int], None],
) -> Truth:
    """``beside``: the cap, and the fixed plans."""
    cap, fixed, pooled = beside
    rates = _rates(question, step)
    done = simulate(rule, rates, crowd, studies=studies, seed=question.seed, on_ended=told)
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
        percentile_90=_needed(question, high),
        at_cap=float((~done.decided).mean()),
        false_claims=float(done.false_claims(rates, rule.margin).mean()),
        of_fixed=expected.n / fixed.n,
        of_pooled=None if pooled is None else expected.n / pooled.n,
    )


def _adding_up(total: int, on_progress: Callable[[int, int], None] | None) -> Callable[[int], None]:
    ended = 0

    def told(more: int) -> None:
        nonlocal ended
        ended += more
        if on_progress:
            on_progress(ended, total)

    return told
