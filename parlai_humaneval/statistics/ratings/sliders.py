"""Slider ratings on one scale (Ji et al. 2022, §3.2–3.3): which of them count, turned round where a high one is bad,
standardised by worker; and the scores of systems, by criterion and overall.

A score is the mean of all ratings of a criterion; the overall score is the mean of the criteria, written as a mean over
dialogues (:func:`overall_parts`), so that intervals are by worker, and by dialogue where several workers rated the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Objects
from parlai_humaneval.statistics.core import rows as cells
from parlai_humaneval.statistics.core.clustered import with_dispersion
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.core.multiplicity import NO_FAMILY, Family, corrected_fields, with_once_each
from parlai_humaneval.statistics.core.ranks import rank_sum_test, rank_sums
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import SUPERIORITY, effective_win_test
from parlai_humaneval.tables import filters
from parlai_humaneval.tables.columns import TableError, Tables, refuse
from parlai_humaneval.tables.validate import NAME_THEM, check_sliders
from parlai_humaneval.techniques.registry import with_trait

TECHNIQUE = "direct_assessment"
OVERALL = "overall"
"""What the mean over all criteria is called where it is published; criteria may have the same name."""
ALPHA = 0.05  # “any worker with p>=0.05 … is filtered out” (Ji et al. 2022, §3.2).
REVERSED_CRITERIA = ("robotic", "repetitive")
"""The criteria of Ji et al. where a high rating is a bad one: where a table from elsewhere does not say."""


def is_reversed(ratings: pd.DataFrame) -> Flags:
    """Where a high rating is a bad one: as the column ``reversed`` says; where it is empty, robotic and repetitive."""
    by_name = ratings["criterion"].isin(REVERSED_CRITERIA).to_numpy(dtype=bool)
    if "reversed" not in ratings.columns:
        return np.asarray(by_name, dtype=bool)
    said = ratings["reversed"].notna().to_numpy(dtype=bool)
    return np.asarray(np.where(said, filters.is_set(ratings, "reversed"), by_name), dtype=bool)


def worker_checks(ratings: pd.DataFrame) -> pd.DataFrame:
    """Which workers rate the degraded model lower than the others, over all that they rated.

    One-sided rank-sum test on the criteria where more is better. (With the reversed ones the test would pass fewer of
    the workers whom the authors passed.) Passed at p < .05 (Ji et al. 2022, §3.2). p is exact for workers with at
    most 20 ratings per side, no two of them equal; else it is the authors' normal approximation, corrected for ties.
    The approximation is too small for very few ratings: three below three others have p = .050 exactly (not passed),
    and .040 by the approximation.

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
    found = rank_sums(values, filters.is_set(positive, "degraded"), codes, len(workers))
    lowest, highest = _extremes(values, codes, len(workers))
    return pd.DataFrame(
        {
            "worker_id": np.asarray(workers, dtype=object),
            "p": found.p_less,
            "passed": found.p_less < ALPHA,
            "constant": lowest == highest,
        }
    )


def reverse_scored(ratings: pd.DataFrame) -> Floats:
    """Each rating with more as better: minimum + maximum − x where the criterion is reversed (100 − x on sliders)."""
    x = ratings["value"].to_numpy(dtype=float)
    low, high = ends_of(ratings)
    return np.where(is_reversed(ratings), low + high - x, x)


def ends_of(ratings: pd.DataFrame, *, sliders: bool = True) -> tuple[Floats, Floats]:
    """Ends of the scale of each rating; where they are not told, those of sliders, or 1 and 5, as far as ratings go."""
    values = ratings["value"]
    ends = (
        (filters.SLIDER_MINIMUM, filters.SLIDER_MAXIMUM)
        if sliders
        else (min(1.0, values.min()), max(5.0, values.max()))
    )
    low, high = (
        ratings[name].to_numpy(dtype=float, na_value=end)
        for name, end in zip(("minimum", "maximum"), ends, strict=True)
    )
    return low, high


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
    """(x − mean) / sd of all ratings of one worker, ddof = 1 (Ji et al. 2022, §3.3); None where they do not vary."""
    x = np.asarray(ratings, dtype=float)
    if not np.isfinite(x).all():
        raise ValueError("a rating is nan or infinite: leave out unanswered ratings")
    if x.size < 2 or (x == x[0]).all():
        return None
    return np.asarray((x - x.mean()) / x.std(ddof=1))


def _extremes(values: Floats, codes: npt.NDArray[np.int_], n_groups: int) -> tuple[Floats, Floats]:
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, codes, values)
    np.maximum.at(highest, codes, values)
    return lowest, highest


@dataclass(frozen=True)
class Assessed:
    """Slider ratings with columns ``raw``, ``z``, ``degraded`` and ``passed``; the ``checks`` of workers, whether there
    was a degraded model to check by, and the ratings that scores are based on: those of workers who passed, or of
    everyone if nobody could be checked, or passed.
    """

    ratings: pd.DataFrame
    checks: pd.DataFrame
    checked: bool
    counted: pd.DataFrame
    remarks: list[str]

    @property
    def everyone(self) -> pd.DataFrame:
        """The ratings of all workers, without those of the degraded model."""
        return self.ratings[~self.ratings["degraded"].to_numpy(dtype=bool)]

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
    """The slider ratings that count; None where there are none."""
    everything, remarks = tables.ratings, []
    left = filters.of_unfinished(everything["dialogue_id"], everything["worker_id"], tables.dialogues)
    first_hand = filters.finished(everything) & ~left & everything["own_worker"].isna().to_numpy(dtype=bool)
    rows = everything[filters.on_sliders(everything) & np.asarray(first_hand, dtype=bool)]
    # With several techniques, take the direct assessment, so that live raters and readers are not mixed.
    assessment = (rows["technique"].isin(with_trait("sliders")) | rows["technique"].isna()).to_numpy(dtype=bool)
    if assessment.any() and not assessment.all():
        others = ", ".join(sorted(set(rows["technique"][~assessment])))
        number = counted(int((~assessment).sum()), "rating")
        rows, remarks = rows[assessment], [f"{number} on long scales from {others} are left out of this section."]
    if not len(rows):
        return None
    x = rows["value"].to_numpy(dtype=float)
    low, high = ends_of(rows)
    beyond = (x < low) | (x > high)
    if beyond.any():
        at = int(beyond.argmax())
        row = rows.iloc[at]
        raise TableError(
            f"{x[at]:g} on {row['criterion']} (dialogue {row['dialogue_id']}, rater {row['worker_id']}), "
            f"expected {low[at]:g} to {high[at]:g}",
            where="ratings.value",
            try_="give columns minimum and maximum if the scale is another",
        )
    check_sliders(rows, unnamed=True)
    _check_turning(rows)
    checks = worker_checks(rows)
    degraded = filters.is_set(rows, "degraded")
    passed = rows["worker_id"].isin(checks["worker_id"][checks["passed"]]).to_numpy(dtype=bool)
    scored = rows.assign(raw=reverse_scored(rows), z=standardised(rows), degraded=degraded, passed=passed)
    checked = bool(degraded.any())
    kept = passed if checked and passed.any() else np.ones(len(rows), dtype=bool)
    return Assessed(scored, checks, checked, scored[kept & ~degraded], remarks)


def _check_turning(rows: pd.DataFrame) -> None:
    """Ratings without one above ten are hardly on sliders from 0 to 100, at whose ends they would be turned round."""
    known = (rows["scale"].notna() | rows["maximum"].notna()).to_numpy(dtype=bool)
    values = rows["value"].to_numpy(dtype=float)
    if known.any() or values.max() > filters.MOST_POINTS or len(np.unique(values)) < 2:
        return

    def wanted(place: int) -> str:
        criterion = rows["criterion"].iloc[place]
        return f"{NAME_THEM}: {criterion!r} is reversed, and no rating says where its scale ends"

    refuse("ratings", rows["value"], pd.Series(is_reversed(rows), index=rows.index), wanted)


class SystemScore(cells.Row):
    """One model, ratings turned so that more is better; ``rank``: by ``z_overall``, 1 the best. Clustered by worker, and by
    dialogue where several workers rated the same.

    ``z_overall`` and ``z`` (by criterion) are standardised by worker; ``raw_overall`` and ``raw`` stand on the slider's
    scale. ``everyone``: overall z of all workers, where those who failed the check are left out of the other numbers.
    """

    model: str
    rank: int | None = None
    n_ratings: int
    n_dialogues: int
    n_workers: int
    z_overall: Annotated[Result, cells.interval_keys(OVERALL, OVERALL)]
    raw_overall: Annotated[Result, cells.interval_keys("raw_overall", "raw_overall")]
    z: Annotated[dict[str, Result], cells.interval_keys("criteria", "criteria", path="*")]
    raw: Annotated[dict[str, Result], cells.interval_keys("raw", "raw", path="*")]
    everyone: Annotated[
        Result | None, cells.interval_keys("everyone", "everyone"), cells.Key(name="n_dialogues_everyone", path="n")
    ] = None


class ScoreGap(cells.Row):
    """Model A against B by overall z.

    ``difference``: clustered as the scores are; ``p_worker``: by worker alone, None where that is ``p_clustered``.
    ``a_higher``, ``b_higher``: the paper's one-sided rank-sum tests; ``paper``: two-sided, of both. ``superiority``: chance
    that a dialogue of A is rated higher than one of B.
    """

    model_a: Annotated[str, cells.Column("A")]
    model_b: Annotated[str, cells.Column("B")]
    difference: Annotated[Result, cells.Estimate(ends="ci"), cells.Key(name="p_worker", path="details.p_by_worker")]
    superiority: Annotated[Result, cells.Estimate(kind="share"), cells.p_columns(of="difference")]
    a_higher: Annotated[
        Result, cells.Column("p that A is higher (paper, one-sided)", "p", name="p_a_higher", path="p_value")
    ]
    b_higher: Annotated[
        Result, cells.Column("p that B is higher (paper, one-sided)", "p", name="p_b_higher", path="p_value")
    ]
    paper: Annotated[
        Result,
        cells.Key(name="p_value", path="p_value"),
        cells.Key(name="p_holm", path="p_decides"),
        cells.family_keys("difference"),
        cells.once_columns(of="difference"),
    ]


def overall_score(criteria: Sequence[float | None]) -> float | None:
    """The mean of the scores of all criteria that have one (Ji et al. 2022, §3.3); None where none has."""
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
    values = {column: ratings[column].to_numpy(dtype=float) for column in ("raw", "z")}
    of = {name: ratings[name].to_numpy(dtype=object) for name in ("criterion", "worker_id", "dialogue_id")}

    def mean(criterion: str, column: str) -> Result:
        own, name = of["criterion"] == criterion, f"{criterion} of {model} ({column})"
        shown = of["dialogue_id"][own]
        return clustered_mean(values[column][own], of["worker_id"][own], dialogues=shown, name=name, level=level)

    def overall(column: str) -> Result:
        values, workers, dialogues = overall_parts(ratings, column)
        name = f"overall of {model} ({column})"
        return clustered_mean(values, workers, dialogues=dialogues, name=name, level=level)

    return SystemScore(
        model=model,
        n_ratings=len(ratings),
        n_dialogues=len(ratings.drop_duplicates(["dialogue_id", "worker_id"])),
        n_workers=int(ratings["worker_id"].nunique()),
        raw={name: mean(name, "raw") for name in criteria},
        z={name: mean(name, "z") for name in criteria},
        raw_overall=overall("raw"),
        z_overall=overall("z"),
    )


def overall_parts(ratings: pd.DataFrame, column: str) -> tuple[Floats, Objects, Objects]:
    """Each dialogue's contribution to a model's overall score, which is the mean of these numbers."""
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
    """Every pair of ``models`` by overall z, in the given order."""
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
        sides, shown, name = (*of_a[:2], *of_b[:2]), (of_a[2], of_b[2]), f"overall z of {a} − {b}"
        difference = with_once_each(clustered_difference, *sides, dialogues=shown, name=name, level=level)
        difference = with_dispersion(difference, *sides)
        both_models = (of_dialogue.get(name, (nothing, nobody, nobody)) for name in (a, b))
        (first, raters, talks), (second, others, more) = both_models
        a_higher, b_higher = (rank_sum_test(*both, "greater") for both in ((first, second), (second, first)))
        p = min(1.0, 2 * min(1.0 if of.p_value is None else of.p_value for of in (a_higher, b_higher)))
        paper = a_higher.but(p_value=p, method="Wilcoxon rank-sum test, twice the smaller of both one-sided p")
        both = effective_win_test(first, raters, second, others, name=SUPERIORITY, level=level, dialogues=(talks, more))
        tests = {"difference": difference, "a_higher": a_higher, "b_higher": b_higher, "paper": paper}
        gaps.append(ScoreGap(model_a=a, model_b=b, **tests, superiority=both))
    return corrected_fields(gaps, family, "difference", "paper")
