"""The papers' tests of who is chosen from several, turns taken as independent (Liu et al. 2023, “Sample Size”).

Each gets the turns as a 0/1 matrix or as its counts, and p = 1 where nothing can be told apart: no turns, or every
turn a tie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from parlai_humaneval.analysis.proportions import INDEPENDENT
from parlai_humaneval.analysis.result import Result

SOURCE = "Liu et al. 2023, “Sample Size for Different Evaluations”"


def mcnemar_test(only_a: int, only_b: int, *, n: int | None = None, name: str = "A against B") -> Result:
    """McNemar's χ² without continuity correction: turns in which only the one, or only the other was chosen.

    ``n``: all turns compared, ties as well; the difference of the two win rates is its estimate.
    """
    decided = only_a + only_b
    total = decided if n is None else n
    chi2 = (only_a - only_b) ** 2 / decided if decided else 0.0
    return Result(
        name=name,
        estimate=(only_a - only_b) / total if total else None,
        statistic=chi2,
        p_value=float(chdtrc(1, chi2)),
        n=total,
        method="McNemar's χ², no continuity correction",
        assumptions=(INDEPENDENT,),
        source=SOURCE,
        notes=() if decided else (_nothing(total),),
        details={"df": 1, "only_a": only_a, "only_b": only_b},
    )


def cochran_q_test(chosen: npt.ArrayLike, *, name: str = "all models") -> Result:
    """Cochran's Q: do all columns have the same share of ones? ``chosen``: turns × models, 0 or 1."""
    matrix = np.asarray(chosen, dtype=float)
    matrix = matrix if matrix.ndim == 2 else matrix.reshape(len(matrix), 0)  # no turns may come as a plain []
    n, k = matrix.shape
    of_turn, of_model = matrix.sum(axis=1), matrix.sum(axis=0)
    spread = float((k * of_turn - of_turn**2).sum())
    q = (k - 1) * float(k * (of_model**2).sum() - of_model.sum() ** 2) / spread if spread else 0.0
    return Result(
        name=name,
        statistic=q,
        p_value=float(chdtrc(k - 1, q)) if spread else 1.0,
        n=n,
        method="Cochran's Q",
        assumptions=(INDEPENDENT,),
        source=SOURCE,
        notes=() if spread else (_nothing(n),),
        details={"df": max(0, k - 1)},
    )


def goodness_of_fit_test(counts: Sequence[int], *, name: str = "all models") -> Result:
    """Pearson's χ² of one pick a turn: was each model picked as often as the others?"""
    observed = np.asarray(counts, dtype=float)
    n, k = int(observed.sum()), len(observed)
    chi2 = float(((observed - n / k) ** 2).sum() / (n / k)) if n else 0.0
    return Result(
        name=name,
        statistic=chi2,
        p_value=float(chdtrc(k - 1, chi2)) if n and k > 1 else 1.0,
        n=n,
        method="Pearson's χ² against equal shares",
        assumptions=(INDEPENDENT,),
        source=SOURCE,
        notes=() if n else (_nothing(0),),
        details={"df": max(0, k - 1)},
    )


def _nothing(n: int) -> str:
    return "every turn is a tie: nothing tells the models apart" if n else "no observations: nothing can be tested"
