"""How few dialogues any stopping rule could do with that keeps the promises of stop=decided, next to the goals (a minute).

Raters' shares are taken to be normal with the variance of the simulated crowd, which is known, and with all drifts known but
for which holds: who knows less needs more. For one pair, the rule that needs the fewest dialogues on weighted average over
truths is found by backward induction over (raters so far, sum of their leads), and whatever its multipliers are, what comes
out is a lower bound (weak duality): a false claim costs λ, and λ times the chance that is allowed is taken off in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize
from scipy.special import rel_entr

from benchmarks.figures import Figure
from parlai_humaneval.stopping.rule import IN_FLIGHT, StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, fixed_plan

Numbers = npt.NDArray[np.float64]

MARGIN = 0.1
ALPHA = BETA = 0.05
GAPS = (0, 10, 20)
GOALS = {"0": 0.70, "10": 0.60, "20": 0.18}
STEP = 0.25  # Of the grid of sums, in standard deviations of one rater
WIDEST = 60.0
CAP = 3.0  # Of the plan: nothing has to be decided after so many dialogues


def kl(p: float, q: float) -> float:
    """Kullback–Leibler divergence of two coins."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def plan_of(models: int) -> float:
    """Dialogues of the pooled fixed plan."""
    names = tuple(f"m{number}" for number in range(models))
    rule = StoppingRule(models=names, margin=MARGIN, alpha=ALPHA, max_dialogues=10**6)
    return fixed_plan(rule, variance=Crowd().share_variance(), pooled=models > 2)


DRIFT = MARGIN / 2 / math.sqrt(Crowd().share_variance())
"""Of a rater's lead at the margin, in standard deviations."""
ONE_PLAN = plan_of(2)
INSIDE = IN_FLIGHT - 1
"""Others who are inside when the last rater is through who was needed."""


@dataclass(frozen=True)
class Weighted:
    """``weights``: of the expected dialogues at each of :data:`GAPS`. ``better``, ``equal``: multipliers of a false claim that
    one of two equal models is better, and that two at the margin are equal."""

    weights: Sequence[float]
    better: float
    equal: float

    def bound(self, *, most: int) -> float:
        """No rule has a lower weighted mean of expected dialogues, if it claims nothing falsely more often than it may."""
        sums = np.arange(-WIDEST, WIDEST + STEP / 2, STEP)
        reach = np.arange(-6, 6 + STEP / 2, STEP)
        kernel = np.exp(-(reach**2) / 2)
        kernel /= kernel.sum()
        edge = len(reach) // 2
        left = np.zeros_like(sums)
        for raters in range(most - 1, -1, -1):
            at_margin = self._odds(sums, DRIFT, raters)
            # Who stops says that one is better, or that they are equal, whichever costs less.
            stop = np.minimum(self.better, self.equal * at_margin)
            ahead = np.convolve(np.pad(left, edge, mode="edge"), kernel, mode="valid")
            each = self.weights[0] + self.weights[1] * at_margin / 2 + self.weights[2] * self._odds(sums, 2 * DRIFT, raters) / 2
            left = np.minimum(stop, each + ahead) if raters else each + ahead
        return float(left[len(sums) // 2]) - self.better * ALPHA - self.equal * 2 * BETA

    @staticmethod
    def _odds(sums: Numbers, drift: float, raters: int) -> Numbers:
        """How much likelier this sum is where one is ahead by ``drift``, or the other is, than where they are equal."""
        return np.asarray(2 * np.cosh(np.minimum(drift * np.abs(sums), 600)) * math.exp(-raters * drift**2 / 2))


def one_pair(weights: Sequence[float], *, most: int) -> float:
    """The best lower bound of the weighted mean of dialogues over truths."""

    def lacking(logs: Numbers) -> float:
        return -Weighted(weights, *np.exp(logs)).bound(most=most)

    start = np.log(np.array([400.0, 400.0]) * sum(weights))
    return -float(minimize(lacking, start, method="Nelder-Mead", options={"xatol": 0.02, "fatol": 0.02, "maxiter": 80}).fun)
