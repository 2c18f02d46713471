"""Simulated studies of finished dialogues that stop once they reach a decision, with and without a judge: false claims.

Each model has so many dialogues, of which some are better than others; every pairing of two is judged once at most, by
people whose tastes differ. The win rate of a pair is that of its pairings by all people, and just what the truth says.
The judge answers every pairing before anybody is asked. Eight raters are inside at a time, and end in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.rule import IN_FLIGHT, StoppingRule

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MARGIN, DIALOGUES = 0.2, 24
"""So wide a margin that the pairings of 24 dialogues of each model serve."""
QUALITY, TASTE = 1.0, 0.5
"""Standard deviations in probits: of what tells two dialogues apart, and of people's liking for one of the two models."""
BETWEEN = 0.5
"""Standard deviation, in that of quality, of what only shows where two dialogues meet."""
UNIT = 3  # Judgements of a rater, of different pairs of models
LEAVE = 0.1  # Chance of leaving before a judgement but the first


def _says(chance: Floats, rng: np.random.Generator) -> Floats:
    return (rng.random(chance.shape) < chance).astype(float)


def _person(odds: Floats, rng: np.random.Generator) -> Floats:
    return _says(ndtr(odds + rng.normal(0, TASTE, odds.shape)), rng)


def _average(odds: Floats) -> Floats:
    return np.asarray(ndtr(odds / np.hypot(1, TASTE)), dtype=float)


Judge = Callable[[Floats, np.random.Generator], Floats]
"""Liking of a pairing's first dialogue in probits → what the judge says of it, from 0 to 1."""
JUDGES: Mapping[str, Judge] = {
    "useless": lambda odds, rng: _says(np.full(odds.shape, 0.5), rng),
    "biased": lambda odds, rng: _says(ndtr(odds + 1.5), rng),
    "contrary": lambda odds, rng: _says(ndtr(-odds), rng),
    "turncoat": lambda odds, rng: _average(odds),
    "copies people": lambda odds, rng: _average(odds),
    "like a person": _person,
    "like a person, asked twice": lambda odds, rng: np.mean([_person(odds, rng) for _ in range(2)], axis=0),
    "like a person, asked five times": lambda odds, rng: np.mean([_person(odds, rng) for _ in range(5)], axis=0),
    "says what people say on average": lambda odds, rng: _average(odds),
    "peeks": lambda odds, rng: _says(np.full(odds.shape, 0.2), rng),
}
"""The turncoat proves right until 30 raters have come, and says the opposite from then on. Who copies people says of each
pairing what the very person will say who is to judge it, beforehand. Who peeks answers after that person: the mutant."""
TURNS_AFTER = 30


@dataclass(frozen=True)
class Ended:
    """What became of each study: judgements; whether it claimed falsely that a model is better, or two equal; whether all
    was decided."""

    dialogues: Floats
    better: Flags
    equal: Flags
    decided: Flags

    @property
    def false(self) -> float:
        """The share of studies with a false claim."""
        return float((self.better | self.equal).mean())


class Judged:
    """Studies of models whose win rates are apart by differences of ``truth``; with ``judge`` None: without one."""

    def __init__(
        self,
        truth: tuple[float, ...],
        judge: str | None,
        studies: int,
        *,
        cap: int,
        quality: float = QUALITY,
        seed: int = 0,
    ) -> None:
        self.quality = quality
        self.rng, models = np.random.default_rng(seed), len(truth)
        self.truth, self.judge, self.cap, self.pairs = np.array(truth), judge, cap, pairs_of(models)
        rule = StoppingRule(
            models=tuple("ABCDEFGHIJ"[:models]), margin=MARGIN, max_dialogues=cap, judge=f"{judge}@1" if judge else ""
        )
        self.studies = Studies(rule, studies)
        self.odds = self._pool(studies)
        self.tastes = np.random.default_rng(seed + 1)  # the same raters come with every judge
        if judge is not None:
            self.said = JUDGES[judge](self.odds, np.random.default_rng(seed + 2))
            self.left = self.said.sum(axis=2)
        self.next = np.zeros(self.odds.shape[:2], dtype=np.int64)

    def _pool(self, studies: int) -> Floats:
        """Studies × pairs × pairings, in the order in which they will be drawn by lot."""
        first, second = self.pairs.first, self.pairs.second
        of_one = self.rng.normal(0, self.quality / np.sqrt(2), (studies, len(self.truth), DIALOGUES))
        odds = (of_one[:, first, :, None] - of_one[:, second, None, :]).reshape(studies, len(first), -1)
        odds = odds + self.rng.normal(0, self.quality * BETWEEN, odds.shape)
        rates = 0.5 + (self.truth[first] - self.truth[second]) / 2
        low, high = np.full(odds.shape[:2], -6.0), np.full(odds.shape[:2], 6.0)
        for _ in range(25):
            middle = (low + high) / 2
            under = _average(odds + middle[..., None]).mean(axis=2) < rates
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(self.rng.permuted(odds + low[..., None], axis=2), dtype=float)

    def run(self) -> Ended:
        """Let raters come until every study is decided, or at its cap."""
        studies, n = self.studies, self.studies.count
        begun, alive = np.zeros(n), np.arange(n)
        better, equal = np.zeros((n, *studies.decisions.better.shape[1:]), bool), np.zeros((n, self.pairs.count), bool)
        came = 0
        while alive.size:
            rows, now = np.arange(len(alive)), np.full(len(alive), float(came))
            capped = (begun[alive] >= self.cap) | (self.next[alive] >= self.odds.shape[2]).any(axis=1)
            studies.advance(rows, np.where(capped, np.inf, now))
            over = capped | ~studies.decisions.open().any(axis=1)
            better[alive[over]], equal[alive[over]] = studies.decisions.better[over], studies.decisions.equal[over]
            studies.take(~over)
            alive = alive[~over]
            if alive.size:
                begun[alive] += self._come(alive, came)
                came += 1
                if came % 50 == 0:
                    studies.drop_folded()
        gap = self.truth[:, None] - self.truth
        first, second = self.pairs.first, self.pairs.second
        wide = np.abs(gap[first, second]) >= MARGIN - 1e-9
        told = better[:, first, second] | better[:, second, first] | equal
        ended = (better & (gap <= 1e-9)).any(axis=(1, 2)), (equal & wide).any(axis=1), told.all(axis=1)
        return Ended(begun, *map(np.asarray, ended))

    def _come(self, alive: npt.NDArray[np.int64], came: int) -> Floats:
        """A rater comes to each study; returns how many judgements they are given."""
        rows, open_pairs = np.arange(len(alive)), self.studies.decisions.open()
        shown = drawn_pairs(open_pairs, min(UNIT, self.pairs.count), self.rng)
        shown = np.where(np.arange(shown.shape[1]) < open_pairs.sum(axis=1, keepdims=True), shown, -1)
        given, pair, study = shown >= 0, np.maximum(shown, 0), np.broadcast_to(alive[:, None], shown.shape)
        place = self.next[study, pair]
        odds = self.odds[study, pair, place]
        likes = self.tastes.normal(0, TASTE / np.sqrt(2), (len(alive), len(self.truth)))
        liked = likes[rows[:, None], self.pairs.first[pair]] - likes[rows[:, None], self.pairs.second[pair]]
        shares = _says(ndtr(odds + liked), self.rng)
        predicted = np.where(given, self._predicted(study, pair, place, given, shares, came), 0.0)
        self.next[study[given], pair[given]] += 1
        stays = np.cumprod(self.rng.random(shown.shape) >= LEAVE * (np.arange(shown.shape[1]) > 0), axis=1) > 0
        ended = came + self.rng.integers(0, IN_FLIGHT, len(alive))
        self.studies.enter(
            rows,
            shown,
            np.where(given & stays, shares, np.nan),
            np.ones_like(shares),
            predicted,
            due=np.full(len(alive), np.inf),
            ended=ended.astype(float),
        )
        return np.asarray(given.sum(axis=1), dtype=float)

    def _predicted(
        self,
        study: npt.NDArray[np.int64],
        pair: npt.NDArray[np.int64],
        place: npt.NDArray[np.int64],
        given: Flags,
        shares: Floats,
        came: int,
    ) -> Floats:
        """What the judge had said of each pairing, less its mean over all that could have been drawn."""
        if self.judge is None:
            return np.zeros_like(shares)
        said, lots = self.said[study, pair, place], self.odds.shape[2] - place
        mean = self.left[study, pair] / lots
        self.left[study[given], pair[given]] -= said[given]
        if self.judge == "turncoat" and came >= TURNS_AFTER:
            said, mean = 1 - said, 1 - mean
        if self.judge == "copies people":  # of the others, what people would say is right on average
            said, mean = shares, mean + (shares - said) / lots
        return np.asarray((shares if self.judge == "peeks" else said) - mean, dtype=float)
