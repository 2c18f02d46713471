"""Crowds on which a mean over answers is no mean over workers, or no sign is as likely up as down.

Two kinds of crowds whose models are equal in the mean over workers: some workers always choose the first model, and all
others lean a little to the second (``always``); or the workers' number of dialogues correlates with their taste
(``diligence``). Both are read as every answer counts, and as every worker counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr, stdtr

from benchmarks.inference.crowd import MOST, Crowd, Floats, Ints
from benchmarks.inference.designs import NAMES, TURNS, turns_of
from benchmarks.inference.remedies import ALPHA, GAPS, cr1_error
from benchmarks.inference.sums import Arm, Gap
from parlai_humaneval import analysis

TASTE = 0.17
"""Intraclass correlation of the answers of a worker whose diligence goes with their taste."""
LIKENESS = 0.05
"""The same of those who do not always choose the first model."""
STUDIES, ASKED, POWER, STEPS = 2_000, 40, 0.8, 9
"""Studies of a crowd; of these, those that the public function reads; the power that gaps are chosen for; halvings."""
AGREE = 0.1
"""Largest share of these in which the public function may decide otherwise than the test that is taken for it."""


@dataclass(frozen=True)
class Tastes:
    """``always``: share of workers who always choose the first model; ``diligence``: correlation of a worker's log number of
    dialogues with their taste; ``unequal``: numbers of dialogues are lognormal, else all give equally many."""

    workers: int
    always: float = 0.0
    diligence: float = 0.0
    unequal: bool = True

    @property
    def name(self) -> str:
        if self.diligence:
            return f"{self.workers} workers, number of dialogues goes with taste (ρ = {self.diligence:g})"
        kind = "unequal" if self.unequal else "equal"
        return f"{self.workers} {kind} workers, {self.always:.0%} always choose one model"

    def draw(self, gap: float, studies: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Turns of each worker, and those in which the first model was chosen, by (1 + ``gap``)/2 of the mean worker."""
        shape, mean = (studies, self.workers), (1 + gap) / 2
        if not self.diligence:
            crowd = Crowd(self.workers, heavy=self.unequal, icc=LIKENESS)
            turns = crowd.sizes(studies, TURNS, rng)
            chances = crowd.chances((mean - self.always) / (1 - self.always), shape, rng)
            return turns, rng.binomial(turns, np.where(rng.random(shape) < self.always, 1.0, chances))
        taste, noise = rng.normal(size=(2, *shape))
        drawn = np.exp(np.log(2) + 1.1 * (self.diligence * taste + np.sqrt(1 - self.diligence**2) * noise))
        turns = TURNS * np.clip(np.round(drawn), 1, MOST).astype(np.int64)
        strength = 1 / TASTE - 1
        return turns, rng.binomial(turns, betaincinv(mean * strength, (1 - mean) * strength, ndtr(taste)))


CROWDS = (
    *(Tastes(20, always, unequal=False) for always in (0.0, 0.1, 0.2)),
    *(Tastes(workers, always) for workers in (20, 50, 150) for always in (0.0, 0.05, 0.1, 0.2)),
    *(Tastes(workers, diligence=0.4) for workers in (20, 50, 150)),
)


def johnson(gap: Gap, _: np.random.Generator) -> Floats:
    """CR1 t corrected for the skewness of the workers' residuals (Johnson 1978)."""
    parts = np.asarray(sum(sign * arm.deviations(arm.mean) for arm, sign in gap.signed))
    skewness = (parts**3).sum(axis=1) / np.maximum((parts**2).sum(axis=1), 1e-12) ** 1.5
    t = gap.estimate / np.maximum(cr1_error(gap), 1e-12)
    return np.asarray(2 * stdtr(parts.shape[1] - 1, -np.abs(t + skewness * (1 + 2 * t**2) / 6)))


def flips(gap: Gap, rng: np.random.Generator) -> Floats:
    return GAPS["sign-flip, saddlepoint"](gap, rng)


def larger(gap: Gap, rng: np.random.Generator) -> Floats:
    return np.maximum(flips(gap, rng), johnson(gap, rng))


def betting(gap: Gap, _: np.random.Generator) -> Floats:
    """2/E at its least of bets on workers in the order in which they came, each counted once; right for any tastes."""
    shares = np.clip((gap.first.values / gap.first.counts + 1) / 2, 0, 1)
    highest = [max(side.max() for side in analysis.order_evidence(of_study)) for of_study in shares]
    return np.minimum(1.0, 2 / np.asarray(highest))


Test = Callable[[Gap, np.random.Generator], Floats]
BY_ANSWER, ONCE = "sign-flip, every answer counts", "sign-flip, every worker once"
TESTS: Mapping[str, tuple[Test, bool]] = {
    BY_ANSWER: (flips, False),
    ONCE: (flips, True),
    "CR1 t": (GAPS["CR1 t"], False),
    "CR2, Bell–McCaffrey df": (GAPS["CR2, Bell–McCaffrey df"], False),
    "wild cluster bootstrap": (GAPS["wild cluster bootstrap"], False),
    "Johnson's t": (johnson, False),
    "larger p of sign-flip and Johnson": (larger, False),
    "Johnson's t, every worker once": (johnson, True),
    "betting, every worker once": (betting, True),
}
"""Each test, and whether every worker counts once. The first two stand in reports, next to each other."""


@dataclass(frozen=True)
class Tasted:
    """Shares of studies in which each test finds a difference: ``null`` of equal models, ``power`` of a gap to each side."""

    crowd: Tastes
    null: dict[str, float]
    power: dict[str, float]


def tasted(studies: int = STUDIES, asked: int = ASKED) -> list[Tasted]:
    """Every crowd, of equal models and with the gap that an even crowd of so many unequal workers finds in ``POWER``.

    Raises:
        RuntimeError: the public function decides otherwise than the tests that are taken for it.
    """
    gaps = {workers: _gap(workers, studies) for workers in {crowd.workers for crowd in CROWDS}}
    found = []
    for number, crowd in enumerate(CROWDS):
        rng = np.random.default_rng([7, number])
        null = _shares(crowd, 0.0, studies, asked, rng)
        sides = [_shares(crowd, sign * gaps[crowd.workers], studies // 4, 0, rng) for sign in (1, -1)]
        power = {name: float(np.mean([side[name] for side in sides])) for name in TESTS}
        found.append(Tasted(crowd, null, power))
    return found


def _gap(workers: int, studies: int) -> float:
    low, high = 0.0, 0.9
    for step in range(STEPS):
        middle = (low + high) / 2
        turns, chosen = Tastes(workers).draw(middle, studies // 4, np.random.default_rng([8, step]))
        power = (flips(_sums(turns, chosen, once=False), np.random.default_rng(0)) < ALPHA).mean()
        low, high = (middle, high) if power < POWER else (low, middle)
    return (low + high) / 2


def _sums(turns: Ints, chosen: Ints, *, once: bool) -> Gap:
    lead, counts = (2 * chosen - turns).astype(float), turns.astype(float)
    return Gap(Arm(lead / counts, np.ones_like(counts)) if once else Arm(lead, counts), null=0.0)


def _shares(crowd: Tastes, gap: float, studies: int, asked: int, rng: np.random.Generator) -> dict[str, float]:
    turns, chosen = crowd.draw(gap, studies, rng)
    p_values = {
        name: test(_sums(turns, chosen, once=once), np.random.default_rng(0)) for name, (test, once) in TESTS.items()
    }
    otherwise = 0
    for study in range(asked):
        picks, workers = turns_of(np.stack([chosen[study], turns[study] - chosen[study]], axis=1))
        (test,) = analysis.compare_choices(picks, NAMES[:2], workers, one_pick=True)
        said = (test.clustered.p_value, test.clustered.details["p_per_worker"])
        for name, p in zip((BY_ANSWER, ONCE), said, strict=True):
            otherwise += (p is not None and float(p) < ALPHA) != (p_values[name][study] < ALPHA)
    if otherwise > AGREE * asked:
        raise RuntimeError(f"{crowd.name}: reports decide otherwise in {otherwise} of {2 * asked} answers")
    return {name: float((p < ALPHA).mean()) for name, p in p_values.items()}
