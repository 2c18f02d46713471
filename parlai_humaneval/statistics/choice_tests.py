"""The papers' tests of who is chosen from several, turns taken as independent (Liu et al. 2023, “Sample Size”).

Each gets the turns as a 0/1 matrix or as its counts, and p = 1 where nothing can be told apart: no turns, or every
turn a tie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, chdtrc

from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import INDEPENDENT

SOURCE = "Liu et al. 2023, “Sample Size for Different Evaluations”"


def mcnemar_test(only_a: int, only_b: int, *, n: int | None = None, name: str = "A against B") -> Result:
    """McNemar's χ² without continuity correction: turns in which only the one, or only the other was chosen.

    ``n``: all turns compared, ties as well; the difference of the two win rates is its estimate. ``details`` hold the
    exact p (``p_exact``, the sign test) and its less cautious mid-p (``p_mid``; Fagerland, Lydersen & Laake 2013),
    for the few turns at which χ² is a rough guide.

    Raises:
        ValueError: a count below 0, or fewer turns in ``n`` than were decided.

    A small p says that the one is chosen more often than the other in turns that told them apart. Assumes independent
    turns: read a clustered test beside it.

    Source: McNemar 1947; Liu et al. 2023, Table 5.

    >>> print(mcnemar_test(40, 22, n=100))
    A against B: 0.180, statistic 5.226, p = .022, n = 100 [McNemar's χ², no continuity correction]
    """
    decided = only_a + only_b
    if min(only_a, only_b) < 0:
        raise ValueError(f"{only_a} and {only_b} turns: expected counts from 0")
    if n is not None and n < decided:
        raise ValueError(f"{only_a} and {only_b} of {n} turns: expected counts that together are at most all")
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
        details={"df": 1, "only_a": only_a, "only_b": only_b, **_exact_p(only_a, only_b)},
    )


def _exact_p(only_a: int, only_b: int) -> dict[str, float]:
    """The chance of a split at least as uneven as this one, and the same with half the weight of this very split."""
    fewer, decided = min(only_a, only_b), only_a + only_b
    below = float(bdtr(fewer - 1, decided, 0.5)) if fewer else 0.0
    this_split = float(bdtr(fewer, decided, 0.5)) - below
    if only_a == only_b:
        return {"p_exact": 1.0, "p_mid": 1 - this_split / 2 if decided else 1.0}
    return {"p_exact": min(1.0, 2 * (below + this_split)), "p_mid": min(1.0, 2 * below + this_split)}


def cochran_q_test(chosen: npt.ArrayLike, *, name: str = "all models") -> Result:
    """Cochran's Q: do all columns have the same share of ones? ``chosen``: turns × models, 0 or 1.

    Raises:
        ValueError: a value that is neither 0 nor 1; leave turns out in which a model was not shown.

    A small p says that not all models are chosen equally often, not which. Assumes independent turns; for two models it
    is McNemar's test.

    Source: Cochran 1950; Liu et al. 2023, Table 5.

    >>> print(cochran_q_test([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 0]]))
    all models: –, statistic 2.800, p = .25, n = 5 [Cochran's Q]
    """
    matrix = np.asarray(chosen, dtype=float)
    matrix = matrix if matrix.ndim == 2 else matrix.reshape(len(matrix), 0)  # no turns may come as a plain []
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError("Cochran's Q takes 0 and 1 only; leave out turns in which a model was not shown")
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


def goodness_of_fit_test(
    counts: Sequence[int], shares: Sequence[float] | None = None, *, name: str = "all models"
) -> Result:
    """Pearson's χ² of one pick a turn: was each model picked as often as the others, or as ``shares`` have it?

    ``shares``: what the null hypothesis expects of each model, above 0, together 1.

    Raises:
        ValueError: a count below 0, or ``shares`` that are not such.

    A small p says that not all models are picked equally often, not which. Assumes independent turns.

    Source: Pearson 1900; Liu et al. 2023, Table 5.

    >>> print(goodness_of_fit_test([40, 25, 35]))
    all models: –, statistic 3.500, p = .17, n = 100 [Pearson's χ² against equal shares]
    """
    observed = np.asarray(counts, dtype=float)
    n, k = int(observed.sum()), len(observed)
    null = np.full(k, 1 / max(1, k)) if shares is None else np.asarray(shares, dtype=float)
    if (observed < 0).any():
        raise ValueError(f"counts {list(counts)}: expected none below 0")
    if len(null) != k or (null <= 0).any() or (k and abs(null.sum() - 1) > 1e-6):
        raise ValueError(f"shares {shares}: expected {k} numbers above 0 whose sum is 1")
    chi2 = float(((observed - n * null) ** 2 / (n * null)).sum()) if n else 0.0
    return Result(
        name=name,
        statistic=chi2,
        p_value=float(chdtrc(k - 1, chi2)) if n and k > 1 else 1.0,
        n=n,
        method="Pearson's χ² against " + ("equal shares" if shares is None else "given shares"),
        assumptions=(INDEPENDENT,),
        source=SOURCE,
        notes=() if n else (_nothing(0),),
        details={"df": max(0, k - 1)},
    )


def _nothing(n: int) -> str:
    return "every turn is a tie: nothing tells the models apart" if n else "no observations: nothing can be tested"
