"""What a study that ended by itself leaves: how far off its gaps are, and which intervals still hold the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from docs.facts.markdown import table
from docs.facts.one_study import CROWD, turns_won
from parlai_humaneval.statistics.core.formatting import MINUS, percent, unsigned_zero
from parlai_humaneval.statistics.core.sequential import equality_evidence, order_evidence, share_interval
from parlai_humaneval.stopping.events import estimated_share

Floats = npt.NDArray[np.float64]

STUDIES = 400
MOST = 900
"""Dialogues: a study that is open then ends there, as at a cap."""
MARGIN, ALPHA = 0.1, 0.05
GAPS = (0, 5, 10, 20)


@dataclass(frozen=True)
class Found:
    """What studies found of one gap, in points: the average of means and of estimates, and the median of these; and the
    shares of studies whose interval misses it. ``dialogues``: after how many they ended, on average."""

    dialogues: float
    mean: float
    estimate: float
    median: float
    missed_by_t: float
    missed: float


def after_stopping() -> str:
    """A row for each true gap of two models."""
    head = ["true gap", "ended after", "mean", "estimate", "its median", "t interval misses", "anytime interval misses"]
    return f"Two models, with {STUDIES} simulated studies per row, in points:\n\n{table(head, list(map(_row, GAPS)))}"


def _row(points: int) -> list[str]:
    found = simulated(points)
    gaps = (unsigned_zero(f"{gap:.1f}").replace("-", MINUS) for gap in (found.mean, found.estimate, found.median))
    missed = (percent(found.missed_by_t), percent(found.missed))
    return [f"{points} points", f"{found.dialogues:.0f} dialogues", *gaps, *missed]


def simulated(points: int, studies: int = STUDIES) -> Found:
    """Studies of two models, of workers who come one after the other."""
    truth = 0.5 + points / 200
    won = turns_won(truth, studies * MOST, np.random.default_rng(points)).reshape(studies, MOST)
    ended = [_ended(shares) for shares in won / CROWD.turns]
    means, anytime = [float(found.mean()) for found in ended], list(map(_anytime, ended))
    estimates = [estimated_share(mean, *ends) for mean, ends in zip(means, anytime, strict=True)]
    gaps = (float(100 * (2 * share - 1)) for share in (np.mean(means), np.mean(estimates), np.median(estimates)))
    missed = (
        float(np.mean([not low <= truth <= high for low, high in ends])) for ends in (map(_fixed, ended), anytime)
    )
    return Found(float(np.mean([len(found) for found in ended])), *gaps, *missed)


def _ended(shares: Floats) -> Floats:
    """Of one study, what was evidence when one was better, or both equal within the margin."""
    better = np.maximum(*order_evidence(shares, MARGIN)) >= 2 / ALPHA
    over = np.flatnonzero(better | (equality_evidence(shares, MARGIN) >= 1 / ALPHA))
    return shares[: over[0] + 1] if over.size else shares


def _fixed(shares: Floats) -> tuple[float, float]:
    reach = float(stdtrit(len(shares) - 1, 1 - ALPHA / 2)) * shares.std(ddof=1) / math.sqrt(len(shares))
    return float(shares.mean() - reach), float(shares.mean() + reach)


def _anytime(shares: Floats) -> tuple[float, float]:
    low, high = share_interval(shares, margin=MARGIN, level=1 - ALPHA, last=True)
    return float(low[0]), float(high[0])
