"""One TrueSkill match of any number of players, for many replicates at once (Herbrich et al. 2006).

A match is a chain: each player's performance is drawn around the skill, and every two neighbours of the ranking
give one difference, which is above the draw margin (the better one won) or within it (a tie). Where there are
several differences the messages between them are passed until nothing changes: expectation propagation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtri

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MU, SIGMA = 25.0, 25.0 / 3
BETA, TAU, DRAW = 25.0 / 6, 25.0 / 300, 0.10
TOLERANCE, PASSES = 1e-12, 1_000

_ROOT_HALF, _ROOT_2_PI, _ROOT_PI_2 = np.sqrt(0.5), np.sqrt(2 / np.pi), np.sqrt(np.pi / 2)


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
        return float(ndtri((self.draw + 1) / 2) * np.sqrt(2) * self.beta)


def win_factors(lead: Floats, margin: Floats | float) -> tuple[Floats, Floats]:
    """V and W, by which mean and variance change after a win; ``lead`` and ``margin`` in standard deviations."""
    x = lead - margin
    v = _ROOT_2_PI / erfcx(-_ROOT_HALF * x)
    return v, v * (v + x)


def tie_factors(lead: Floats, margin: Floats | float) -> tuple[Floats, Floats]:
    """V and W after a tie. Both are scaled by the density at the nearer end, so that no tail underflows."""
    size = np.abs(lead)
    near, far = margin - size, -margin - size
    shrink = np.exp(-2 * margin * size)
    mass = _ROOT_PI_2 * (erfcx(-_ROOT_HALF * near) - erfcx(-_ROOT_HALF * far) * shrink)
    v = (shrink - 1) / mass
    return np.where(lead < 0, -v, v), v**2 + (near - far * shrink) / mass


def factors(lead: Floats, margin: Floats | float, tied: Bools) -> tuple[Floats, Floats]:
    """V and W of mixed wins and ties."""
    v, w = win_factors(lead, margin)
    if tied.any():
        of_ties = margin[tied] if isinstance(margin, np.ndarray) else margin
        v[tied], w[tied] = tie_factors(lead[tied], of_ties)
    return v, w


def update_match(
    mu: Floats, sigma: Floats, ranks: Floats, model: SkillModel, *, tolerance: float, passes: int
) -> tuple[Floats, Floats]:
    """Beliefs after one match a row. All arrays are rows × players; a nan rank did not take part.

    Smaller ranks are better, equal ones tie. Tied players are neighbours in the order of the columns, as in the
    package ``trueskill``: a chain of ties knows only its neighbours, so that its ends are known a little less well.
    A row in which fewer than two took part is left as it was.
    """
    order = np.argsort(ranks, axis=1, kind="stable")  # nan comes last
    rows = np.arange(len(order))[:, None]
    placed = ranks[rows, order].T
    start = np.square(sigma[rows, order].T) + model.tau**2
    mean = mu[rows, order].T
    precision = 1 / (start + model.beta**2)
    chain = _Chain(precision, mean * precision, np.diff(placed, axis=0) == 0, ~np.isnan(placed[1:]), model.margin)
    gained_precision, gained = chain.solve(tolerance / model.beta**2, tolerance / model.beta, passes)
    damped = 1 / (1 + model.beta**2 * gained_precision)
    after = 1 / (1 / start + damped * gained_precision)
    new_mean = after * (mean / start + damped * gained)
    played = ~np.isnan(placed) & ~np.isnan(placed[1])
    new_mu, new_sigma = mu.copy(), sigma.copy()
    new_mu[rows, order] = np.where(played, new_mean, mean).T
    new_sigma[rows, order] = np.where(played, np.sqrt(after), sigma[rows, order].T).T
    return new_mu, new_sigma


class _Chain:
    """Messages between the differences of neighbours, in precision and precision × mean.

    Arrays are players × rows or differences × rows. Every second difference depends only on the ones between them,
    so that half of them are brought up to date at once.
    """

    def __init__(self, precision: Floats, weighted: Floats, tied: Bools, active: Bools, margin: float) -> None:
        self.precision, self.weighted, self.tied, self.margin = precision, weighted, tied, margin
        self.active = None if active.all() else active
        size, rows = len(precision), precision.shape[1]
        # What each player hears from the difference before it (index 0) and the one after it (index 1).
        self.heard = np.zeros((2, 2, size, rows))
        self.above, self.below = self.heard

    def solve(self, precision_step: float, weighted_step: float, passes: int) -> tuple[Floats, Floats]:
        """What each player learns, once a pass changes nothing by more than the steps."""
        differences = len(self.tied)
        parts = [slice(first, differences, 2) for first in range(min(2, differences))]
        for _ in range(passes if differences > 1 else 1):
            before = self.heard.copy()
            for part in parts:
                self._pass(part)
            change = np.abs(self.heard - before)
            if change[:, 0].max(initial=0) <= precision_step and change[:, 1].max(initial=0) <= weighted_step:
                break
        learnt = self.above + self.below
        return learnt[0], learnt[1]

    def _pass(self, part: slice) -> None:
        """Differences of ``part`` tell their neighbours what the ranking says."""
        worse = slice(part.start + 1, part.stop + 1, part.step)
        precision_a, precision_b = (
            self.precision[part] + self.above[0, part],
            self.precision[worse] + self.below[0, worse],
        )
        mean_a = (self.weighted[part] + self.above[1, part]) / precision_a
        mean_b = (self.weighted[worse] + self.below[1, worse]) / precision_b
        variance = 1 / precision_a + 1 / precision_b
        scale, lead = np.sqrt(variance), mean_a - mean_b
        v, w = factors(lead / scale, self.margin / scale, self.tied[part])
        # The message is the belief after the ranking divided by the one before.
        rest = variance * (1 - w)
        says, weighs = w / rest, (lead * w + scale * v) / rest
        if self.active is not None:
            says, weighs = np.where(self.active[part], says, 0.0), np.where(self.active[part], weighs, 0.0)
        to_worse, to_better = 1 + says / precision_a, 1 + says / precision_b
        self.above[0, worse], self.above[1, worse] = says / to_worse, (mean_a * says - weighs) / to_worse
        self.below[0, part], self.below[1, part] = says / to_better, (mean_b * says + weighs) / to_better
