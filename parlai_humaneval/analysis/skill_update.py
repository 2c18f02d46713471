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
