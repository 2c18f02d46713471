"""One TrueSkill match at a time in plain numbers, for the few replicates where arrays would only cost time.

The same messages as in :mod:`.skill_update`: a thousand replicates at once are fast there, but a single study of ten
thousand dialogues takes twenty times as long as here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, isnan, pi, sqrt

from scipy.special.cython_special import erfcx

from parlai_humaneval.statistics.trueskill.update import SkillModel

_ROOT_HALF, _ROOT_2_PI, _ROOT_PI_2 = sqrt(0.5), sqrt(2 / pi), sqrt(pi / 2)


def update_one(
    mu: list[float], sigma: list[float], ranks: Sequence[float], model: SkillModel, *, tolerance: float, passes: int
) -> None:
    """Change ``mu`` and ``sigma`` to the beliefs after one match; see :func:`.skill_update.update_match`."""
    playing = sorted((i for i, rank in enumerate(ranks) if not isnan(rank)), key=lambda i: ranks[i])
    if len(playing) < 2:
        return
    noise = model.beta**2
    start = [sigma[i] ** 2 + model.tau**2 for i in playing]
    own = [1 / (variance + noise) for variance in start]
    weighted = [mu[i] * p for i, p in zip(playing, own, strict=True)]
    tied = [ranks[a] == ranks[b] for a, b in pairwise(playing)]
    precision, gained = _solve(own, weighted, tied, model, tolerance, passes)
    for place, i in enumerate(playing):
        damped = 1 / (1 + noise * precision[place])
        after = 1 / (1 / start[place] + damped * precision[place])
        mu[i] = after * (mu[i] / start[place] + damped * gained[place])
        sigma[i] = sqrt(after)


def _solve(
    own: list[float], weighted: list[float], tied: list[bool], model: SkillModel, tolerance: float, passes: int
) -> tuple[list[float], list[float]]:
    """What each player learns: precision and precision × mean of the messages from both neighbours.

    ``above`` comes from the difference with the player before, ``below`` from that with the player after. Going forth
    and back along the chain, the difference at its end need not be visited twice.
    """
    size, margin = len(own), model.margin
    weighted_step, precision_step = tolerance / model.beta, tolerance / model.beta**2
    above_p, above_w, below_p, below_w = [0.0] * size, [0.0] * size, [0.0] * size, [0.0] * size
    route = [*range(size - 1), *range(size - 3, 0, -1)]
    for _ in range(passes if size > 2 else 1):
        settled = True
        for i in route:
            p_a, p_b = own[i] + above_p[i], own[i + 1] + below_p[i + 1]
            mean_a, mean_b = (weighted[i] + above_w[i]) / p_a, (weighted[i + 1] + below_w[i + 1]) / p_b
            variance = 1 / p_a + 1 / p_b
            scale = sqrt(variance)
            lead = mean_a - mean_b
            v, w = (_tie if tied[i] else _win)(lead / scale, margin / scale)
            rest = variance * (1 - w)
            p, q = w / rest, (lead * w + scale * v) / rest
            to_worse, to_better = 1 + p / p_a, 1 + p / p_b
            worse_p, worse_w = p / to_worse, (mean_a * p - q) / to_worse
            better_p, better_w = p / to_better, (mean_b * p + q) / to_better
            settled = (
                settled
                and abs(worse_w - above_w[i + 1]) <= weighted_step
                and abs(better_w - below_w[i]) <= weighted_step
                and abs(worse_p - above_p[i + 1]) <= precision_step
                and abs(better_p - below_p[i]) <= precision_step
            )
            above_p[i + 1], above_w[i + 1], below_p[i], below_w[i] = worse_p, worse_w, better_p, better_w
        if settled:
            break
    precision = [a + b for a, b in zip(above_p, below_p, strict=True)]
    return precision, [a + b for a, b in zip(above_w, below_w, strict=True)]


def _win(lead: float, margin: float) -> tuple[float, float]:
    x = lead - margin
    v = _ROOT_2_PI / erfcx(-_ROOT_HALF * x)
    return v, v * (v + x)


def _tie(lead: float, margin: float) -> tuple[float, float]:
    size = abs(lead)
    near, far, shrink = margin - size, -margin - size, exp(-2 * margin * size)
    mass = _ROOT_PI_2 * (erfcx(-_ROOT_HALF * near) - erfcx(-_ROOT_HALF * far) * shrink)
    v = (shrink - 1) / mass
    return (-v if lead < 0 else v), v * v + (near - far * shrink) / mass
