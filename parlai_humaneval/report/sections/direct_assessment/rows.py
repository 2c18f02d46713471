"""Which rows of ``ratings`` are slider ratings that count, and whose."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from parlai_humaneval.statistics.slider_scores import standardised, turned, worker_checks
from parlai_humaneval.statistics.wording import counted
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.counting import (
    SLIDER_MAXIMUM,
    SLIDER_MINIMUM,
    Mask,
    finished,
    is_set,
    of_unfinished,
    on_sliders,
)
from parlai_humaneval.tables.from_records import Tables

TECHNIQUE = "direct_assessment"


@dataclass(frozen=True)
class Assessed:
    """Slider ratings with columns ``raw``, ``z``, ``degraded`` (bool) and ``passed`` (bool); and who gave them.

    ``checks``: as :func:`~parlai_humaneval.statistics.slider_scores.worker_checks` gives them. ``checked``: whether there
    was a degraded model at all. ``counted``: the ratings that the scores rest on, without the degraded model's: those of
    workers who passed, or of everyone where nobody could be checked, or nobody passed.
    """

    ratings: pd.DataFrame
    checks: pd.DataFrame
    checked: bool
    counted: pd.DataFrame
    remarks: list[str] = field(default_factory=list)

    @property
    def n_workers(self) -> int:
        return int(self.ratings["worker_id"].nunique())

    @property
    def n_passed(self) -> int:
        return int(self.ratings.loc[self.ratings["passed"].to_numpy(dtype=bool), "worker_id"].nunique())

    @property
    def nobody_passed(self) -> bool:
        return self.checked and self.n_passed == 0


def assessed(tables: Tables) -> Assessed | None:
    """The slider ratings that count; None where there are none.

    Raises:
        TableError: a rating is beyond the ends of its scale.
    """
    rows, remarks = _of_one_kind(tables.ratings[on_sliders(tables.ratings) & _first_hand(tables)])
    if not len(rows):
        return None
    _check_range(rows)
    checks = worker_checks(rows)
    degraded = is_set(rows, "degraded")
    passed = rows["worker_id"].isin(checks["worker_id"][checks["passed"]]).to_numpy(dtype=bool)
    scored = rows.assign(raw=turned(rows), z=standardised(rows), degraded=degraded, passed=passed)
    checked = bool(degraded.any())
    kept = passed if checked and passed.any() else np.ones(len(rows), dtype=bool)
    return Assessed(scored, checks, checked, scored[kept & ~degraded], remarks)


def _first_hand(tables: Tables) -> Mask:
    """Rows of finished dialogues, without those of third parties on what the own rater had rated."""
    rows = tables.ratings
    left = of_unfinished(rows["dialogue_id"], rows["worker_id"], tables.dialogues)
    return np.asarray(finished(rows) & ~left & rows["own_worker"].isna().to_numpy(dtype=bool), dtype=bool)


def _of_one_kind(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of several techniques the direct assessment, so that live raters and readers are not mixed."""
    own = (rows["technique"].eq(TECHNIQUE) | rows["technique"].isna()).to_numpy(dtype=bool)
    if not own.any() or own.all():
        return rows, []
    others = ", ".join(sorted(set(rows["technique"][~own])))
    return rows[own], [f"{counted(int((~own).sum()), 'rating')} of {others} on long scales are left out here."]


def _check_range(rows: pd.DataFrame) -> None:
    x = rows["value"].to_numpy(dtype=float)
    low = rows["minimum"].to_numpy(dtype=float, na_value=SLIDER_MINIMUM)
    high = rows["maximum"].to_numpy(dtype=float, na_value=SLIDER_MAXIMUM)
    beyond = (x < low) | (x > high)
    if beyond.any():
        at = int(beyond.argmax())
        row = rows.iloc[at]
        raise TableError(
            f"ratings.value: {x[at]:g} on {row['criterion']} (dialogue {row['dialogue_id']}, worker {row['worker_id']}), "
            f"expected {low[at]:g} to {high[at]:g}. Columns minimum and maximum say so if the scale is another."
        )
