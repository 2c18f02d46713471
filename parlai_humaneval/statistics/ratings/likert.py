"""Ratings at the end of a dialogue on scales of a few points (Smith et al. 2022, §3.1.4 and App. C.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core.clustered import Limits, with_dispersion
from parlai_humaneval.statistics.core.means import t_test
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.once_each import with_once_each
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_difference, crossed_mean
from parlai_humaneval.statistics.preference.win_rates import effective_win_test
from parlai_humaneval.statistics.ratings.sliders import is_reversed
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, of_unfinished, on_sliders
from parlai_humaneval.tables.scales import check_criteria

RATED_GROUP = ("technique", "setting", "metric", "criterion")


@dataclass(frozen=True)
class ModelRatings:
    """All ratings of one model on one criterion, an entry each."""

    model: str
    values: Floats
    workers: Objects
    dialogues: Objects


@dataclass(frozen=True)
class RatedCriterion:
    """Ratings that can be compared: one technique, setting, metric and criterion; "" where there is none.

    ``minimum``, ``maximum``: of the scale, None where the table does not say. ``reversed``: a high rating is a bad one.
    """

    technique: str
    setting: str
    metric: str
    criterion: str
    minimum: float | None
    maximum: float | None
    reversed: bool
    models: tuple[ModelRatings, ...]

    @property
    def family(self) -> Family:
        """What is corrected for together."""
        return Family(self.technique, self.setting, self.metric, self.criterion)

    @property
    def limits(self) -> Limits:
        """What a mean cannot be beyond."""
        return None if self.minimum is None or self.maximum is None else (self.minimum, self.maximum)

    def better(self, values: Floats) -> Floats:
        """``values`` so that more is better."""
        return -values if self.reversed else values


def likert_rows(tables: Tables) -> pd.DataFrame:
    """Ratings on scales of up to ten points, of finished dialogues; of degraded models and second raters none.

    Where a table does not name its scales, all its ratings (of a technique) are taken for sliders as soon as one is
    above ten or of a degraded model.
    """
    rows = tables.ratings
    rows = rows.assign(**{name: rows[name].fillna("") for name in ("technique", "setting", "metric")})
    whole = finished(rows) & ~of_unfinished(rows["dialogue_id"], rows["worker_id"], tables.dialogues)
    own = rows["own_worker"].isna().to_numpy(dtype=bool) & ~is_set(rows, "degraded")
    kept: pd.DataFrame = rows[~on_sliders(rows) & whole & own]
    return kept


def likert_groups(tables: Tables) -> list[RatedCriterion]:
    """The groups of :func:`likert_rows`, sorted; their models by name.

    Assumes nothing of the ratings: they are only sorted into groups.

    Source: Smith et al. 2022, §3.1.4.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> group.criterion, [(model.model, float(model.values.mean())) for model in group.models]
    ('engaging', [('ada', 3.875), ('bob', 3.375), ('cyd', 1.875)])
    """
    rows = likert_rows(tables)
    check_criteria(rows)
    return [_group(own, *(str(part) for part in key)) for key, own in rows.groupby(list(RATED_GROUP), sort=True)]


def _group(rows: pd.DataFrame, technique: str, setting: str, metric: str, criterion: str) -> RatedCriterion:
    ends = [rows["minimum"].min(), rows["maximum"].max()]
    low, high = (None if pd.isna(end) else float(end) for end in ends)
    models = tuple(
        ModelRatings(
            model=str(model),
            values=own["value"].to_numpy(dtype=float),
            workers=own["worker_id"].to_numpy(dtype=object),
            dialogues=own["dialogue_id"].to_numpy(dtype=object),
        )
        for model, own in rows.groupby("model", sort=True)
    )
    turned = bool(is_reversed(rows).any())
    return RatedCriterion(technique, setting, metric, criterion, low, high, turned, models)


def mean_rating(group: RatedCriterion, model: ModelRatings, *, level: float = 0.95) -> Result:
    """The mean as it was rated, not reversed, clustered by worker, and by dialogue where several workers rated the same.

    The interval is cut to the scale. Assumes that ratings without a common worker or dialogue are independent, and that
    the steps of the scale are equal.

    Source: Smith et al. 2022, §3.1.4; Cameron & Miller 2015, §II.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> print(mean_rating(group, group.models[0]))
    engaging of ada: 3.875, 95% interval 3.000 to 4.667, n = 8 [sign-flip test, clustered by worker]
    """
    name = f"{group.criterion} of {model.model}"
    return crossed_mean(model.values, model.workers, model.dialogues, name=name, limits=group.limits, level=level)


@dataclass(frozen=True)
class RatedPair:
    """Two models on one criterion: A minus B.

    ``difference``: clustered by worker, and by dialogue where several workers rated the same. ``paper``: the t test.
    ``effective``: chance that A's rating is the better one, equal ones counting half, clustered as ``difference``. All
    three Holm-corrected over the pairs of the criterion.
    """

    model_a: ModelRatings
    model_b: ModelRatings
    difference: Result
    paper: Result
    effective: Result


def rated_pairs(group: RatedCriterion, *, level: float = 0.95) -> list[RatedPair]:
    """Every two models of ``group``, which are one family of tests.

    ``difference`` is in points of the scale, clustered by worker, and by dialogue where several workers rated the same;
    ``paper`` takes all ratings as independent; ``effective`` is the chance that a rating of A is the higher one.

    Assumes equal steps of the scale for ``difference`` and ``paper``, only their order for ``effective``; and for the
    clustered tests that ratings without a common worker or dialogue are independent.

    Source: Smith et al. 2022, §4.3 and App. C.7.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> pair = rated_pairs(group)[0]
    >>> print(pair.difference)
    engaging of ada − bob: 0.500, 95% interval −1.000 to 2.500, statistic 0.764, p = .58, Holm p = .58, n = 16
    [sign-flip test, clustered by worker]
    """
    pairs = [_pair(group, a, b, level) for a, b in combinations(group.models, 2)]
    families = [group.family] * len(pairs)
    differences, papers, effectives = (
        corrected([getattr(pair, name) for pair in pairs], families) for name in ("difference", "paper", "effective")
    )
    return [
        replace(pair, difference=difference, paper=paper, effective=effective)
        for pair, difference, paper, effective in zip(pairs, differences, papers, effectives, strict=True)
    ]


def _pair(group: RatedCriterion, a: ModelRatings, b: ModelRatings, level: float) -> RatedPair:
    name = f"{group.criterion} of {a.model} − {b.model}"
    span = None if group.limits is None else group.limits[1] - group.limits[0]
    limits = None if span is None else (-span, span)
    return RatedPair(
        model_a=a,
        model_b=b,
        difference=with_dispersion(
            with_once_each(
                crossed_difference,
                a.values,
                a.workers,
                a.dialogues,
                b.values,
                b.workers,
                b.dialogues,
                name=name,
                limits=limits,
                level=level,
            ),
            *(a.values, a.workers, b.values, b.workers),
        ),
        paper=t_test(a.values, b.values, name=name),
        effective=effective_win_test(
            group.better(a.values),
            a.workers,
            group.better(b.values),
            b.workers,
            name=f"effective win rate of {a.model} over {b.model}, {group.criterion}",
            level=level,
            dialogues=(a.dialogues, b.dialogues),
        ),
    )


def final_scores(groups: Sequence[RatedCriterion]) -> pd.DataFrame:
    """One score a dialogue: the mean of its criteria, with more as better; a row per dialogue and worker.

    Reversed criteria are turned round (minimum + maximum − x); one whose scale is not known is left out.
    Columns: ``dialogue_id``, ``worker_id``, ``model``, ``score``.

    Assumes that the criteria may be averaged: that each counts as much as the others.

    Source: Smith et al. 2022, App. C.4.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> final_scores([group]).astype(object).iloc[0].tolist()
    ['ada-w0', 'w0', 'ada', 3.0]
    """
    parts = []
    for group in groups:
        if group.reversed and group.limits is None:
            continue
        for one in group.models:
            values = sum(group.limits) - one.values if group.reversed and group.limits else one.values
            parts.append(
                pd.DataFrame(
                    {"dialogue_id": one.dialogues, "worker_id": one.workers, "model": one.model, "score": values}
                )
            )
    if not parts:
        nothing: pd.DataFrame = pd.DataFrame(columns=["dialogue_id", "worker_id", "model", "score"])
        return nothing
    means = pd.concat(parts).groupby(["dialogue_id", "worker_id", "model"], sort=True)["score"].mean()
    scores: pd.DataFrame = means.reset_index()
    return scores
