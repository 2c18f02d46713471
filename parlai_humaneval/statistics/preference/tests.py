"""The papers' tests of the turns of several models, turns taken as independent (Liu et al. 2023, “Sample Size”), each
with its companion that is clustered by rater; p = 1 if nothing can be distinguished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel
from scipy.special import bdtr, chdtrc

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import sign_flip
from parlai_humaneval.statistics.core.clustered import (
    DIFFERENCE_LIMITS,
    FEW_CLUSTERS,
    FLIPPED,
    MIN_CLUSTERS,
    cluster_sums,
    independent,
    sign_flip_p,
    small_sample_notes,
    with_dispersion,
)
from parlai_humaneval.statistics.core.clustered import too_few_clusters as too_few_words
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, keep_means, t_test
from parlai_humaneval.statistics.core.multiplicity import Family, corrected, with_once_each
from parlai_humaneval.statistics.core.result import Detail, Result, called
from parlai_humaneval.statistics.core.shares import INDEPENDENT, binomial_test

SOURCE = "Liu et al. 2023, “Sample Size for Different Evaluations”"


def mcnemar_test(only_a: int, only_b: int, *, n: int | None = None, name: str = "A against B") -> Result:
    """McNemar's χ² without continuity correction: turns in which only the one, or only the other was chosen.

    ``n``: all turns compared, ties as well; the difference of the two win rates is its estimate. ``details`` hold the
    exact p (``p_exact``, the sign test) and its less cautious mid-p (``p_mid``; Fagerland, Lydersen & Laake 2013),
    for the few turns at which χ² is a rough guide.

    Raises:
        ValueError: a count below 0, or fewer turns in ``n`` than were decided.

    A small p says that the one is chosen more often than the other in turns that told them apart. Assumes independent
    turns: read a clustered test as well.

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
    # The chance of a split at least as uneven as this one, and the same with half the weight of this very split.
    fewer = min(only_a, only_b)
    below = float(bdtr(fewer - 1, decided, 0.5)) if fewer else 0.0
    this_split = float(bdtr(fewer, decided, 0.5)) - below
    exact, mid = min(1.0, 2 * (below + this_split)), min(1.0, 2 * below + this_split)
    if only_a == only_b:
        exact, mid = 1.0, 1 - this_split / 2 if decided else 1.0
    details = {"only_a": only_a, "only_b": only_b, "p_exact": exact, "p_mid": mid}
    result = _by_chi_square(name, "McNemar's χ², no continuity correction", chi2, 1, total, bool(decided), **details)
    return result.but(estimate=(only_a - only_b) / total if total else None)


def _by_chi_square(name: str, method: str, statistic: float, df: int, n: int, told: bool, **details: Detail) -> Result:
    """p is 1 where the turns have ``told`` nothing."""
    nothing = "every turn is a tie: nothing distinguishes the models" if n else "no observations: nothing can be tested"
    p = float(chdtrc(df, statistic)) if told and df > 0 else 1.0
    base = Result.by(method, SOURCE, INDEPENDENT, name=name, n=n, details={"df": max(0, df), **details})
    return base.but(statistic=statistic, p_value=p, notes=() if told else (nothing,))


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
    return _by_chi_square(name, "Cochran's Q", q, k - 1, n, bool(spread))


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
    method = "Pearson's χ² against " + ("equal shares" if shares is None else "given shares")
    return _by_chi_square(name, method, chi2, k - 1, n, bool(n))


class TurnTest(BaseModel, extra="forbid", frozen=True):
    """One question to the turns: by the ``paper``, all turns independent, and ``clustered`` by worker (of a pair the
    difference of the two selected rates, of all models whether these are equal). ``sign_flip_p``: of a pair judged by
    few workers, exactly.
    """

    models: tuple[str, ...]
    paper: Result
    clustered: Result
    sign_flip_p: float | None = None
    of_pair: bool = True


def compare_choices(
    chosen: npt.ArrayLike, models: Sequence[str], workers: npt.ArrayLike, *, one_pick: bool, level: float = 0.95
) -> list[TurnTest]:
    """All models at once, where there are more than two, then each pair; Holm's correction over the pairs.

    ``chosen``: turns × models; 1 chosen, 0 not, nan not shown. With ``one_pick`` a turn: Pearson's χ² over all,
    two-sided binomial tests of the turns that either model won. Else: Cochran's Q over all, then McNemar's χ² (Liu et
    al. 2023; their six pairs of Table 5 are not corrected, of which three stay significant with Holm's correction).
    All models together are tested on turns that showed all; a pair on those that showed both.

    Raises:
        ValueError: not a column a model or a worker a turn; a value that is not 0, 1 or nan.

    ``paper`` takes all turns as independent, ``clustered`` only workers: where they disagree, trust the clustered one.

    Assumes independent turns (``paper``) or independent workers (``clustered``).

    Source: Liu et al. 2023, Table 5; Smith et al. 2022, App. C.7.

    >>> chosen = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> workers = list('aabbccdd')
    >>> for test in compare_choices(chosen, ['ada', 'bob', 'cyd'], workers, one_pick=False)[:2]:
    ...     print(test.paper)
    all models: –, statistic 3.250, p = .20, n = 8 [Cochran's Q]
    ada against bob: 0.375, statistic 1.800, p = .18, Holm p = .36, n = 8 [McNemar's χ², no continuity correction]
    """
    matrix, who = choices_checked(chosen, models, workers)
    whole = [equality_tests(matrix, models, who, one_pick, level)] if len(models) > 2 else []
    pairs, told_apart = [], dict[tuple[int, int], tuple[Floats, Objects]]()
    for a, b in combinations(range(len(models)), 2):
        gaps = matrix[:, a] - matrix[:, b]
        told_apart[a, b] = gaps[~np.isnan(gaps)], who[~np.isnan(gaps)]
    keep_means(told_apart.values(), 0, level)
    for (a, b), (gaps, owners) in told_apart.items():
        name = f"{models[a]} against {models[b]}"
        only_a, only_b = int((gaps > 0).sum()), int((gaps < 0).sum())
        if one_pick:
            paper = binomial_test(only_a, only_a + only_b, name=name).but(source=SOURCE)
        else:
            paper = mcnemar_test(only_a, only_b, n=len(gaps), name=name)
        told = with_once_each(clustered_mean, gaps, owners, name=name, null=0, limits=DIFFERENCE_LIMITS, level=level)
        sums = cluster_sums(gaps, np.ones_like(gaps), owners)
        # With so few, the test tries all signs and draws none, so it needs no seed.
        few = MIN_CLUSTERS <= sums.n_clusters < FEW_CLUSTERS
        test = TurnTest(
            models=(models[a], models[b]),
            paper=paper,
            clustered=with_dispersion(told, gaps, owners),
            sign_flip_p=sign_flip_p(sums, null=0) if few else None,
        )
        pairs.append(test)
    return [*whole, *holm_corrected(pairs)]


def compare_singles(
    chosen: npt.ArrayLike, models: Sequence[str], workers: npt.ArrayLike, *, level: float = 0.95
) -> list[TurnTest]:
    """Each pair of models that were judged alone; Holm's correction over the pairs.

    ``chosen`` as in :func:`compare_choices`, one model a turn. The paper's test is the two-sided t test of independent
    turns (Smith et al. 2022, App. C.7).

    Raises:
        ValueError: as :func:`compare_choices`.

    Assumes independent turns (``paper``) or workers (``clustered``).

    Source: Smith et al. 2022, App. C.7.

    >>> nan = float('nan')
    >>> chosen = [[1, nan], [1, nan], [nan, 0], [nan, 1]] * 4
    >>> workers = list('aabbccddeeffgghh')
    >>> print(compare_singles(chosen, ['ada', 'bob'], workers)[0].paper)
    ada against bob: 0.500, statistic 2.646, p = .019, Holm p = .019, n = 16 [two-sided t test]
    """
    matrix, who = choices_checked(chosen, models, workers)
    tests = []
    for a, b in combinations(range(len(models)), 2):
        name, sides = f"{models[a]} against {models[b]}", (matrix[:, a], who, matrix[:, b], who)
        told = with_once_each(clustered_difference, *sides, name=name, limits=DIFFERENCE_LIMITS, level=level)
        paper = t_test(*(values[~np.isnan(values)] for values in (matrix[:, a], matrix[:, b])), name=name)
        tests.append(TurnTest(models=(models[a], models[b]), paper=paper, clustered=with_dispersion(told, *sides)))
    return holm_corrected(tests)


BASELINE = 0.8  # What Liu et al. 2023 (“SM sample size”) expect of a single model under the null hypothesis.


def compare_with_baseline(
    chosen: npt.ArrayLike,
    models: Sequence[str],
    workers: npt.ArrayLike,
    *,
    baseline: float = BASELINE,
    level: float = 0.95,
) -> list[TurnTest]:
    """Whether the rate of each model that was judged alone differs from ``baseline``; Holm over the models."""
    matrix, who = choices_checked(chosen, models, workers)
    return holm_corrected(
        TurnTest(
            models=(model,),
            paper=binomial_test(int(np.nansum(values)), int((~np.isnan(values)).sum()), baseline, name=name).but(
                source=SOURCE, method=f"two-sided binomial test against {baseline:g}, Wilson interval"
            ),
            clustered=clustered_mean(values, who, name=name, null=baseline, limits=(0, 1), level=level),
            of_pair=False,
        )
        for model, values in zip(models, matrix.T, strict=True)
        for name in [f"{model} against {baseline:g}"]
    )


def holm_corrected(
    tests: Iterator[TurnTest] | Sequence[TurnTest], families: Sequence[Family] | None = None
) -> list[TurnTest]:
    """``tests`` with both p-values of each corrected over its family (None: all are one); see :func:`corrected`."""
    made = list(tests)
    papers, clustered = (corrected([getattr(test, side) for test in made], families) for side in ("paper", "clustered"))
    return [
        test.model_copy(update={"paper": paper, "clustered": by_worker})
        for test, paper, by_worker in zip(made, papers, clustered, strict=True)
    ]


def equal_rates_test(chosen: npt.ArrayLike, clusters: npt.ArrayLike, *, cluster: str = "worker") -> Result:
    """Do all models have the same selected rate? Tested by flipping the signs of the clusters' sums."""
    matrix = np.asarray(chosen, dtype=float)
    if matrix.ndim != 2 or len(matrix) != np.size(clusters) or not np.isin(matrix, (0, 1)).all():
        raise ValueError(
            f"expected turns × models of 0 and 1 and one {called(cluster)} per turn; leave out turns that lack a model"
        )
    n, models = matrix.shape
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    groups = len(names)
    how = f"joint {FLIPPED}, clustered by {called(cluster)}", f"{sign_flip.SOURCE}; Cochran 1950", independent(cluster)
    details = {f"n_{cluster}s": groups, "df1": max(1, models - 1), "seed": 0, "draws": sign_flip.JOINT_DRAWS}
    base = Result.by(*how, name="all models", n=n, details=details)
    deviations = matrix - matrix.mean(axis=1, keepdims=True) if n else matrix
    if not n or not deviations.any():
        return base.but(statistic=0.0, p_value=1.0, notes=("nothing distinguishes the models",))
    if groups < MIN_CLUSTERS:
        return base.but(notes=(too_few_words(cluster),))
    sums = np.stack([np.bincount(codes, weights=column, minlength=groups) for column in deviations.T], axis=1)
    sizes = np.bincount(codes, minlength=groups).astype(float)
    return base.but(
        statistic=(models - 1) * float((sums.sum(axis=0) ** 2).sum()) / float((deviations**2).sum()),
        p_value=sign_flip.joint_sign_flip_p(sums),
        notes=small_sample_notes(groups, cluster, sizes),
    )


def equality_tests(
    matrix: Floats, models: Sequence[str], workers: Objects, one_pick: bool, level: float = 0.95
) -> TurnTest:
    """All models at once, in the turns that showed all of them (and with ``one_pick`` had one pick)."""
    full = ~np.isnan(matrix).any(axis=1)
    # If two models gave the same reply and it was picked, both are marked, so the turn has more than one pick.
    full &= (matrix.sum(axis=1) == 1) if one_pick else True
    chosen = matrix[full]
    counts = [int(count) for count in chosen.sum(axis=0)]
    return TurnTest(
        models=tuple(models),
        paper=goodness_of_fit_test(counts) if one_pick else cochran_q_test(chosen),
        clustered=equal_rates_test(chosen, workers[full]).but(level=level),
        of_pair=False,
    )


def choices_checked(chosen: npt.ArrayLike, models: Sequence[str], workers: npt.ArrayLike) -> tuple[Floats, Objects]:
    """The choices as turns × models, and the worker of each turn."""
    matrix, who = np.asarray(chosen, dtype=float), np.asarray(workers, dtype=object)
    matrix = matrix if matrix.size else matrix.reshape(len(who), len(models))
    if matrix.ndim != 2 or matrix.shape != (len(who), len(models)):
        raise ValueError(f"choices of shape {matrix.shape}: expected {len(who)} turns (raters) × {len(models)} models")
    if not np.isin(matrix[~np.isnan(matrix)], (0, 1)).all():
        raise ValueError("expected 1 if a model was chosen, 0 if not, nan if it was not shown, and nothing else")
    return matrix, who
