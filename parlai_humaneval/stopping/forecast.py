"""How many dialogues a study still needs: it is run to its end many times, with what is known of its models."""

from __future__ import annotations

import copy

import numpy as np
from scipy.special import expit

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.simulation import Crowd, Crowded, win_rates
from parlai_humaneval.stopping.status import Forecast

SIMULATIONS = 200
SPREAD = 0.5
"""Standard deviation of strengths in log-odds, as it is taken to be before anything is known."""


def forecast(
    studies: Studies, *, begun: int, crowd: Crowd | None = None, simulations: int = SIMULATIONS, seed: int = 0
) -> Forecast:
    """Run the first of ``studies`` on, ``simulations`` times, with strengths drawn from what is known of them.

    ``begun``: dialogues that count towards its cap; ``crowd``: what its workers are like. Who is in flight is taken to give
    no answer.
    """
    rng = np.random.default_rng(seed)
    rates = np.stack([win_rates(drawn) for drawn in _strengths(studies, simulations, rng)])
    ahead = copy.deepcopy(studies)
    ahead.take(np.zeros(simulations, dtype=np.int64))
    ahead.ended[:] = 0.0
    done = Crowded(ahead, rates, crowd or Crowd(), begun=begun, seed=seed).run()
    to_go = done.dialogues - begun
    low, high = np.quantile(to_go, [0.1, 0.9])
    return Forecast(
        expected=float(to_go.mean()),
        low=int(np.floor(low)),
        high=int(np.ceil(high)),
        capped=float((~done.decided).mean()),
        simulations=simulations,
        seed=seed,
        begun=begun,
    )


def _strengths(studies: Studies, draws: int, rng: np.random.Generator) -> Floats:
    """Draws × models: strengths as probable as they are now, after Bradley and Terry, by a normal approximation."""
    won, met = studies.evidence.won[0], studies.evidence.met[0]
    turns = 0.25 / Crowd().share_variance()
    theta, precision = np.zeros(len(won)), np.eye(len(won)) / SPREAD**2
    information = precision
    for _ in range(25):
        rate = expit(theta[:, None] - theta[None, :])
        slope = turns * (won - met * rate).sum(axis=1) - precision @ theta
        weight = turns * met * rate * (1 - rate)
        information = precision + np.diag(weight.sum(axis=1)) - weight
        theta = theta + np.linalg.solve(information, slope)
    root = np.linalg.cholesky(np.linalg.inv(information))
    return np.asarray(theta + rng.standard_normal((draws, len(theta))) @ root.T)
