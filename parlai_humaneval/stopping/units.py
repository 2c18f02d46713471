"""Units of evidence: a worker's dialogues, or those of two workers who rate one model each.

Where each model is rated on its own, the difference of two ratings decides. Ratings of one worker share that worker's style,
which their difference leaves out. Where workers rate one model each, two are compared who came one after the other: it is
drawn for both at once who rates which. In the order in which they finish, those who are quick because they like a model
would be compared first.

And made-up raters of such units, for plans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.events import Outcome
from parlai_humaneval.stopping.evidence import Pairs, pairs_of
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded

Models = tuple[str, ...]
FULL = 0.5
"""The difference of two ratings, as a part of their scale, that is a whole win; a larger one is no more. Without such a
limit stakes would have to allow for differences of the whole scale, which hardly anybody gives, and studies of ratings would
take more than their fixed plan."""


def share_of_ratings(difference: npt.ArrayLike) -> Floats:
    """What the first of two models wins that are rated so far apart (in parts of the scale): a half where they are rated
    alike, 1 where the first is rated higher by :data:`FULL` or more."""
    return np.asarray(0.5 + np.clip(np.asarray(difference, dtype=float) / FULL, -1, 1) / 2)


@dataclass
class Unit:
    """``number``: in the order of arrival. ``groups``: what its dialogues are about, also those that nobody was given
    yet. ``columns``: the two models of each of its ``shares``, by their names; ``done``: which part of the dialogue of
    each share was answered; ``predicted``: see :class:`.Evidence`. ``ratings``: of models that are rated each by itself."""

    number: int
    groups: tuple[Models, ...]
    columns: list[tuple[str, str]]
    shares: Floats
    done: Floats
    predicted: Floats
    workers: list[Worker] = field(default_factory=list)
    ratings: dict[str, float] = field(default_factory=dict)

    @property
    def not_given(self) -> tuple[Models, ...]:
        return self.groups[sum(len(came.dialogues) for came in self.workers) :]

    @property
    def is_through(self) -> bool:
        through = all(came.is_through for came in self.workers)
        return through and (not self.not_given or any(came.gone for came in self.workers))

    def count(self, dialogue: int, outcome: Outcome, done: float) -> None:
        """Note the evidence of a dialogue by the unit's only worker."""
        pairs = combinations(range(len(self.groups[dialogue])), 2)
        self.shares[self.columns_of(dialogue)] = [outcome.share(i, j) for i, j in pairs]
        self.done[self.columns_of(dialogue)] = done

    def columns_of(self, dialogue: int) -> slice:
        """The columns of a dialogue with models that are rated together."""
        before, of_it = 0, 0
        for group in self.groups[: dialogue + 1]:
            before, of_it = before + of_it, len(group) * (len(group) - 1) // 2
        return slice(before, before + of_it)

    def rate(self, model: str, outcome: Outcome) -> None:
        """Note a model's rating, and compare it with the earlier ratings."""
        self.ratings[model] = outcome.rating
        for column, (first, second) in enumerate(self.columns):
            if model in (first, second) and {first, second} <= self.ratings.keys():
                self.shares[column] = share_of_ratings(self.ratings[first] - self.ratings[second])
                self.done[column] = 1.0


@dataclass
class Worker:
    """Someone who came, by ``name``: the ``unit`` that their dialogues are of, until when (``due``) they are waited for,
    and what they answered. ``so_far``: what was chosen in dialogues before they were finished. ``foreseen``: dialogues of
    which a judge had said something before. ``late``: the indices of dialogues whose outcomes do not count as evidence;
    ``overdue``: any of these came after the worker's time had run out."""

    name: str
    unit: Unit
    dialogues: tuple[Models, ...]
    due: float
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    so_far: dict[int, Outcome] = field(default_factory=dict)
    foreseen: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    overdue: bool = False
    gone: bool = False
    folded: bool = False

    @property
    def left(self) -> int:
        """Dialogues that were not finished."""
        return len(self.dialogues) - len(self.outcomes)

    @property
    def is_through(self) -> bool:
        return self.gone or not self.left

    @property
    def evidence(self) -> int:
        """Dialogues that were finished in time; of models that are rated each by itself, where there is another to
        compare with."""
        counted = len(self.outcomes) - len(self.late)
        return 0 if len(self.unit.ratings) == 1 else counted

    @property
    def begun(self) -> set[int]:
        """Dialogues of which anything was answered in time."""
        return (self.outcomes.keys() - self.late) | self.so_far.keys()


def drawn(
    rule: StoppingRule, asked: Flags, dialogues: int, rng: np.random.Generator
) -> tuple[tuple[Models, ...], float]:
    """What so many dialogues are about, of the pairs that are ``asked`` about, and with which chance each is about its
    models; where each is rated on its own, of two models or more, in any order."""
    pairs, names = pairs_of(len(rule.models)), rule.models
    if rule.shown == "panel":
        shown = [names[i] for i in sorted({*pairs.first[asked[0]], *pairs.second[asked[0]]})]
        if not rule.is_apart:
            return (tuple(shown),) * dialogues, 1.0
        rated = [shown[place] for place in rng.permutation(len(shown))[: max(2, dialogues)]]
        return tuple((name,) for name in rated), len(rated) / len(shown)
    numbers = drawn_pairs(asked, 1 if rule.is_apart else dialogues, rng)[0]
    both = [(names[pairs.first[pair]], names[pairs.second[pair]]) for pair in numbers]
    groups: list[Models] = [(both[0][place],) for place in rng.permutation(2)] if rule.is_apart else [*both]
    return tuple(groups), 1 / int(asked.sum())


def begun(rule: StoppingRule, number: int, groups: tuple[Models, ...]) -> Unit:
    """The unit of these dialogues, without any answers."""
    if rule.is_apart:
        rated = sorted((model for (model,) in groups), key=rule.models.index)
        columns = list(combinations(rated, 2))
    else:
        columns = [pair for group in groups for pair in combinations(group, 2)]
    shares, done = np.full((2, len(columns)), np.nan)
    return Unit(number, groups, columns, shares, done, np.zeros(len(columns)))


def open_models(asked: Flags, pairs: Pairs) -> Flags:
    """Studies × models; those of any pair that is ``asked`` about."""
    found = np.zeros((len(asked), pairs.models), dtype=bool)
    for pair, ends in enumerate(zip(pairs.first, pairs.second, strict=True)):
        found[:, ends] |= asked[:, [pair]]
    return found


_GRID = np.asarray(ndtri((np.arange(2000) + 0.5) / 2000))  # A normal distribution in equally probable steps


@dataclass(frozen=True)
class Scores:
    """How made-up raters score the models that they compare. ``at_once``: so many models a rater; 1: two raters, of a
    model each. ``within``: standard deviation of a rater's ratings of one model, as a part of the scale; 0: models are
    chosen, not rated. ``between``: of how high raters rate all models. ``turns``: choices of a rater, in each of which one
    model is chosen, or with ``any_number`` each model or not. ``icc``: how alike a rater's choices are."""

    at_once: int
    within: float = 0.0
    between: float = 0.0
    turns: int = 1
    icc: float = 0.0
    any_number: bool = False

    @property
    def spread(self) -> float:
        """Standard deviation of a rating in a comparison with another one."""
        return math.hypot(self.within, self.between) if self.at_once == 1 else self.within

    def drawn(self, levels: Floats, rng: np.random.Generator) -> Floats:
        """Raters × models; their scores, of models whose mean scores are ``levels`` (of the same shape)."""
        if self.within:
            return np.asarray(levels + self.spread * rng.standard_normal(levels.shape))
        size = 1 / self.icc - 1 if self.icc else 1e6
        if self.any_number:
            return np.asarray(rng.binomial(self.turns, rng.beta(levels * size, (1 - levels) * size)) / self.turns)
        chances = rng.gamma(levels / levels.sum(axis=1, keepdims=True) * size)
        return np.asarray(rng.multinomial(self.turns, chances / chances.sum(axis=1, keepdims=True)) / self.turns)

    def share(self, difference: Floats) -> Floats:
        """The first model's share of wins, given the difference of two scores."""
        return share_of_ratings(difference) if self.within else np.asarray((1 + difference) / 2)

    def share_variance(self) -> float:
        """Variance of the share of wins of one of two equal models."""
        if self.within:
            return float(self.share(math.sqrt(2) * self.spread * _GRID).var())
        alike = self.icc + (1 - self.icc) / self.turns
        return alike * (0.125 if self.any_number else 0.5 / self.at_once)

    @property
    def independent(self) -> float:
        """The share of a rater's comparisons of all scored models that are independent."""
        return 2 / max(2, self.at_once)

    def before(self, studies: Studies, rates: Floats, *, begun: Ints, seed: int) -> Scored:
        """The studies with such raters before them; see :meth:`.Crowd.before`. What a model wins against all on average
        says where it is among those that are still shown; where one is chosen, these share the choices of the others."""
        shown = open_models(studies.decisions.open(), studies.evidence.pairs)
        leads, count = (2 * rates - 1).mean(axis=-1), shown.sum(axis=1, keepdims=True)
        if self.within or self.any_number:
            leads -= (leads * shown).sum(axis=1, keepdims=True) / np.maximum(count, 1)
        if self.within:  # the larger the spread, the more often a whole win cuts a difference off
            is_whole = math.sqrt(2) * self.spread * np.abs(_GRID) >= FULL
            levels = 0.5 + leads * FULL / float(1 - is_whole.mean())
        else:
            levels = np.clip((0.5 if self.any_number else 1 / rates.shape[-1]) + leads, 0.01, 0.99)
        return Scored(studies, levels, self, begun=begun, seed=seed)

    def mean_share(self, levels: Floats) -> Floats:
        """… × models × models; what the row's model wins of the column's on average, by their ``levels`` (… × models)."""
        gaps = levels[..., :, None] - levels[..., None, :]
        return np.asarray(self.share(gaps[..., None] + math.sqrt(2) * self.spread * _GRID).mean(axis=-1))


class Scored(Crowded):
    """Studies with raters who score models. ``levels``: studies × models; mean scores."""

    def __init__(
        self, studies: Studies, levels: Floats, scores: Scores, *, begun: int | Ints = 0, seed: int = 0
    ) -> None:
        models = levels.shape[1]
        super().__init__(studies, np.full((models, models), 0.5), Crowd(), begun=begun, seed=seed)
        self.levels, self.scores = levels, scores

    def take(self, rows: Flags) -> None:
        super().take(rows)
        self.levels = self.levels[rows]

    def _arrive(self, come: Ints, slot: Ints, now: Floats) -> None:
        asked, pairs, rng, each = self.studies.decisions.asked[come], self.pairs, self.rng, np.arange(len(come))
        if self.rule.shown == "panel":
            among = open_models(asked, pairs)
            order = np.where(among, rng.random(among.shape), 2.0).argsort(axis=1)[:, : self.scores.at_once]
            there = np.take_along_axis(among, order, axis=1)
        else:
            drawn = drawn_pairs(asked, 1, rng)[:, 0]
            order = np.stack([pairs.first[drawn], pairs.second[drawn]], axis=1)
            there = np.ones(order.shape, dtype=bool)
        columns = list(combinations(range(order.shape[1]), 2))
        shown, open_pairs = np.full((len(come), len(columns)), -1), self.studies.decisions.open(come)
        for column, (i, j) in enumerate(columns):
            both, number = there[:, i] & there[:, j], pairs.number[order[:, i], order[:, j]]
            shown[both, column] = number[both]
            self.given[come, number] += (both & open_pairs[each, number]) * (2 if self.rule.is_apart else 1)
        shares = self._shares(come, shown, np.zeros((len(come), pairs.models)))
        dialogues = there.sum(axis=1) if self.scores.within else np.ones(len(come), dtype=np.int64)
        seconds = self._seconds((len(come), int(dialogues.max())), np.zeros((len(come), pairs.models)))
        ended = now + np.where(np.arange(seconds.shape[1]) < dialogues[:, None], seconds, 0.0).sum(axis=1)
        self.studies.enter(come, shown, shares, np.ones_like(shares), due=np.full(len(come), np.inf), ended=ended)
        self.free_at[come, slot] = ended
        self.begun[come] += dialogues

    def _shares(self, of: Ints, shown: Ints, likes: Floats) -> Floats:
        rows, pair, is_shown = np.arange(len(shown))[:, None], np.maximum(shown, 0), shown >= 0
        first, second, models = self.pairs.first[pair], self.pairs.second[pair], self.pairs.models
        there = np.zeros((len(shown), models + 1), dtype=bool)
        for ends in (first, second):
            there[rows, np.where(is_shown, ends, models)] = True
        scores = self.scores.drawn(np.where(there[:, :models], self.levels[of], _ABSENT), self.rng)
        return np.where(is_shown, self.scores.share(scores[rows, first] - scores[rows, second]), np.nan)


_ABSENT = 1e-9  # The level of a model that is not shown, which is never chosen
