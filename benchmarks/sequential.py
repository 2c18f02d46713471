"""Dialogues that studies with stop=decided need, next to fixed plans; false claims (some twenty minutes on two cores).

Thousands of made-up studies, of two to ten models, through the code that a live study runs. Ratios count every dialogue
that was begun, with those in flight at the end; a fixed plan finds a gap of the margin with 95 % power in any one of all
pairs, which are corrected for. Where workers give one dialogue each, the plan needs no allowance for workers. False claims
are counted where they are likeliest: of equal models, all of whose claims that one is better are wrong, and of models just
the margin apart, none of which may be called equal; by crowds as bad as any that we know of: few who give most of the
answers, people who leave, for whatever reason, and quick ones who prefer the first model. Models that beat each other in a
circle, which pooled evidence rules out, are to be warned of.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Figure
from benchmarks.processes import BenchmarkError
from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.rule import IN_FLIGHT, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, fixed_plan, made_up, win_rates

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MARGIN = 0.1
ALPHA = 0.05
PROCESSES = 2
FEW, FEW_DIALOGUES = 2, 60
"""Studies of each kind with ``quick``, and the dialogues after which they end."""
AT_ONCE = 1000
"""Studies side by side in one process: with a quarter of them, everything takes twice as long."""
CAP = 3.0
"""Of the fixed plan: so high that it hides no long study."""
ICCS = (0.0, 0.05, 0.17)


SHARE = "of studies"


@dataclass(frozen=True)
class Task:
    """Some studies of one truth and crowd. ``strengths``: of the models, in log-odds; ``goal``: of the ratio to the plan of
    single pairs, and to the pooled one; ``at_margin``: are some just so far apart? ``cap``: of dialogues, where it is
    not so high that it hides no long study. ``circle``: points by which each model beats the next, and the last one the
    first, whatever their strengths. ``abandoned``: part of the last model's dialogues that raters leave at
    once."""

    name: str
    strengths: tuple[float, ...]
    crowd: Crowd
    studies: int
    goal: float | None = None
    pooled_goal: float | None = None
    at_margin: bool = False
    cap: int | None = None
    circle: float = 0.0
    abandoned: float = 0.0

    @property
    def rates(self) -> Numbers:
        rates = win_rates(self.strengths)
        if self.circle:
            first, second = np.arange(len(rates)), np.roll(np.arange(len(rates)), -1)
            rates[first, second], rates[second, first] = 0.5 + self.circle / 200, 0.5 - self.circle / 200
        return rates

    @property
    def rule(self) -> StoppingRule:
        rule = StoppingRule(
            models=tuple(f"m{number}" for number in range(len(self.strengths))),
            margin=MARGIN,
            alpha=ALPHA,
            max_dialogues=10**6,
        )
        plan = fixed_plan(rule, variance=self.crowd.share_variance())
        return rule.model_copy(update={"max_dialogues": self.cap or math.ceil(CAP * plan)})


@dataclass(frozen=True)
class Measured:
    """Of each study, the dialogues that were begun, and those of them that are evidence; whether it claims falsely that a
    model is better, or that two are equal; whether all was decided, and whether it warns of a contradiction."""

    begun: Numbers
    folded: Numbers
    better: Flags
    equal: Flags
    decided: Flags
    warned: Flags


class Warned(Crowded):
    """Notes which studies warn of a contradiction when they end."""

    warned: Flags

    def take(self, rows: Flags) -> None:
        """Keep only these studies."""
        self.warned[self.place[~rows]] = self.studies.contradicted()[~rows].any(axis=1)
        super().take(rows)


class Abandoned(Crowded):
    """Raters who leave so many dialogues of the last model before they answer anything."""

    abandoned: float

    def _shares(self, of: Ints, shown: Ints, likes: Numbers) -> Numbers:
        shares, last = super()._shares(of, shown, likes), len(self.rule.models) - 1
        with_last = np.append(self.pairs.second == last, False)[shown]
        return np.where(with_last & (self.rng.random(shares.shape) < self.abandoned), np.nan, shares)


def gap(points: float) -> float:
    """Log-odds of a win rate so many points above that of the other model."""
    share = 0.5 + points / 200
    return math.log(share / (1 - share))


def needed(quick: bool) -> list[Task]:
    """What is compared with fixed plans."""
    one = Crowd()
    scale = 0.001 if quick else 1.0
    tasks = [
        Task(f"one pair, true gap {points}", (gap(points), 0.0), one, round(2000 * scale), goal, at_margin=points == 10)
        for points, goal in ((0, 0.70), (5, None), (10, 0.60), (20, 0.18))
    ]
    for models, third, studies in ((4, 0.55, 2000), *(() if quick else ((6, 0.55, 2000), (10, 0.75, 500)))):
        steps = np.arange(models, dtype=float)
        for said, strengths, goal in (
            ("each the margin above the next", -gap(10) * steps, 0.60),
            ("each twice the margin above the next", -gap(20) * steps, 0.20),
            ("two thirds of them equal", -gap(20) * np.minimum(steps, models // 3), third),
            ("all equal", 0 * steps, 0.75),
        ):
            name = f"{models} models, {said}"
            at_margin = math.isclose(strengths[0] - strengths[-1], gap(10) * (models - 1))
            tasks.append(
                Task(name, tuple(map(float, strengths)), one, round(studies * scale), None, goal, at_margin=at_margin)
            )
    return tasks


def apart(quick: bool) -> list[Task]:
    """What should call nobody equal who is just the margin apart."""
    far = gap(10)
    truths: dict[str, Callable[[int], list[float]]] = {
        "two groups the margin apart": lambda models: [far] * (models // 2) + [0.0] * (models - models // 2),
        "one the margin above the rest": lambda models: [far] + [0.0] * (models - 1),
        "two the margin apart, the rest between them": lambda models: [far, *[far / 2] * (models - 2), 0.0],
    }
    crowds = {
        **{f", ICC {icc:g}": Crowd(icc=icc, dialogues=3, heavy_tail=1.0, leave=0.1, haste=0.5) for icc in ICCS},
        ", raters leave by taste": Crowd(quit=0.1, quit_by_taste=0.7),
        ", tastes differ much": Crowd(icc=0.5, haste=0.5),
    }
    usual = [
        Task(f"{models} models, {said}", tuple(of(models)), Crowd(), FEW if quick else studies, at_margin=True)
        for models, studies in ((4, 2000), *(() if quick else ((6, 2000), (10, 500))))
        for said, of in truths.items()
    ]
    usual += [
        Task(
            f"{models} models, the last one the margin below the rest, left at once in 70 %",
            (far,) * (models - 1) + (0.0,),
            Crowd(),
            FEW if quick else 1000,
            at_margin=True,
            abandoned=0.7,
        )
        for models in (3, 4)
    ]
    said, of = next(iter(truths.items()))
    return usual + [
        Task(
            f"4 models, {said}{who}",
            tuple(of(4)),
            crowd,
            FEW if quick else 2000,
            at_margin=True,
            cap=900 if crowd.quit else None,
        )
        for who, crowd in crowds.items()
    ]


def circles(quick: bool) -> list[Task]:
    """What should be warned of: three models of which each beats the next by so many points."""
    return [
        Task(f"3 models in a circle of {points} points", (0.0,) * 3, Crowd(), FEW if quick else 500, circle=points)
        for points in (10, 30)
    ]


def equal_models(quick: bool) -> list[Task]:
    """What should claim nothing: all models equal, under every crowd."""
    sizes = ((2, 4000), (4, 1500), (6, 800), (10, 200))
    tasks = [
        Task(
            f"{models} equal models, ICC {icc:g}",
            (0.0,) * models,
            Crowd(icc=icc, dialogues=3, heavy_tail=1.0, leave=0.1, haste=0.5),
            FEW if quick else studies,
        )
        for models, studies in (sizes[:2] if quick else sizes)
        for icc in (ICCS[1:2] if quick else ICCS)
    ]
    return [*tasks, *leaving(quick)]


def leaving(quick: bool) -> list[Task]:
    """What should claim nothing either: equal models, where half the raters leave in mid-dialogue, each for a reason."""
    reasons = (
        ("for no reason", Crowd(quit=0.1)),
        ("a little by taste", Crowd(quit=0.1, quit_by_taste=0.2)),
        ("by taste", Crowd(quit=0.1, quit_by_taste=0.7)),
        ("by their last choice", Crowd(quit=0.1, quit_by_choice=0.7)),
    )
    return [
        Task(f"{models} equal models, raters leave {why}", (0.0,) * models, crowd, FEW if quick else studies, cap=cap)
        for models, studies, cap in ((2, 2000, 900), *(() if quick else ((4, 2000, 600),)))
        for why, crowd in reasons
    ]


def run(quick: bool) -> list[Figure]:
    """What is needed of fixed plans, and false claims.

    Raises:
        BenchmarkError: false claims are more than they may be; not with ``quick``, where studies are too few to tell.
    """
    plans, wide, nulls, rings = needed(quick), apart(quick), equal_models(quick), circles(quick)
    if quick:
        plans, wide, nulls, rings = (
            [replace(task, cap=FEW_DIALOGUES) for task in tasks] for tasks in (plans, wide, nulls, rings)
        )
    measured = _measured([*plans, *wide, *nulls, *rings])
    figures = [figure for task in plans for figure in _ratios(task, measured[task.name])]
    figures += [_equal_claims(task, measured[task.name]) for task in [*plans, *wide] if task.at_margin]
    figures += [_better_claims(task, measured[task.name]) for task in nulls]
    said = "some are equal, others the margin apart"
    figures += [_claims(f"one is called better: {task.name}", measured[task.name].better, said) for task in wide]
    figures += [figure for task in rings for figure in _warnings(task, measured[task.name])]
    wrong = [f"{figure.name} {figure.ours:.3f}" for figure in figures if figure.unit == SHARE and _is_too_many(figure)]
    if wrong and not quick:
        raise BenchmarkError(f"false claims above {ALPHA:g} and two standard errors: {'; '.join(wrong)}")
    return figures


def _measured(tasks: Sequence[Task]) -> dict[str, Measured]:
    parts = [(task, start) for task in tasks for start in range(0, task.studies, AT_ONCE)]
    parts.sort(key=lambda part: -len(part[0].strengths))  # the longest first, so that no process is left alone with one
    gathered: dict[str, list[Measured]] = {}
    with ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool:
        for (task, _), part in zip(parts, pool.map(_simulated, parts), strict=True):
            gathered.setdefault(task.name, []).append(part)
    return {
        name: Measured(
            *(np.concatenate([getattr(part, field) for part in parts]) for field in Measured.__dataclass_fields__)
        )
        for name, parts in gathered.items()
    }


def _simulated(part: tuple[Task, int]) -> Measured:
    task, start = part
    rates, seed = task.rates, start + len(task.strengths)
    studies = min(AT_ONCE, task.studies - start)
    warned = np.zeros(studies, dtype=bool)
    if task.abandoned:
        leaving_at_once = Abandoned(Studies(task.rule, studies), rates, task.crowd, seed=seed)
        leaving_at_once.abandoned = task.abandoned
        leaving_at_once.studies.evidence.only_decide()
        done = leaving_at_once.run()
    elif task.circle:
        crowded = Warned(Studies(task.rule, studies), rates, task.crowd, seed=seed)
        crowded.warned = warned
        done = crowded.run()
    else:
        done = made_up(task.rule, rates, task.crowd, studies=studies, seed=seed).run()
    pairs = pairs_of(len(rates))
    wide = np.abs(rates - rates.T)[pairs.first, pairs.second] >= MARGIN - 1e-9
    better = np.asarray((done.better & (rates <= rates.T + 1e-9)).any(axis=(1, 2)))
    equal = np.asarray((done.equal & wide).any(axis=1))
    return Measured(done.dialogues.astype(float), done.folded, better, equal, done.decided, warned)


def _ratios(task: Task, measured: Measured) -> Iterator[Figure]:
    plan, pooled = (
        fixed_plan(task.rule, variance=task.crowd.share_variance(), pooled=pooled) for pooled in (False, True)
    )
    note = (
        f"margin {MARGIN:g}, α {ALPHA:g}; one dialogue of {task.crowd.turns} turns a worker, ICC {task.crowd.icc:g}; "
        f"{IN_FLIGHT} in flight, who count where it does not say “evidence”; peer: the goal"
    )
    kinds = [("", measured.begun, plan, task.goal)]
    if len(task.strengths) == 2:
        kinds += [(", evidence", measured.folded, plan, task.goal)]
    else:
        kinds += [(", of one Bradley–Terry plan", measured.begun, pooled, task.pooled_goal)]
    for said, dialogues, fixed, goal in kinds:
        ratio = dialogues / fixed
        yield Figure(
            name=f"{task.name}{said}",
            unit="of a fixed plan",
            ours=float(ratio.mean()),
            peer=goal,
            peer_source="quoted" if goal else "none",
            note=f"{note}; standard error {ratio.std() / math.sqrt(len(ratio)):.3f}",
            repeats=len(ratio),
        )
    yield Figure(
        name=f"{task.name}, 90th percentile",
        unit="of a fixed plan",
        ours=float(np.quantile(measured.begun / plan, 0.9)),
        note=note,
        repeats=len(measured.begun),
    )


def _better_claims(task: Task, measured: Measured) -> Figure:
    crowd = task.crowd
    note = (
        "one dialogue a worker; chance .1 of leaving before each turn but the first, × exp(−a·taste + b·last choice), with "
        f"a {crowd.quit_by_taste:g} and b ±{crowd.quit_by_choice:g}; peer: {ALPHA:g} and two standard errors"
        if crowd.quit
        else "some 3 dialogues a worker, heavy-tailed; one in ten leaves before each; half a standard deviation of log time "
        f"by preference; {IN_FLIGHT} in flight; peer: {ALPHA:g} and two standard errors"
    )
    return _claims(f"one is called better: {task.name}", measured.better, note)


def _equal_claims(task: Task, measured: Measured) -> Figure:
    note = f"some are just the margin apart, and must not be called equal; peer: {ALPHA:g} and two standard errors"
    return _claims(f"two are called equal: {task.name}", measured.equal, note)


def _warnings(task: Task, measured: Measured) -> Iterator[Figure]:
    note = "no line on which models stand, as pooled evidence takes for granted; without it: transitive=false"
    for said, flags in (("warns", measured.warned), ("claims something false", measured.better | measured.equal)):
        yield Figure(
            name=f"{said}: {task.name}",
            unit="of these studies",
            ours=float(flags.mean()),
            note=note,
            repeats=len(flags),
        )


def _claims(name: str, claims: Flags, note: str) -> Figure:
    most = ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / len(claims))
    return Figure(
        name=name,
        unit=SHARE,
        ours=float(claims.mean()),
        peer=most,
        peer_source="quoted",
        note=note,
        repeats=len(claims),
    )


def _is_too_many(figure: Figure) -> bool:
    return figure.peer is not None and figure.ours > figure.peer
