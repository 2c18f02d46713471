"""Ratings that are counted together are on one scale: what is refused where they are not, or where nothing says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from parlai_humaneval.tables.columns import refuse
from parlai_humaneval.tables.filters import MOST_POINTS, SLIDER_MAXIMUM, SLIDER_MINIMUM, on_sliders

FEWEST = 4
"""From so many ratings on, a criterion or worker without one above ten is taken to be on a scale of a few points."""
MOST_SHORT_VALUES = 3
"""A worker who gave so many different values, all from 1 to 10, did not move a slider from 0 to 100."""
STEP = 0.5
"""Scales of a few points have points, or points and halves; shares have any value up to one."""
NAME_THEM = "the ends of its scale in the columns minimum and maximum (1 and 5, or 0 and 100)"
_STUDY = ("technique", "setting", "metric", "criterion")


def check_scales(ratings: pd.DataFrame) -> None:
    """Refuse ratings that would be averaged or standardised together although they are on several scales.

    Args:
        ratings: as :func:`~parlai_humaneval.tables.columns.typed` gives them.

    Raises:
        TableError: a criterion of one technique, setting and metric has scales with different ends; sliders of one
            technique have; or no column names the scales of a technique that has criteria, or workers, with only points and
            halves up to ten, or only shares up to one, and others above.
    """
    check_criteria(ratings)
    check_sliders(ratings[on_sliders(ratings)])
    _check_unnamed(ratings)


def check_criteria(ratings: pd.DataFrame) -> None:
    """Every criterion of one technique, setting and metric has one scale.

    Raises:
        TableError: it has several.
    """
    sliders = pd.Series(on_sliders(ratings), index=ratings.index)  # these count apart from scales of a few points
    groups = [*(ratings[name].fillna("") for name in _STUDY), sliders]
    why = "its criterion: ratings on two scales cannot be averaged. Give one of them another criterion or setting"
    _refuse_others(ratings, groups, _ends(ratings), why)


def check_sliders(sliders: pd.DataFrame, *, unnamed: bool = False) -> None:
    """Sliders of one technique have the same ends, as each worker's ratings are standardised together.

    ``unnamed``: also those whose ends no column names, which are taken for 0 and 100.

    Raises:
        TableError: they have not.
    """
    ends = _ends(sliders)
    if unnamed:
        ends = ends.fillna({"minimum": SLIDER_MINIMUM, "maximum": SLIDER_MAXIMUM})
    why = (
        "this technique: all ratings of a worker are standardised together. Put the values on one scale, or give these "
        "another technique"
    )
    _refuse_others(sliders, [sliders["technique"].fillna("")], ends, why)


def _ends(ratings: pd.DataFrame) -> pd.DataFrame:
    ends: pd.DataFrame = ratings[["minimum", "maximum"]].astype(float)
    return ends


def _refuse_others(ratings: pd.DataFrame, groups: list[pd.Series[Any]], ends: pd.DataFrame, why: str) -> None:
    if ends.drop_duplicates().dropna(how="all").shape[0] < 2:
        return
    first = ends.groupby(groups, sort=False).transform("first")
    for column in ("minimum", "maximum"):
        wrong = ends[column].notna() & (ends[column] != first[column])
        wanted = _expected_words(f"{{end:g}} as in the first rating of {why}", end=first[column])
        refuse("ratings", column, ratings[column], wrong, wanted)


def _expected_words(words: str, **of_rows: pd.Series[Any]) -> Callable[[int], str]:
    def wanted(place: int) -> str:
        return words.format(**{name: values.iloc[place] for name, values in of_rows.items()})

    return wanted


def _check_unnamed(ratings: pd.DataFrame) -> None:
    unnamed = (ratings["scale"].isna() & ratings["maximum"].isna()).to_numpy(dtype=bool) & on_sliders(ratings)
    rows = ratings[unnamed]
    technique, value = rows["technique"].fillna(""), rows["value"].astype(float)
    highest = value.groupby(technique, sort=False).transform("max")
    several = highest > MOST_POINTS
    if not several.any():
        return
    for column, lowest, fewest_values, who in (
        ("criterion", 0, 2, "on"),
        ("worker_id", 1, MOST_SHORT_VALUES, "of worker"),
    ):
        keys = [technique, rows["setting"].fillna(""), rows[column]]
        own = value.groupby(keys, sort=False)
        shares = own.transform("max") <= 1
        points = (own.transform("min") >= lowest) & ((value % STEP) == 0).groupby(keys, sort=False).transform("all")
        short = (
            several
            & (own.transform("max") <= MOST_POINTS)
            & (own.transform("size") >= FEWEST)
            & (own.transform("nunique") >= fewest_values)
            & (points | shares)
        )
        wrong = pd.Series(False, index=ratings.index)
        wrong[rows.index[short]] = True
        wanted = _expected_words(
            f"{NAME_THEM}: every rating {who} {{name!r}} is {MOST_POINTS:g} or less, others go up to {{most:g}}, and "
            "ratings on two scales cannot be standardised together",
            name=ratings[column],
            most=highest.reindex(ratings.index),
        )
        refuse("ratings", "value", ratings["value"], wrong, wanted)
