"""Slider ratings on one scale (Ji et al. 2022, §3.2–3.3): which of them count, turned round where a high one is bad,
standardised by worker."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.core.ranks import rank_sums
from parlai_humaneval.tables.columns import TableError, Tables, refuse
from parlai_humaneval.tables.filters import (
    MOST_POINTS,
    SLIDER_MAXIMUM,
    SLIDER_MINIMUM,
    finished,
    is_set,
    of_unfinished,
    on_sliders,
)
from parlai_humaneval.tables.scales import NAME_THEM, check_sliders

TECHNIQUE = "direct_assessment"
ALPHA = 0.05
"""“any worker with p>=0.05 … is filtered out” (Ji et al. 2022, §3.2)."""
REVERSED_CRITERIA = ("robotic", "repetitive")
"""The criteria of Ji et al. where a high rating is a bad one: where a table from elsewhere does not say."""


def is_reversed(ratings: pd.DataFrame) -> Flags:
    """Where a high rating is a bad one: as the column ``reversed`` says; where it is empty, robotic and repetitive.

    Assumes, where the column is empty, that of every other criterion more is better.

    Source: Ji et al. 2022, §3.1.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> ratings = example_tables().ratings
    >>> sliders = ratings[ratings['scale'] == 'slider']
    >>> dict(zip(sliders['criterion'].head(3), is_reversed(sliders).tolist()))
    {'fluent': False, 'interesting': False, 'robotic': True}
    """
    by_name = ratings["criterion"].isin(REVERSED_CRITERIA).to_numpy(dtype=bool)
    if "reversed" not in ratings.columns:
        return np.asarray(by_name, dtype=bool)
    said = ratings["reversed"].notna().to_numpy(dtype=bool)
    return np.asarray(np.where(said, is_set(ratings, "reversed"), by_name), dtype=bool)


def worker_checks(ratings: pd.DataFrame) -> pd.DataFrame:
    """Which workers rate the degraded model lower than the others, over all that they rated.

    One-sided rank-sum test on the criteria where more is better. (With the reversed ones the test would pass fewer of
    the workers whom the authors passed.) Passed at p < .05 (Ji et al. 2022, §3.2). p is exact for workers with at most 20
    ratings a side, no two of them equal; else it is the authors' normal approximation, corrected for ties. The
    approximation is too small for very few ratings: three below three others have p = .050 exactly (not passed), and .040
    by the approximation.

    Returns:
        A row per worker who rated such a criterion, sorted: ``worker_id``, ``p``, ``passed`` (False also where one side
        has no rating), ``constant`` (all ratings of the worker are equal).

    A worker who did not pass may have clicked at random. Assumes independent ratings.

    Source: Ji et al. 2022, §3.2.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> ratings = example_tables().ratings
    >>> sliders = ratings[ratings['scale'] == 'slider']
    >>> worker_checks(sliders)['passed'].tolist()
    [True, True, True, True, True, True, True, True]
    """
    positive = ratings[~is_reversed(ratings)]
    codes, workers = pd.factorize(positive["worker_id"], sort=True)
    values = positive["value"].to_numpy(dtype=float)
    found = rank_sums(values, is_set(positive, "degraded"), codes, len(workers))
    lowest, highest = _extremes(values, codes, len(workers))
    table: pd.DataFrame = pd.DataFrame(
        {
            "worker_id": np.asarray(workers, dtype=object),
            "p": found.p_less,
            "passed": found.p_less < ALPHA,
            "constant": lowest == highest,
        }
    )
    return table


def reverse_scored(ratings: pd.DataFrame) -> Floats:
    """Each rating with more as better: minimum + maximum − x where the criterion is reversed (100 − x on sliders).

    Assumes that a reversed scale is as fine at either end.

    Source: Ji et al. 2022, §3.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> ratings = example_tables().ratings
    >>> sliders = ratings[ratings['scale'] == 'slider']
    >>> sliders['value'].head(3).tolist(), reverse_scored(sliders)[:3].tolist()
    ([84.0, 77.0, 22.0], [84.0, 77.0, 78.0])
    """
    x = ratings["value"].to_numpy(dtype=float)
    low = ratings["minimum"].to_numpy(dtype=float, na_value=SLIDER_MINIMUM)
    high = ratings["maximum"].to_numpy(dtype=float, na_value=SLIDER_MAXIMUM)
    return np.where(is_reversed(ratings), low + high - x, x)


def standardised(ratings: pd.DataFrame) -> Floats:
    """Each rating as (x − mean) / sd of its worker, after :func:`reverse_scored`; nan for a worker who rates all alike.

    All criteria and all models of the worker count, the degraded one's too (Ji et al. 2022, §3.3). sd with n − 1.

    0 is what the worker gives on average, so that strict and mild workers can be compared.

    Assumes that workers met models that are equally good on average, and differ in level and spread only.

    Source: Ji et al. 2022, §3.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> ratings = example_tables().ratings
    >>> sliders = ratings[ratings['scale'] == 'slider']
    >>> standardised(sliders)[:3].round(2).tolist()
    [1.3, 1.07, 1.1]
    """
    x = reverse_scored(ratings)
    codes, workers = pd.factorize(ratings["worker_id"])
    size = np.bincount(codes, minlength=len(workers)).astype(float)
    mean = np.bincount(codes, weights=x, minlength=len(workers)) / np.maximum(size, 1)
    apart = x - mean[codes]
    squares = np.bincount(codes, weights=apart**2, minlength=len(workers))
    lowest, highest = _extremes(x, codes, len(workers))
    varies = (lowest < highest)[codes]
    spread = np.sqrt(squares / np.maximum(size - 1, 1))[codes]
    z: Floats = np.full(x.shape, np.nan)
    np.divide(apart, spread, out=z, where=varies)
    return z


def standardise(ratings: npt.ArrayLike) -> Floats | None:
    """(x − mean) / sd of all ratings of one worker, ddof = 1; None where they do not vary.

    ``ratings``: of all criteria, reversed ones turned round, the degraded model's among them (Ji et al. 2022, §3.3).

    Raises:
        ValueError: a rating is nan or infinite.

    0 is the worker's mean, 1 a standard deviation above it.

    Assumes that workers met models that are equally good on average, and differ in level and spread only.

    Source: Ji et al. 2022, §3.3.

    >>> standardise([20, 40, 60]).tolist()
    [-1.0, 0.0, 1.0]
    """
    x = np.asarray(ratings, dtype=float)
    if not np.isfinite(x).all():
        raise ValueError("a rating is nan or infinite: leave unanswered ones out")
    if x.size < 2 or (x == x[0]).all():
        return None
    z: Floats = (x - x.mean()) / x.std(ddof=1)
    return z


def _extremes(values: Floats, codes: npt.NDArray[np.int_], n_groups: int) -> tuple[Floats, Floats]:
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, codes, values)
    np.maximum.at(highest, codes, values)
    return lowest, highest


@dataclass(frozen=True)
class Assessed:
    """Slider ratings with columns ``raw``, ``z``, ``degraded`` (bool) and ``passed`` (bool); and who gave them.

    ``checks``: as :func:`worker_checks` gives them. ``checked``: whether there
    was a degraded model at all. ``counted``: the ratings that the scores rest on, without the degraded model's: those of
    workers who passed, or of everyone where nobody could be checked, or nobody passed.
    """

    ratings: pd.DataFrame
    checks: pd.DataFrame
    checked: bool
    counted: pd.DataFrame
    remarks: list[str]

    @property
    def everyone(self) -> pd.DataFrame:
        """The ratings of all workers, without those of the degraded model."""
        rows: pd.DataFrame = self.ratings[~self.ratings["degraded"].to_numpy(dtype=bool)]
        return rows

    @property
    def n_workers(self) -> int:
        return int(self.ratings["worker_id"].nunique())

    @property
    def n_passed(self) -> int:
        return int(self.ratings.loc[self.ratings["passed"].to_numpy(dtype=bool), "worker_id"].nunique())

    @property
    def nobody_passed(self) -> bool:
        return self.checked and self.n_passed == 0

    @property
    def too_few_to_check(self) -> bool:
        """Whether no worker gave so many ratings on both sides that p could be below ``ALPHA``, whatever they were."""
        of_workers = self.ratings[~is_reversed(self.ratings)].groupby("worker_id")["degraded"]
        sizes = zip(of_workers.sum(), of_workers.size(), strict=True)
        return self.checked and not any(comb(int(of_all), int(low)) * ALPHA > 1 for low, of_all in sizes)


def assessed(tables: Tables) -> Assessed | None:
    """The slider ratings that count; None where there are none.

    Raises:
        TableError: a rating is beyond the ends of its scale; ratings are on several scales, or on one that is not known
            and has to be turned round.
    """
    rows, remarks = _of_one_kind(tables.ratings[on_sliders(tables.ratings) & _first_hand(tables)])
    if not len(rows):
        return None
    _check_range(rows)
    check_sliders(rows, unnamed=True)
    _check_turning(rows)
    checks = worker_checks(rows)
    degraded = is_set(rows, "degraded")
    passed = rows["worker_id"].isin(checks["worker_id"][checks["passed"]]).to_numpy(dtype=bool)
    scored = rows.assign(raw=reverse_scored(rows), z=standardised(rows), degraded=degraded, passed=passed)
    checked = bool(degraded.any())
    kept = passed if checked and passed.any() else np.ones(len(rows), dtype=bool)
    return Assessed(scored, checks, checked, scored[kept & ~degraded], remarks)


def _first_hand(tables: Tables) -> Flags:
    rows = tables.ratings
    left = of_unfinished(rows["dialogue_id"], rows["worker_id"], tables.dialogues)
    return np.asarray(finished(rows) & ~left & rows["own_worker"].isna().to_numpy(dtype=bool), dtype=bool)


def _of_one_kind(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of several techniques the direct assessment, so that live raters and readers are not mixed."""
    assessment = (rows["technique"].eq(TECHNIQUE) | rows["technique"].isna()).to_numpy(dtype=bool)
    if not assessment.any() or assessment.all():
        return rows, []
    others = ", ".join(sorted(set(rows["technique"][~assessment])))
    return rows[assessment], [
        f"{counted(int((~assessment).sum()), 'rating')} of {others} on long scales are left out here."
    ]


def _check_turning(rows: pd.DataFrame) -> None:
    """Ratings without one above ten are hardly on sliders from 0 to 100, at whose ends they would be turned round."""
    known = (rows["scale"].notna() | rows["maximum"].notna()).to_numpy(dtype=bool)
    values = rows["value"].to_numpy(dtype=float)
    if known.any() or values.max() > MOST_POINTS or len(np.unique(values)) < 2:
        return

    def wanted(place: int) -> str:
        criterion = rows["criterion"].iloc[place]
        return f"{NAME_THEM}: {criterion!r} is reversed, and no rating says where its scale ends"

    refuse("ratings", "value", rows["value"], pd.Series(is_reversed(rows), index=rows.index), wanted)


def _check_range(rows: pd.DataFrame) -> None:
    x = rows["value"].to_numpy(dtype=float)
    low = rows["minimum"].to_numpy(dtype=float, na_value=SLIDER_MINIMUM)
    high = rows["maximum"].to_numpy(dtype=float, na_value=SLIDER_MAXIMUM)
    beyond = (x < low) | (x > high)
    if beyond.any():
        at = int(beyond.argmax())
        row = rows.iloc[at]
        raise TableError(
            f"{x[at]:g} on {row['criterion']} (dialogue {row['dialogue_id']}, worker {row['worker_id']}), "
            f"expected {low[at]:g} to {high[at]:g}",
            where="ratings.value",
            try_="give columns minimum and maximum if the scale is another",
        )
