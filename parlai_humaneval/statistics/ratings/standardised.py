"""Scores of systems from slider ratings (Ji et al. 2022, §3.3): by criterion and overall, raw and standardised.

A score is the mean of all ratings of a criterion; the overall score is the mean of the criteria. Intervals and tests
are clustered by worker, and by dialogue where several workers rated the same. For that the overall score is written as
a mean over dialogues: :func:`overall_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core.clustered import with_dispersion
from parlai_humaneval.statistics.core.effect_sizes import NAME
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.once_each import with_once_each
from parlai_humaneval.statistics.core.ranks import rank_sum_test
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_difference, crossed_mean
from parlai_humaneval.statistics.preference.win_rates import effective_win_test

NO_FAMILY = Family("", "", "")


@dataclass(frozen=True)
class SystemScore:
    """One model: means over ``n_ratings`` ratings, by criterion; ``z`` is standardised by worker.

    ``raw_overall``, ``z_overall``: the mean over all criteria, which no criterion's name can meet.
    """

    model: str
    n_ratings: int
    n_dialogues: int
    n_workers: int
    raw: dict[str, Result]
    z: dict[str, Result]
    raw_overall: Result
    z_overall: Result


@dataclass(frozen=True)
class ScoreGap:
    """Model A against B by overall z.

    ``difference``: A minus B, clustered as scores are, tested against 0. ``a_higher``, ``b_higher``: the paper's one-sided
    rank-sum tests on the scores of dialogues, taken as independent; ``paper``: two-sided, of both. ``difference`` and
    ``paper`` have Holm's correction over all pairs. ``superiority``: chance that a dialogue of A is rated higher than one
    of B, by its mean z, equal ones counting half; clustered likewise.
    """

    model_a: str
    model_b: str
    difference: Result
    a_higher: Result
    b_higher: Result
    paper: Result
    superiority: Result


def overall_score(criteria: Sequence[float | None]) -> float | None:
    """The mean of the scores of all criteria that have one (Ji et al. 2022, §3.3); None where none has.

    Assumes that all criteria weigh the same.

    Source: Ji et al. 2022, §3.3.

    >>> overall_score([0.5, None, 0.25])
    0.375
    """
    known = [score for score in criteria if score is not None]
    return float(np.mean(known)) if known else None


def system_scores(ratings: pd.DataFrame, criteria: Sequence[str], *, level: float = 0.95) -> list[SystemScore]:
    """Scores of each model, in alphabetical order.

    Args:
        ratings: a row per rating that counts, with columns ``dialogue_id``, ``worker_id``, ``model``, ``criterion``,
            ``raw`` (turned so that more is better) and ``z`` (nan where the worker's ratings do not vary).
        criteria: their names; one that a model was not rated on has no score and does not count in its overall score.
        level: of the intervals.

    ``z`` is in standard deviations of a worker's ratings, ``raw`` on the slider. Assumes independent workers, of the
    intervals.

    Source: Ji et al. 2022, §3.3 (Table 3).

    >>> rows = [(w + m, w, m, 'fun', r, r / 10 - 0.5) for w in 'abcd' for m, r in (('x', 8), ('y', 3))]
    >>> ratings = pd.DataFrame(rows, columns=['dialogue_id', 'worker_id', 'model', 'criterion', 'raw', 'z'])
    >>> [(score.model, score.n_ratings) for score in system_scores(ratings, ['fun'])]
    [('x', 4), ('y', 4)]
    """
    return [_score(str(model), own, criteria, level) for model, own in ratings.groupby("model", sort=True)]


def _score(model: str, ratings: pd.DataFrame, criteria: Sequence[str], level: float) -> SystemScore:
    scored = {column: _means(model, ratings, criteria, column, level) for column in ("raw", "z")}
    return SystemScore(
        model=model,
        n_ratings=len(ratings),
        n_dialogues=len(ratings.drop_duplicates(["dialogue_id", "worker_id"])),
        n_workers=int(ratings["worker_id"].nunique()),
        raw=scored["raw"],
        z=scored["z"],
        raw_overall=_overall(model, ratings, "raw", level),
        z_overall=_overall(model, ratings, "z", level),
    )


def _means(model: str, ratings: pd.DataFrame, criteria: Sequence[str], column: str, level: float) -> dict[str, Result]:
    values, criterion = ratings[column].to_numpy(dtype=float), ratings["criterion"].to_numpy(dtype=object)
    workers, dialogues = (ratings[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_id"))
    means = {}
    for name in criteria:
        own = criterion == name
        of_it = f"{name} of {model} ({column})"
        means[name] = crossed_mean(values[own], workers[own], dialogues[own], name=of_it, level=level)
    return means


def _overall(model: str, ratings: pd.DataFrame, column: str, level: float) -> Result:
    return crossed_mean(*overall_parts(ratings, column), name=f"overall of {model} ({column})", level=level)


def overall_parts(ratings: pd.DataFrame, column: str) -> tuple[Floats, Objects, Objects]:
    """What each dialogue of one model adds to its overall score: a number per dialogue whose mean is that score.

    Where every dialogue was rated on all criteria this is the mean of its ratings. Where ratings are missing, the mean
    of criteria is not the mean of dialogues; then each rating counts by its weight in the mean of its criterion, so that
    the deviations, summed by worker, are those of the overall score (its linearisation).

    Returns:
        The numbers, the workers and the dialogues of them.
    """
    known = ratings[ratings[column].notna().to_numpy(dtype=bool)]
    x = known[column].to_numpy(dtype=float)
    code, names = pd.factorize(known["criterion"])
    size = np.bincount(code, minlength=len(names)).astype(float)
    mean = np.bincount(code, weights=x, minlength=len(names)) / np.maximum(size, 1)
    dialogues = np.asarray(known.groupby(["dialogue_id", "worker_id"], sort=False).ngroup(), dtype=np.int64)
    first = known.drop_duplicates(["dialogue_id", "worker_id"])
    n = len(first)
    deviations = (x - mean[code]) / (size[code] * max(1, len(names)))
    parts = n * np.bincount(dialogues, weights=deviations, minlength=n) + (mean.mean() if n else 0.0)
    return parts, first["worker_id"].to_numpy(dtype=object), first["dialogue_id"].to_numpy(dtype=object)


def score_gaps(
    ratings: pd.DataFrame, models: Sequence[str], *, family: Family = NO_FAMILY, level: float = 0.95
) -> list[ScoreGap]:
    """Every pair of ``models`` by overall z, in the given order.

    The paper's test takes the mean z of each dialogue (Ji et al. 2022, §4.2, Figure 3).

    Args:
        ratings: as for :func:`system_scores`.
        models: names; of each pair the one that stands first here is A.
        family: what the pairs are of.
        level: of the intervals.

    Assumes of the rank-sum test independent dialogues, of the clustered one that ratings without a common worker or
    dialogue are independent.

    Source: Ji et al. 2022, §4.2 (Figure 3).

    >>> rated = [(w, m, 8 if m == 'x' else 3 + (w == 'a')) for w in 'abcd' for m in 'xy']
    >>> rows = [(w + m, w, m, 'fun', r, r / 10 - 0.5) for w, m, r in rated]
    >>> ratings = pd.DataFrame(rows, columns=['dialogue_id', 'worker_id', 'model', 'criterion', 'raw', 'z'])
    >>> print(score_gaps(ratings, ['x', 'y'])[0].difference)
    overall z of x − y: 0.475, 95% interval 0.395 to 0.555, statistic 19.000, p = .0003, Holm p = .0003, n = 8
    [CR1 t, clustered by worker]
    """
    known = ratings[ratings["z"].notna().to_numpy(dtype=bool)]
    parts = {str(model): overall_parts(own, "z") for model, own in known.groupby("model", sort=False)}
    means = known.groupby(["model", "dialogue_id", "worker_id"], sort=False)["z"].mean()
    of_dialogue = {
        str(model): (
            own.to_numpy(dtype=float),
            *(own.index.get_level_values(name).to_numpy(dtype=object) for name in ("worker_id", "dialogue_id")),
        )
        for model, own in means.groupby(level="model", sort=False)
    }
    nothing, nobody = np.zeros(0), np.zeros(0, dtype=object)
    gaps = []
    for a, b in combinations(models, 2):
        of_a, of_b = (parts.get(name, (nothing, nobody, nobody)) for name in (a, b))
        difference = with_once_each(crossed_difference, *of_a, *of_b, name=f"overall z of {a} − {b}", level=level)
        difference = with_dispersion(difference, *of_a[:2], *of_b[:2])
        (first, raters, talks), (second, others, more) = (
            of_dialogue.get(name, (nothing, nobody, nobody)) for name in (a, b)
        )
        a_higher, b_higher = (rank_sum_test(*both, "greater") for both in ((first, second), (second, first)))
        both = effective_win_test(first, raters, second, others, name=NAME, level=level, dialogues=(talks, more))
        gaps.append(ScoreGap(a, b, difference, a_higher, b_higher, _two_sided(a_higher, b_higher), both))
    differences, papers = (
        corrected([getattr(gap, name) for gap in gaps], [family] * len(gaps)) for name in ("difference", "paper")
    )
    return [
        replace(gap, difference=difference, paper=paper)
        for gap, difference, paper in zip(gaps, differences, papers, strict=True)
    ]


def _two_sided(a_higher: Result, b_higher: Result) -> Result:
    p_values = [1.0 if result.p_value is None else result.p_value for result in (a_higher, b_higher)]
    method = "Wilcoxon rank-sum test, twice the smaller of both one-sided p"
    return a_higher.but(p_value=min(1.0, 2 * min(p_values)), method=method)
