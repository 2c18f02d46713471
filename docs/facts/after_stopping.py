"""What a study that ended by itself leaves: how far off its gaps are, and which intervals still hold the truth."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from docs.facts.markdown import table
from docs.facts.one_study import CROWD, turns_won
from parlai_humaneval.statistics.core.formatting import MINUS, percent
from parlai_humaneval.statistics.core.sequential import equality_evidence, order_evidence, share_interval

Floats = npt.NDArray[np.float64]

STUDIES = 400
MOST = 900
"""Dialogues: a study that is open then ends there, as at a cap."""
MARGIN, ALPHA = 0.1, 0.05
GAPS = (0, 10, 20)


def after_stopping() -> str:
    """A row for each true gap of two models."""
    head = ["true gap", "ended after", "gap as found, on average", "t interval misses", "anytime interval misses"]
    found = table(head, [_row(points) for points in GAPS])
    return f"Of two models, in {STUDIES} simulated studies a row:\n\n{found}"


def _row(points: int) -> list[str]:
    won = turns_won(0.5 + points / 200, STUDIES * MOST, np.random.default_rng(points)).reshape(STUDIES, MOST)
    ended = [_ended(shares) for shares in won / CROWD.turns]
    truth = 0.5 + points / 200
    gap = 100 * float(np.mean([2 * found.mean() - 1 for found in ended]))
    missed = {
        "t": np.mean([not low <= truth <= high for low, high in map(_fixed, ended)]),
        "anytime": np.mean([not low <= truth <= high for low, high in map(_anytime, ended)]),
    }
    return [
        f"{points} points",
        f"{np.mean([len(found) for found in ended]):.0f} dialogues",
        f"{gap:.1f} points".replace("-", MINUS),
        percent(float(missed["t"])),
        percent(float(missed["anytime"])),
    ]


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
