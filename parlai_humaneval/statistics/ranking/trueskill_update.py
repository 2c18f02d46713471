"""What one TrueSkill match tells of its players (Herbrich et al. 2006, §2–3).

One implementation serves one match in plain numbers and many at once: lists hold an entry a player, which is a number, or
an array with an entry a match. Arrays are fast for a thousand replicates; a single study of ten thousand dialogues takes
twenty times as long with them as with plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import special
from scipy.special import cython_special

from parlai_humaneval._util.arrays import Flags, Floats

Number = TypeVar("Number", float, Floats)

MU, SIGMA = 25.0, 25.0 / 3
BETA, TAU, DRAW = 25.0 / 6, 25.0 / 300, 0.10
TOLERANCE, PASSES = 1e-12, 1_000
FEW = 12
"""So many matches are faster one by one, in plain numbers."""

_ROOT_HALF, _ROOT_2_PI, _ROOT_PI_2 = math.sqrt(0.5), math.sqrt(2 / math.pi), math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class SkillModel:
    """The constants of TrueSkill, in its points; Ma et al. (2023) use the defaults, of Herbrich et al. (2006).

    Attributes:
        mu, sigma: what is believed of a model that nobody has seen.
        beta: standard deviation of a performance around the skill.
        tau: standard deviation by which a skill may have changed from one match to the next.
        draw: chance that two equally good players tie.
    """

    mu: float = MU
    sigma: float = SIGMA
    beta: float = BETA
    tau: float = TAU
    draw: float = DRAW

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and self.beta > 0 and self.tau >= 0 and 0 <= self.draw < 1):
            raise ValueError("TrueSkill needs sigma and beta above 0, tau of at least 0 and a draw chance from 0 to 1.")

    @property
    def margin(self) -> float:
        """How near two performances are in a tie."""
        return float(special.ndtri((self.draw + 1) / 2) * np.sqrt(2) * self.beta)


@dataclass(frozen=True)
class Maths(Generic[Number]):
    """The functions of plain numbers, or those of arrays."""

    sqrt: Callable[[Number], Number]
    exp: Callable[[Number], Number]
    erfcx: Callable[[Number], Number]
    copysign: Callable[[Number, Number], Number]
    factors: Callable[[Number, Number, Any], tuple[Number, Number]]
    """V and W of a lead and a margin, with what says which are ties."""
    apart: Callable[[Sequence[Number], Sequence[Number]], float]
    """The largest difference between two lists."""


def win_factors(lead: Number, margin: Number, maths: Maths[Number]) -> tuple[Number, Number]:
    """V and W, by which mean and variance change after a win; ``lead`` and ``margin`` in standard deviations."""
    x = lead - margin
    v = _ROOT_2_PI / maths.erfcx(-_ROOT_HALF * x)
    return v, v * (v + x)


def tie_factors(lead: Number, margin: Number, maths: Maths[Number]) -> tuple[Number, Number]:
    """V and W after a tie. Both are scaled by the density at the nearer end, so that no tail underflows."""
    size = abs(lead)
    near, far = margin - size, -margin - size
    shrink = maths.exp(-2 * margin * size)
    mass = _ROOT_PI_2 * (maths.erfcx(-_ROOT_HALF * near) - maths.erfcx(-_ROOT_HALF * far) * shrink)
    v = (shrink - 1) / mass
    return maths.copysign(v, -lead), v * v + (near - far * shrink) / mass


def factors(lead: Floats, margin: Floats, tied: Flags) -> tuple[Floats, Floats]:
    """V and W of an array of wins and ties."""
    v, w = win_factors(lead, margin, ARRAYS)
    if tied.any():
        v[tied], w[tied] = tie_factors(lead[tied], margin[tied], ARRAYS)
    return v, w


def _factors_of_one(lead: float, margin: float, tied: bool) -> tuple[float, float]:
    return (tie_factors if tied else win_factors)(lead, margin, NUMBERS)


def _numbers_apart(new: Sequence[float], old: Sequence[float]) -> float:
    return max([abs(a - b) for a, b in zip(new, old, strict=True)])


def _arrays_apart(new: Sequence[Floats], old: Sequence[Floats]) -> float:
    return float(np.abs(np.subtract(new, old)).max(initial=0))


NUMBERS: Maths[float] = Maths(math.sqrt, math.exp, cython_special.erfcx, math.copysign, _factors_of_one, _numbers_apart)
ARRAYS: Maths[Floats] = Maths(np.sqrt, np.exp, special.erfcx, np.copysign, factors, _arrays_apart)


def update_matches(
    mu: Floats, sigma: Floats, ranks: Floats, model: SkillModel, *, tolerance: float, passes: int
) -> tuple[Floats, Floats]:
    """Beliefs after one match a row. All arrays are rows × players; a nan rank did not take part.

    Smaller ranks are better, equal ones tie. Tied players are neighbours in the order of the columns, as in the
    package ``trueskill``: a chain of ties knows only its neighbours, so that its ends are known a little less well.
    A row in which fewer than two took part is left as it was.
    """
    if len(mu) > FEW:
        return _at_once(mu, sigma, ranks, _Match(model, ARRAYS, tolerance, passes))
    match = _Match(model, NUMBERS, tolerance, passes)
    rows = zip(mu.tolist(), sigma.tolist(), ranks.tolist(), strict=True)
    beliefs = np.array([_alone(*row, match) for row in rows]).reshape(len(mu), 2, -1)
    return beliefs[:, 0].copy(), beliefs[:, 1].copy()


def _alone(
    mu: list[float], sigma: list[float], ranks: list[float], match: _Match[float]
) -> tuple[list[float], list[float]]:
    order = sorted((i for i, rank in enumerate(ranks) if not math.isnan(rank)), key=ranks.__getitem__)
    if len(order) > 1:
        tied = [ranks[a] == ranks[b] for a, b in pairwise(order)]
        means, deviations = match.beliefs([mu[i] for i in order], [sigma[i] for i in order], tied)
        for i, mean, deviation in zip(order, means, deviations, strict=True):
            mu[i], sigma[i] = mean, deviation
    return mu, sigma


def _at_once(mu: Floats, sigma: Floats, ranks: Floats, match: _Match[Floats]) -> tuple[Floats, Floats]:
    """Many matches, as arrays of players × matches in the order of their ranks."""
    most = max(2, int((~np.isnan(ranks)).sum(axis=1).max()))
    order = np.argsort(ranks, axis=1, kind="stable").T[:most]  # nan comes last
    rows = np.arange(len(mu))
    placed = ranks[rows, order]
    active = ~np.isnan(placed[1:])
    means, deviations = match.beliefs(
        [*mu[rows, order]], [*sigma[rows, order]], placed[1:] == placed[:-1], None if active.all() else active
    )
    played = np.concatenate([active[:1], active])
    new_mu, new_sigma = mu.copy(), sigma.copy()
    new_mu[rows, order] = np.where(played, means, mu[rows, order])
    new_sigma[rows, order] = np.where(played, deviations, sigma[rows, order])
    return new_mu, new_sigma


@dataclass(frozen=True)
class _Match(Generic[Number]):
    model: SkillModel
    maths: Maths[Number]
    tolerance: float
    passes: int

    def beliefs(
        self,
        mu: Sequence[Number],
        sigma: Sequence[Number],
        tied: Sequence[bool] | Flags,
        active: Flags | None = None,
    ) -> tuple[list[Number], list[Number]]:
        """New μ and σ. ``tied``: each with the next; ``active``: the next took part, None where all did."""
        noise = self.model.beta**2
        before = [deviation * deviation + self.model.tau**2 for deviation in sigma]
        performance = [1 / (variance + noise) for variance in before]
        weighted = [mean * precision for mean, precision in zip(mu, performance, strict=True)]
        learnt = self._learnt(performance, weighted, tied, active)
        means, deviations = [], []
        for mean, variance, precision, gained in zip(mu, before, *learnt, strict=True):
            damped = 1 / (1 + noise * precision)
            after = 1 / (1 / variance + damped * precision)
            means.append(after * (mean / variance + damped * gained))
            deviations.append(self.maths.sqrt(after))
        return means, deviations

    def _learnt(
        self,
        precision: list[Number],
        weighted: list[Number],
        tied: Sequence[bool] | Flags,
        active: Flags | None,
    ) -> tuple[list[Number], list[Number]]:
        """What each player learns: precision and precision × mean of the messages from both neighbours.

        ``above`` comes from the difference with the player before, ``below`` from that with the player after. Going
        forth and back along the chain, the difference at its end need not be visited twice.
        """
        size: int = len(precision)
        margin, maths = self.model.margin, self.maths
        nothing = 0 * precision[0]
        above_p, above_w, below_p, below_w = ([nothing] * size for _ in range(4))
        learnt = ([nothing] * size, [nothing] * size)
        route = [*range(size - 1), *range(size - 3, 0, -1)]
        for _ in range(self.passes if size > 2 else 1):
            for i in route:
                p_a, p_b = precision[i] + above_p[i], precision[i + 1] + below_p[i + 1]
                mean_a, mean_b = (weighted[i] + above_w[i]) / p_a, (weighted[i + 1] + below_w[i + 1]) / p_b
                variance = 1 / p_a + 1 / p_b
                scale, lead = maths.sqrt(variance), mean_a - mean_b
                v, w = maths.factors(lead / scale, margin / scale, tied[i])
                if active is not None:  # Where the worse one did not take part, nothing is learnt.
                    v, w = v * active[i], w * active[i]
                # The message is the belief after the ranking divided by the one before.
                rest = variance * (1 - w)
                says, weighs = w / rest, (lead * w + scale * v) / rest
                to_worse, to_better = 1 + says / p_a, 1 + says / p_b
                above_p[i + 1], above_w[i + 1] = says / to_worse, (mean_a * says - weighs) / to_worse
                below_p[i], below_w[i] = says / to_better, (mean_b * says + weighs) / to_better
            before, learnt = (
                learnt,
                (
                    [a + b for a, b in zip(above_p, below_p, strict=True)],
                    [a + b for a, b in zip(above_w, below_w, strict=True)],
                ),
            )
            if self._settled(before, learnt):
                break
        return learnt

    def _settled(self, before: tuple[list[Number], list[Number]], after: tuple[list[Number], list[Number]]) -> bool:
        steps = (self.tolerance / self.model.beta**2, self.tolerance / self.model.beta)
        return all(self.maths.apart(new, old) <= step for new, old, step in zip(after, before, steps, strict=True))


def _sums(first: Sequence[Number], second: Sequence[Number]) -> list[Number]:
    return [a + b for a, b in zip(first, second, strict=True)]
