"""One made-up study under both regimes: it ends when every pair is decided, or it goes through with a fixed plan.

Both get the same answers: the tenth dialogue of two models has the same outcome, whichever regime asks for it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from parlai_humaneval.statistics.core.sequential import share_interval
from parlai_humaneval.stopping.events import Answered, Arrived, Claimed, Folded, Outcome, PairStatus, StoppingStatus
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Peek, fixed_plan, win_rates
from parlai_humaneval.stopping.study import SequentialStudy

Floats = npt.NDArray[np.float64]

POINTS = {"ada": 16.0, "bob": 16.0, "cyd": 0.0, "dan": 0.0}
"""By so many points each model's win rate is above that of the next."""
CROWD = Crowd()
RULE = StoppingRule(models=tuple(POINTS), margin=0.1, alpha=0.05, max_dialogues=3000)
SEED = 4
SECONDS = 600.0
"""Of a dialogue, as a median: nobody runs out of time."""
MOST = 3000
"""Answers of a pair that are drawn beforehand: no study asks for more."""


@dataclass(frozen=True)
class PairUnderBoth:
    """Two models.

    Attributes:
        gap: the true difference of their win rates.
        low, high: the interval for it that may be looked at whenever one likes, after each dialogue of the pair.
        standing: how the pair stood when the study ended.
        closed: dialogues of the pair when it was decided.
        fixed: the interval for the difference after the fixed plan, for one look.
        peek: what looking at p < .05 would have said.
    """

    gap: float
    low: Floats
    high: Floats
    standing: PairStatus
    closed: int
    fixed: tuple[float, float]
    peek: Peek


@dataclass(frozen=True)
class OneStudy:
    """A study and its pairs.

    Attributes:
        planned: dialogues of each pair, where each has a fixed plan of its own.
        planned_pooled: of all pairs, where one fixed plan estimates the strengths of all models together.
    """

    pairs: tuple[PairUnderBoth, ...]
    standing: StoppingStatus
    planned: int
    planned_pooled: int

    @property
    def planned_in_all(self) -> int:
        """Dialogues of all pairs' fixed plans."""
        return self.planned * len(self.pairs)


@dataclass
class _Answers:
    """Outcomes of each pair's dialogues, in their order. ``given``: how many were asked for."""

    picks: dict[tuple[str, str], npt.NDArray[np.int64]]
    given: dict[tuple[str, str], int] = field(default_factory=dict)

    def next(self, pair: tuple[str, str]) -> Outcome:
        place = self.given.get(pair, 0)
        self.given[pair] = place + 1
        won = int(self.picks[pair][place])
        return Outcome(picks=(won, CROWD.turns - won), turns=CROWD.turns)

    def shares(self, pair: tuple[str, str], most: int) -> Floats:
        """What the first model won in each of the first dialogues."""
        return np.asarray(self.picks[pair][:most] / CROWD.turns, dtype=float)


def strengths(points: dict[str, float]) -> Floats:
    """Of each model, in log-odds, from its distance to the next."""
    steps = [math.log((0.5 + gap / 200) / (0.5 - gap / 200)) for gap in points.values()]
    return np.cumsum(steps[::-1])[::-1] - steps[-1]


def made_up(seed: int = SEED) -> OneStudy:
    """The study that the page shows."""
    rates, names = win_rates(strengths(POINTS)), list(POINTS)
    answers = _answers(rates, names, seed)
    study = _run(SequentialStudy(RULE, seed=seed), answers, np.random.default_rng([seed, 1]))
    standing = study.standing()
    single, pooled = (fixed_plan(RULE, variance=CROWD.share_variance(), pooled=pooled) for pooled in (False, True))
    planned = math.ceil(single / len(standing.pairs))
    shares, closed = _as_folded(study)
    peeks = {(peek.first, peek.second): peek for peek in study.peeks()}
    pairs = []
    for pair in standing.pairs:
        key = pair.first, pair.second
        low, high = share_interval(shares[key], margin=RULE.margin, level=standing.level)
        rate = rates[names.index(pair.first), names.index(pair.second)]
        pairs.append(
            PairUnderBoth(
                gap=float(2 * rate - 1),
                low=2 * low - 1,
                high=2 * high - 1,
                standing=pair,
                closed=closed[key],
                fixed=_fixed_interval(answers.shares(key, planned), standing.level),
                peek=peeks[key],
            )
        )
    return OneStudy(tuple(pairs), standing, planned, math.ceil(pooled))


def _answers(rates: Floats, names: list[str], seed: int) -> _Answers:
    rng = np.random.default_rng([seed, 0])
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return _Answers({(names[i], names[j]): turns_won(rates[i, j], MOST, rng) for i, j in pairs})


def turns_won(rate: float, dialogues: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Of each dialogue, by a worker of its own, who differ in how often they like the first model, as the ICC has it."""
    size = (1 - CROWD.icc) / CROWD.icc
    return rng.binomial(CROWD.turns, rng.beta(rate * size, (1 - rate) * size, dialogues))


def _run(study: SequentialStudy, answers: _Answers, rng: np.random.Generator) -> SequentialStudy:
    """Raters come whenever one has gone, a dialogue each, until nobody else is needed."""
    busy: list[tuple[float, int, Arrived]] = []
    number, now = 0, 0.0
    while study.ended is None:
        while len(busy) < CROWD.in_flight and study.free:
            came = study.arrive(f"w{number}", at=now)
            heapq.heappush(busy, (now + SECONDS * math.exp(0.4 * rng.standard_normal()), number, came))
            number += 1
        now, _, came = heapq.heappop(busy)
        first, second = came.dialogues[0]
        study.finish(came.worker, [answers.next((first, second))], at=now)
    return study


def _as_folded(study: SequentialStudy) -> tuple[dict[tuple[str, str], Floats], dict[tuple[str, str], int]]:
    """Of each pair the shares in the order in which they became evidence, and how many these were when it was decided."""
    pairs = {(pair.first, pair.second) for pair in study.standing().pairs}
    shares: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    closed: dict[tuple[str, str], int] = {}
    for event, shown in _evidence(study):
        if isinstance(event, Answered):
            shares[shown].append(event.outcome.share(0, 1))
        else:
            closed[shown] = len(shares[shown])
    return {pair: np.array(held) for pair, held in shares.items()}, closed


def _evidence(study: SequentialStudy) -> Iterator[tuple[Answered | Claimed, tuple[str, str]]]:
    """Answers as they became evidence and claims as they were made, with the pair that each is about."""
    shown: dict[str, tuple[str, str]] = {}
    answered: dict[str, Answered] = {}
    names = study.rule.models
    for event in study.log:
        if isinstance(event, Arrived):
            first, second = event.dialogues[0]
            shown[event.worker] = first, second
        elif isinstance(event, Answered):
            answered[event.worker] = event
        elif isinstance(event, Folded):
            yield answered[event.worker], shown[event.worker]
        elif isinstance(event, Claimed):
            first, second = sorted((event.first, event.second), key=names.index)
            yield event, (first, second)


def _fixed_interval(shares: Floats, level: float) -> tuple[float, float]:
    """Student's t by worker, for the difference of the two win rates."""
    mean, error = shares.mean(), shares.std(ddof=1) / math.sqrt(len(shares))
    reach = float(stdtrit(len(shares) - 1, (1 + level) / 2)) * error
    return float(2 * (mean - reach) - 1), float(2 * (mean + reach) - 1)
