"""Filters of rows: finished dialogues, unfinished ones that count on request, ratings on sliders.

The source of the answers in tables: people, or programs in their place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.schema import TIE, TableName
from parlai_humaneval.techniques.registry import with_trait

SLIDER_MINIMUM, SLIDER_MAXIMUM = 0.0, 100.0  # Where a table from elsewhere does not say

MOST_POINTS = 10.0  # Scales that reach further are sliders


def finished(rows: pd.DataFrame) -> Flags:
    """Which rows are of complete dialogues; tables from elsewhere, without a status, hold complete ones."""
    return np.asarray(rows["dialogue_status"].fillna("complete").eq("complete"), dtype=bool)


def is_set(rows: pd.DataFrame, column: str, missing: int = 0) -> Flags:
    """Where a 0/1 column is 1; ``missing`` is what an empty cell means."""
    return np.asarray(rows[column].to_numpy(dtype=float, na_value=missing) == 1, dtype=bool)


def nobody_won(comparisons: pd.DataFrame, whose: Literal["", "own_"] = "") -> Flags:
    """Where no model won: as the column ``tied`` says, else where the winner is ``tie``, which may be a model's name,
    too. ``whose``: the rater of the row, or with ``own_`` the dialogue's own one."""
    named_tie = comparisons[f"{whose}winner"].eq(TIE).to_numpy(dtype=bool)
    if f"{whose}tied" not in comparisons:
        return np.asarray(named_tie, dtype=bool)
    tied = comparisons[f"{whose}tied"]
    return np.asarray(np.where(tied.notna(), tied.fillna(0).astype(int) == 1, named_tie), dtype=bool)


def unique(values: pd.Series[Any]) -> list[str]:
    return sorted(str(value) for value in values.dropna().unique())


def median(seconds: pd.Series[Any]) -> float | None:
    known = seconds.dropna()
    return float(known.median()) if len(known) else None


def of_unfinished(dialogue: pd.Series[Any], worker: pd.Series[Any], dialogues: pd.DataFrame) -> Flags:
    """Where the pair of dialogue and worker is in ``dialogues`` with ``complete`` 0."""
    left = dialogues[(dialogues["complete"] == 0).to_numpy(dtype=bool)]
    if left.empty:
        return np.zeros(len(dialogue), dtype=bool)
    ended = pd.MultiIndex.from_frame(left[["dialogue_id", "worker_id"]])
    return np.asarray(pd.MultiIndex.from_arrays([dialogue, worker]).isin(ended), dtype=bool)


def taken_as_finished(tables: Tables) -> Tables:
    """The tables with every live dialogue finished, so that what was answered in any counts: turns, verdicts and ratings;
    judgements stay as they are."""
    frames: dict[str, Any] = {"dialogues": tables.dialogues.assign(complete=1, status="complete")}
    for name in ("turns", "comparisons", "ratings"):
        rows: pd.DataFrame = getattr(tables, name)
        judged = rows["judgement_id"].notna()
        frames[name] = rows.assign(dialogue_status=rows["dialogue_status"].where(judged, "complete"))
    return replace(tables, **frames)


def on_sliders(ratings: pd.DataFrame) -> Flags:
    """Which ratings were given on sliders, or on scales of more than ten points, and not on Likert scales. Where a
    table does not name its scales, all its ratings of a technique are taken for sliders as soon as one of them is above
    ten or of a degraded model, and those of direct assessment always. Ratings whose scale is said to end at ten or
    below are looked at apart from the others."""
    if ratings.empty:  # as of most techniques
        return np.zeros(0, dtype=bool)
    technique = ratings["technique"].fillna("")
    value, maximum = (ratings[name].to_numpy(dtype=float, na_value=np.nan) for name in ("value", "maximum"))
    short = maximum <= MOST_POINTS
    high = (value > MOST_POINTS) | (maximum > MOST_POINTS) | is_set(ratings, "degraded")
    unnamed = ratings["scale"].isna().to_numpy(dtype=bool)
    sliders = technique.isin(with_trait("sliders")).to_numpy(dtype=bool)
    for alike in (short, ~short):
        sliders = sliders | (alike & technique.isin(technique[unnamed & high & alike]).to_numpy(dtype=bool))
    named = ratings["scale"].eq("slider").to_numpy(dtype=bool)
    return np.asarray(named | (unnamed & sliders) | (~unnamed & high), dtype=bool)


class RaterKinds(NamedTuple):
    """Workers in all tables: how many there are, how many are programs and how many people; others are not known."""

    workers: int
    simulated: int
    people: int

    @property
    def note(self) -> str:
        """The first line of every output if raters are programs; otherwise empty."""
        if not self.simulated:
            return ""
        if self.simulated == self.workers:
            who = "All raters are programs" if self.workers > 1 else "The only rater is a program"
            return f"{who} ({self.simulated:,}): nothing here was rated by people."
        return f"Some of the raters are programs: {self.kind}."

    @property
    def kind(self) -> str:
        """“programs”, or how many of each: first column of a report's CSV files; empty where nobody is a program."""
        others = self.workers - self.simulated - self.people
        if not self.simulated or self.simulated == self.workers:
            return "programs" if self.simulated else ""
        counts = f"{self.simulated:,} {'program' if self.simulated == 1 else 'programs'}"
        counts += f", {self.people:,} {'person' if self.people == 1 else 'people'}" if self.people or not others else ""
        return counts + (f", {others:,} unknown" if others else "")

    @property
    def evaluation(self) -> str:
        """The name for an evaluation by these raters."""
        if not self.simulated:
            return "human evaluation"
        return f"{'automatic' if self.simulated == self.workers else 'partly automatic'} evaluation"


def rater_kinds(tables: Tables) -> RaterKinds:
    """Count the workers of all tables by kind; a worker listed as both is a program."""
    rows = _by_rater(tables)
    known, simulated = rows.dropna(subset=["simulated"]), set(rows.loc[is_set(rows, "simulated"), "worker_id"])
    return RaterKinds(int(rows["worker_id"].nunique()), len(simulated), len(set(known["worker_id"]) - simulated))


def simulated_raters(tables: Tables) -> set[str]:
    """The workers whom a table calls programs."""
    rows = _by_rater(tables)
    return set(rows.loc[is_set(rows, "simulated"), "worker_id"])


def _by_rater(tables: Tables) -> pd.DataFrame:
    frames: list[pd.DataFrame] = [getattr(tables, name) for name in get_args(TableName)]
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat([frame[["worker_id", "simulated"]] for frame in filled])
