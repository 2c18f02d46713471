"""False claims of techniques that stop once they reach a decision, and of fixed plans (takes twenty minutes).

Made-up raters of every kind run through the code that a live study runs. A fixed plan finds a gap of the margin with 95 %
power in any one of all pairs, which are corrected for, by the differences of the same raters' answers. Ratings are compared
as a live study compares them, so that half the scale is a whole win. Raters differ in how high they rate, in how wide, and
in what they like; who likes the first model is quicker, and who likes a model less leaves it sooner, where that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import expit

from benchmarks.figures import Figure
from benchmarks.processes import BenchmarkError
from benchmarks.sequential import ALPHA, MARGIN, SHARE, Flags, Numbers
from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, fixed_plan
from parlai_humaneval.stopping.units import share_of_ratings

Kind = Literal["sliders", "heavy", "scales", "ticks", "one", "any", "bots"]
TIES = 0.7  # Of segments of two bots (Deriu et al. 2020: 65 to 76 %)
FEW, COARSE = 2, 4.0
"""Studies of each kind with ``quick``, whose margins are so much wider, so that they soon end."""
CAP = 3.0  # Of the fixed plan: so high that it hides no long study
_DRAWS = 100_000  # Raters by whom a kind's variance, and how far apart models are, is known


@dataclass(frozen=True)
class Task:
    """Some studies of one truth. ``places``: of the models, the best at 0; ``apart``: how far those are from each other
    that are a place apart, in margins. ``at_once``: models that a rater compares, or rates; 1: each is rated by another
    rater. ``leave``: chance of leaving in a dialogue, more where it is liked less. ``pool``: dialogues of each pair
    that all raters judge, and which ``differ`` by so much in log-odds; 0: each is judged once."""

    name: str
    kind: Kind
    places: tuple[int, ...] = (0, 0)
    apart: float = 0.0
    at_once: int = 2
    studies: int = 2000
    margin: float = MARGIN
    haste: float = 0.0
    leave: float = 0.0
    pool: int = 0
    differ: float = 0.0

    @property
    def models(self) -> int:
        return len(self.places)

    @property
    def is_rated(self) -> bool:
        return self.kind in ("sliders", "heavy", "scales", "ticks")

    @property
    def dialogues(self) -> int:
        """Of a rater, or of two who rate one model each."""
        return max(2, self.at_once) if self.is_rated else 1

    @property
    def rule(self) -> StoppingRule:
        return StoppingRule(
            models=tuple(f"m{number}" for number in range(self.models)),
            margin=self.margin,
            alpha=ALPHA,
            max_dialogues=10**6,
            shown="panel" if self.at_once > 2 else "pairs",
        )

    def plan(self) -> float:
        """Dialogues of the fixed plan."""
        shares = shares_of(self, 0.0)
        all_pairs = fixed_plan(self.rule, variance=float(shares.var()))
        return all_pairs * self.dialogues / math.comb(max(2, self.at_once), 2)


def answers(kind: Kind, worth: Numbers, likes: Numbers, rng: np.random.Generator, *, by_others: bool) -> Numbers:
    """Raters × models; how each model was rated, from 0 to 1, or how often it was chosen. ``worth``: of the models;
    ``likes``: what each rater likes; ``by_others``: every model is rated by another rater."""
    n, models = likes.shape
    style, width = rng.standard_normal((2, n, models if by_others else 1))
    if kind in ("sliders", "heavy", "scales"):
        rated = []
        for _ in range(3 if kind == "scales" else 1):
            noise = rng.standard_t(3, likes.shape) / 1.2 if kind == "heavy" else rng.standard_normal(likes.shape)
            value = np.clip(0.6 + 0.12 * style + np.exp(0.3 * width) * (worth + 0.08 * likes + 0.14 * noise), 0, 1)
            rated.append(np.round(4 * value) / 4 if kind == "scales" else value)
        return np.asarray(np.mean(rated, axis=0))
    if kind == "ticks":
        chance = expit((worth + 0.4 * likes + style)[:, None] + 0.5 * rng.standard_normal((n, 6, models)))
        return np.asarray(rng.binomial(3, chance).mean(axis=1) / 3)
    if kind == "any":
        chance = expit((0.3 + worth + 0.5 * likes + style)[:, None] + 0.8 * rng.standard_normal((n, 10, 1)))
        return np.asarray((rng.random((n, 10, models)) < chance).mean(axis=1))
    chosen = np.exp(worth + 0.5 * likes)
    if kind == "one":
        return np.asarray(rng.multinomial(10, chosen / chosen.sum(axis=1, keepdims=True)) / 10)
    first = rng.random((n, 1)) < chosen[:, :1] / chosen[:, :2].sum(axis=1, keepdims=True)
    decided = rng.random((n, 1)) >= TIES
    return np.concatenate([first & decided, ~first & decided], axis=1).astype(float)


def compared(task: Task, first: Numbers, second: Numbers) -> Numbers:
    """Shares of the first, as a study takes them."""
    return share_of_ratings(first - second) if task.is_rated else (1 + first - second) / 2


@lru_cache
def shares_of(task: Task, scale: float) -> Numbers:
    """Of many raters, shares of the best model against one that is a place below."""
    rng, places = np.random.default_rng(0), np.array(task.places)
    below = int(np.argmax(places > 0)) if places.any() else 1
    likes = rng.standard_normal((_DRAWS, task.models))
    x = answers(task.kind, -scale * places, likes, rng, by_others=task.at_once == 1)
    return compared(task, x[:, 0], x[:, below])


@lru_cache
def worth_of(task: Task) -> Numbers:
    """Models that are so far apart as the task says."""
    low, high = 0.0, 6.0
    for _ in range(22 if task.apart else 0):
        middle = (low + high) / 2
        near = shares_of(task, middle).mean() - 0.5 < task.apart * task.margin / 2
        low, high = (middle, high) if near else (low, middle)
    return -(high if task.apart else 0.0) * np.array(task.places, dtype=float)


@lru_cache
def truth_of(task: Task) -> Numbers:
    """Models × models; how far the row's model is ahead of the column's, as far as many raters tell."""
    rng, places = np.random.default_rng(1), np.array(task.places)
    x = answers(task.kind, worth_of(task), rng.standard_normal((_DRAWS, task.models)), rng, by_others=task.at_once == 1)
    gaps = np.array([[2 * compared(task, one, other).mean() - 1 for other in x.T] for one in x.T])
    return np.where(places[:, None] == places[None, :], 0.0, gaps)


class Raters(Crowded):
    """Studies with the raters of a task before each."""

    def __init__(self, studies: Studies, task: Task, seed: int) -> None:
        super().__init__(studies, np.full((task.models, task.models), 0.5), Crowd(haste=task.haste), seed=seed)
        self.task, self.worth = task, worth_of(task)
        self.pool = task.differ * self.rng.standard_normal((studies.count, self.pairs.count, task.pool))

    def take(self, rows: Flags) -> None:
        super().take(rows)
        self.pool = self.pool[rows]

    def _arrive(self, come: Ints, slot: Ints, now: Numbers) -> None:
        n, task, rng = len(come), self.task, self.rng
        likes, opened = rng.standard_normal((n, task.models)), self.studies.decisions.open(come)
        if task.at_once > 2:
            ends = np.zeros((n, task.models), dtype=bool)
            for number, both in enumerate(zip(self.pairs.first, self.pairs.second, strict=True)):
                ends[:, both] |= opened[:, [number]]
            order = np.where(ends, rng.random(ends.shape), 2.0).argsort(axis=1)[:, : task.at_once]
            there = np.take_along_axis(ends, order, axis=1)
        else:
            pair = drawn_pairs(opened, 1, rng)[:, 0]
            order = rng.permuted(np.stack([self.pairs.first[pair], self.pairs.second[pair]], axis=1), axis=1)
            there = np.ones(order.shape, dtype=bool)
            if task.pool:  # what is good or bad in a dialogue is liked by all who judge it
                of_dialogue = self.pool[come, pair, rng.integers(task.pool, size=n)]
                likes[np.arange(n), self.pairs.first[pair]] += 2 * of_dialogue
        x = np.take_along_axis(answers(task.kind, self.worth, likes, rng, by_others=task.at_once == 1), order, axis=1)
        leaves = rng.random(x.shape) < task.leave * np.exp(3 * (0.6 - x))
        answered = there & ~leaves
        if task.at_once > 1:
            answered &= np.cumsum(leaves, axis=1) == 0
        columns = list(combinations(range(order.shape[1]), 2))
        shown, shares = np.full((n, len(columns)), -1), np.full((n, len(columns)), np.nan)
        for column, (i, j) in enumerate(columns):
            numbers, sign = self.pairs.number[order[:, i], order[:, j]], self.pairs.sign[order[:, i], order[:, j]]
            share = 0.5 + sign * (compared(task, x[:, i], x[:, j]) - 0.5)
            shown[:, column] = np.where(there[:, i] & there[:, j], numbers, -1)
            shares[:, column] = np.where(answered[:, i] & answered[:, j], share, np.nan)
        pace = (likes[:, 0] - likes[:, 1:].mean(axis=1)) / math.sqrt(1 + 1 / (task.models - 1))
        ended = now + 600 * np.exp(0.4 * rng.standard_normal(n) - task.haste * pace)
        due = np.full(n, np.inf)
        self.studies.enter(come, shown, shares, np.ones_like(shares), due=due, ended=ended)
        self.free_at[come, slot] = ended
        self.begun[come] += answered.sum(axis=1) if task.is_rated else 1


def tasks(quick: bool) -> list[Task]:
    """What is measured; every technique where models are equal, the margin apart, and twice of it."""
    steps, best = (0, 1, 2, 3), (0, 1, 1, 1)
    found: list[Task] = []
    rated: tuple[tuple[str, Kind], ...] = (
        ("sliders", "sliders"),
        ("sliders with heavy tails", "heavy"),
        ("three scales of five points", "scales"),
        ("ticks at six turns", "ticks"),
    )
    for said, kind in rated:
        for at_once, by in ((2, "two models a rater"), (1, "a rater each")):
            name = f"{said}, {by}"
            pair = partial(Task, kind=kind, at_once=at_once)
            found += [
                pair(f"{name}: equal"),
                pair(f"{name}: equal, quick where liked, left where not", haste=0.5, leave=0.2),
                pair(f"{name}: the margin apart", places=(0, 1), apart=1.0),
                pair(f"{name}: twice the margin apart", places=(0, 1), apart=2.0, studies=500),
            ]
    panels: tuple[tuple[str, Kind, float], ...] = (
        ("sliders, four models a rater", "sliders", MARGIN),
        ("one of four is chosen", "one", MARGIN / 2),
        ("any of four are chosen", "any", MARGIN / 2),
    )
    for said, kind, margin in panels:
        four = partial(Task, kind=kind, at_once=4, margin=margin, studies=1000)
        found += [
            four(f"{said}: equal", places=(0, 0, 0, 0)),
            four(f"{said}: each the margin above the next", places=steps, apart=1.0),
            four(f"{said}: each twice the margin above the next", places=steps, apart=2.0, studies=300),
            four(f"{said}: the best twice the margin above the rest", places=best, apart=2.0, studies=500),
        ]
    bots = partial(Task, kind="bots")
    found += [
        bots("bots in segments: equal"),
        bots("bots in segments: the margin apart", places=(0, 1), apart=1.0),
        bots("bots in segments: twice the margin apart", places=(0, 1), apart=2.0, studies=500),
        *(
            bots(f"equal bots, all of whose {number} dialogues differ", pool=number, differ=1.0, studies=1000)
            for number in (45, 200)
        ),
        *(
            Task(f"equal models, 60 dialogues rated once more, {by:g} apart", "one", pool=60, differ=by, studies=1000)
            for by in (0.5, 1.0)
        ),
    ]
    if quick:
        return [replace(task, studies=FEW, margin=COARSE * task.margin) for task in found[::4]]
    return found


def run(quick: bool) -> list[Figure]:
    """Dialogues, of those of a fixed plan, and false claims, of every technique.

    Raises:
        BenchmarkError: false claims are more than they may be, where each dialogue is judged once.
    """
    found = [(task, figure) for task in tasks(quick) for figure in _figures(task)]
    wrong = [
        f"{figure.name} {figure.ours:.3f}"
        for task, figure in found
        if figure.peer is not None and figure.ours > figure.peer and not task.pool
    ]
    if wrong and not quick:
        raise BenchmarkError(f"false claims above {ALPHA:g} and two standard errors: {'; '.join(wrong)}")
    return [figure for _, figure in found]


def _figures(task: Task) -> Iterator[Figure]:
    plan = task.plan()
    rule = task.rule.model_copy(update={"max_dialogues": math.ceil(CAP * plan)})
    done = Raters(Studies(rule, task.studies), task, seed=len(task.name)).run()
    ratio, false = done.dialogues / plan, done.false_claims(0.5 + truth_of(task) / 2, 0.95 * task.margin)
    note = f"margin {task.margin:g}, α {ALPHA:g}; {plan:,.0f} dialogues in the fixed plan"
    for said, value in (("", ratio.mean()), (", 90th percentile", np.quantile(ratio, 0.9))):
        name = f"{task.name}{said}"
        yield Figure(name=name, unit="of a fixed plan", ours=float(value), note=note, repeats=task.studies)
    yield Figure(
        name=f"false claims: {task.name}",
        unit=SHARE,
        ours=float(false.mean()),
        peer=ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / task.studies),
        peer_source="quoted",
        note=f"{note}; peer: {ALPHA:g} and two standard errors",
        repeats=task.studies,
    )
